import Foundation
import JOSE
import TestSupport
import Testing

@Suite("Passkeys")
struct PasskeyTests {
    @Test("a user enrols one and signs in with it", arguments: [Algorithm.es256, .rs256])
    func signIn(_ algorithm: Algorithm) throws {
        let client = try PasskeyClient()
        let authenticator = try SoftwareAuthenticator(algorithm)
        let enrolled = try client.enrol(authenticator, name: "Ada's phone")
        #expect(enrolled["localId"] == client.localId)
        #expect((enrolled.claims()["firebase"] as? [String: Any])?["sign_in_provider"] as? String == "passkey")
        let known = try client.fixture.lookup(client.idToken)["passkeyInfo"] as? [[String: String]]
        #expect(known == [["credentialId": authenticator.credentialID, "name": "Ada's phone"]])
        authenticator.signCount = 2
        let signedIn = try client.signIn(authenticator, userHandle: client.localId)
        #expect(signedIn.status == 200)
        #expect(signedIn.claims()["sub"] as? String == client.localId)
        #expect((signedIn.claims()["firebase"] as? [String: Any])?["sign_in_provider"] as? String == "passkey")
        #expect(try client.fixture.refresh(signedIn["refreshToken"]).status == 200)
    }

    @Test("the options say who asks, for whom, and which keys are taken")
    func options() throws {
        let client = try PasskeyClient()
        let authenticator = try SoftwareAuthenticator()
        _ = try client.enrol(authenticator)
        let options = try client.start()
        #expect((options["rp"] as? [String: String])?["id"] == "localhost")
        let user = options["user"] as? [String: String]
        #expect(Base64.decode(user?["id"] ?? "") == Array(client.localId.utf8))
        #expect(user?["name"] == "ada@example.org")
        #expect((options["pubKeyCredParams"] as? [[String: Any]])?.compactMap { $0["alg"] as? Int } == [-7, -257])
        #expect(options["attestation"] as? String == "none")
        let excluded = (options["excludeCredentials"] as? [[String: String]])?.compactMap { $0["id"] }
        #expect(excluded == [Base64.encode(authenticator.id)])
        let challenge = try #require(options["challenge"] as? String)
        #expect(challenge.count == 44 && challenge.hasSuffix("="))
        let request = try client.fixture.v2("accounts/passkeySignIn:start", [:]).json["credentialRequestOptions"]
        #expect((request as? [String: Any])?["rpId"] as? String == "localhost")
        #expect((request as? [String: Any])?["userVerification"] as? String == "required")
    }

    @Test("Apple's SDK writes bytes in base64")
    func standardBase64() throws {
        let client = try PasskeyClient()
        let authenticator = try SoftwareAuthenticator()
        func standard(_ value: Any) -> Any {
            if let text = value as? String, let bytes = Base64URL.decode(text), bytes.count > 3 {
                return Base64.encode(bytes)
            }
            return (value as? [String: Any])?.mapValues(standard) ?? value
        }
        let made = try authenticator.registration(client.start()["challenge"] as? String ?? "")
        #expect(try client.enrol(standard(made.filter { $0.key != "type" }) as? [String: Any] ?? [:]).status == 200)
        authenticator.signCount = 2
        let proof = try authenticator.assertion(client.challenge(), userHandle: client.localId)
        #expect(try client.signIn(standard(proof.filter { $0.key != "type" }) as? [String: Any] ?? [:]).status == 200)
        let deleted = try client.fixture.v1(
            "update", ["idToken": client.idToken, "deletePasskey": [Base64.encode(authenticator.id)]])
        #expect(deleted["idToken"] != nil && deleted["refreshToken"] != nil)
        #expect(try client.fixture.lookup(client.idToken)["passkeyInfo"] == nil)
    }

    @Test("the names of Google's discovery document are understood, too")
    func discoveryNames() throws {
        let client = try PasskeyClient()
        let authenticator = try SoftwareAuthenticator()
        func renamed(_ response: [String: Any], _ name: String) -> [String: Any] {
            var fields = response["response"] as? [String: Any] ?? [:]
            fields["clientDataJson"] = fields.removeValue(forKey: "clientDataJSON")
            return ["credentialId": response["id"] ?? "", "credentialType": "public-key", name: fields]
        }
        let made = try authenticator.registration(client.start()["challenge"] as? String ?? "")
        #expect(try client.enrol(renamed(made, "authenticatorAttestationResponse")).status == 200)
        authenticator.signCount = 2
        let proof = try authenticator.assertion(client.challenge(), userHandle: client.localId)
        #expect(try client.signIn(renamed(proof, "authenticatorAssertionResponse")).status == 200)
    }

    @Test("attestation that the authenticator signs is verified")
    func attestation() throws {
        let client = try PasskeyClient()
        let signed = try SoftwareAuthenticator()
        signed.attestation = .packedSelf
        #expect(try client.enrol(signed).status == 200)
        let forged = try SoftwareAuthenticator(.rs256)
        forged.attestation = .packedForged
        #expect(try client.enrol(forged).errorCode == "INVALID_AUTHENTICATOR_RESPONSE")
        let unknown = try SoftwareAuthenticator()
        unknown.attestation = .other("tpm")
        #expect(try client.enrol(unknown).errorCode == "INVALID_AUTHENTICATOR_RESPONSE")
    }

    @Test("a passkey belongs to one user, and a user has ten at most")
    func limits() throws {
        let client = try PasskeyClient()
        let authenticator = try SoftwareAuthenticator()
        _ = try client.enrol(authenticator)
        #expect(try client.enrol(authenticator).message == "CREDENTIAL_ALREADY_IN_USE")
        for _ in 0..<9 { #expect(try client.enrol(SoftwareAuthenticator()).status == 200) }
        #expect(try client.enrol(SoftwareAuthenticator()).message == "PASSKEY_LIMIT_EXCEEDED")
    }

    @Test("who is disabled, or has deleted the passkey, doesn't sign in")
    func gone() throws {
        let client = try PasskeyClient()
        let authenticator = try SoftwareAuthenticator()
        _ = try client.enrol(authenticator)
        authenticator.signCount = 2
        _ = try client.fixture.admin("POST", "/accounts:update", ["localId": client.localId, "disableUser": true])
        #expect(try client.signIn(authenticator).message == "USER_DISABLED")
        _ = try client.fixture.admin("POST", "/accounts:update", ["localId": client.localId, "disableUser": false])
        _ = try client.fixture.admin(
            "POST", "/accounts:update", ["localId": client.localId, "deletePasskey": [authenticator.credentialID]])
        #expect(try client.signIn(authenticator).message == "PASSKEY_CREDENTIAL_NOT_FOUND")
    }

    @Test("where the real host was named, the web SDK's codes are answered")
    func hosted() throws {
        let client = try PasskeyClient()
        func hosted(_ path: String, _ body: [String: Any]) throws -> Answer {
            try client.fixture.client.request(
                "POST", "\(path)?key=\(FirebaseFixture.key)",
                headers: ["Host": "identitytoolkit.googleapis.com", "Content-Type": "application/json"],
                body: Array(try JSONSerialization.data(withJSONObject: body)))
        }
        let unknown = ["authenticatorAuthenticationResponse": ["id": "AAAA"]]
        #expect(try hosted("/v2/accounts/passkeySignIn:finalize", unknown).message == "PASSKEY_ENROLLMENT_NOT_FOUND")
        let idToken =
            try hosted("/v1/accounts:signUp", ["email": "bob@example.org", "password": "correct horse"])["idToken"]
            ?? ""
        let deletion: [String: Any] = ["idToken": idToken, "deletePasskey": ["AAAA"]]
        #expect(try hosted("/v1/accounts:update", deletion).message == "PASSKEY_ENROLLMENT_NOT_FOUND")
        let kept = try client.fixture.v1("update", ["idToken": client.idToken, "deletePasskey": ["AAAA"]])
        #expect(kept.status == 200)
    }

    @Test("a project says where passkeys are used")
    func settings() throws {
        let client = try PasskeyClient(
            seed: """
                {"firebase": {"projects": [{"id": "demo-app", "authorizedDomains": ["example.com", "app.example.com"],
                 "providers": {"passkey": {"enabled": true}}}]}}
                """)
        for (origin, isTaken) in [
            ("https://example.com", true), ("https://app.example.com", true), ("https://other.example.com", false),
            ("http://example.com", false), ("https://badexample.com", false),
            ("https://example.com.evil.example", false),
        ] {
            let authenticator = try SoftwareAuthenticator()
            (authenticator.relyingParty, authenticator.origin) = ("example.com", origin)
            #expect(try client.enrol(authenticator).status == (isTaken ? 200 : 400), "\(origin)")
        }
        let apps = try PasskeyClient(
            seed: """
                {"firebase": {"projects": [{"id": "demo-app", "providers": {"passkey":
                 {"rpId": "example.com", "expectedOrigins": ["android:apk-key-hash:abc"]}}}]}}
                """)
        let app = try SoftwareAuthenticator()
        (app.relyingParty, app.origin) = ("example.com", "android:apk-key-hash:abc")
        #expect(try apps.enrol(app).status == 200)
        app.origin = "https://example.com"
        #expect(try apps.enrol(app).status == 400)
        let disabled = try PasskeyClient(
            seed: #"{"firebase": {"projects": [{"id": "demo-app", "providers": {"passkey": {"enabled": false}}}]}}"#)
        #expect(try disabled.fixture.v2("accounts/passkeySignIn:start", [:]).message == "PASSKEY_NOT_ENABLED")
    }

    @Test("where fake credentials are taken, a name is a passkey")
    func fakes() throws {
        let fixture = try FirebaseFixture()
        let idToken = try fixture.v1("signUp", [:], key: "demo-unseeded")["idToken"] ?? ""
        func enrol(_ more: [String: Any]) throws -> Answer {
            try fixture.v2(
                "accounts/passkeyEnrollment:finalize", ["idToken": idToken].merging(more) { $1 }, key: "demo-unseeded")
        }
        #expect(try enrol(["authenticatorRegistrationResponse": ["id": "key_1"]]).status == 200)
        #expect(
            try enrol(["authenticatorRegistrationResponse": ["id": "key_1"]]).message == "CREDENTIAL_ALREADY_IN_USE")
        let lookup =
            try fixture.v1("lookup", ["idToken": idToken], key: "demo-unseeded").json["users"] as? [[String: Any]]
        #expect(
            lookup?.first?["passkeyInfo"] as? [[String: String]] == [
                ["credentialId": "key_1", "name": "Unnamed Passkey"]
            ])
        let proof = ["authenticatorAuthenticationResponse": ["id": "key_1"]]
        #expect(try fixture.v2("accounts/passkeySignIn:finalize", proof, key: "demo-unseeded")["idToken"] != nil)
        // A genuine passkey needs a genuine proof even there.
        let authenticator = try SoftwareAuthenticator()
        let start = try fixture.v2("accounts/passkeyEnrollment:start", ["idToken": idToken], key: "demo-unseeded")
        let challenge = (start.json["credentialCreationOptions"] as? [String: Any])?["challenge"] as? String ?? ""
        let genuine = try authenticator.registration(challenge)
        #expect(try enrol(["authenticatorRegistrationResponse": genuine]).status == 200)
        let named = ["authenticatorAuthenticationResponse": ["id": authenticator.credentialID]]
        #expect(
            try fixture.v2("accounts/passkeySignIn:finalize", named, key: "demo-unseeded").message
                == "INVALID_AUTHENTICATOR_RESPONSE")
    }
}
