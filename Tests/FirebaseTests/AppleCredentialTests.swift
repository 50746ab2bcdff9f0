import Foundation
import JOSE
import JSON
import TestSupport
import Testing

@Suite("Firebase: credentials of apple.com")
struct AppleCredentialTests {
    let fixture: FirebaseFixture
    private let raw = FirebaseFixture.rawNonce

    init() throws { fixture = try FirebaseFixture() }

    private func assert(_ idToken: String?, nonce: String?, _ more: [String: Any] = [:]) throws -> Answer {
        try fixture.assertion(FirebaseFixture.postBody("apple.com", idToken: idToken, nonce: nonce), more)
    }

    @Test("a token whose nonce is the raw nonce's SHA-256 signs in, with everything that the SDK reads")
    func signIn() throws {
        let credential = try fixture.apple()
        let user = #"{"name":{"firstName":"Jo An&e","lastName":"O+Ne%il"}}"#
        let answer = try fixture.assertion(
            FirebaseFixture.postBody("apple.com", idToken: credential["identityToken"], nonce: raw, user: user))
        #expect(answer.status == 200)
        #expect(answer["kind"] == "identitytoolkit#VerifyAssertionResponse")
        #expect(answer["providerId"] == "apple.com")
        #expect(answer["federatedId"]?.hasSuffix(credential["user"] ?? "?") ?? false)
        #expect(answer["email"] == "ada@example.com")
        #expect(answer.json["emailVerified"] as? Bool == true)
        #expect(answer["firstName"] == "Jo An&e")
        #expect(answer["lastName"] == "O+Ne%il")
        #expect(answer["displayName"] == "Jo An&e O+Ne%il")
        #expect(answer.json["photoUrl"] == nil)
        #expect(answer.json["isNewUser"] as? Bool == true)
        #expect(answer["expiresIn"] == "3600")
        #expect(answer["oauthIdToken"] == credential["identityToken"])
        #expect(answer["localId"]?.count == 28)
        let raw = try JSONSerialization.jsonObject(with: Data((answer["rawUserInfo"] ?? "").utf8)) as? [String: Any]
        #expect(raw?["sub"] as? String == credential["user"])
        let claims = answer.claims()
        #expect(claims["name"] as? String == "Jo An&e O+Ne%il")
        let firebase = claims["firebase"] as? [String: Any]
        #expect(firebase?["sign_in_provider"] as? String == "apple.com")
        #expect((firebase?["identities"] as? [String: [String]])?["apple.com"] == [credential["user"] ?? "?"])
        let looked = try fixture.lookup(answer["idToken"])
        #expect(looked["displayName"] as? String == "Jo An&e O+Ne%il")
    }

    @Test("the name comes the first time only, and a later sign-in changes nothing of the profile")
    func secondTime() throws {
        let first = try fixture.apple(nonce: FirebaseFixture.sha256("one"))
        _ = try fixture.assertion(
            FirebaseFixture.postBody(
                "apple.com", idToken: first["identityToken"], nonce: "one", user: #"{"name":{"firstName":"Ada"}}"#))
        let again = try fixture.apple(nonce: FirebaseFixture.sha256("two"))
        let answer = try assert(again["identityToken"], nonce: "two")
        #expect(answer.json["isNewUser"] == nil)
        #expect(answer["displayName"] == nil)
        #expect(try fixture.lookup(answer["idToken"])["displayName"] as? String == "Ada")
    }

    @Test("percent-encoded postBody, as web SDKs send it, and snake_case names")
    func otherForms() throws {
        let credential = try fixture.apple()
        let body = TestClient.encode([
            "providerId": "apple.com", "id_token": credential["identityToken"] ?? "", "nonce": raw,
        ])
        let answer = try fixture.v1(
            "signInWithIdp", ["request_uri": "http://localhost", "post_body": body, "return_secure_token": true])
        #expect(answer.status == 200, "\(answer)")
    }

    @Test("the nonce's decision table, in production's words")
    func nonces() throws {
        // If the token has no nonce, the request's is ignored, and the token works repeatedly.
        let plain = try fixture.apple(nonce: nil)["identityToken"]
        for nonce in [nil, "anything", nil] { #expect(try assert(plain, nonce: nonce).status == 200) }

        let token = try fixture.apple()["identityToken"]
        let missing = "MISSING_OR_INVALID_NONCE : Nonce is missing in the request."
        let duplicate =
            "MISSING_OR_INVALID_NONCE : Duplicate credential received. Please try again with a new credential."
        #expect(try assert(token, nonce: nil).message == missing)
        #expect(try assert(token, nonce: raw).status == 200)
        #expect(try assert(token, nonce: raw).message == duplicate)
        #expect(try assert(token, nonce: "wrong").message == duplicate)
        #expect(try assert(token, nonce: nil).message == missing)
        // A token minted again with the same nonce is the same credential.
        let minted = try fixture.apple()["identityToken"]
        #expect(try assert(minted, nonce: raw).message == duplicate)
        // A nonce that doesn't match is used up, too.
        let hash = FirebaseFixture.sha256("another")
        let other = try fixture.apple(nonce: hash)["identityToken"]
        let wrong = try assert(other, nonce: "wrong")
        #expect(
            wrong.message
                == "MISSING_OR_INVALID_NONCE : The nonce in ID Token \"\(hash)\" does not match the SHA256 hash of the raw nonce "
                + "\"wrong\" in the request.")
        #expect(try assert(other, nonce: "another").message == duplicate)
        // Another person's token may have the same nonce.
        let graces = try fixture.apple("grace")["identityToken"]
        #expect(try assert(graces, nonce: raw).status == 200)
    }

    @Test(
        "the diagnosis names the mistake",
        arguments: [
            ("raw", "the raw nonce itself was sent"),
            ("hash", "hash was given in place"),
            ("base64", "base64"), ("upper", "upper-case hex"), ("twice", "hashed twice"),
            ("other", "isn't made from this"),
        ])
    func mistakes(kind: String, wanted: String) throws {
        let hash = FirebaseFixture.sha256(raw)
        let (sent, given) =
            switch kind {
            case "raw": (raw, raw)
            case "hash": (hash, hash)
            case "base64": (Base64.encode(Digest.sha256(raw)), raw)
            case "upper": (hash.uppercased(), raw)
            case "twice": (FirebaseFixture.sha256(hash), raw)
            default: (FirebaseFixture.sha256("other"), raw)
            }
        let answer = try assert(fixture.apple(nonce: sent)["identityToken"], nonce: given)
        #expect(answer.errorCode == "MISSING_OR_INVALID_NONCE")
        #expect(answer.diagnosis.contains(wanted), "\(answer.diagnosis)")
    }

    // MARK: - Tokens that aren't right

    /// Returns an ID token signed with the seed's own key, with changed claims.
    private func token(
        _ changes: [String: JSONValue?], key: String = "apple-signing-3", kid: String = "SEEDkey003",
        alg: String = "RS256"
    ) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        var claims = JSONObject([
            ("iss", "https://appleid.apple.com"), ("aud", "com.example.app"), ("exp", .integer(now + 3600)),
            ("iat", .integer(now)), ("sub", "000001.0123456789abcdef.0001"),
        ])
        for (name, value) in changes { claims[name] = value }
        let signer = try Key(pem: Array(Repository.read("seed-data/keys/\(key).pem").utf8))
        return try JWS.mint(
            header: JSONObject([("kid", .string(kid)), ("alg", .string(alg))]), claims: claims, key: signer,
            algorithm: .rs256)
    }

    @Test("every other check, in production's words, with a diagnosis")
    func checks() throws {
        let now = Int64(Date().timeIntervalSince1970)
        let signature = "INVALID_IDP_RESPONSE : Unable to verify the ID Token signature."
        let table: [(String, String, String)] = [
            ("nonsense", "INVALID_IDP_RESPONSE : Unable to parse the ID Token.", "can't be parsed"),
            (try token([:], key: "google-signing-1"), signature, "the signature isn't that key's"),
            (try token([:], kid: "unknown"), signature, "no key \"unknown\" is published"),
            (try token([:], alg: "HS256"), signature, "not RS256"),
            (
                try token(["iss": "https://accounts.google.com"]),
                "INVALID_IDP_RESPONSE : The issuer in ID Token https://accounts.google.com does not match the expected one in "
                    + "config: https://appleid.apple.com.", "wasn't issued by this provider"
            ),
            (
                try token(["aud": "com.other"]),
                "INVALID_IDP_RESPONSE : The audience in ID Token [com.other] does not match the expected audience "
                    + "com.example.web.", "issued to another client ID"
            ),
            (
                try token(["sub": nil]),
                "INVALID_IDP_RESPONSE : ID Token does not contain user's identity in 'sub' claim: {", "no sub"
            ),
            (
                try token(["exp": .integer(now - 10), "iat": .integer(now - 100)]),
                "INVALID_IDP_RESPONSE : ID Token issued at \(now - 100) is stale to sign-in.", "expired"
            ),
            (
                try token(["iat": .integer(now + 3600), "exp": .integer(now + 7200)]),
                "INVALID_IDP_RESPONSE : ID Token issued at \(now + 3600) is stale to sign-in.", "in the future"
            ),
        ]
        for (token, message, diagnosis) in table {
            let answer = try assert(token, nonce: nil)
            #expect(answer.status == 400)
            #expect(answer.message.hasPrefix(message), "\(answer.message)")
            #expect(answer.diagnosis.contains(diagnosis), "\(answer.diagnosis)")
        }
        // A token with several audiences is accepted, and an old one that hasn't expired.
        #expect(try assert(token(["aud": ["com.example.app", "x"]]), nonce: nil).status == 200)
        #expect(try assert(token(["iat": .integer(now - 7200)]), nonce: nil).status == 200)
        // Apple writes Booleans as texts, too.
        let texts = try assert(
            token(["email": "x@example.org", "email_verified": "true", "sub": "000002.0123456789abcdef.0002"]),
            nonce: nil)
        #expect(texts.json["emailVerified"] as? Bool == true)
    }

    @Test("what is missing, and providers that aren't there")
    func missing() throws {
        #expect(
            try fixture.assertion("providerId=apple.com").message
                == "INVALID_CREDENTIAL_OR_PROVIDER_ID : Invalid IdP response/credential: http://localhost?providerId=apple.com"
        )
        #expect(try fixture.assertion("id_token=x").errorCode == "INVALID_CREDENTIAL_OR_PROVIDER_ID")
        #expect(
            try fixture.legacy("verifyAssertion", ["requestUri": "http://localhost"]).message
                == "INVALID_IDP_RESPONSE : A system error has occurred - missing or invalid postBody")
        #expect(
            try fixture.legacy("verifyAssertion", ["postBody": "providerId=apple.com"]).message == "MISSING_REQUEST_URI"
        )
        #expect(
            try fixture.assertion("providerId=apple.com&id_token=x&access_token=").message
                == "INVALID_IDP_RESPONSE : Invalid OAuth response from apple.com")
        for provider in ["twitter.com", "Apple.com", "oidc.x"] {
            #expect(
                try fixture.assertion("providerId=\(provider)&id_token=x").message
                    == "OPERATION_NOT_ALLOWED : The identity provider configuration is not found.")
        }
        let disabled = try FirebaseFixture(
            seed: #"{"firebase":{"projects":[{"id":"demo-app","providers":{"apple.com":{"enabled":false}}}]}}"#)
        #expect(
            try disabled.assertion("providerId=apple.com&id_token=x").message
                == "OPERATION_NOT_ALLOWED : The identity provider configuration is disabled.")
    }

    @Test("the key set is fetched anew after a rotation")
    func rotation() throws {
        #expect(try fixture.signInWithApple("ada").status == 200)
        _ = try fixture.client.post("\(FirebaseFixture.control)/apple/keys/rotate", json: [:])
        #expect(try fixture.signInWithApple("grace").status == 200)
    }

    @Test("keys that are still being made are waited for")
    func waiting() throws {
        let server = try FirebaseFixture(seed: #"{"apple":{"signingKeys":[]}}"#)
        #expect(try server.signInWithApple().status == 200)
    }
}
