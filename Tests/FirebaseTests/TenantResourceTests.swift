import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Firebase: tenants as administrators manage them")
struct TenantResourceTests {
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture(seed: TenantTests.seed) }

    private func call(_ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> Answer {
        try fixture.admin(method, "/tenants\(path)", body, version: "v2")
    }

    /// Sends a call to the real host name.
    private func hosted(_ method: String, _ path: String, _ body: [String: Any] = [:]) throws -> Answer {
        try fixture.client.request(
            method, "/v2/projects/real/tenants\(path)",
            headers: [
                "Host": "identitytoolkit.googleapis.com", "Authorization": "Bearer ya29.x",
                "Content-Type": "application/json",
            ], body: Array(try JSONSerialization.data(withJSONObject: body)))
    }

    private static var whole: [String: Any] {
        [
            "displayName": "display", "allowPasswordSignup": true, "enableEmailLinkSignin": true, "disableAuth": false,
            "enableAnonymousUser": true,
            "mfaConfig": ["state": "ENABLED", "enabledProviders": ["PROVIDER_UNSPECIFIED", "PHONE_SMS"]]
                as [String: Any],
        ]
    }

    private static func plain(_ id: String) -> [String: Any] {
        [
            "name": "projects/demo-app/tenants/\(id)", "tenantId": id, "allowPasswordSignup": false,
            "enableEmailLinkSignin": false, "disableAuth": false, "enableAnonymousUser": false,
            "mfaConfig": ["state": "DISABLED", "enabledProviders": [String]()] as [String: Any],
        ]
    }

    private func expectEqual(_ answer: Answer, _ expected: [String: Any]) {
        #expect(NSDictionary(dictionary: answer.json) == NSDictionary(dictionary: expected), "\(answer)")
    }

    @Test("a new tenant allows what the request allows, and nothing else")
    func create() throws {
        let made = try call("POST", "", TenantResourceTests.whole)
        let id = try #require(made["tenantId"])
        #expect(id.hasPrefix("display-"))
        expectEqual(
            made,
            TenantResourceTests.whole.merging(["tenantId": id, "name": "projects/demo-app/tenants/\(id)"]) { $1 })
        expectEqual(try call("GET", "/\(id)"), made.json)
        let plain = try call("POST", "", [:])
        expectEqual(plain, TenantResourceTests.plain(plain["tenantId"] ?? ""))
    }

    @Test("one that came into being when it was named allows everything; a seeded one what its seed says")
    func others() throws {
        expectEqual(
            try call("GET", "/other"),
            [
                "name": "projects/demo-app/tenants/other", "tenantId": "other", "allowPasswordSignup": true,
                "enableEmailLinkSignin": true, "disableAuth": false, "enableAnonymousUser": true,
                "mfaConfig": ["state": "ENABLED", "enabledProviders": ["PHONE_SMS"]] as [String: Any],
            ])
        expectEqual(
            try call("GET", "/corp"),
            [
                "name": "projects/demo-app/tenants/corp", "tenantId": "corp", "displayName": "Corp",
                "allowPasswordSignup": true, "enableEmailLinkSignin": true, "disableAuth": false,
                "enableAnonymousUser": true, "testPhoneNumbers": ["+15555550123": "654321"],
                "mfaConfig": [
                    "state": "ENABLED", "enabledProviders": ["PHONE_SMS"],
                    "providerConfigs": [
                        ["state": "ENABLED", "totpProviderConfig": ["adjacentIntervals": 5]] as [String: Any]
                    ],
                ] as [String: Any],
            ])
    }

    @Test(
        "a mask names fields, also within mfaConfig; what the body lacks is set to its default; without a mask all is")
    func masks() throws {
        let id = try #require(try call("POST", "", TenantResourceTests.whole)["tenantId"])
        func patch(_ mask: String, _ body: [String: Any]) throws -> [String: Any] {
            let query = mask.isEmpty ? "" : "?updateMask=\(TestClient.escape(mask))"
            return try call("PATCH", "/\(id)\(query)", body).json
        }
        let state = try patch("mfaConfig.state", ["mfaConfig": ["state": "MANDATORY"], "allowPasswordSignup": false])
        let mfa = state["mfaConfig"] as? [String: Any]
        #expect(mfa?["state"] as? String == "MANDATORY")
        #expect(mfa?["enabledProviders"] as? [String] == ["PROVIDER_UNSPECIFIED", "PHONE_SMS"])
        #expect(state["allowPasswordSignup"] as? Bool == true)
        let strange = try patch(
            "displayName.0,mfaConfig.enabledProviders.none,nothing",
            ["displayName": "unused", "mfaConfig": ["enabledProviders": ["PHONE_SMS"]]])
        #expect(NSDictionary(dictionary: strange) == NSDictionary(dictionary: state))
        let apps = try patch(
            "mfa_config.provider_configs,display_name",
            ["mfaConfig": ["providerConfigs": [["state": "ENABLED", "totpProviderConfig": [:]] as [String: Any]]]])
        #expect(apps["displayName"] == nil)
        let provider = ((apps["mfaConfig"] as? [String: Any])?["providerConfigs"] as? [[String: Any]])?.first
        #expect((provider?["totpProviderConfig"] as? [String: Any])?.isEmpty == true)
        #expect((apps["mfaConfig"] as? [String: Any])?["state"] as? String == "MANDATORY")
        let privacy = try patch(
            "emailPrivacyConfig,testPhoneNumbers",
            [
                "emailPrivacyConfig": ["enableImprovedEmailPrivacy": false],
                "testPhoneNumbers": ["+15555550101": "111111"],
            ])
        #expect((privacy["emailPrivacyConfig"] as? [String: Any])?.isEmpty == true)
        let unknown = ["email": "nobody@example.org", "password": "secret!", "tenantId": id]
        #expect(try fixture.v1("signInWithPassword", unknown).message == "EMAIL_NOT_FOUND")
        expectEqual(try call("PATCH", "/\(id)", [:]), TenantResourceTests.plain(id))
        expectEqual(try call("GET", "/\(id)"), TenantResourceTests.plain(id))
    }

    @Test(
        "what no tenant can hold is refused",
        arguments: [
            (#"{"mfaConfig":{"state":"SOMETIMES"}}"#, "Invalid value at 'tenant.mfa_config.state'"),
            (
                #"{"mfaConfig":{"enabledProviders":["PIGEON"]}}"#,
                "Invalid value at 'tenant.mfa_config.enabled_providers[0]'"
            ),
            (#"{"mfaConfig":[]}"#, "Invalid value at 'mfa_config'"), (#"{"displayName":true}"#, "Invalid value at"),
            (#"{"disableAuth":"x"}"#, "Invalid value at 'disable_auth'"),
            (#"{"testPhoneNumbers":{"1":"111111"}}"#, "INVALID_TESTING_PHONE_NUMBER"),
            (#"{"testPhoneNumbers":{"+15555550101":7}}"#, "INVALID_TESTING_PHONE_NUMBER"),
        ])
    func refused(body: String, message: String) throws {
        let object = try #require(JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
        for answer in [try call("POST", "", object), try call("PATCH", "/corp", object)] {
            #expect(answer.status == 400)
            #expect(answer.message.contains(message), "\(answer)")
            #expect(!answer.diagnosis.isEmpty)
        }
        let numbers = Dictionary(uniqueKeysWithValues: (10..<21).map { ("+155555501\($0)", "111111") })
        #expect(try call("POST", "", ["testPhoneNumbers": numbers]).status == 400)
    }

    @Test("enumerations may be numbers, as protobuf's JSON has them")
    func numbers() throws {
        let made = try call("POST", "", ["mfaConfig": ["state": 2, "enabledProviders": ["1"]] as [String: Any]])
        #expect((made.json["mfaConfig"] as? [String: Any])?["state"] as? String == "ENABLED", "\(made)")
        #expect((made.json["mfaConfig"] as? [String: Any])?["enabledProviders"] as? [String] == ["PHONE_SMS"])
    }

    @Test("lists come in pages, in the order of their IDs; a full page has a token, also when it is the last one")
    func lists() throws {
        func page(_ query: String) throws -> ([String], String?) {
            let answer = try call("GET", query)
            let tenants = try #require(answer.json["tenants"] as? [[String: Any]], "\(answer)")
            return (tenants.compactMap { $0["tenantId"] as? String }, answer["nextPageToken"])
        }
        #expect(try page("") == (["bare", "closed", "corp", "demo-tenant", "partners"], nil))
        #expect(try page("?pageSize=3") == (["bare", "closed", "corp"], "corp"))
        #expect(try page("?pageSize=3&pageToken=corp") == (["demo-tenant", "partners"], nil))
        #expect(try page("?pageSize=5") == (["bare", "closed", "corp", "demo-tenant", "partners"], "partners"))
        #expect(try page("?pageSize=5&pageToken=partners") == ([], nil))
    }

    @Test("a seeded tenant that was deleted stays away until the world begins afresh")
    func delete() throws {
        func ids() throws -> Int {
            let list = try hosted("GET", "")
            #expect(list.status == 200)
            return (list.json["tenants"] as? [Any])?.count ?? 0
        }
        #expect(try ids() == 1)
        let body = ["email": "a@example.org", "password": "secret!", "tenantId": "corp"]
        let user = try fixture.v1("signUp", body, key: "real-key")
        #expect(user.status == 200, "\(user)")
        #expect(try hosted("DELETE", "/corp").text == "{}")
        #expect(try ids() == 0)
        #expect(try fixture.v1("signUp", body, key: "real-key").message == "INVALID_TENANT_ID")
        #expect(try hosted("GET", "/corp").message == "TENANT_NOT_FOUND")
        _ = try fixture.client.request("POST", "\(FirebaseFixture.control)/reset")
        #expect(try ids() == 1)
    }

    @Test("where the real host is named, a name is checked, and the resource is production's")
    func production() throws {
        let made = try hosted("POST", "", ["displayName": "Acme-1", "allowPasswordSignup": true])
        #expect(made.status == 200, "\(made)")
        #expect(made["tenantId"] == nil)
        let id = (made["name"] ?? "").components(separatedBy: "/").last ?? ""
        #expect(try hosted("GET", "/\(id)")["displayName"] == "Acme-1")
        for name in ["abc", "1acme", "acme corp", "acmé-corp", String(repeating: "a", count: 21)] {
            let refused = try hosted("POST", "", ["displayName": name])
            #expect(refused.errorCode == "INVALID_DISPLAY_NAME", "\(refused)")
        }
    }

    @Test(
        "a seed's mistakes are told with their places",
        arguments: [
            (#"{"id":"t"},{"id":"t"}"#, "$.firebase.projects[0].tenants[1]"),
            (#"{"id":"a b"}"#, "$.firebase.projects[0].tenants[0].id"),
            (#"{"id":"t","allowPasswords":true}"#, "$.firebase.projects[0].tenants[0].allowPasswords"),
            (#"{"id":"t","providers":{"password":{}}}"#, "$.firebase.projects[0].tenants[0].providers.password"),
            (
                #"{"id":"t","providers":{"github.com":{"enabled":true}}}"#,
                #"tenants[0].providers["github.com"]: the key "clientID" is missing"#
            ),
            (#"{"id":"t","providers":{"github.com":{"clientid":"c"}}}"#, #"unknown key "clientid""#),
            (#"{"id":"t","providers":{"oidc.x":{}}}"#, #"the key "issuer" is missing"#),
            (#"{"id":"t","providers":{"oidc.y":{"clientID":7}}}"#, "providers[\"oidc.y\"].clientID"),
            (#"{"id":"t","providers":{"oidc.y":{"responseType":"code"}}}"#, "needs a clientSecret"),
            (#"{"id":"t","providers":{"oidc.x":{"issuer":"http://a.example","clientID":"c"}}}"#, "https issuers only"),
            (#"{"id":"t","mfa":{"state":"SOMETIMES"}}"#, "$.firebase.projects[0].tenants[0].mfa.state"),
            (#"{"id":"t","users":[{"localId":"u"},{"localId":"u"}]}"#, "tenants[0].users[1]"),
        ])
    func mistakes(tenants: String, message: String) {
        let seed = """
            {"firebase":{"projects":[{"id":"p","providers":{"oidc.y":{"issuer":"https://a.example","clientID":"c"}},
             "tenants":[\(tenants)]}]}}
            """
        let faults = SeedInput.faults(in: [.json(seed)])
        #expect(faults.contains { $0.contains(message) }, "\(faults)")
    }
}
