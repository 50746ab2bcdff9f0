import EmulatorCore
import JOSE
import JSON
import Time
import Worlds

// The methods accounts:sendVerificationCode and accounts:signInWithPhoneNumber (verifyPhoneNumber):
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/sendVerificationCode
//
// Quirks: nothing is sent: the text goes to the world's inbox, its code to the outbox. Test numbers have a code of
// their own. Linking a number that another user has is answered with a temporary proof, with which the SDK signs in as
// that user.

/// The purpose for which a code is sent by text message, as the blocking function `beforeSendSms` gets it.
/// <https://firebase.google.com/docs/reference/functions/2nd-gen/node/firebase-functions.identity>
enum TextPurpose: String, Sendable {
    case signIn = "SIGN_IN_OR_SIGN_UP"
    case secondFactor = "MULTI_FACTOR_SIGN_IN"
    case enrollment = "MULTI_FACTOR_ENROLLMENT"

    /// The action for which the request's reCAPTCHA token must have been made.
    var action: Recaptcha.Action {
        switch self {
        case .signIn: .text
        case .secondFactor: .secondFactor
        case .enrollment: .enrollment
        }
    }
}

extension FirebaseCall {
    /// The time for which a code that was sent by text message works at sign-in. It isn't documented.
    static let lifetimeOfText = TimeSpan.minutes(10)

    /// Sends a code to a phone number: puts it into the outbox, where tests read it. Returns the code's `sessionInfo`.
    func sendCode(
        to phoneNumber: String, for purpose: TextPurpose, lifetime: TimeSpan = FirebaseCall.lifetimeOfText
    ) async throws -> String {
        let phoneNumber = try PhoneNumber.checked(phoneNumber)
        try project.smsRegions.check(phoneNumber)
        let fixed = project.providers.phone?.testNumbers[phoneNumber]
        if fixed == nil {
            // A test number needs no token. This isn't documented.
            let part = try nested("phoneEnrollmentInfo") ?? nested("phoneSignInInfo")
            if let note = try assess(purpose.action, part) {
                exchange.log(
                    "a text message to \(phoneNumber) was requested without a valid reCAPTCHA token", detail: note.line)
            }
            try await ask(
                .beforeSendSms,
                aboutMessage: JSONObject(["phone_number": phoneNumber, "sms_type": purpose.rawValue]))
        }
        let (session, code) = try update { tables in
            let code = fixed ?? tables.random.text(6, from: Array("0123456789".utf8))
            let session = Base64URL.encode(tables.random.bytes(96))
            tables.send(
                PhoneCode(
                    session: session, pool: pool, phoneNumber: phoneNumber, code: code,
                    expires: tables.now + lifetime))
            return (session, code)
        }
        // Nothing is sent to a test number:
        // https://firebase.google.com/docs/auth/web/phone-auth#test-with-fictional-phone-numbers
        if fixed == nil { try text(code, to: phoneNumber) }
        exchange.log(
            "a code for \(phoneNumber) is ready: GET /emulator/v1/projects/\(project.id)/verificationCodes",
            detail: "the code for \(phoneNumber) is \(code)")
        return session
    }

    /// Checks a code that was sent by text message, and returns the phone number to which it was sent. A code works
    /// once, with one exception, as in production: if the code is for a second factor, and the number is a test phone
    /// number, the code works any number of times.
    func verifyCode(session: String?, code: String?, isSecondFactor: Bool = false) throws -> String {
        guard let session else { throw FirebaseError.missing("sessionInfo") }
        guard let code else { throw FirebaseError.missing("code") }
        return try update { tables -> String in
            guard var sent = tables.find(PhoneCode.self, session), sent.pool == pool else {
                throw FirebaseError(
                    "INVALID_SESSION_INFO",
                    because: "no text message with this sessionInfo was sent since the test world was last reset: "
                        + "request a new code")
            }
            guard !sent.isUsed, sent.expires > tables.now else {
                let reason =
                    sent.isUsed
                    ? "the code was used already" : "the code expired \((tables.now - sent.expires).inWords) ago"
                throw FirebaseError("SESSION_EXPIRED", because: reason)
            }
            let isTest = project.providers.phone?.testNumbers[sent.phoneNumber] != nil
            guard sent.code == code else {
                throw FirebaseError(
                    "INVALID_CODE",
                    diagnosis: Diagnosis(
                        received: "code \(Diagnosis.quote(code))",
                        isTest
                            ? "\(sent.phoneNumber) is a test phone number, to which no text message is sent: send the "
                                + "code that the seed, or the configuration of the project or tenant, gives to it"
                            : "the code is wrong: read the right one in the inbox, "
                                + "GET /_understudy/v1/mail?to=\(sent.phoneNumber)"))
            }
            guard !isSecondFactor || !isTest else { return sent.phoneNumber }
            sent.isUsed = true
            tables.put(sent)
            return sent.phoneNumber
        }
    }
}

extension FirebaseProvider {
    private func requirePhone(_ call: FirebaseCall) throws(FirebaseError) {
        try call.requireNoTenant("signing in by phone")
        guard call.project.isEnabled("phone") == true else {
            throw FirebaseError(
                "OPERATION_NOT_ALLOWED",
                because: "sign-in by phone isn't enabled: enable the project's provider \"phone\" in the seed")
        }
    }

    func sendVerificationCode(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        try requirePhone(call)
        guard let phoneNumber = try call.text("phoneNumber") else {
            throw FirebaseError("INVALID_PHONE_NUMBER", "Invalid format.", because: "phoneNumber is missing")
        }
        let owner = call.read { $0.user(phoneNumber: phoneNumber, in: call.pool) }
        try PhoneSignIn.check(owner)
        // Recorded as `client-permissions#send-new-number`: a number that is to be linked is refused, too.
        if owner == nil { try call.requireSignUp() }
        let session = try await call.sendCode(to: phoneNumber, for: .signIn)
        return FirebaseAnswer(["sessionInfo": session])
    }

    func signInWithPhoneNumber(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        try requirePhone(call)
        try call.checkRoom()
        let phoneNumber: String
        if let proof = try call.text("temporaryProof") {
            let given = try call.required("phoneNumber")
            let known = call.read { $0.valid(TemporaryProof.self, proof, in: call.pool)?.phoneNumber }
            guard let known, known == given else {
                throw FirebaseError(
                    "INVALID_TEMPORARY_PROOF",
                    because: "temporaryProof is unknown, has expired, or is for another phone number")
            }
            phoneNumber = known
        } else {
            phoneNumber = try call.verifyCode(session: call.text("sessionInfo"), code: call.text("code"))
        }
        let signedIn = try call.signedInIfGiven()
        let request = PhoneSignIn(
            phoneNumber: phoneNumber, signedIn: signedIn, hasProof: call.has("temporaryProof"),
            isReauthentication: ["REAUTH", "2"].contains(call.value("operation")))
        let (decision, agreed) = try await call.decide(SignInEvent(method: "phone")) {
            tables, creation in
            try request.decide(&tables, creation, call.pool)
        } who: {
            if case .done(let user, let isNew) = $0 { (user: user, isNew: isNew) } else { nil }
        }
        switch decision {
        case .numberIsTaken(let proof):
            return FirebaseAnswer(
                ["temporaryProof": proof, "temporaryProofExpiresIn": "3600", "phoneNumber": phoneNumber],
                diagnosis: Diagnosis("another user has this phone number: sign in with temporaryProof instead"))
        case .done(let user, let isNew):
            let result = try call.signIn(
                agreed?.user ?? user, provider: "phone", customClaims: agreed?.claims ?? JSONObject())
            return FirebaseAnswer(
                ["localId": user.localId, "isNewUser": isNew, "phoneNumber": phoneNumber], and: result.members)
        }
    }
}

/// A request to sign in with a verified phone number, or to add the number to the signed-in user.
private struct PhoneSignIn: Sendable {
    enum Decision: Sendable {
        /// The phone number belongs to a different user. The answer contains a token that proves that the caller owns
        /// the number.
        case numberIsTaken(proof: String)
        case done(User, isNew: Bool)
    }

    let phoneNumber: String
    let signedIn: FirebaseCall.SignedIn?
    /// Whether the request has a temporary proof, which shows that the caller verified the phone number earlier.
    let hasProof: Bool
    let isReauthentication: Bool

    func decide(_ tables: inout Transaction, _ creation: Creation, _ pool: UserPool) throws(FirebaseError) -> Decision {
        let unknown = FirebaseError(
            "USER_NOT_FOUND", because: "no user has this phone number: a reauthentication creates no user")
        let owner = tables.user(phoneNumber: phoneNumber, in: pool)
        if let owner, owner.disabled {
            throw FirebaseError("USER_DISABLED", because: "the user with this phone number is disabled")
        }
        try PhoneSignIn.check(owner)
        if let signedIn, !isReauthentication {
            if let owner, owner.localId != signedIn.user.localId {
                guard !hasProof else {
                    throw FirebaseError("PHONE_NUMBER_EXISTS", because: "another user already has this phone number")
                }
                let proof = TemporaryProof(
                    token: Base64URL.encode(tables.random.bytes(48)), pool: pool, phoneNumber: phoneNumber,
                    expires: tables.now + .hours(1))
                tables.put(proof)
                return .numberIsTaken(proof: proof.token)
            }
            var user = try signedIn.user(in: tables)
            try PhoneSignIn.check(user)
            user.phoneNumber = phoneNumber
            tables.put(user)
            return .done(user, isNew: false)
        }
        if let owner { return .done(owner, isNew: false) }
        guard !isReauthentication else { throw unknown }
        var user = creation.user(in: pool, &tables)
        user.validSince = nil
        user.phoneNumber = phoneNumber
        creation.finish(&user)
        tables.put(user)
        return .done(user, isNew: true)
    }

    /// Checks that a user whose second factor is a phone number doesn't also sign in with a phone number.
    /// <https://cloud.google.com/identity-platform/docs/web/mfa>
    static func check(_ user: User?) throws(FirebaseError) {
        guard let user, user.factors.contains(where: { $0.claim == "phone" }) else { return }
        throw FirebaseError(
            "UNSUPPORTED_FIRST_FACTOR", "A phone number cannot be set as a first factor on an SMS based MFA user.",
            because:
                "the user \"\(user.localId)\" has a phone number as a second factor, so can't use one as the first factor"
        )
    }
}

/// The proof that a caller owns a phone number that is linked to a different user.
struct TemporaryProof: TokenRow {
    static let table = Table<TemporaryProof>(
        "firebase.temporaryProof", limit: 100_000, indexes: [byPool], droppedAt: { $0.expires })
    static let byPool = Index<TemporaryProof, UserPool>("pool") { $0.pool }

    let token: String
    let pool: UserPool
    let phoneNumber: String
    let expires: Instant
}

/// Reads phone numbers as people write them: separators are skipped, and letters stand for the digits of their keys.
/// <https://www.itu.int/rec/T-REC-E.161>
enum PhoneNumber {
    /// Returns a phone number in E.164's form.
    ///
    /// - Throws: `INVALID_PHONE_NUMBER` for a text that isn't a phone number.
    static func checked(_ text: String) throws(FirebaseError) -> String {
        guard let number = normalized(text) else {
            throw FirebaseError(
                "INVALID_PHONE_NUMBER", "Invalid format.",
                because: "\(Diagnosis.quote(text)) isn't a phone number in E.164 format: a plus sign and digits")
        }
        return number
    }

    static func normalized(_ text: String) -> String? {
        guard text.utf8.first == UInt8(ascii: "+"), text.utf8.count <= longest else { return nil }
        var number = "+"
        for byte in text.utf8.dropFirst() {
            switch byte {
            case 0x30...0x39: number.unicodeScalars.append(Unicode.Scalar(byte))
            case 0x41...0x5A, 0x61...0x7A: number.unicodeScalars.append(Unicode.Scalar(keys[Int(byte | 0x20) - 0x61]))
            case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "("), UInt8(ascii: ")"): continue
            default: return nil
            }
        }
        // No country code begins with a zero.
        guard !number.hasPrefix("+0"), TextRule.phoneNumber.holds(number) else { return nil }
        return number
    }

    /// The greatest length of a phone number with its separators. No real number is as long.
    private static let longest = 64
    /// For each letter from A to Z, the digit of the telephone key on which it is printed.
    private static let keys = Array("22233344455566677778889999".utf8)
}

/// The regions to whose phone numbers a project or tenant sends text messages, as in `smsRegionConfig` of its
/// configuration. Phone numbers for tests must be in these regions, too. Production's answers were recorded in
/// September 2026 as `other-fields#send-us-under-allowlist` and `#send-us-under-denylist`:
/// https://github.com/t-k/fireemu, conformance/auth-config-sdk-production.json.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/SmsRegionConfig>
struct SMSRegions: Sendable {
    private let config: JSONValue?

    init(_ config: JSONValue?) { self.config = config }

    /// Checks that the project or tenant sends text messages to the region of a phone number in E.164's form.
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
                "the phone number's region is \(region ?? "unknown"), which smsRegionConfig of the project or tenant "
                + "doesn't allow")
    }
}

struct SeededSMSRegions: SchemaObject {
    private static let region = TextRule(about: "a region of ISO 3166, two capital letters", pattern: "[A-Z]{2}") {
        $0.utf8.count == 2 && $0.utf8.allSatisfy { (0x41...0x5A).contains($0) }
    }

    /// The regions for text messages, in the form of `smsRegionConfig` in Google's API.
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

/// The table of country calling codes and their regions, from <https://www.itu.int/pub/T-SP-E.164D>. The area codes of
/// North America are from <https://nationalnanpa.com>.
private enum CallingCodes {
    /// Returns the region (as in ISO 3166) of a phone number in E.164's form; `nil` if the calling code isn't assigned
    /// to a region.
    static func region(of number: String) -> String? {
        let digits = number.dropFirst()
        for length in stride(from: 7, through: 1, by: -1) {
            if let region = regions[String(digits.prefix(length))] { return region }
        }
        return nil
    }

    /// The region for each prefix of a phone number. The longest prefix counts: `1` is the United States, `1416` is in
    /// Canada.
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
