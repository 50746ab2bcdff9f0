import Foundation
import JOSE
import JSON
import TestSupport
import Testing
import Time
import Understudy

@testable import EmulatorCore

/// Mails signed by dkimpy (`Fixtures/sign-mails.py`), and the specification's own.
@Suite("DKIM: signatures of mails")
struct DKIMTests {
    struct Signed: CustomTestStringConvertible, Sendable {
        let name: String
        let raw: [UInt8]

        var testDescription: String { name }
        var key: String { String(name.prefix { $0 != " " }) }
    }

    private struct Fixture {
        let keys: [String: String]
        let mails: [Signed]

        init() {
            let text = (try? Repository.read("Tests/EmulatorCoreTests/Fixtures/dkim.json")) ?? ""
            let json = (try? JSONValue(parsing: Array(text.utf8), limits: .file)) ?? [:]
            var keys: [String: String] = [:]
            for (name, value) in json["keys"]?.object?.members ?? [] { keys[name] = value.string }
            self.keys = keys
            mails = (json["mails"]?.array ?? []).map { mail in
                let raw = Data(base64Encoded: mail["mail"]?.string ?? "") ?? Data()
                return Signed(name: mail["name"]?.string ?? "", raw: Array(raw))
            }
        }
    }

    private static let fixture = Fixture()

    private static func mail(_ name: String) throws -> [UInt8] {
        try #require(fixture.mails.first { $0.name == name }).raw
    }

    private func verify(
        _ raw: [UInt8], keys: [String: String] = DKIMTests.fixture.keys, domain: String = "example.com",
        at now: Instant = Instant(seconds: 1_800_000_000) ?? .first
    ) -> [MailAuthentication] {
        let seeded = keys.map { selector, key in
            MailSettings.SigningKey(
                reading: ["domain": .string(domain), "selector": .string(selector), "publicKey": .string(key)])
        }
        return DKIMVerifier(keys: DKIMKeys(seeded), now: now).verify(raw)
    }

    private func replaced(_ raw: [UInt8], _ old: String, _ new: String) -> [UInt8] {
        let text = String(decoding: raw, as: UTF8.self)
        #expect(text.contains(old))
        return Array(text.replacingOccurrences(of: old, with: new).utf8)
    }

    @Test("what another signer signed holds", arguments: DKIMTests.fixture.mails.filter { $0.name != "below" })
    func others(mail: Signed) {
        let results = verify(mail.raw)
        #expect(results.map(\.result) == ["pass"], "\(results)")
        #expect(results.first?.domain == "example.com" && results.first?.isAligned == true)
        #expect(results.first?.reason == nil)
    }

    @Test("all of it was there") func fixtureIsWhole() { #expect(DKIMTests.fixture.mails.count == 67) }

    @Test("a mail that was changed on its way doesn't hold", arguments: DKIMTests.fixture.mails.prefix(60))
    func changed(mail: Signed) {
        var body = mail.raw
        body += Array("x\r\n".utf8)
        #expect(verify(body).first?.reason?.contains("body") == true)
        let header = replaced(mail.raw, "example.com>", "example.org>")
        #expect(verify(header).first?.result == "fail")
        #expect(verify(header).first?.isAligned == false)
    }

    /// <https://www.rfc-editor.org/rfc/rfc8463#appendix-A>
    private static let example = """
        DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;
         d=football.example.com; i=@football.example.com;
         q=dns/txt; s=brisbane; t=1528637909; h=from : to :
         subject : date : message-id : from : subject : date;
         bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;
         b=/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11Bus
         Fa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw==
        DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;
         d=football.example.com; i=@football.example.com;
         q=dns/txt; s=test; t=1528637909; h=from : to : subject :
         date : message-id : from : subject : date;
         bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;
         b=F45dVWDfMbQDGHJFlXUNB2HKfbCeLRyhDXgFpEL8GwpsRe0IeIixNTe3
         DhCVlUrSjV4BwcVcOF6+FF3Zo9Rpo1tFOeS9mPYQTnGdaSGsgeefOsk2Jz
         dA+L10TeYt9BgDfQNZtKdN1WO//KgIqXP7OdEFE4LjFYNcUxZQ4FADY+8=
        From: Joe SixPack <joe@football.example.com>
        To: Suzie Q <suzie@shopping.example.net>
        Subject: Is dinner ready?
        Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)
        Message-ID: <20030712040037.46341.5F8J@football.example.com>

        Hi.

        We lost the game.  Are you hungry yet?

        Joe.

        """.replacingOccurrences(of: "\n", with: "\r\n")

    @Test("empty lines at the end don't count, however many there are") func emptyLines() throws {
        let mails = DKIMTests.fixture.mails.filter { $0.name.contains("simple") || $0.name.contains("relaxed") }.prefix(
            4)
        #expect(mails.count == 4)
        let lines = (0..<2_000_000).map { UInt8($0 % 2 == 0 ? 0x0D : 0x0A) }
        for mail in mails { #expect(verify(mail.raw + lines).map(\.result) == ["pass"], "\(mail.name)") }
    }

    @Test("the specification's mail, signed twice")
    func specification() {
        let keys = [
            "brisbane": "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
            "test":
                "v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkHlOQoBTzWRiGs5V6NpP3idY6Wk08a5qhdR6wy5bdOKb2jLQiY/J16JYi0Qvx/byYzCNb3W91y3FutACDfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqMKrM3rG4hstT5QjvHO9PzoxZyVYLzBfO2EeC3Ip3G+2kryOTIKT+l/K4w3QIDAQAB",
        ]
        let raw = Array(DKIMTests.example.utf8)
        let results = verify(raw, keys: keys, domain: "football.example.com")
        #expect(results.map(\.result) == ["pass", "pass"])
        #expect(results.map(\.algorithm) == ["ed25519-sha256", "rsa-sha256"])
        #expect(results.map(\.selector) == ["brisbane", "test"])
        #expect(results.allSatisfy { $0.isAligned })
        // A further Subject was signed away.
        let spoofed = verify(
            Array("Subject: Other\r\n".utf8) + raw, keys: keys, domain: "football.example.com")
        #expect(spoofed.map(\.result) == ["fail", "fail"])
    }

    @Test("keys as people have them: the record, its p alone, PKCS#1, PEM")
    func keyForms() throws {
        let keys = DKIMTests.fixture.keys
        let mail = try DKIMTests.mail("rsa plain relaxed/relaxed")
        let bare = try #require(keys["rsa-bare"])
        let pem = "-----BEGIN PUBLIC KEY-----\n\(bare)\n-----END PUBLIC KEY-----\n"
        let inner = try #require(keys["rsa-inner"])
        for form in ["v=DKIM1; p=\(bare)", bare, inner, pem, " v=DKIM1 ;\r\n\tp=\(bare) ; t=y"] {
            #expect(verify(mail, keys: ["rsa": form]).map(\.result) == ["pass"], "\(form)")
        }
    }

    @Test("what isn't a key is refused, with the reason")
    func wrongKeys() throws {
        let reader = try KeyReader()
        let bare = try #require(DKIMTests.fixture.keys["rsa-bare"])
        let wrong = [
            ("v=DKIM1;", "missing"), ("p=*", "Base64"), ("v=DKIM2; p=\(bare)", "v=DKIM1"),
            ("p=\(bare); v=DKIM1", "v=DKIM1"),
            ("k=dsa; p=\(bare)", "rsa and ed25519"), ("k=ed25519; p=\(bare)", "32 bytes"),
            ("h=sha1; p=\(bare)", "hashes"),
            ("s=tlsrpt; p=\(bare)", "mail"), ("p=AAAA", "no public key"), ("p=\(bare); p=\(bare)", "twice"),
            ("-----BEGIN PRIVATE KEY-----", "PEM"),
        ]
        for (text, reason) in wrong {
            do {
                _ = try DKIMKey(text, reader: reader)
                Issue.record("\(text) is taken")
            } catch {
                #expect(error.description.contains(reason), "\(text): \(error.description)")
            }
        }
    }

    @Test("each way in which a signature doesn't do")
    func faults() throws {
        let mail = try DKIMTests.mail("rsa plain relaxed/relaxed")
        let key = try #require(DKIMTests.fixture.keys["rsa"])
        func result(_ old: String, _ new: String, key: String? = nil) -> String {
            let results = verify(replaced(mail, old, new), keys: ["rsa": key ?? DKIMTests.fixture.keys["rsa"] ?? ""])
            return "\(results.first?.result ?? "none"): \(results.first?.reason ?? "")"
        }
        #expect(result("s=rsa;", "s=other;").hasPrefix("neutral: the seed has no key other._domainkey.example.com"))
        #expect(result("v=1;", "v=2;").hasPrefix("permerror: the tag \"v\""))
        #expect(result("a=rsa-sha256;", "a=rsa-sha1;").contains("forbids SHA-1"))
        #expect(result("a=rsa-sha256;", "a=ed25519-sha256;").contains("isn't for ed25519"))
        #expect(result("c=relaxed/relaxed;", "c=strict;").contains("isn't known"))
        #expect(result("q=dns/txt;", "q=http;").contains("dns/txt"))
        #expect(result("i=@example.com;", "i=a@example.org;").contains("domain"))
        #expect(result("i=@example.com;", "i=example.com;").contains("no address"))
        #expect(result("c=relaxed/relaxed;", "c=relaxed/relaxed; l=-1;").contains("\"l\" is no number"))
        #expect(result("c=relaxed/relaxed;", "c=relaxed/relaxed; l=99999;").contains("more of the body"))
        #expect(result("c=relaxed/relaxed;", "c=relaxed/relaxed; x=99999999999999999999;").contains("no number"))
        #expect(result("c=relaxed/relaxed;", "c=relaxed/relaxed; x=1;").contains("before it was made"))
        #expect(result("d=example.com;", "").contains("\"d\" is missing"))
        #expect(result(" h=from", " h=to; z=").contains("From isn't signed"))
        #expect(result("b=", "b=*").contains("isn't Base64"))
        #expect(result("v=1;", "v=1; v=1;").contains("occurs twice"))
        #expect(result("v=1;", "v=1; what;").contains("no tag"))
        #expect(result("v=1;", "v=1; ", key: "v=DKIM1; p=").contains("withdrawn"))
        #expect(result("i=@example.com;", "i=@mail.example.com;", key: "\(key); t=s").contains("t=s"))
        #expect(verify(replaced(mail, "DKIM-Signature", "X-Signature")).isEmpty)
    }

    @Test("a signature holds until it expires, and for its own domain")
    func time() throws {
        let mail = try DKIMTests.mail("expires")
        let end = Instant(seconds: 2_000_000_000) ?? .first
        #expect(verify(mail, at: end - .seconds(1)).map(\.result) == ["pass"])
        #expect(verify(mail, at: end).map(\.result) == ["fail"])
        let below = verify(try DKIMTests.mail("below"), domain: "mail.example.com")
        #expect(below.map(\.result) == ["pass"])
        #expect(below.map(\.isAligned) == [false])
        let unknown = verify(try DKIMTests.mail("below"))
        #expect(unknown.map(\.result) == ["neutral"])
    }

    @Test("only five signatures are looked at")
    func many() throws {
        let mail = try DKIMTests.mail("rsa plain relaxed/relaxed")
        let text = String(decoding: mail, as: UTF8.self)
        let field = String(text.prefix(upTo: try #require(text.range(of: "\r\nFrom:")).lowerBound)) + "\r\n"
        let results = verify(Array(String(repeating: field, count: 99).utf8) + mail)
        #expect(results.map(\.result) == Array(repeating: "pass", count: 5) + ["policy"])
        #expect(results.last?.reason?.contains("100 signatures") == true)
    }

    @Test("keys in a seed: of several files, by file, and wrong ones")
    func seeds() throws {
        let keys = DKIMTests.fixture.keys
        func seed(_ entry: String) -> SeedInput { .json(#"{"mail":{"dkim":[\#(entry)]}}"#) }
        func entry(_ selector: String, _ key: String) -> String {
            #"{"domain":"example.com","selector":"\#(selector)","publicKey":"\#(key)"}"#
        }
        let wrong = try #require(keys["old"])
        let right = try #require(keys["rsa"])
        let merged = try SeedInput.load([seed(entry("rsa", wrong)), seed(entry("RSA", right))])
        let mail = try DKIMTests.mail("rsa plain relaxed/relaxed")
        #expect(DKIMVerifier(merged, at: .first).verify(mail).map(\.result) == ["pass"])
        #expect(merged.verifiesMail(of: "example.com") && !merged.verifiesMail(of: "mail.example.com"))
        #expect(merged.document["mail"]?["dkim"]?.array?.count == 2)

        for (text, place, reason) in [
            (entry("s", "p=*"), "$.mail.dkim[0].publicKey", "isn't Base64"),
            (#"{"domain":"example.com","selector":"s"}"#, "$.mail.dkim[0]", "publicKeyFile"),
            (
                #"{"domain":"example.com","selector":"s","publicKeyFile":"none.pem"}"#, "$.mail.dkim[0].publicKeyFile",
                "can't be read"
            ),
            (#"{"domain":"a b","selector":"s","publicKey":"\#(right)"}"#, "$.mail.dkim[0].domain", "identifier"),
        ] {
            let issues = #expect(throws: StartError.self) { try SeedInput.load([seed(text)]) }
            #expect(
                issues?.description.contains(place) == true && issues?.description.contains(reason) == true,
                "\(issues?.description ?? "")")
        }

        let folder = FileManager.default.temporaryDirectory.appending(path: "dkim-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try right.write(to: folder.appending(path: "key.txt"), atomically: true, encoding: .utf8)
        let named = try SeedInput.load([
            .json(
                #"{"mail":{"dkim":[{"domain":"example.com","selector":"rsa","publicKeyFile":"key.txt"}]}}"#,
                directory: folder.path())
        ])
        #expect(DKIMVerifier(named, at: .first).verify(mail).map(\.result) == ["pass"])
    }

    @Test("garbage is no signature, and no harm")
    func garbage() {
        for text in [
            "", "\r\n", "DKIM-Signature:", "DKIM-Signature: \r\n\r\n", "DKIM-Signature: ;;;=\r\n",
            " a\r\nDKIM-Signature: b",
            "DKIM-Signature: v=1; a=rsa-sha256; b=; bh=; d=; s=; h=\r\n\r\n", "DKIM-Signature : v=1\n\nx",
        ] {
            #expect(verify(Array(text.utf8)).allSatisfy { $0.result == "permerror" && $0.reason != nil })
        }
    }
}
