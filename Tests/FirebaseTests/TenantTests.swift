import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Firebase: tenants")
struct TenantTests {
    static let seed = """
        {"interaction":{"mode":"auto","account":"ada"},
         "google":{"clients":[{"clientID":"partners.apps.googleusercontent.com","clientSecret":"s"}]},
         "firebase":{"projects":[
          {"id":"demo-app","providers":{"oidc.all":{"issuer":"https://accounts.google.com","clientID":"example.apps.googleusercontent.com"}},
           "tenants":[
            {"id":"corp","displayName":"Corp","enableEmailLinkSignin":true,"enableAnonymousUser":true,
             "mfa":{"state":"ENABLED","providers":["phone","totp"]},"testPhoneNumbers":{"+15555550123":"654321"},
             "users":[{"localId":"grace","email":"grace@corp.example","emailVerified":true,"password":"secret!"}]},
            {"id":"closed","disableAuth":true,"users":[{"localId":"grace","password":"secret!"}]},
            {"id":"bare","allowPasswordSignup":false},
            {"id":"partners","providers":{"github.com":{},"apple.com":{"enabled":false},"oidc.all":{},
             "google.com":{"clientIDs":["partners.apps.googleusercontent.com"]}}}]},
          {"id":"real","apiKeys":["real-key"],"providers":{"password":{},"anonymous":{}},"tenants":[{"id":"corp"}]}]}}
        """
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture(seed: TenantTests.seed) }

    private func signUp(_ email: String, tenant: String = "corp") throws -> Answer {
        try fixture.v1("signUp", ["email": email, "password": "secret!", "tenantId": tenant])
    }

    private func signIn(_ email: String = "grace@corp.example", tenant: String = "corp") throws -> Answer {
        try fixture.v1("signInWithPassword", ["email": email, "password": "secret!", "tenantId": tenant])
    }

    // MARK: - Whose users are meant

    @Test("with an ID token alone the tenant is the token's: look up, change, refresh, delete")
    func tokenNamesTenant() throws {
        let user = try signUp("ada@example.org")
        #expect((user.claims()["firebase"] as? [String: Any])?["tenant"] as? String == "corp")
        let idToken = user["idToken"] ?? ""
        let looked = try fixture.lookup(idToken)
        #expect(looked["localId"] as? String == user["localId"])
        #expect(looked["tenantId"] as? String == "corp")
        let changed = try fixture.legacy(
            "setAccountInfo", ["idToken": idToken, "displayName": "Ada", "returnSecureToken": true])
        #expect(changed["localId"] == user["localId"])
        let refreshed = try fixture.refresh(user["refreshToken"])
        #expect(refreshed["user_id"] == user["localId"], "\(refreshed)")
        let claims = refreshed.claims("id_token")
        #expect((claims["firebase"] as? [String: Any])?["tenant"] as? String == "corp")
        #expect(claims["name"] as? String == "Ada")
        #expect(try fixture.v1("delete", ["idToken": idToken]).status == 200)
        #expect(try fixture.v1("lookup", ["idToken": idToken]).message == "USER_NOT_FOUND")
        #expect(try fixture.refresh(user["refreshToken"]).message == "INVALID_REFRESH_TOKEN")
    }

    @Test("the same where the real host is named, with tokens that are signed")
    func hosted() throws {
        let user = try fixture.hosted(
            "signUp", ["email": "ada@example.org", "password": "secret!", "tenantId": "corp"])
        let idToken = user["idToken"] ?? ""
        let looked = try fixture.hosted("lookup", ["idToken": idToken])
        #expect((looked.json["users"] as? [[String: Any]])?.first?["tenantId"] as? String == "corp", "\(looked)")
        let unsigned = try signUp("grace@example.org")
        #expect(try fixture.hosted("lookup", ["idToken": unsigned["idToken"] ?? ""]).message == "INVALID_ID_TOKEN")
    }

    @Test("users of a tenant show it, and are nobody elsewhere")
    func users() throws {
        #expect(try signIn().status == 200)
        #expect(
            try fixture.v1("signInWithPassword", ["email": "grace@corp.example", "password": "secret!"]).status == 400)
        #expect(try signIn(tenant: "partners").status == 400)
        let anonymous = try fixture.v1("signUp", ["tenantId": "corp"])
        #expect(try fixture.lookup(anonymous["idToken"])["tenantId"] as? String == "corp")
        #expect(try fixture.lookup(fixture.signUpAnonymously()["idToken"])["tenantId"] == nil)
        let listed = try fixture.admin("GET", "/accounts:batchGet?tenantId=corp").json["users"] as? [[String: Any]]
        #expect(listed?.count == 2)
        #expect(listed?.allSatisfy { $0["tenantId"] as? String == "corp" } ?? false)
        #expect((try fixture.admin("GET", "/accounts:batchGet").json["users"] as? [Any])?.count == 1)
        let made = try fixture.admin("POST", "/tenants/corp/accounts", ["localId": "new"])
        #expect(made.status == 200)
        let looked = try fixture.admin("POST", "/accounts:lookup", ["localId": ["new"], "tenantId": "corp"])
        #expect((looked.json["users"] as? [[String: Any]])?.first?["tenantId"] as? String == "corp")
        let cookie = try fixture.admin(
            "POST", ":createSessionCookie", ["idToken": anonymous["idToken"] ?? "", "validDuration": 600])
        #expect((cookie.claims("sessionCookie")["firebase"] as? [String: Any])?["tenant"] as? String == "corp")
    }

    @Test("an upload to one tenant takes no account of another")
    func upload() throws {
        let users = [
            ["localId": "a", "tenantId": "corp"], ["localId": "b", "tenantId": "partners"], ["localId": "c"],
        ]
        let answer = try fixture.admin("POST", "/tenants/corp/accounts:batchCreate", ["users": users])
        let errors = answer.json["error"] as? [[String: Any]] ?? []
        #expect(errors.map { $0["index"] as? Int } == [1])
        #expect(errors.first?["message"] as? String == "Tenant id in userInfo does not match the tenant id in request.")
        let listed = try fixture.admin("GET", "/tenants/corp/accounts:batchGet").json["users"] as? [[String: Any]]
        #expect(listed?.map { $0["tenantId"] as? String } == ["corp", "corp", "corp"])
    }

    @Test("path, body and token that name different tenants don't agree")
    func mismatch() throws {
        let idToken = try signIn()["idToken"] ?? ""
        let ofProject = try fixture.signUpAnonymously()["idToken"] ?? ""
        for answer in [
            try fixture.v1("lookup", ["idToken": idToken, "tenantId": "partners"]),
            try fixture.v1("update", ["idToken": idToken, "tenantId": "no-such-tenant"]),
            try fixture.v1("lookup", ["idToken": ofProject, "tenantId": "corp"]),
            try fixture.admin("POST", "/tenants/corp/accounts:delete", ["localId": "grace", "tenantId": "partners"]),
            try fixture.admin("POST", "/tenants/partners/accounts:lookup", ["idToken": idToken]),
            try fixture.admin("POST", "/accounts:lookup", ["idToken": idToken, "tenantId": "partners"]),
            try fixture.admin("GET", "/tenants/corp/accounts:batchGet?tenantId=partners"),
            try fixture.v1("signInWithCustomToken", ["token": #"{"uid":"u","tenant_id":"corp"}"#]),
        ] {
            #expect(answer.status == 400)
            #expect(answer.message == "TENANT_ID_MISMATCH", "\(answer)")
            #expect(!answer.diagnosis.isEmpty)
        }
        #expect(try fixture.v1("lookup", ["idToken": idToken, "tenantId": "corp"]).status == 200)
        #expect(
            try fixture.v1("signUp", ["tenantId": 7]).message.contains("Invalid value at 'tenant_id' (TYPE_STRING)"))
        // The tenant in another project's token is ignored.
        let foreign = try fixture.v1("lookup", ["idToken": idToken], key: "real-key")
        #expect(foreign.message == "INVALID_ID_TOKEN")
        let custom = try fixture.v1(
            "signInWithCustomToken", ["token": #"{"uid":"u","tenant_id":"corp"}"#, "tenantId": "corp"])
        #expect(try fixture.lookup(custom["idToken"])["tenantId"] as? String == "corp")
    }

    @Test("a user of one tenant who signs in without tenantId is told of the tenant")
    func forgottenTenant() throws {
        let body = ["email": "grace@corp.example", "password": "secret!"]
        let words = "one of the tenant \"corp\" has it: send tenantId"
        let one = try fixture.v1("signInWithPassword", body)
        #expect(one.status == 400)
        #expect(one.diagnosis.contains(words), "\(one)")
        #expect(try signUp("grace@corp.example", tenant: "other").status == 200)
        let several = try fixture.v1("signInWithPassword", body)
        #expect(several.status == 400)
        #expect(!several.diagnosis.contains("send tenantId"), "\(several)")
    }

    @Test("a tenant that nobody has created is accepted with a note, which names the one that is meant")
    func misspelled() throws {
        let made = try fixture.v1("signUp", ["tenantId": "crop"])
        #expect(made.status == 200)
        #expect(made.note.contains("did you mean \"corp\"?"), "\(made)")
        #expect(try signIn().note.isEmpty)
    }

    @Test("a tenant that nobody has created: only where the official emulator would make it")
    func unknown() throws {
        #expect(try fixture.v1("signUp", ["tenantId": "other"]).status == 200)
        #expect(try fixture.v1("signUp", ["tenantId": "no tenant's ID"]).message == "INVALID_TENANT_ID")
        #expect(try fixture.hosted("signUp", ["tenantId": "another"]).message == "INVALID_TENANT_ID")
        #expect(try fixture.v1("signUp", ["tenantId": "other"], key: "real-key").message == "INVALID_TENANT_ID")
        let asked = try fixture.admin("GET", "/tenants/other", version: "v2", project: "real")
        #expect(asked.message == "TENANT_NOT_FOUND")
        let unseeded = try fixture.admin("GET", "/tenants/other", version: "v2", project: "unseeded")
        #expect(unseeded["tenantId"] == "other")
        let page = try fixture.client.get("/_understudy/setup", headers: ["Accept": "text/html"]).text
        #expect(page.contains("tenant &quot;other&quot; of &quot;demo-app&quot;, which nobody has created"))
        let strict = try FirebaseFixture(seed: #"{"firebase":{"unknownKeys":"refuse"}}"#)
        #expect(try strict.v1("signUp", ["tenantId": "other"]).message == "INVALID_TENANT_ID")
    }

    // MARK: - Providers

    @Test("a tenant's providers are the project's, or those that the seed says")
    func providers() throws {
        func signIn(_ provider: String, _ token: String?, tenant: String) throws -> Answer {
            let isToken = provider != "github.com"
            return try fixture.assertion(
                FirebaseFixture.postBody(
                    provider, idToken: isToken ? token : nil, accessToken: isToken ? nil : token),
                ["tenantId": tenant])
        }
        let gitHub = try signIn("github.com", fixture.gitHubToken(), tenant: "corp")
        #expect(gitHub["tenantId"] == "corp", "\(gitHub)")
        #expect(try signIn("github.com", fixture.gitHubToken(), tenant: "partners").status == 200)
        #expect(try signIn("oidc.all", fixture.google()["idToken"], tenant: "corp").status == 200)
        #expect(try signIn("oidc.all", fixture.google()["idToken"], tenant: "partners").status == 200)
        #expect(try signIn("google.com", fixture.google()["idToken"], tenant: "corp").status == 200)
        let foreign = try signIn("google.com", fixture.google()["idToken"], tenant: "partners")
        #expect(foreign.message.contains("is not authorized to be used in the project"), "\(foreign)")
        let own = try fixture.client.post(
            "\(FirebaseFixture.control)/google/authorizations",
            json: ["client": "partners.apps.googleusercontent.com", "account": "ada"])
        #expect(try signIn("google.com", own["idToken"], tenant: "partners").status == 200)
        for provider in ["apple.com", "facebook.com"] {
            let absent = try signIn(provider, "x", tenant: "partners")
            let state = provider == "apple.com" ? "disabled" : "not found"
            #expect(absent.message == "OPERATION_NOT_ALLOWED : The identity provider configuration is \(state).")
        }
    }

    @Test("the web handler signs in to the tenant that it was called with, which finishes it")
    func webFlow() throws {
        func handler(_ tenant: String?, _ provider: String = "github.com") throws -> Answer {
            var query = [
                "apiKey": FirebaseFixture.key, "authType": "signInViaPopup", "providerId": provider, "eventId": "e",
                "sessionId": FirebaseFixture.sha256("session"), "appName": "[DEFAULT]",
            ]
            query["tid"] = tenant
            return try fixture.client.get(
                "/emulator/auth/handler?\(TestClient.encode(query))", headers: ["Accept": "text/html"])
        }
        func finished(_ tenant: String?) throws -> String {
            let origin = "http://localhost:\(fixture.client.port)"
            var answer = try handler(tenant)
            while answer.location.hasPrefix(origin) {
                answer = try fixture.client.get(
                    String(answer.location.dropFirst(origin.count)), headers: ["Accept": "text/html"])
            }
            let event = Answer.attribute("data-event", of: answer.text.components(separatedBy: "id=\"answer\"")[1])
            let json = try #require(JSONSerialization.jsonObject(with: Data(event.utf8)) as? [String: Any])
            #expect(json["tenantId"] as? String == tenant)
            return try #require(json["urlResponse"] as? String, "\(json)")
        }
        func redeem(_ url: String, _ tenant: String?) throws -> Answer {
            var body: [String: Any] = ["requestUri": url, "sessionId": "session", "returnSecureToken": true]
            body["tenantId"] = tenant
            return try fixture.v1("signInWithIdp", body)
        }
        let url = try finished("corp")
        #expect(try redeem(url, nil).message == "INVALID_IDP_RESPONSE : Invalid state.")
        #expect(try redeem(url, "partners").message == "INVALID_IDP_RESPONSE : Invalid state.")
        let signedIn = try redeem(url, "corp")
        #expect((signedIn.claims()["firebase"] as? [String: Any])?["tenant"] as? String == "corp", "\(signedIn)")
        #expect(try redeem(finished(nil), nil).claims()["firebase"].map { "\($0)".contains("tenant") } == false)
        #expect(try handler("partners", "apple.com").text.contains("auth/operation-not-allowed"))
        for (tenant, code) in [("closed", "PROJECT_DISABLED"), ("no tenant", "INVALID_TENANT_ID")] {
            let refused = try handler(tenant)
            #expect(refused.status == 400)
            #expect(refused.text.contains(code))
        }
    }
}
