import Foundation
import TestSupport
import Testing

@Suite("Firebase: ID tokens and refresh tokens")
struct IDTokenTests {
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    private let keysPath = "/www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"
    private let certificatesPath = "/www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"

    private func signed() throws -> String {
        try fixture.hosted("signUp", ["email": "a@example.org", "password": "secret!"])["idToken"] ?? ""
    }

    @Test("unsigned in emulator mode, RS256 where the real host is named; the seed can force either")
    func signatures() throws {
        func algorithm(_ token: String?) -> String? {
            let head = (token ?? "").split(separator: ".").first.map(String.init) ?? ""
            let padded = head + String(repeating: "=", count: (4 - head.count % 4) % 4)
            let object = Data(base64Encoded: padded).flatMap { try? JSONSerialization.jsonObject(with: $0) }
            return (object as? [String: Any])?["alg"] as? String
        }
        let plain = try fixture.signUpAnonymously()["idToken"]
        #expect(algorithm(plain) == "none")
        #expect(plain?.hasSuffix(".") ?? false)
        #expect(algorithm(try signed()) == "RS256")
        let subdomain = try fixture.hosted(
            "signUp", [:], host: "identitytoolkit.googleapis.com.localhost:\(fixture.client.port)")
        #expect(algorithm(subdomain["idToken"]) == "RS256")
        for (setting, wanted) in [("RS256", "RS256"), ("none", "none")] {
            let forced = try FirebaseFixture(
                seed: #"{"firebase":{"projects":[{"id":"demo-app","idTokenSignature":"\#(setting)"}]}}"#)
            #expect(algorithm(try forced.signUpAnonymously()["idToken"]) == wanted)
            #expect(algorithm(try forced.hosted("signUp", [:])["idToken"]) == wanted)
        }
        // If tokens are signed, an unsigned one is refused.
        let refused = try fixture.hosted("lookup", ["idToken": plain ?? ""])
        #expect(refused.message == "INVALID_ID_TOKEN")
        #expect(refused.diagnosis.contains("unsigned"))
        #expect(try fixture.v1("lookup", ["idToken": signed()]).status == 400)
    }

    @Test("PyJWT verifies it through our key set, and refuses a tampered one", .pyJWT)
    func keySet() throws {
        let keys = try fixture.client.get(keysPath).text
        let text = try signed()
        let verdicts = try TokenVerifier.verify(
            [text, "\(text.dropLast(4))AAAA"].map {
                try .init(
                    $0, keys: keys, audience: "demo-app", issuer: "https://securetoken.google.com/demo-app",
                    requires: ["iss", "sub", "aud", "exp", "iat", "auth_time", "user_id"])
            })
        let claims = try #require(verdicts[0].claims, "\(verdicts[0])")
        #expect(claims["aud"] as? String == "demo-app")
        #expect(claims["sub"] as? String == claims["user_id"] as? String)
        #expect(claims["email"] as? String == "a@example.org")
        #expect((claims["firebase"] as? [String: Any])?["sign_in_provider"] as? String == "password")
        #expect(verdicts[1].refusal == "InvalidSignatureError", "\(verdicts[1])")
    }

    @Test("openssl verifies it with our certificate")
    func certificate() throws {
        let certificates = try fixture.client.get(certificatesPath).json
        let certificate = try #require(certificates["seed-firebase-1"] as? String)
        let folder = FileManager.default.temporaryDirectory.appending(path: "firebase-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let parts = try signed().split(separator: ".").map(String.init)
        let base64 = parts[2].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        let signature = try #require(
            Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4)))
        try Data(certificate.utf8).write(to: folder.appending(path: "c.pem"))
        try signature.write(to: folder.appending(path: "s"))
        try Data("\(parts[0]).\(parts[1])".utf8).write(to: folder.appending(path: "t"))
        let key = try Shell.run("openssl", ["x509", "-in", "\(folder.path())/c.pem", "-pubkey", "-noout"])
        try Data(key.output.utf8).write(to: folder.appending(path: "k.pem"))
        let verdict = try Shell.run(
            "openssl",
            [
                "dgst", "-sha256", "-verify", "\(folder.path())/k.pem", "-signature", "\(folder.path())/s",
                "\(folder.path())/t",
            ])
        #expect(verdict.output.contains("Verified OK"))
        let own = try Shell.run(
            "openssl", ["verify", "-check_ss_sig", "-CAfile", "\(folder.path())/c.pem", "\(folder.path())/c.pem"])
        #expect(own.output.contains("OK"))
        // The certificate is the same each time.
        #expect(try fixture.client.get(certificatesPath).json["seed-firebase-1"] as? String == certificate)
    }

    @Test("refresh: JSON in camel case as the Apple SDK sends it, a form as others do")
    func refresh() throws {
        let user = try fixture.signUp("a@example.org")
        let json = try fixture.client.post(
            "/securetoken.googleapis.com/v1/token?key=\(FirebaseFixture.key)",
            json: ["grantType": "refresh_token", "refreshToken": user["refreshToken"] ?? ""])
        let form = try fixture.refresh(user["refreshToken"])
        let old = try fixture.client.post(
            "/www.googleapis.com/v1/token?key=\(FirebaseFixture.key)",
            form: ["grant_type": "refresh_token", "refresh_token": user["refreshToken"] ?? ""])
        for answer in [json, form, old] {
            #expect(answer.status == 200)
            #expect(answer["access_token"] == answer["id_token"])
            #expect(answer["expires_in"] == "3600")
            #expect(answer["token_type"] == "Bearer")
            #expect(answer["user_id"] == user["localId"])
            #expect(answer["refresh_token"] == user["refreshToken"])
            #expect(answer["project_id"]?.allSatisfy(\.isNumber) ?? false)
        }
        let path = "/securetoken.googleapis.com/v1/token?key=\(FirebaseFixture.key)"
        for (body, wanted) in [
            ([:], "MISSING_GRANT_TYPE"), (["grantType": "authorization_code"], "INVALID_GRANT_TYPE"),
            (["grantType": "refresh_token"], "MISSING_REFRESH_TOKEN"),
            (["grantType": "refresh_token", "refreshToken": "x"], "INVALID_REFRESH_TOKEN"),
        ] {
            let answer = try fixture.client.post(path, json: body)
            #expect(answer.status == 400)
            #expect(answer.message == wanted)
            #expect((answer.json["error"] as? [String: Any])?["status"] as? String == "INVALID_ARGUMENT")
            #expect((answer.json["error"] as? [String: Any])?["errors"] == nil)
            #expect(!answer.diagnosis.isEmpty)
        }
    }

    @Test("tokens that aren't, are another's, or are over")
    func refusals() throws {
        let user = try fixture.signUp("a@example.org")
        let idToken = user["idToken"] ?? ""
        #expect(try fixture.v1("lookup", [:]).message == "MISSING_ID_TOKEN")
        for token in [
            "x", "e30.e30.", user["refreshToken"] ?? "", idToken + "AAAA", try fixture.apple()["identityToken"] ?? "",
        ] {
            let answer = try fixture.v1("lookup", ["idToken": token])
            #expect(answer.message == "INVALID_ID_TOKEN")
            #expect(!answer.diagnosis.isEmpty)
        }
        let other = try FirebaseFixture(seed: #"{"firebase":{"projects":[{"id":"other","apiKeys":["other-key"]}]}}"#)
        let mine = try other.signUp("a@example.org")["idToken"] ?? ""
        #expect(
            try other.v1("lookup", ["idToken": mine], key: "other-key").diagnosis.contains("not of project \"other\""))
        try fixture.advance("3890s")
        // It is still accepted five minutes after its end (auth-credential/expiry/one-hour, steps
        // lookup-at-exp-plus-299 and -300).
        #expect(try fixture.v1("lookup", ["idToken": idToken]).status == 200)
        try fixture.advance("10s")
        #expect(try fixture.v1("lookup", ["idToken": idToken]).diagnosis.contains("expired"))
        let fresh = try fixture.refresh(user["refreshToken"])
        #expect(try fixture.v1("lookup", ["idToken": fresh["id_token"] ?? ""]).status == 200)
        // A new password ends the earlier sessions.
        let again = try fixture.v1("signInWithPassword", ["email": "a@example.org", "password": "correct horse"])
        try fixture.advance("10s")
        let changed = try fixture.v1("update", ["idToken": again["idToken"] ?? "", "password": "new password"])
        #expect(changed.status == 200)
        #expect(try fixture.v1("lookup", ["idToken": again["idToken"] ?? ""]).message == "TOKEN_EXPIRED")
        #expect(try fixture.refresh(again["refreshToken"]).message == "TOKEN_EXPIRED")
        #expect(try fixture.v1("lookup", ["idToken": changed["idToken"] ?? ""]).status == 200)
        _ = try fixture.v1("delete", ["idToken": changed["idToken"] ?? ""])
        #expect(try fixture.v1("lookup", ["idToken": changed["idToken"] ?? ""]).message == "USER_NOT_FOUND")
        #expect(try fixture.refresh(changed["refreshToken"]).message == "INVALID_REFRESH_TOKEN")
    }

    @Test("the note on an unknown API key names a similar key only of the project that the key stands for")
    func similarKeys() throws {
        let seeded = try FirebaseFixture(seed: #"{"firebase": {"unknownKeys": "accept"}}"#)
        #expect(try seeded.v1("signUp", [:], key: "demo_api_key").note.contains(#"did you mean "demo-api-key"?"#))
        let other = try FirebaseFixture(
            seed: #"{"firebase": {"unknownKeys": "accept", "defaultProject": "shop-prod"}}"#)
        let accepted = try other.v1("signUp", [:], key: "fake-api-key")
        #expect(accepted.status == 200 && !accepted.note.contains("did you mean"), "\(accepted)")
    }

    @Test("API keys: missing, unknown, by header; a project whose ID begins with demo- comes into being")
    func apiKeys() throws {
        let fixture = try FirebaseFixture(seed: #"{"firebase": {"unknownKeys": "refuse"}}"#)
        let missing = try fixture.client.post("\(FirebaseFixture.toolkit)/v1/accounts:signUp", json: [:])
        #expect(missing.status == 403)
        #expect(missing.message.hasPrefix("Method doesn't allow unregistered callers"))
        let unknown = try fixture.v1("signUp", [:], key: "demo_api_key")
        #expect(unknown.status == 400)
        #expect(unknown.message == "API key not valid. Please pass a valid API key.")
        #expect(unknown.diagnosis.contains("demo-api-key"))
        let details = (unknown.json["error"] as? [String: Any])?["details"] as? [[String: Any]]
        #expect(details?.first?["reason"] as? String == "API_KEY_INVALID")
        let header = try fixture.client.request(
            "POST", "\(FirebaseFixture.toolkit)/v1/accounts:signUp", headers: ["X-Goog-Api-Key": FirebaseFixture.key])
        #expect(header.status == 200)
        let demo = try fixture.v1("signUp", [:], key: "demo-fresh")
        #expect(demo.claims()["aud"] as? String == "demo-fresh")
    }
}
