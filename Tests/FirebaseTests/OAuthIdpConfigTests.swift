import Foundation
import TestSupport
import Testing

@Suite("Firebase: oauthIdpConfigs")
struct OAuthIdpConfigTests {
    private var config: [String: Any] {
        [
            "clientId": "example.apps.googleusercontent.com", "issuer": "https://accounts.google.com", "enabled": true,
            "displayName": "Corp",
        ]
    }
    let fixture: FirebaseFixture

    init() throws {
        fixture = try FirebaseFixture(
            seed: """
                {"firebase":{"projects":[{"id":"demo-app","providers":{"oidc.seeded":{\(OpenIDCredentialTests.client)}}}]}}
                """)
    }

    private func call(_ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> Answer {
        try fixture.admin(method, path, body, version: "v2")
    }

    private func create(_ id: String, _ more: [String: Any] = [:], below scope: String = "") throws -> Answer {
        try call(
            "POST", "\(scope)/oauthIdpConfigs?oauthIdpConfigId=\(id)",
            config.merging(more) { $1 })
    }

    private func status(_ answer: Answer) -> String? {
        (answer.json["error"] as? [String: Any])?["status"] as? String
    }

    @Test("a provider is made, read, changed by its mask, and deleted")
    func life() throws {
        let made = try create("oidc.corp")
        #expect(made.status == 200, "\(made)")
        #expect(made["name"] == "projects/demo-app/oauthIdpConfigs/oidc.corp")
        #expect(made.json["responseType"] as? [String: Bool] == ["idToken": true])
        #expect(try call("GET", "/oauthIdpConfigs/oidc.corp").text == made.text)
        let changed = try call(
            "PATCH", "/oauthIdpConfigs/oidc.corp?updateMask=clientSecret,responseType.code,display_name",
            ["clientSecret": "s", "responseType": ["code": true], "enabled": false])
        #expect(changed["clientSecret"] == "s", "\(changed)")
        #expect(changed.json["responseType"] as? [String: Bool] == ["code": true])
        #expect(changed["displayName"] == nil)
        #expect(changed.json["enabled"] as? Bool == true)
        #expect(try call("DELETE", "/oauthIdpConfigs/oidc.corp").text == "{}")
        for method in ["GET", "PATCH", "DELETE"] {
            let gone = try call(method, "/oauthIdpConfigs/oidc.corp", [:])
            #expect(gone.status == 404)
            #expect(gone.message == "CONFIGURATION_NOT_FOUND")
            #expect(status(gone) == "NOT_FOUND")
        }
    }

    /// Production's limits aren't documented.
    @Test("texts that are too long aren't kept", arguments: ["clientId", "clientSecret", "issuer"])
    func long(field: String) throws {
        let text = "https://example.org/" + String(repeating: "a", count: 10_000)
        let refused = try create("oidc.long", [field: text])
        #expect(refused.status == 400)
        #expect(refused.diagnosis.contains("\(field) has 10020 bytes"))
    }

    @Test("people sign in as it says from then on, and no longer when it is disabled")
    func signsIn() throws {
        func signIn() throws -> Answer {
            let token = try fixture.client.post(
                "\(FirebaseFixture.control)/tokens",
                json: ["provider": "google", "client": "example.apps.googleusercontent.com", "account": "ada"])
            return try fixture.assertion(FirebaseFixture.postBody("oidc.corp", idToken: token["token"]))
        }
        #expect(try signIn().message.contains("configuration is not found"))
        _ = try create("oidc.corp")
        #expect(try signIn().status == 200)
        _ = try call("PATCH", "/oauthIdpConfigs/oidc.corp", ["enabled": false])
        #expect(try signIn().message.contains("configuration is disabled"))
    }

    @Test(
        "what can't be configured is refused",
        arguments: [
            ("", "{}", "INVALID_CONFIG_ID"), ("corp", "{}", "INVALID_CONFIG_ID"), ("oidc.", "{}", "INVALID_CONFIG_ID"),
            ("oidc.a%20b", "{}", "INVALID_CONFIG_ID"), ("oidc.a", #"{"clientId":""}"#, "MISSING_OAUTH_CLIENT_ID"),
            ("oidc.a", #"{"issuer":""}"#, "MISSING_ISSUER"),
            (
                "oidc.a", #"{"issuer":"http://a.example"}"#,
                "INVALID_ISSUER : Issuer in OAuthIdpConfig should be a valid URL."
            ),
            ("oidc.a", #"{"issuer":"corp"}"#, "INVALID_ISSUER"),
            (
                "oidc.a", #"{"responseType":{"code":true,"idToken":true},"clientSecret":"s"}"#,
                "INVALID_CONFIG : response_type should have exactly one of 'idToken' and 'code' being true."
            ),
            ("oidc.a", #"{"responseType":{}}"#, "INVALID_CONFIG"),
            ("oidc.a", #"{"responseType":{"idToken":true,"token":true}}"#, "INVALID_CONFIG"),
            (
                "oidc.a", #"{"responseType":{"code":true}}"#,
                "INVALID_CONFIG : client_secret cannot be empty for code flow."
            ),
            ("oidc.a", #"{"enabled":"yes"}"#, "Invalid value at 'enabled'"),
        ])
    func refused(id: String, body: String, message: String) throws {
        let more = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any] ?? [:]
        let answer = try create(id, more)
        #expect(answer.status == 400)
        #expect(answer.message.hasPrefix(message), "\(answer)")
        #expect(status(answer) == "INVALID_ARGUMENT")
        #expect(!answer.diagnosis.isEmpty)
    }

    @Test("an ID is taken once, and administrators only may call")
    func conflicts() throws {
        #expect(try create("oidc.corp").status == 200)
        let again = try create("oidc.corp")
        #expect(again.status == 409)
        #expect(again.errorCode == "CONFIGURATION_EXISTS")
        #expect(status(again) == "ALREADY_EXISTS")
        let path = "\(FirebaseFixture.toolkit)/v2/projects/demo-app/oauthIdpConfigs?key=\(FirebaseFixture.key)"
        #expect(try fixture.client.get(path).status == 403)
    }

    @Test("lists come page by page, seeded ones included")
    func pages() throws {
        for name in ["a", "b", "z"] { _ = try create("oidc.\(name)") }
        var names: [String] = []
        var token: String?
        repeat {
            let page = try call("GET", "/oauthIdpConfigs?pageSize=3" + (token.map { "&pageToken=\($0)" } ?? ""))
            let configs = page.json["oauthIdpConfigs"] as? [[String: Any]] ?? []
            #expect(configs.count <= 3)
            names += configs.compactMap { ($0["name"] as? String)?.components(separatedBy: "/").last }
            token = page["nextPageToken"]
        } while token != nil
        #expect(names == ["oidc.a", "oidc.b", "oidc.seeded", "oidc.z"])
        let count = try (0..<97).filter { try create("oidc.n\($0)").status == 200 }.count
        #expect(count == 96)
        #expect(try create("oidc.more").errorCode == "QUOTA_EXCEEDED")
    }

    @Test("a tenant's providers are its own, and go with it")
    func tenants() throws {
        let tenant = try #require(
            try call("POST", "/tenants", ["displayName": "t"])["name"]?.components(separatedBy: "/").last)
        let scope = "/tenants/\(tenant)"
        let made = try create("oidc.corp", below: scope)
        #expect(made["name"] == "projects/demo-app\(scope)/oauthIdpConfigs/oidc.corp", "\(made)")
        #expect(try call("GET", "/oauthIdpConfigs/oidc.corp").status == 404)
        #expect(try call("GET", "\(scope)/oauthIdpConfigs/oidc.seeded").status == 404)
        let list = try call("GET", "\(scope)/oauthIdpConfigs").json["oauthIdpConfigs"] as? [[String: Any]]
        #expect(list?.count == 1)
        #expect(try call("DELETE", scope).status == 200)
        // A demo project's tenant is made again when it is named.
        #expect(try call("GET", "\(scope)/oauthIdpConfigs").text == "{}")
    }
}
