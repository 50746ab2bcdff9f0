import Foundation
import TestSupport
import Testing

@Suite("Firebase: administration, tenants and the Emulator Suite's endpoints")
struct AdminTests {
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    @Test("create, look up by each identifier, change, disable, delete")
    func users() throws {
        let made = try fixture.admin(
            "POST", "/accounts",
            [
                "localId": "u1", "email": "Ada@example.org", "password": "secret!", "displayName": "Ada",
                "phoneNumber": "+15555550101", "emailVerified": true,
            ])
        #expect(made["localId"] == "u1")
        for (body, wanted) in [
            (["localId": "u1"], "DUPLICATE_LOCAL_ID"), (["email": "ada@example.org"], "EMAIL_EXISTS"),
            (["phoneNumber": "+15555550101"], "PHONE_NUMBER_EXISTS"),
            (["phoneNumber": "x"], "INVALID_PHONE_NUMBER : Invalid format."),
            (["email": "x"], "INVALID_EMAIL"),
            (["password": "x"], "WEAK_PASSWORD : Password should be at least 6 characters"),
        ] { #expect(try fixture.admin("POST", "/accounts", body).message == wanted) }
        let linked = try fixture.admin(
            "POST", "/accounts:update",
            [
                "localId": "u1", "linkProviderUserInfo": ["providerId": "github.com", "rawId": "1815"],
                "customAttributes": #"{"role":"admin"}"#,
            ])
        #expect(linked.status == 200)
        for body in [
            ["localId": ["u1"]], ["email": ["ADA@example.org"]], ["phoneNumber": ["+15555550101"]],
            ["federatedUserId": [["providerId": "github.com", "rawId": "1815"]]],
        ] as [[String: Any]] {
            let found = try fixture.admin("POST", "/accounts:lookup", body).json["users"] as? [[String: Any]]
            #expect(found?.first?["localId"] as? String == "u1", "\(body)")
            #expect(found?.first?["customAttributes"] as? String == #"{"role":"admin"}"#)
        }
        #expect(try fixture.admin("POST", "/accounts:lookup", ["localId": ["none"]]).json["users"] == nil)
        let signedIn = try fixture.v1("signInWithPassword", ["email": "ada@example.org", "password": "secret!"])
        #expect(signedIn.claims()["role"] as? String == "admin")
        for (claims, wanted) in [
            (#"{"aud":"x"}"#, "FORBIDDEN_CLAIM : aud"), ("[1]", "INVALID_CLAIMS"),
            (#"{"a":"\#(String(repeating: "x", count: 1000))"}"#, "CLAIMS_TOO_LARGE"),
        ] {
            #expect(
                try fixture.admin("POST", "/accounts:update", ["localId": "u1", "customAttributes": claims]).message
                    == wanted)
        }
        _ = try fixture.admin("POST", "/accounts:update", ["localId": "u1", "disableUser": true])
        #expect(try fixture.v1("lookup", ["idToken": signedIn["idToken"] ?? ""]).message == "USER_DISABLED")
        #expect(
            try fixture.assertion(FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken())).message
                == "USER_DISABLED")
        #expect(
            try fixture.admin("POST", "/accounts:delete", ["localId": "u1"])["kind"]
                == "identitytoolkit#DeleteAccountResponse")
        #expect(try fixture.admin("POST", "/accounts:delete", ["localId": "u1"]).message == "USER_NOT_FOUND")
        #expect(try fixture.admin("POST", "/accounts:update", ["localId": "u1"]).message == "USER_NOT_FOUND")
    }

    @Test("revocation by validSince, and back again; session cookies")
    func sessions() throws {
        let user = try fixture.signUp("ada@example.org")
        let cookie = try fixture.admin(
            "POST", ":createSessionCookie", ["idToken": user["idToken"] ?? "", "validDuration": "600"])
        let claims = AppleFixture.claims((cookie["sessionCookie"] ?? "") + "x")
        #expect(claims["iss"] as? String == "https://session.firebase.google.com/demo-app")
        #expect((claims["exp"] as? Int ?? 0) - (claims["iat"] as? Int ?? 0) == 600)
        for duration in ["10", "99999999"] {
            #expect(
                try fixture.admin(
                    "POST", ":createSessionCookie", ["idToken": user["idToken"] ?? "", "validDuration": duration]
                )
                .message == "INVALID_DURATION")
        }
        #expect(try fixture.admin("POST", ":createSessionCookie", ["idToken": "x"]).message == "INVALID_ID_TOKEN")
        #expect(try fixture.client.get("\(FirebaseFixture.toolkit)/v1/sessionCookiePublicKeys").json["keys"] != nil)
        let later = Int(Date().timeIntervalSince1970) + 10_000
        _ = try fixture.admin(
            "POST", "/accounts:update", ["localId": user["localId"] ?? "", "validSince": String(later)])
        #expect(try fixture.refresh(user["refreshToken"]).message == "TOKEN_EXPIRED")
        #expect(
            try fixture.admin("POST", ":createSessionCookie", ["idToken": user["idToken"] ?? ""]).message
                == "TOKEN_EXPIRED")
        _ = try fixture.admin(
            "POST", "/accounts:update", ["localId": user["localId"] ?? "", "validSince": String(later - 20_000)])
        #expect(try fixture.refresh(user["refreshToken"]).status == 200)
    }

    @Test("lists with pages, queries, batches")
    func batches() throws {
        let users = (1...5).map {
            ["localId": "u\($0)", "email": "u\($0)@example.org", "passwordHash": "aGFzaA==", "salt": "c2FsdA=="]
        }
        let imported = try fixture.admin(
            "POST", "/accounts:batchCreate", ["users": users + [["email": "x"]], "hashAlgorithm": "SCRYPT"])
        let errors = imported.json["error"] as? [[String: Any]]
        #expect(errors?.first?["index"] as? Int == 5)
        #expect(try fixture.adminUser("u1")["passwordHash"] as? String == "aGFzaA==")
        let first = try fixture.admin("GET", "/accounts:batchGet?maxResults=3")
        #expect((first.json["users"] as? [Any])?.count == 3)
        let rest = try fixture.admin(
            "GET", "/accounts:batchGet?maxResults=3&nextPageToken=\(first["nextPageToken"] ?? "")")
        #expect((rest.json["users"] as? [Any])?.count == 2)
        #expect(rest["nextPageToken"] == nil)
        #expect(try fixture.admin("POST", "/accounts:query", [:])["recordsCount"] == "5")
        let refused = try fixture.admin("POST", "/accounts:batchDelete", ["localIds": ["u1", "none"]])
        #expect(
            (refused.json["errors"] as? [[String: Any]])?.first?["message"] as? String
                == "NOT_DISABLED : Disable the account before batch deletion.")
        #expect(
            try fixture.admin("POST", "/accounts:batchDelete", ["localIds": ["u1", "u2"], "force": true]).text == "{}")
        #expect(try fixture.admin("POST", "/accounts:query", [:])["recordsCount"] == "3")
        #expect(
            try fixture.admin("POST", "/accounts:batchDelete", ["localIds": []]).message
                == "LOCAL_ID_LIST_EXCEEDS_LIMIT")
        let link = try fixture.admin(
            "POST", "/accounts:sendOobCode",
            ["requestType": "PASSWORD_RESET", "email": "u3@example.org", "returnOobLink": true])
        #expect(link["oobLink"]?.contains("mode=resetPassword") ?? false)
        #expect(
            try fixture.admin(
                "POST", "/accounts:sendOobCode",
                ["requestType": "VERIFY_EMAIL", "email": "none@example.org", "returnOobLink": true]
            )
            .message == "USER_NOT_FOUND")
    }

    @Test("custom tokens: claims for the session, and every refusal")
    func customTokens() throws {
        let audience = "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
        let now = Int(Date().timeIntervalSince1970)
        func token(_ changes: [String: Any?] = [:]) throws -> String {
            var claims: [String: Any] = [
                "aud": audience, "iat": now, "exp": now + 3600, "uid": "custom-1", "claims": ["level": 7],
            ]
            for (name, value) in changes { claims[name] = value }
            let body = try JSONSerialization.data(withJSONObject: claims).base64EncodedString()
                .replacingOccurrences(of: "=", with: "").replacingOccurrences(of: "+", with: "-").replacingOccurrences(
                    of: "/", with: "_")
            return "eyJhbGciOiJub25lIn0.\(body)."
        }
        let made = try fixture.legacy("verifyCustomToken", ["token": token(), "returnSecureToken": true])
        #expect(made.json["isNewUser"] as? Bool == true)
        #expect(made.claims()["level"] as? Int == 7)
        #expect((made.claims()["firebase"] as? [String: Any])?["sign_in_provider"] as? String == "custom")
        #expect(try fixture.v1("signInWithCustomToken", ["token": token()]).json["isNewUser"] as? Bool == false)
        #expect(try fixture.lookup(made["idToken"])["customAuth"] as? Bool == true)
        #expect(try fixture.refresh(made["refreshToken"]).claims("id_token")["level"] as? Int == 7)
        for (changes, wanted) in [
            (["aud": "x"], "INVALID_CUSTOM_TOKEN"), (["exp": now - 301], "INVALID_CUSTOM_TOKEN"),
            (["uid": nil], "MISSING_IDENTIFIER"), (["claims": "x"], "INVALID_CLAIMS"),
            (["claims": ["aud": 1]], "FORBIDDEN_CLAIM : aud"),
            (
                ["uid": String(repeating: "x", count: 129)],
                "INVALID_IDENTIFIER : Invalid user ID length. Expect to have length between 1 and 128."
            ),
        ] as [([String: Any?], String)] {
            #expect(try fixture.v1("signInWithCustomToken", ["token": token(changes)]).message == wanted)
        }
        #expect(try fixture.v1("signInWithCustomToken", [:]).message == "MISSING_CUSTOM_TOKEN")
        #expect(
            try fixture.v1("signInWithCustomToken", ["token": "x"]).message
                == "INVALID_CUSTOM_TOKEN : Invalid assertion format. 3 dot separated segments required.")
        // The address decides this, not the signature of the project's ID tokens.
        let signing = try FirebaseFixture(
            seed: #"{"firebase":{"projects":[{"id":"demo-app","idTokenSignature":"RS256"}]}}"#)
        #expect(try signing.v1("signInWithCustomToken", ["token": token()]).status == 200)
        for fixture in [
            fixture,
            try FirebaseFixture(seed: #"{"firebase":{"projects":[{"id":"demo-app","idTokenSignature":"none"}]}}"#),
        ] {
            #expect(
                try fixture.hosted("signInWithCustomToken", ["token": token()]).message == "INVALID_CUSTOM_TOKEN")
        }
    }

    @Test("tenants: create, list, get, patch, delete; users of their own")
    func tenants() throws {
        let made = try fixture.admin(
            "POST", "/tenants", ["displayName": "Acme", "allowPasswordSignup": true], version: "v2")
        let id = (made["name"] ?? "").components(separatedBy: "/").last ?? ""
        #expect(id.hasPrefix("Acme-"))
        #expect(made.json["allowPasswordSignup"] as? Bool == true)
        // The list has the built-in seed's tenant, too.
        #expect((try fixture.admin("GET", "/tenants", nil, version: "v2").json["tenants"] as? [Any])?.count == 2)
        let patched = try fixture.admin(
            "PATCH", "/tenants/\(id)?updateMask=displayName", ["displayName": "Acme Ltd"], version: "v2")
        #expect(patched["displayName"] == "Acme Ltd")
        #expect(try fixture.admin("GET", "/tenants/\(id)", nil, version: "v2")["displayName"] == "Acme Ltd")
        let user = try fixture.v1("signUp", ["email": "ada@example.org", "password": "secret!", "tenantId": id])
        #expect((user.claims()["firebase"] as? [String: Any])?["tenant"] as? String == id)
        #expect(
            try fixture.v1("signInWithPassword", ["email": "ada@example.org", "password": "secret!"]).status == 400)
        #expect(
            try fixture.v1("signInWithPassword", ["email": "ada@example.org", "password": "secret!", "tenantId": id])
                .status == 200)
        #expect(try fixture.lookup(user["idToken"])["tenantId"] as? String == id)
        let looked = try fixture.admin("POST", "/tenants/\(id)/accounts:lookup", ["localId": [user["localId"] ?? ""]])
        #expect((looked.json["users"] as? [[String: Any]])?.count == 1)
        #expect(
            try fixture.client.request("DELETE", "/emulator/v1/projects/demo-app/tenants/\(id)/accounts").status == 200)
        #expect(try fixture.admin("POST", "/tenants/\(id)/accounts:query", [:])["recordsCount"] == "0")
        #expect(try fixture.admin("DELETE", "/tenants/\(id)", nil, version: "v2").text == "{}")
        let seeded = try FirebaseFixture(
            seed: #"{"firebase":{"projects":[{"id":"real","apiKeys":["real-key"],"providers":{"anonymous":{}}}]}}"#)
        #expect(try seeded.v1("signUp", ["tenantId": "none"], key: "real-key").message == "INVALID_TENANT_ID")
    }

    @Test("settings, by their own address and by the emulator's")
    func settings() throws {
        let config = try fixture.admin("GET", "/config", nil, version: "v2")
        #expect((config.json["mfa"] as? [String: Any])?["state"] as? String == "ENABLED")
        _ = try fixture.admin("PATCH", "/config", ["signIn": ["allowDuplicateEmails": true]], version: "v2")
        let path = "/emulator/v1/projects/demo-app/config"
        #expect(
            (try fixture.client.get(path).json["signIn"] as? [String: Any])?["allowDuplicateEmails"] as? Bool == true)
        let patched = try fixture.client.post(
            path, json: ["emailPrivacyConfig": ["enableImprovedEmailPrivacy": false]], method: "PATCH")
        #expect((patched.json["emailPrivacyConfig"] as? [String: Any])?["enableImprovedEmailPrivacy"] as? Bool == false)
        #expect(
            try fixture.v1("signInWithPassword", ["email": "no@example.org", "password": "x"]).message
                == "EMAIL_NOT_FOUND")
        _ = try fixture.client.post("\(FirebaseFixture.control)/reset", json: [:])
        #expect(
            try fixture.v1("signInWithPassword", ["email": "no@example.org", "password": "x"]).message
                == "INVALID_LOGIN_CREDENTIALS")
    }

    @Test("a suite for the official emulator: its mark, its fake credentials, its endpoints, what isn't played")
    func emulator() throws {
        let project = "demo-suite"
        let mark = try fixture.client.get("/").json["authEmulator"] as? [String: Any]
        #expect(mark?["ready"] as? Bool == true)
        let spec = try fixture.client.get(mark?["apiSpec"] as? String ?? "")
        #expect((spec.json["paths"] as? [String: Any])?["/identitytoolkit.googleapis.com/v1/accounts:signUp"] != nil)
        func signIn(_ postBody: [String: String]) throws -> Answer {
            try fixture.v1(
                "signInWithIdp",
                [
                    "requestUri": "http://localhost", "postBody": TestClient.encode(postBody),
                    "returnSecureToken": true, "returnIdpCredential": true,
                ],
                key: project)
        }
        let fake = #"{"sub":"abc123","email":"foo@example.com","email_verified":true,"name":"Foo"}"#
        let google = try signIn(["providerId": "google.com", "id_token": fake])
        #expect(google.status == 200)
        #expect(google["email"] == "foo@example.com")
        #expect(google.json["isNewUser"] as? Bool == true)
        #expect(google["oauthAccessToken"] == "FirebaseAuthEmulatorFakeAccessToken_google.com")
        let same = try signIn([
            "providerId": "github.com", "id_token": #"{"sub":"other","email":"foo@example.com","email_verified":true}"#,
        ])
        #expect(same["localId"] == google["localId"])
        #expect(try signIn(["providerId": "oidc.any", "id_token": #"{"sub":"x"}"#]).status == 200)
        #expect(
            try signIn(["providerId": "google.com", "id_token": "{}"]).message.contains("((Missing \"sub\" field."))
        #expect(
            try signIn(["providerId": "google.com", "id_token": #"{"sub":7}"#]).message.contains(
                "((The \"sub\" field must be a string.))"))
        #expect(
            try signIn(["providerId": "google.com", "id_token": "{nonsense"]).message.contains(
                "((Auth Emulator failed to parse"))
        // A project without acceptFakeCredentials refuses them.
        #expect(try fixture.assertion("providerId=google.com&id_token=\(fake)").status == 400)
        #expect(try fixture.client.request("DELETE", "/emulator/v1/projects/\(project)/accounts").text == "{}")
        #expect(try fixture.admin("POST", "/accounts:query", [:], project: project)["recordsCount"] == "0")
        for path in [
            "/v1/accounts:signInWithGameCenter", "/v1/accounts:issueSamlResponse",
            "/v2/projects/demo-app/identityPlatform:initializeAuth",
        ] {
            let answer = try fixture.client.post("\(FirebaseFixture.toolkit)\(path)", json: [:])
            #expect(answer.status == 501)
            #expect((answer.json["error"] as? [String: Any])?["status"] as? String == "NOT_IMPLEMENTED")
            #expect(!answer.diagnosis.isEmpty)
        }
    }

    @Test("seeded users have identities and second factors")
    func seededUsers() throws {
        let seed = """
            {"firebase":{"projects":[{"id":"demo-app","users":[{"localId":"u","email":"u@example.org","emailVerified":true,
              "password":"secret!","customClaims":"{\\"role\\":\\"x\\"}","links":[{"providerId":"github.com","rawId":"1815"}],
              "factors":[{"id":"f1","phoneNumber":"+15555550123","displayName":"Phone"}]}]}]}}
            """
        let fixture = try FirebaseFixture(seed: seed)
        let first = try fixture.assertion(FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken()))
        #expect(first["localId"] == "u")
        #expect((first.json["mfaInfo"] as? [[String: Any]])?.first?["mfaEnrollmentId"] as? String == "f1")
        #expect(try fixture.adminUser("u")["customAttributes"] as? String == #"{"role":"x"}"#)
    }
}
