import Foundation
import TestSupport
import Testing

// https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow
@Suite("Microsoft: the authorization endpoint")
struct AuthorizationTests {
    let fixture: MicrosoftFixture
    init() throws { fixture = try MicrosoftFixture() }

    @Test("a person chooses an account, consents, and goes back with a code")
    func pages() throws {
        let path = MicrosoftFixture.path("common", ["nonce": "n"])
        let page = try fixture.client.get(path)
        #expect(page.status == 200 && page.text.contains("Ada Lovelace"), "\(page)")
        let place = String(path.prefix { $0 != "?" })
        let consent = try fixture.client.post(place, form: page.inputs.merging(["account": "ada"]) { $1 })
        #expect(consent.text.contains("Let Example access your info?"), "\(consent)")
        #expect(consent.text.contains("Sign in and read your profile"))
        let done = try fixture.client.post(place, form: consent.inputs.merging(["action": "continue"]) { $1 })
        #expect(done.location.hasPrefix("\(MicrosoftFixture.callback)?code="), "\(done)")
        #expect(done.redirect["state"] == "s 1" && done.redirect["session_state"]?.count == 36)
        let tokens = try fixture.token(["code": done.redirect["code"]])
        #expect(tokens.decoded("id_token")["nonce"] as? String == "n", "\(tokens)")
        // The session goes on, and nothing has to be consented to again.
        let cookie = String((done.header("Set-Cookie") ?? "").prefix { $0 != ";" })
        let silent = MicrosoftFixture.path("common", ["prompt": "none"])
        #expect(try fixture.client.request("GET", silent, headers: ["Cookie": cookie]).redirect["code"] != nil)
        let more = MicrosoftFixture.path("common", ["prompt": "none", "scope": "openid Mail.Read"])
        let refused = try fixture.client.request("GET", more, headers: ["Cookie": cookie])
        #expect(refused.redirect["error"] == "interaction_required" && refused.aadsts == 65001, "\(refused)")
        let out = try fixture.client.request(
            "GET",
            "\(MicrosoftFixture.host)/common/oauth2/v2.0/logout?post_logout_redirect_uri=\(MicrosoftFixture.callback)",
            headers: ["Cookie": cookie])
        #expect(out.location == MicrosoftFixture.callback)
        #expect(try fixture.client.request("GET", silent, headers: ["Cookie": cookie]).aadsts == 50058)
    }

    @Test("prompt=none without a session, a cancel, and an ordered error return to the app")
    func returned() throws {
        let silent = try fixture.authorize(["prompt": "none"])
        #expect(silent.redirect["error"] == "login_required" && silent.aadsts == 50058)
        #expect(silent.redirect["error_uri"] == "https://login.microsoftonline.com/error?code=50058")
        #expect(silent.redirect["state"] == "s 1")
        try fixture.world.order(["provider": "microsoft", "outcome": "cancel"])
        let cancelled = try fixture.authorize(["response_mode": "fragment"])
        #expect(cancelled.location.contains("#error=access_denied") && cancelled.aadsts == 65004)
        let lines = cancelled.redirect["error_description"]?.components(separatedBy: "\r\n") ?? []
        #expect(
            lines.map { String($0.prefix { $0 != ":" }) } == ["AADSTS65004", "Trace ID", "Correlation ID", "Timestamp"])
        for (name, error) in [("AADSTS50076", "interaction_required"), ("consent_required", "consent_required")] {
            try fixture.world.order(["provider": "microsoft", "outcome": "error", "error": name])
            #expect(try fixture.authorize().redirect["error"] == error)
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        let changes: [String: String?]
        var tenant = "common"
        let code: Int
        var error: String?
        var testDescription: String { "AADSTS\(code)" }
    }

    static let refusals = [
        // On Microsoft's own page.
        Refusal(changes: ["client_id": nil], code: 900144),
        Refusal(changes: ["client_id": "55555555-5555-4555-8555-555555555555"], code: 700016),
        Refusal(changes: ["redirect_uri": "http://localhost:3000/other"], code: 50011),
        Refusal(changes: ["client_id": MicrosoftFixture.api], code: 500113),
        Refusal(changes: [:], tenant: "66666666-6666-4666-8666-666666666666", code: 90002),
        Refusal(changes: [:], tenant: "authorize", code: 900023),
        // To the app.
        Refusal(changes: ["response_type": nil], code: 900144, error: "invalid_request"),
        Refusal(changes: ["scope": nil], code: 900144, error: "invalid_request"),
        Refusal(changes: ["response_type": "code token"], code: 70005, error: "unsupported_response_type"),
        Refusal(
            changes: ["response_type": "id_token token", "nonce": "n"], code: 700051, error: "unsupported_response_type"
        ),
        Refusal(changes: ["response_type": "id_token"], code: 900144, error: "invalid_request"),
        Refusal(
            changes: ["response_type": "id_token", "scope": "User.Read"], code: 70005,
            error: "unsupported_response_type"),
        Refusal(changes: ["response_mode": "web_message"], code: 70007, error: "invalid_request"),
        Refusal(
            changes: ["response_mode": "query", "response_type": "code id_token", "nonce": "n"], code: 70007,
            error: "invalid_request"),
        Refusal(changes: ["prompt": "sometimes"], code: 90023, error: "invalid_request"),
        Refusal(changes: ["code_challenge": "short"], code: 501491, error: "invalid_request"),
        Refusal(
            changes: ["code_challenge": MicrosoftFixture.challenge, "code_challenge_method": "S512"], code: 50149,
            error: "invalid_request"),
        Refusal(changes: ["scope": "openid https://nowhere.example/read"], code: 500011, error: "invalid_resource"),
        Refusal(changes: ["scope": "openid api://x/"], code: 70011, error: "invalid_scope"),
        Refusal(
            changes: ["scope": "openid api://\(MicrosoftFixture.api)/Tasks.Write"], code: 650053,
            error: "invalid_client"),
    ]

    @Test("what can't be answered is refused, on a page or to the app", arguments: refusals)
    func refused(refusal: Refusal) throws {
        let answer = try fixture.authorize(refusal.changes, at: refusal.tenant)
        #expect(answer.aadsts == refusal.code, "\(answer)")
        #expect(answer.redirect["error"] == refusal.error)
        #expect(answer.redirect["state"] == (refusal.error == nil ? nil : "s 1"))
        if refusal.error == nil {
            #expect(answer.status == 400 && answer.text.contains("having trouble signing you in"))
        }
    }

    @Test("the hybrid flow has a code and an ID token that names it, in the fragment or a form")
    func hybrid() throws {
        try fixture.approve()
        let answer = try fixture.authorize([
            "response_type": "code id_token", "nonce": "n", "client_info": "1",
        ])
        #expect(answer.location.contains("#code="), "\(answer)")
        let claims = answer.decoded("id_token")
        #expect(claims["nonce"] as? String == "n" && (claims["c_hash"] as? String)?.count == 22)
        #expect(answer.redirect["client_info"] != nil)
        try fixture.approve()
        let posted = try fixture.authorize(["response_mode": "form_post"])
        #expect(posted.inputs["code"] != nil && posted.inputs["state"] == "s 1")
    }

    @Test("localhost may have any port, and without redirect_uri the first one is used")
    func redirectURI() throws {
        let native: [String: String?] = ["client_id": MicrosoftFixture.native]
        try fixture.approve()
        let answer = try fixture.authorize(native.merging(["redirect_uri": "http://localhost:51234"]) { $1 })
        #expect(answer.location.hasPrefix("http://localhost:51234?code="))
        #expect(try fixture.authorize(native.merging(["redirect_uri": "http://localhost:1/x"]) { $1 }).aadsts == 50011)
        #expect(try fixture.authorize(native.merging(["redirect_uri": "https://localhost"]) { $1 }).aadsts == 50011)
        try fixture.approve()
        #expect(try fixture.authorize(["redirect_uri": nil]).location.hasPrefix("\(MicrosoftFixture.callback)?code="))
    }
}

// https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols#endpoints
@Suite("Microsoft: tenants")
struct TenantTests {
    private static func seed(_ audience: String) -> String {
        """
        {"microsoft": {"tenants": [{"id": "77777777-7777-4777-8777-777777777777", "domains": ["other.example"]}],
          "clients": [{"clientID": "\(MicrosoftFixture.web)", "signInAudience": "\(audience)"}]}}
        """
    }

    @Test(
        "the path and signInAudience say who may sign in: ada of Example, or grace with a personal account",
        arguments: [
            ("AzureADandPersonalMicrosoftAccount", "common", 0, 0),
            ("AzureADandPersonalMicrosoftAccount", "organizations", 0, 500208),
            ("AzureADandPersonalMicrosoftAccount", "consumers", 500208, 0),
            ("AzureADandPersonalMicrosoftAccount", MicrosoftFixture.consumers, 500208, 0),
            ("AzureADandPersonalMicrosoftAccount", MicrosoftFixture.tenant, 0, 50020),
            ("AzureADandPersonalMicrosoftAccount", "Example.com", 0, 50020),
            ("AzureADandPersonalMicrosoftAccount", "other.example", 50020, 50020),
            ("AzureADMultipleOrgs", "common", 0, 500208), ("AzureADMultipleOrgs", "consumers", 9_002_332, 9_002_332),
            ("AzureADMyOrg", "common", 50194, 50194), ("AzureADMyOrg", MicrosoftFixture.tenant, 0, 50020),
            ("AzureADMyOrg", "other.example", 700016, 700016),
            ("PersonalMicrosoftAccount", "common", 9_002_331, 9_002_331),
            ("PersonalMicrosoftAccount", "consumers", 500208, 0),
        ])
    func admitted(audience: String, tenant: String, ada: Int, grace: Int) throws {
        let fixture = try MicrosoftFixture(seed: TenantTests.seed(audience))
        for (account, code) in [("ada", ada), ("grace", grace)] {
            try fixture.approve(account)
            let answer = try fixture.authorize(at: tenant)
            #expect(answer.aadsts == code, "\(account): \(answer)")
            #expect((answer.redirect["code"] != nil) == (code == 0))
        }
    }

    @Test("discovery has the tenant's ID for its domain, and {tenantid} for common")
    func discovery() throws {
        let fixture = try MicrosoftFixture()
        let path = "/v2.0/.well-known/openid-configuration"
        for (name, issuer) in [
            ("common", "{tenantid}"), ("organizations", "{tenantid}"), ("consumers", MicrosoftFixture.consumers),
            ("example.onmicrosoft.com", MicrosoftFixture.tenant), (MicrosoftFixture.tenant, MicrosoftFixture.tenant),
        ] {
            let document = try fixture.client.get("\(MicrosoftFixture.host)/\(name)\(path)")
            #expect(document["issuer"] == "https://login.microsoftonline.com/\(issuer)/v2.0")
            let place = name.contains(".") ? MicrosoftFixture.tenant : name
            let base = "http://localhost:\(fixture.client.port)/login.microsoftonline.com/\(place)"
            #expect(document["token_endpoint"] == "\(base)/oauth2/v2.0/token")
        }
        let unknown = try fixture.client.get("\(MicrosoftFixture.host)/nowhere\(path)")
        #expect(unknown.status == 400 && unknown.aadsts == 90002 && unknown["error"] == "invalid_tenant")
    }

    @Test("instance discovery knows Microsoft's hosts, and no others")
    func instances() throws {
        let fixture = try MicrosoftFixture()
        let path = "\(MicrosoftFixture.host)/common/discovery/instance?api-version=1.1&authorization_endpoint="
        let known = try fixture.client.get("\(path)https://login.windows.net/common/oauth2/v2.0/authorize")
        let metadata = known.json["metadata"] as? [[String: Any]]
        #expect(metadata?.first?["preferred_network"] as? String == "login.microsoftonline.com")
        #expect(try fixture.client.get("\(path)https://login.example/common").aadsts == 50049)
    }
}
