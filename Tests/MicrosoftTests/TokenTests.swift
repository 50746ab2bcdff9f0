import Foundation
import TestSupport
import Testing

@Suite("Microsoft: the token endpoint")
struct TokenTests {
    let fixture: MicrosoftFixture
    init() throws { fixture = try MicrosoftFixture() }

    private let tasks = "api://\(MicrosoftFixture.api)/Tasks.Read"

    @Test("a code with PKCE brings tokens, whose ID token PyJWT verifies", .pyJWT)
    func code() throws {
        let code = try fixture.code(MicrosoftFixture.pkce.merging(["nonce": "n"]) { $1 })
        let tokens = try fixture.token([
            "code": code, "code_verifier": MicrosoftFixture.verifier, "client_info": "1",
        ])
        #expect(tokens.status == 200 && tokens.json["expires_in"] as? Int == 3599, "\(tokens)")
        #expect(tokens["scope"] == "openid profile email User.Read" && tokens["token_type"] == "Bearer")
        #expect(tokens["access_token"]?.contains(".") == false)
        let issuer = "https://login.microsoftonline.com/\(MicrosoftFixture.tenant)/v2.0"
        let claims = try TokenVerifier.claims(
            of: TokenVerifier.Check(
                tokens["id_token"] ?? "", keys: fixture.keys().text, audience: MicrosoftFixture.web, issuer: issuer))
        #expect(claims["ver"] as? String == "2.0" && claims["tid"] as? String == MicrosoftFixture.tenant)
        #expect(claims["oid"] as? String == "aaaaaaaa-0000-4000-8000-000000000001")
        #expect(claims["preferred_username"] as? String == "ada@example.com")
        #expect(claims["name"] as? String == "Ada Lovelace" && claims["nonce"] as? String == "n")
        #expect(claims["email"] as? String == "ada@example.com" && claims["uti"] != nil)
        let key = (try fixture.keys().json["keys"] as? [[String: Any]])?.first
        #expect(key?["alg"] == nil && key?["issuer"] as? String == "https://login.microsoftonline.com/{tenantid}/v2.0")
        var info = tokens["client_info"] ?? ""
        while info.count % 4 != 0 { info += "=" }
        let json =
            Data(base64Encoded: info).flatMap { try? JSONSerialization.jsonObject(with: $0) } as? [String: String]
        #expect(json == ["uid": "aaaaaaaa-0000-4000-8000-000000000001", "utid": MicrosoftFixture.tenant])
    }

    @Test("claims follow scopes, and sub is the client's own")
    func claims() throws {
        let few = try fixture.tokens(["scope": "openid"])
        #expect(few["refresh_token"] == nil && few["scope"] == "openid")
        let claims = few.decoded("id_token")
        #expect(claims["name"] == nil && claims["oid"] == nil && claims["email"] == nil)
        #expect(try fixture.tokens(["scope": "User.Read"])["id_token"] == nil)
        try fixture.approve()
        let code = try fixture.authorize([
            "client_id": MicrosoftFixture.native, "redirect_uri": "http://localhost", "scope": "openid",
        ]).redirect["code"]
        let other = try fixture.token([
            "client_id": MicrosoftFixture.native, "client_secret": nil, "redirect_uri": "http://localhost",
            "code": code,
        ])
        #expect(other.status == 200, "\(other)")
        #expect(other.decoded("id_token")["sub"] as? String != claims["sub"] as? String)
        let personal = try fixture.tokens(by: "grace").decoded("id_token")
        #expect(personal["tid"] as? String == MicrosoftFixture.consumers)
    }

    @Test("a token for an API is a JSON Web Token with its scopes and roles, and Graph refuses it", .pyJWT)
    func api() throws {
        let tokens = try fixture.tokens(["scope": "openid \(tasks) offline_access"])
        #expect(tokens["scope"] == tasks, "\(tokens)")
        let claims = try TokenVerifier.claims(
            of: TokenVerifier.Check(
                tokens["access_token"] ?? "", keys: fixture.keys().text, audience: MicrosoftFixture.api,
                issuer: "https://login.microsoftonline.com/\(MicrosoftFixture.tenant)/v2.0"))
        #expect(claims["scp"] as? String == "Tasks.Read" && claims["roles"] as? [String] == ["Tasks.Admin"])
        #expect(claims["azp"] as? String == MicrosoftFixture.web && claims["azpacr"] as? String == "1")
        let refused = try fixture.graph("/v1.0/me", tokens["access_token"])
        #expect(refused.text.contains("Invalid audience."))
    }

    @Test("a refresh token stays, brings another, and works for what was consented to")
    func refresh() throws {
        let first = try fixture.tokens(["scope": "openid offline_access User.Read \(tasks)"])
        #expect(first["scope"] == "openid User.Read")
        for _ in 1...2 {
            let again = try fixture.token([
                "grant_type": "refresh_token", "refresh_token": first["refresh_token"], "scope": tasks,
            ])
            #expect(again.status == 200 && again["scope"] == tasks, "\(again)")
            #expect(again["refresh_token"] != nil && again["refresh_token"] != first["refresh_token"])
            #expect(again.decoded("id_token")["nonce"] == nil)
        }
        let more = try fixture.token([
            "grant_type": "refresh_token", "refresh_token": first["refresh_token"], "scope": "Mail.Read",
        ])
        #expect(more.aadsts == 65001 && more["suberror"] == "consent_required" && more["error"] == "invalid_grant")
        try fixture.world.advance("91d")
        let late = try fixture.token(["grant_type": "refresh_token", "refresh_token": first["refresh_token"]])
        #expect(late.aadsts == 700082 && late["suberror"] == "bad_token", "\(late)")
    }

    @Test("a refresh token of an earlier sign-in brings an access token for what was consented to since")
    func consentedSince() throws {
        let first = try fixture.tokens(["scope": "openid offline_access"])
        _ = try fixture.tokens(["scope": "openid User.Read"])
        let again = try fixture.token([
            "grant_type": "refresh_token", "refresh_token": first["refresh_token"], "scope": "User.Read",
        ])
        #expect(again.status == 200, "\(again)")
        #expect(try fixture.graph("/v1.0/me", again["access_token"]).status == 200)
    }

    @Test("a script of a single-page application redeems with PKCE and Origin, and its refresh token lasts a day")
    func spa() throws {
        let changes = MicrosoftFixture.pkce.merging(["redirect_uri": MicrosoftFixture.spa]) { $1 }
        let form: [String: String?] = [
            "client_secret": nil, "redirect_uri": MicrosoftFixture.spa, "code_verifier": MicrosoftFixture.verifier,
        ]
        let origin = ["Origin": "http://localhost:3000"]
        let code = try fixture.code(changes)
        #expect(try fixture.token(form.merging(["code": code]) { $1 }).aadsts == 9_002_327)
        let secret = form.merging(["code": code, "client_secret": MicrosoftFixture.secret]) { $1 }
        #expect(try fixture.token(secret, headers: origin).aadsts == 700025)
        let tokens = try fixture.token(form.merging(["code": code]) { $1 }, headers: origin)
        #expect(
            tokens.status == 200 && tokens.header("Access-Control-Allow-Origin") == "http://localhost:3000", "\(tokens)"
        )
        let bare = try fixture.code(["redirect_uri": MicrosoftFixture.spa])
        #expect(try fixture.token(form.merging(["code": bare]) { $1 }, headers: origin).aadsts == 9_002_325)
        #expect(try fixture.token(["code": fixture.code()], headers: origin).aadsts == 9_002_326)
        try fixture.world.advance("25h")
        let refresh: [String: String?] = [
            "grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_secret": nil,
        ]
        #expect(try fixture.token(refresh, headers: origin).aadsts == 700084)
    }

    @Test("an app's own token is for an API's .default, with its roles")
    func clientCredentials() throws {
        let form: [String: String?] = [
            "grant_type": "client_credentials", "scope": "api://\(MicrosoftFixture.api)/.default",
        ]
        let tokens = try fixture.token(form, at: MicrosoftFixture.tenant)
        #expect(tokens.status == 200 && tokens["refresh_token"] == nil && tokens["id_token"] == nil, "\(tokens)")
        let claims = tokens.decoded("access_token")
        #expect(claims["roles"] as? [String] == ["Tasks.ReadAll"] && claims["scp"] == nil)
        #expect(
            claims["tid"] as? String == MicrosoftFixture.tenant && claims["oid"] as? String == claims["sub"] as? String)
        let own = form.merging(["scope": "https://graph.microsoft.com/.default"]) { $1 }
        let graph = try fixture.token(own, at: "example.com")
        let refused = try fixture.graph("/v1.0/me", graph["access_token"])
        #expect(refused.status == 400 && refused.text.contains("delegated authentication flow"), "\(refused)")
        for (changes, code) in [
            (["scope": "User.Read"], 1_002_012), (["scope": nil], 90014), (["client_secret": nil], 7_000_216),
            (["client_secret": "wrong"], 7_000_215),
        ] as [([String: String?], Int)] {
            #expect(try fixture.token(form.merging(changes) { $1 }, at: MicrosoftFixture.tenant).aadsts == code)
        }
        #expect(try fixture.token(form).aadsts == 9_001_023)
    }

    @Test("a device waits for a person, who enters its code")
    func device() throws {
        try fixture.world.freeze()
        func begin() throws -> Answer {
            try fixture.client.post(
                "\(MicrosoftFixture.host)/organizations/oauth2/v2.0/devicecode",
                form: ["client_id": MicrosoftFixture.native, "scope": "openid profile offline_access User.Read"])
        }
        func poll(_ device: Answer) throws -> Answer {
            try fixture.token(
                [
                    "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "client_id": MicrosoftFixture.native,
                    "client_secret": nil, "redirect_uri": nil, "device_code": device["device_code"],
                ], at: "organizations")
        }
        let device = try begin()
        #expect(
            device.json["expires_in"] as? Int == 900 && device["message"]?.contains("microsoft.com/devicelogin") == true
        )
        let pending = try poll(device)
        #expect(pending["error"] == "authorization_pending" && pending.aadsts == 70016, "\(pending)")
        let short = try fixture.client.get("/microsoft.com/devicelogin")
        let path = "\(MicrosoftFixture.host)/common/oauth2/deviceauth"
        #expect(short.location.hasSuffix(path))
        let chooser = try fixture.client.post(path, form: ["user_code": device["user_code"] ?? "", "action": "enter"])
        let consent = try fixture.client.post(path, form: chooser.inputs.merging(["account": "ada"]) { $1 })
        _ = try fixture.client.post(path, form: consent.inputs.merging(["action": "continue"]) { $1 })
        let tokens = try poll(device)
        #expect(tokens.status == 200 && tokens["refresh_token"] != nil, "\(tokens)")
        #expect(try poll(device).aadsts == 70018)
        try fixture.world.order(["provider": "microsoft", "outcome": "cancel"])
        #expect(try poll(begin())["error"] == "authorization_declined")
        let late = try begin()
        try fixture.world.advance("16m")
        #expect(try poll(late)["error"] == "expired_token")
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        let changes: [String: String?]
        var tenant = "common"
        let code: Int
        let error: String
        var testDescription: String { "AADSTS\(code)" }
    }

    static let refusals = [
        Refusal(changes: ["grant_type": nil], code: 900144, error: "invalid_request"),
        Refusal(changes: ["grant_type": "password"], code: 70003, error: "unsupported_grant_type"),
        Refusal(changes: ["client_id": nil], code: 900144, error: "invalid_request"),
        Refusal(changes: ["client_id": "x"], code: 700016, error: "unauthorized_client"),
        Refusal(changes: ["client_secret": "wrong"], code: 7_000_215, error: "invalid_client"),
        Refusal(changes: ["client_secret": nil], code: 7_000_218, error: "invalid_client"),
        Refusal(changes: ["client_assertion": "e30.e30.x"], code: 700027, error: "invalid_client"),
        Refusal(changes: ["code": nil], code: 900144, error: "invalid_request"),
        Refusal(changes: ["code": "nonsense"], code: 9_002_313, error: "invalid_grant"),
        Refusal(changes: ["redirect_uri": "http://localhost:3000/other"], code: 500112, error: "invalid_client"),
        Refusal(changes: ["code_verifier": String(repeating: "a", count: 43)], code: 501481, error: "invalid_grant"),
        Refusal(changes: [:], tenant: MicrosoftFixture.tenant, code: 700005, error: "invalid_grant"),
        Refusal(changes: [:], tenant: "nowhere.example", code: 90002, error: "invalid_tenant"),
        Refusal(
            changes: ["grant_type": "refresh_token", "refresh_token": "nonsense"], code: 9_002_313,
            error: "invalid_grant"),
    ]

    @Test("what can't be redeemed is refused with Microsoft's code", arguments: refusals)
    func refused(refusal: Refusal) throws {
        let code = try fixture.code(MicrosoftFixture.pkce)
        let form: [String: String?] = ["code": code, "code_verifier": MicrosoftFixture.verifier]
        let answer = try fixture.token(form.merging(refusal.changes) { $1 }, at: refusal.tenant)
        #expect(answer.aadsts == refusal.code && answer["error"] == refusal.error, "\(answer)")
        #expect(answer.status == (refusal.error == "invalid_client" ? 401 : 400))
        #expect(answer.json["error_codes"] as? [Int] == [refusal.code])
        #expect(answer["trace_id"] == answer.header("x-ms-request-id") && answer["correlation_id"]?.count == 36)
        #expect(answer["error_uri"] == "https://login.microsoftonline.com/error?code=\(refusal.code)")
        #expect(try fixture.token(form).status == 200, "a refused code stays")
    }

    @Test("a code works once and for ten minutes, and nothing works when the app was removed")
    func ended() throws {
        let code = try fixture.code()
        let tokens = try fixture.token(["code": code])
        #expect(try fixture.token(["code": code]).aadsts == 54005)
        let late = try fixture.code()
        try fixture.world.advance("11m")
        let expired = try fixture.token(["code": late])
        #expect(expired.aadsts == 70008 && expired.diagnosis.contains("a code is valid for 10 min"), "\(expired)")
        let order = ["account": "ada", "client": MicrosoftFixture.web]
        #expect(try fixture.client.post("\(FirebaseFixture.control)/microsoft/revocations", json: order).status == 200)
        let refused = try fixture.token(["grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]])
        #expect(refused.aadsts == 65001 && refused.diagnosis.contains("the person removed"), "\(refused)")
        #expect(try fixture.graph("/v1.0/me", tokens["access_token"]).status == 401)
    }

    @Test(
        "a JSON body is refused as one that isn't a form, whatever its type",
        arguments: ["application/json", "application/x-www-form-urlencoded"])
    func jsonBody(type: String) throws {
        let answer = try fixture.client.post(
            "\(MicrosoftFixture.host)/common/oauth2/v2.0/token", json: ["client_id": MicrosoftFixture.web],
            headers: ["Content-Type": type])
        #expect(answer.aadsts == 900144, "\(answer)")
        let words = "received a JSON body; expected application/x-www-form-urlencoded; send the parameters as a form"
        #expect(answer.diagnosis == words, "\(answer)")
    }

    @Test("errors are ordered by code or by name")
    func ordered() throws {
        for (name, code, status) in [("AADSTS53003", 53003, 400), ("temporarily_unavailable", 90033, 503)] {
            let order: [String: Any] = [
                "match": ["host": "login.microsoftonline.com", "path": "/*/oauth2/v2.0/token"],
                "effect": ["error": name],
            ]
            #expect(try fixture.client.post("\(FirebaseFixture.control)/faults", json: order).status == 201)
            let answer = try fixture.token(["code": "x"])
            #expect(answer.aadsts == code && answer.status == status, "\(answer)")
        }
    }

    @Test("optional claims about the name need the scope profile, the address doesn't")
    func optionalClaims() throws {
        let seed = """
            {"microsoft":{"clients":[{"clientID":"\(MicrosoftFixture.web)",
              "optionalClaims":["email","family_name","given_name","upn"]}]}}
            """
        let fixture = try MicrosoftFixture(seed: seed)
        let plain = try fixture.tokens(["scope": "openid"]).decoded("id_token")
        #expect(plain["email"] as? String == "ada@example.com" && plain["given_name"] == nil && plain["upn"] == nil)
        let named = try fixture.tokens(["scope": "openid profile"]).decoded("id_token")
        #expect(named["given_name"] as? String == "Ada" && named["upn"] as? String == "ada@example.com", "\(named)")
    }

    @Test("Graph and userinfo answer about the person, and refuse in Graph's words")
    func graph() throws {
        let tokens = try fixture.tokens()
        let me = try fixture.graph("/v1.0/me", tokens["access_token"])
        #expect(me["displayName"] == "Ada Lovelace" && me["userPrincipalName"] == "ada@example.com", "\(me)")
        #expect(me["id"] == "aaaaaaaa-0000-4000-8000-000000000001" && me["jobTitle"] == "Analyst")
        #expect(try fixture.graph("/v1.0/me?$select=mail", tokens["access_token"]).json.count == 2)
        let info = try fixture.graph("/oidc/userinfo", tokens["access_token"])
        #expect(info["sub"] == tokens.decoded("id_token")["sub"] as? String && info["given_name"] == "Ada")
        for (path, token, status, code) in [
            ("/v1.0/me", nil, 401, "InvalidAuthenticationToken"),
            ("/v1.0/me", "EwBx", 401, "InvalidAuthenticationToken"),
            ("/v1.0/me", try fixture.tokens(["scope": "openid"])["access_token"], 403, "Authorization_RequestDenied"),
            ("/v1.0/groups", tokens["access_token"], 400, "BadRequest"),
        ] {
            let refused = try fixture.graph(path, token)
            let error = refused.json["error"] as? [String: Any]
            #expect(refused.status == status && error?["code"] as? String == code, "\(refused)")
            #expect((error?["innerError"] as? [String: String])?["request-id"]?.count == 36)
        }
        try fixture.world.advance("2h")
        #expect(try fixture.graph("/v1.0/me", tokens["access_token"]).text.contains("the token is expired"))
    }
}
