import Foundation
import TestSupport
import Testing

/// Malicious input at Firebase's, Google's and Facebook's addresses.
@Suite("Hostile input at Firebase, Google and Facebook")
struct FirebaseHostileInputTests {
    private static let shared = Result { try FirebaseFixture() }
    private var fixture: FirebaseFixture { get throws { try FirebaseHostileInputTests.shared.get() } }

    private func expectAlive() throws {
        #expect(try fixture.client.get("/_understudy/v1/health").status == 200)
    }

    static let endpoints = [
        "signInWithIdp", "createAuthUri", "signUp", "signInWithPassword", "lookup", "update", "delete", "sendOobCode",
        "resetPassword", "signInWithEmailLink", "sendVerificationCode", "signInWithPhoneNumber",
        "signInWithCustomToken",
    ]

    static let adminEndpoints = [
        "v1/projects/demo-app/accounts", "v1/projects/demo-app/accounts:lookup",
        "v1/projects/demo-app/accounts:update", "v1/projects/demo-app/accounts:delete",
        "v1/projects/demo-app/accounts:batchCreate", "v1/projects/demo-app/accounts:batchDelete",
        "v1/projects/demo-app:createSessionCookie", "v2/projects/demo-app/tenants", "v2/accounts/mfaEnrollment:start",
        "v2/accounts/mfaEnrollment:finalize", "v2/accounts/mfaEnrollment:withdraw", "v2/accounts/mfaSignIn:start",
        "v2/accounts/mfaSignIn:finalize", "v2/accounts:revokeToken", "v2/accounts/passkeyEnrollment:start",
        "v2/accounts/passkeyEnrollment:finalize", "v2/accounts/passkeySignIn:finalize",
    ]

    static let texts: [String] = [
        "{", "[]", "null", "7", "\"x\"", "{]", "\u{0}", String(repeating: "[", count: 50_000), "{\"idToken\":7}",
        "{\"idToken\":{}}", "{\"idToken\":[[]]}", "{\"email\":{\"a\":1}}",
        "{\"postBody\":7,\"requestUri\":\"http://localhost\"}",
        "{\"requestUri\":\"http://localhost\",\"postBody\":\"=&=&%&%zz&user={\"}",
        "{\"requestUri\":\"http://localhost\",\"postBody\":\"providerId=\"}",
        "{\"requestUri\":\"http://localhost?%00=%ff#%\",\"postBody\":\"x\"}",
        "{\"requestUri\":\"http://localhost\",\"postBody\":\"providerId=apple.com&id_token=e30.e30.&user={{{{\"}",
        "{\"requestUri\":\"http://localhost\",\"postBody\":\"providerId=apple.com&id_token=\(String(repeating: "A", count: 20_000))\"}",
        "{\"requestUri\":\"http://localhost?code=x&state=y\",\"postBody\":\"providerId=github.com\"}",
        "{\"pendingToken\":\"\\u0000\"}", "{\"idToken\":\"e30.e30.\",\"deleteProvider\":\"x\"}",
        "{\"email\":\"a@b\",\"password\":\"\\ud800\"}",
        "{\"identifier\":\"\\u0000@x\",\"continueUri\":\"http://localhost\"}",
        "{\"providerId\":\"x\",\"continueUri\":\"javascript:alert(1)\"}",
        "{\"authenticatorAuthenticationResponse\":{\"id\":\"\\u0000\",\"response\":{\"signature\":7}}}",
        "{\"authenticatorAuthenticationResponse\":{\"id\":\"\(String(repeating: "A", count: 20_000))\"}}",
    ]

    /// A store with contents that can't be parsed can't be opened again, nor can a snapshot of it be loaded.
    @Test("whatever is kept of odd names and deep settings can be read again")
    func kept() throws {
        let fixture = try FirebaseFixture()
        func load() throws -> Answer {
            let snapshot = try fixture.client.get("\(FirebaseFixture.control)/snapshot")
            return try fixture.client.request(
                "PUT", "\(FirebaseFixture.control)/snapshot", headers: ["Content-Type": "application/json"],
                body: Array(snapshot.text.utf8))
        }
        let name = String(repeating: "\u{8}\u{C}", count: 250)
        let token: [String: Any] = [
            "aud": "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit",
            "uid": "odd", "exp": Int(Date().timeIntervalSince1970) + 600, "claims": [name: 1],
        ]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: token), as: UTF8.self)
        #expect(try fixture.v1("signInWithCustomToken", ["token": text]).status == 200)
        #expect(try load().status == 200)
        for depth in [20, 100, 2_000] {
            let mask = "quota" + String(repeating: ".a", count: depth)
            let answer = try fixture.admin("PATCH", "/config?updateMask=\(mask)", [:], version: "v2")
            #expect(answer.status == (depth < 64 ? 200 : 400))
            #expect(try load().status == 200)
        }
        let statuses = try (0..<12).map { part in
            let names = (0..<90).map { "k\(part)x\($0)" }
            let mask = names.map { "quota.\($0)" }.joined(separator: ",")
            let quota = Dictionary(uniqueKeysWithValues: names.map { ($0, 1) })
            return try fixture.admin("PATCH", "/config?updateMask=\(mask)", ["quota": quota], version: "v2").status
        }
        #expect(statuses == Array(repeating: 200, count: 11) + [400])
        #expect(try load().status == 200)
    }

    @Test("bodies of every operation, under both names", arguments: texts.indices)
    func bodies(index: Int) throws {
        let body = Array(FirebaseHostileInputTests.texts[index].utf8)
        for endpoint in FirebaseHostileInputTests.endpoints {
            // Some of these requests are valid for an endpoint that doesn't read the odd field.
            let answer = try fixture.client.request(
                "POST", "\(FirebaseFixture.toolkit)/v1/accounts:\(endpoint)?key=\(FirebaseFixture.key)",
                headers: ["Content-Type": "application/json"], body: body)
            let isLawful = answer.status == 200 && ["signUp", "createAuthUri"].contains(endpoint)
            #expect((400..<500).contains(answer.status) || isLawful, "\(endpoint): \(answer)")
            #expect(!answer.diagnosis.isEmpty || isLawful)
        }
        try expectAlive()
    }

    @Test("bodies of what an administrator asks and of second factors", arguments: texts.indices)
    func adminBodies(index: Int) throws {
        let body = Array(FirebaseHostileInputTests.texts[index].utf8)
        for endpoint in FirebaseHostileInputTests.adminEndpoints {
            let answer = try fixture.client.request(
                "POST", "\(FirebaseFixture.toolkit)/\(endpoint)?key=\(FirebaseFixture.key)",
                headers: ["Content-Type": "application/json", "Authorization": "Bearer owner"], body: body)
            // An administrator may create an empty user or tenant, and look up no user.
            let isLawful = answer.status == 200 && endpoint.contains("projects/")
            #expect((400..<500).contains(answer.status) || isLawful, "\(endpoint): \(answer)")
            #expect(!answer.diagnosis.isEmpty || isLawful)
        }
        try expectAlive()
    }

    @Test("tokens that are presented at every door")
    func tokens() throws {
        for token in [
            "", "x", ".", "..", "...", "e30.e30.e30", "e30.e30.", "W10.W10.", "é.é.é",
            String(repeating: ".", count: 5000),
        ] {
            #expect(try fixture.refresh(token).status == 400)
            let lookup = try fixture.v1("lookup", ["idToken": token])
            #expect(["INVALID_ID_TOKEN", "MISSING_ID_TOKEN"].contains(lookup.message))
            for provider in ["apple.com", "github.com", "google.com", "facebook.com"] {
                for field in ["id_token", "access_token", "code"] {
                    let answer = try fixture.assertion(
                        "providerId=\(provider)&\(field)=\(TestClient.escape(token))&state=x")
                    #expect(answer.status == 400, "\(provider) \(field) \(token.prefix(20)): \(answer)")
                    #expect(!answer.diagnosis.isEmpty)
                }
            }
        }
        try expectAlive()
    }

    @Test("a forged unsigned token is somebody else's project's, or nobody's")
    func forged() throws {
        let claims =
            #"{"iss":"https://securetoken.google.com/demo-app","aud":"demo-app","sub":"x","auth_time":1e308,"exp":1e308}"#
        let token =
            "eyJhbGciOiJub25lIn0." + Data(claims.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
            + "."
        #expect(try fixture.v1("lookup", ["idToken": token]).message == "INVALID_ID_TOKEN")
    }

    @Test(
        "addresses of Google, Facebook and the handler",
        arguments: [
            "/accounts.google.com/o/oauth2/v2/auth", "/accounts.google.com/o/oauth2/v2/auth?client_id=%ff",
            "/accounts.google.com/", "/oauth2.googleapis.com/tokeninfo",
            "/oauth2.googleapis.com/tokeninfo?id_token=%00",
            "/www.googleapis.com/", "/www.googleapis.com/oauth2/v9/certs",
            "/www.facebook.com/dialog/oauth?client_id=%00",
            "/www.facebook.com/a/b/c", "/graph.facebook.com/", "/graph.facebook.com/me", "/graph.facebook.com/%00/%00",
            "/graph.facebook.com/me?access_token=%ff&fields=((((", "/graph.facebook.com/debug_token?access_token=%7C",
            "/emulator/auth/handler?apiKey=%00&providerId=%00", "/emulator/auth/handler?state=%ff&code=%ff",
            "/demo-app.firebaseapp.com/", "/x.firebaseapp.com/__/auth/handler?state=x.y&error=z",
            "/.firebaseapp.com/__/auth/handler", "/identitytoolkit.googleapis.com/v1/accounts:",
            "/securetoken.googleapis.com/v1/token",
        ])
    func addresses(path: String) throws {
        let answer = try fixture.client.get(path)
        #expect((400..<500).contains(answer.status), "\(path): \(answer)")
        #expect(!answer.diagnosis.isEmpty)
        try expectAlive()
    }
}
