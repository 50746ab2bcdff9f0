import EmulatorCore
import JSON

/// The regions to whose numbers a project or tenant sends text messages, as in `smsRegionConfig` of its configuration.
/// Test numbers are held to it, too. Recorded in September 2026 as `other-fields#send-us-under-allowlist` and
/// `#send-us-under-denylist`: https://github.com/t-k/fireemu, conformance/auth-config-sdk-production.json.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/SmsRegionConfig>
struct SMSRegions: Sendable {
    private let config: JSONValue?

    init(_ config: JSONValue?) { self.config = config }

    /// Checks that text messages may be sent to a number in E.164.
    ///
    /// - Throws: `OPERATION_NOT_ALLOWED`.
    func check(_ number: String) throws(FirebaseError) {
        let region = CallingCodes.region(of: number)
        func lists(_ policy: String, _ list: String) -> Bool {
            config?[policy]?[list]?.array?.contains { $0.string.map { $0 == region } ?? false } ?? false
        }
        let isAllowed =
            config?["allowlistOnly"] != nil
            ? lists("allowlistOnly", "allowedRegions") : !lists("allowByDefault", "disallowedRegions")
        guard !isAllowed else { return }
        throw FirebaseError(
            "OPERATION_NOT_ALLOWED", "SMS unable to be sent until this region enabled by the app developer.",
            because:
                "the number's region is \(region ?? "unknown"), which smsRegionConfig of the project or tenant doesn't "
                + "allow")
    }
}

/// The regions to whose numbers a project or tenant sends text messages, in the seed.
struct SeededSMSRegions: SchemaObject {
    private static let region = TextRule(about: "a region of ISO 3166, two capital letters", pattern: "[A-Z]{2}") {
        $0.utf8.count == 2 && $0.utf8.allSatisfy { (0x41...0x5A).contains($0) }
    }

    /// The value of `smsRegionConfig`.
    let config: JSONValue

    init(_ fields: inout Fields) {
        let allowed = fields.optional(
            "allowed", .set(of: .text(SeededSMSRegions.region)),
            "The only regions to which texts are sent, such as `JP`.")
        let disallowed = fields(
            "disallowed", .set(of: .text(SeededSMSRegions.region)), default: [],
            "Regions to which no text is sent, if `allowed` isn't there.")
        func list(_ regions: [String]) -> JSONValue { .array(regions.map { .string($0) }) }
        config =
            allowed.map { ["allowlistOnly": ["allowedRegions": list($0)]] }
            ?? ["allowByDefault": ["disallowedRegions": list(disallowed)]]
    }
}

extension Project {
    var smsRegions: SMSRegions { SMSRegions(otherSettings["smsRegionConfig"]) }
}

/// The regions of country calling codes: <https://www.itu.int/pub/T-SP-E.164D>, and the area codes of North America by
/// <https://nationalnanpa.com>.
private enum CallingCodes {
    /// Returns the region in ISO 3166 of a number in E.164; `nil` if its code isn't assigned to a region.
    static func region(of number: String) -> String? {
        let digits = number.dropFirst()
        for length in stride(from: 7, through: 1, by: -1) {
            if let region = regions[String(digits.prefix(length))] { return region }
        }
        return nil
    }

    /// The region for each prefix. The longest prefix counts: `1` is the United States, `1416` is in Canada.
    private static let regions: [String: String] = {
        var regions: [String: String] = [:]
        for entry in table.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            let parts = entry.split(separator: ":")
            guard parts.count == 2 else { continue }
            for prefix in parts[1].split(separator: ",") { regions[String(prefix)] = String(parts[0]) }
        }
        return regions
    }()

    private static let table = """
        US:1
        CA:1204,1226,1236,1249,1250,1257,1263,1289,1306,1343,1354,1365,1367,1368,1382,1387,1403,1416,1418,1428,1431,1437
        CA:1438,1450,1460,1468,1474,1506,1514,1519,1548,1579,1581,1584,1587,1604,1613,1639,1647,1672,1683,1705,1709,1742
        CA:1753,1778,1780,1782,1807,1819,1825,1867,1873,1879,1902,1905,1942
        AG:1268 AI:1264 AS:1684 BB:1246 BM:1441 BS:1242 DM:1767 DO:1809,1829,1849 GD:1473 GU:1671 JM:1658,1876 KN:1869
        KY:1345 LC:1758 MP:1670 MS:1664 PR:1787,1939 SX:1721 TC:1649 TT:1868 VC:1784 VG:1284 VI:1340
        RU:7 KZ:76,77
        EG:20 SS:211 MA:212 DZ:213 TN:216 LY:218 GM:220 SN:221 MR:222 ML:223 GN:224 CI:225 BF:226 NE:227 TG:228 BJ:229
        MU:230 LR:231 SL:232 GH:233 NG:234 TD:235 CF:236 CM:237 CV:238 ST:239 GQ:240 GA:241 CG:242 CD:243 AO:244 GW:245
        IO:246 AC:247 SC:248 SD:249 RW:250 ET:251 SO:252 DJ:253 KE:254 TZ:255 UG:256 BI:257 MZ:258 ZM:260 MG:261 RE:262
        YT:262269,262639 ZW:263 NA:264 MW:265 LS:266 BW:267 SZ:268 KM:269 ZA:27 SH:290 ER:291 AW:297 FO:298 GL:299
        GR:30 NL:31 BE:32 FR:33 ES:34 GI:350 PT:351 LU:352 IE:353 IS:354 AL:355 MT:356 CY:357 FI:358 AX:35818 BG:359
        HU:36 LT:370 LV:371 EE:372 MD:373 AM:374 BY:375 AD:376 MC:377 SM:378 VA:379 UA:380 RS:381 ME:382 XK:383 HR:385
        SI:386 BA:387 MK:389 IT:39 RO:40 CH:41 CZ:420 SK:421 LI:423 AT:43 GB:44 GG:441481 JE:441534 IM:441624 DK:45 SE:46
        NO:47 SJ:4779 PL:48 DE:49
        FK:500 BZ:501 GT:502 SV:503 HN:504 NI:505 CR:506 PA:507 PM:508 HT:509 PE:51 MX:52 CU:53 AR:54 BR:55 CL:56 CO:57
        VE:58 GP:590 BO:591 GY:592 EC:593 GF:594 PY:595 MQ:596 SR:597 UY:598 CW:5999 BQ:599
        MY:60 AU:61 CC:6189162 CX:6189164 ID:62 PH:63 NZ:64 SG:65 TH:66 TL:670 NF:6723 BN:673 NR:674 PG:675 TO:676 SB:677
        VU:678 FJ:679 PW:680 WF:681 CK:682 NU:683 WS:685 KI:686 NC:687 TV:688 PF:689 TK:690 FM:691 MH:692
        JP:81 KR:82 VN:84 KP:850 HK:852 MO:853 KH:855 LA:856 CN:86 BD:880 TW:886
        TR:90 IN:91 PK:92 AF:93 LK:94 MM:95 MV:960 LB:961 JO:962 SY:963 IQ:964 KW:965 SA:966 YE:967 OM:968 PS:970 AE:971
        IL:972 BH:973 QA:974 BT:975 MN:976 NP:977 IR:98 TJ:992 TM:993 AZ:994 GE:995 KG:996 UZ:998
        """
}
