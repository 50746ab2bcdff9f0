import Foundation
import TestSupport
import Testing

extension ScenarioWalk {
    static let accounts: [ScenarioWalk] = [
        ScenarioWalk(name: "hidden-email-off") { (client, _) throws in
            let answer = try native(client, "grace")
            #expect(answer["email"] == nil, "she has signed in before")
            let address = claims(answer)["email"] as? String ?? ""
            let decision = try client.get(
                "\(control)/apple/relay?from=noreply@demo-app.firebaseapp.com&to=\(address)")
            #expect(decision["reason"] == "switchedOff", "\(decision)")
        } correct: { (client) throws in
            let raw = UUID().uuidString
            let credential = try native(client, "grace", nonce: FirebaseFixture.sha256(raw))
            let body = FirebaseFixture.postBody("apple.com", idToken: credential["identityToken"], nonce: raw)
            #expect(try identity(client, body)["idToken"] != nil)
        },
        ScenarioWalk(name: "credential-already-linked") { (client, _) throws in
            #expect(try link(client)["errorMessage"] == "FEDERATED_USER_ID_ALREADY_LINKED")
        } correct: { (client) throws in
            // The SDKs do so with the updated credential of the error.
            let refused = try link(client)
            let body = FirebaseFixture.postBody("google.com", idToken: refused["oauthIdToken"])
            let signedIn = try identity(client, body, ["pendingToken": refused["pendingToken"] ?? ""])
            #expect(signedIn["localId"] == "scenario-already-linked", "\(signedIn)")
        },
        ScenarioWalk(name: "second-factor") { (client, _) throws in
            let answer = try password(client)
            #expect(answer["idToken"] == nil && answer["mfaPendingCredential"] != nil, "\(answer)")
        } correct: { (client) throws in
            let signedIn = try resolve(try password(client), client)
            #expect(signedIn["idToken"] != nil, "\(signedIn)")
            // A client may change the user: the next time, it is as before.
            let changed = try toolkit(
                "v1/accounts:update", ["idToken": signedIn["idToken"] ?? "", "password": "another password"], client)
            #expect(changed["idToken"] != nil || changed["localId"] != nil, "\(changed)")
        },
    ]

    private static func link(_ client: TestClient) throws -> Answer {
        let user = try toolkit("v1/accounts:signUp", ["returnSecureToken": true], client)
        let credential = try client.post(
            "\(control)/google/authorizations",
            json: ["client": "example.apps.googleusercontent.com", "account": "ada"])
        let body = FirebaseFixture.postBody("google.com", idToken: credential["idToken"])
        return try identity(client, body, ["idToken": user["idToken"] ?? ""])
    }

    private static func password(_ client: TestClient) throws -> Answer {
        try toolkit(
            "v1/accounts:signInWithPassword",
            [
                "email": "second-factor@example.com", "password": "second-factor-for-tests", "returnSecureToken": true,
            ], client)
    }

    /// Enters the code that was sent to the phone.
    private static func resolve(_ first: Answer, _ client: TestClient) throws -> Answer {
        let hint = try #require((first.json["mfaInfo"] as? [[String: Any]])?.first)
        let pending = first["mfaPendingCredential"] ?? ""
        let started = try toolkit(
            "v2/accounts/mfaSignIn:start",
            [
                "mfaPendingCredential": pending, "mfaEnrollmentId": hint["mfaEnrollmentId"] ?? "",
                "phoneSignInInfo": [String: String](),
            ], client)
        let session = (started.json["phoneResponseInfo"] as? [String: Any])?["sessionInfo"] as? String ?? ""
        let codes = try client.get("/emulator/v1/projects/demo-app/verificationCodes").json["verificationCodes"]
        let code = (codes as? [[String: Any]])?.last?["code"] as? String ?? ""
        return try toolkit(
            "v2/accounts/mfaSignIn:finalize",
            [
                "mfaPendingCredential": pending, "phoneVerificationInfo": ["sessionInfo": session, "code": code],
            ], client)
    }

    // MARK: - OpenID Connect

    static let openID: [ScenarioWalk] = [
        ScenarioWalk(name: "openid-audience-list") { (client, _) throws in
            #expect(try openID(client)["aud"] as? [String] == ["web", "https://backend.example"])
        },
        ScenarioWalk(name: "openid-clock-ahead") { (client, _) throws in
            let before = Date().timeIntervalSince1970
            let issued = try openID(client)["iat"] as? Double ?? 0
            #expect((before - 1...Date().timeIntervalSince1970 + 1).contains(issued - 300))
        },
        ScenarioWalk(name: "openid-missing-email") { (client, _) throws in
            let claims = try openID(client)
            #expect(claims["email"] == nil && claims["sub"] != nil)
        },
        ScenarioWalk(name: "openid-nonce-mismatch", lasts: true) { (client, _) throws in
            let wrong = try openIDNonces(client)
            #expect(wrong.allSatisfy { $0.got != $0.sent } && wrong[0].got != wrong[1].got, "\(wrong)")
        } correct: { (client) throws in
            let right = try openIDNonces(client)
            #expect(right.allSatisfy { $0.got == $0.sent }, "\(right)")
        },
        ScenarioWalk(
            name: "openid-rotated-key",
            before: { ["keys": try keys("/login.corp.example/jwks", $0).joined(separator: " ")] }
        ) { (client, values) throws in
            let first = kid(try Site.signIn(at: "openid", client)["id_token"] ?? "")
            #expect((values["keys"] ?? "").contains(first), "the first sign-in goes as always")
            let second = kid(try Site.signIn(at: "openid", client)["id_token"] ?? "")
            #expect(first != second)
            #expect(try keys("/login.corp.example/jwks", client) == [second])
        } correct: { (client) throws in
            let known = try keys("/login.corp.example/jwks", client)
            #expect(known.contains(kid(try Site.signIn(at: "openid", client)["id_token"] ?? "")))
        },
        ScenarioWalk(name: "openid-logout-fails", lasts: true) { (client, _) throws in
            #expect(try logoutKey(client) == false)
        } correct: { (client) throws in
            #expect(try logoutKey(client) == true)
        },
    ]

    private static func openIDNonces(_ client: TestClient) throws -> [(sent: String, got: String)] {
        try (0..<2).map { _ in
            let nonce = UUID().uuidString
            let signedIn = try Site.signIn(at: "openid", client, more: ["nonce": nonce])
            return (sent: nonce, got: claims(signedIn)["nonce"] as? String ?? "")
        }
    }

    /// Whether the last logout token that the client got is signed with a published key.
    private static func logoutKey(_ client: TestClient) throws -> Bool {
        let hint = try Site.signIn(at: "openid", client)["id_token"] ?? ""
        #expect(try client.get("/login.corp.example/logout?id_token_hint=\(hint)").text.contains("Signed out"))
        let recorded = try client.get("\(control)/requests?host=127.0.0.1").json["requests"] as? [[String: Any]]
        let body = (recorded?.last?["request"] as? [String: Any])?["body"] as? String ?? ""
        let token = Answer.fields(body)["logout_token"] ?? ""
        return try keys("/login.corp.example/jwks", client).contains(kid(token))
    }
}
