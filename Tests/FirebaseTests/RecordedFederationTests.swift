import Foundation
import TestSupport
import Testing

/// Production's recorded answers: auth-federation-production.json; see RecordedCalls.swift.
@Suite("Firebase: providers' identities as production was recorded")
struct RecordedFederationTests {
    private let fixture: FirebaseFixture

    init() throws {
        fixture = try FirebaseFixture(
            seed: """
                {"firebase":{"projects":[{"id":"demo-app","number":"\(FirebaseFixture.number)",
                 "providers":{"password":{},"oidc.run":{\(OpenIDCredentialTests.client)}}}]}}
                """)
    }

    /// Signs in with an identity of our own issuer's that has these claims.
    private func signIn(_ claims: [String: Any], _ more: [String: Any] = [:]) throws -> Answer {
        let own: [String: Any] = ["email": NSNull(), "email_verified": NSNull(), "name": NSNull(), "picture": NSNull()]
        let token = try fixture.client.post(
            "\(FirebaseFixture.control)/tokens",
            json: [
                "provider": "google", "client": "example.apps.googleusercontent.com", "account": "ada",
                "claims": own.merging(claims) { $1 },
            ])
        let body: [String: Any] = [
            "requestUri": "http://localhost", "returnSecureToken": true, "returnIdpCredential": true,
            "postBody": "providerId=oidc.run&id_token=\(token["token"] ?? "\(token)")",
        ]
        return try fixture.app("v1/accounts:signInWithIdp", body.merging(more) { $1 })
    }

    @Test("a refused link is answered with the credential, and the address comes before the provider")
    func links() throws {
        let first = try signIn(["sub": "first", "email": "first@example.com", "email_verified": true])
        #expect(first.status == 200, "\(first)")
        _ = try fixture.accounts("", ["email": "taken@example.com", "password": "password123"])
        let idToken = ["idToken": first["idToken"] ?? ""]
        // link#link-second, #link-taken-email
        for (claims, code, isVerified) in [
            (["sub": "second"], "PROVIDER_ALREADY_LINKED", false),
            (["sub": "taken", "email": "taken@example.com", "email_verified": true], "EMAIL_EXISTS", true),
        ] as [([String: Any], String, Bool)] {
            let refused = try signIn(claims, idToken)
            #expect(refused.status == 200 && refused["errorMessage"] == code, "\(refused)")
            #expect(
                Set(refused.json.keys).subtracting(["email"]) == [
                    "errorMessage", "federatedId", "providerId", "emailVerified", "oauthIdToken", "rawUserInfo", "kind",
                    "pendingToken",
                ])
            #expect(refused.json["emailVerified"] as? Bool == isVerified)
            #expect(!refused.diagnosis.isEmpty)
        }
        // link#link-linked-elsewhere-without-credential
        let without = try signIn(["sub": "second"], ["idToken": first["idToken"] ?? "", "returnIdpCredential": false])
        #expect(without.status == 400 && without.message == "PROVIDER_ALREADY_LINKED", "\(without)")
    }

    @Test("emailVerified is told where there is no address, and where the user hasn't got it")
    func verification() throws {
        // accounts/new#without-email, #unverified-email
        #expect(try signIn(["sub": "none"]).json["emailVerified"] as? Bool == false)
        let unverified = try signIn(["sub": "u", "email": "u@example.com", "email_verified": false])
        #expect(unverified.json["emailVerified"] as? Bool == false)
        // duplicate-email#sign-in-with-duplicates-allowed
        _ = try fixture.owner(
            "PATCH", "admin/v2/projects/demo-app/config?updateMask=signIn.allowDuplicateEmails",
            ["signIn": ["allowDuplicateEmails": true]])
        _ = try fixture.accounts("", ["email": "shared@example.com", "password": "password123"])
        let shared = try signIn(["sub": "shared", "email": "shared@example.com", "email_verified": true])
        #expect(shared.json["emailVerified"] as? Bool == true, "\(shared)")
        #expect(shared.claims()["email"] == nil)
    }

    @Test("a pending token works more than once")
    func pendingTokens() throws {
        let first = try signIn(["sub": "pending"])
        // pending-token#pending-token, #pending-token-again
        for _ in 0..<2 {
            let again = try fixture.app(
                "v1/accounts:signInWithIdp",
                [
                    "requestUri": "http://localhost", "pendingToken": first["pendingToken"] ?? "",
                    "returnSecureToken": true,
                ])
            #expect(again["localId"] == first["localId"], "\(again)")
        }
    }
}
