import Foundation
import JOSE
import JSON
import TestSupport
import Testing

@Suite("OpenID Connect: pushed and signed requests, claims")
struct RequestTests {
    private func push(_ fixture: OpenIDFixture, _ changes: [String: String?] = [:]) throws -> Answer {
        let form = fixture.parameters(changes.merging(["client_secret": OpenIDFixture.secret]) { first, _ in first })
        return try fixture.client.post("\(fixture.base)/par", form: form)
    }

    private func open(_ fixture: OpenIDFixture, _ uri: String?, by person: String? = "ada") throws -> Answer {
        if let person { try fixture.order(["outcome": "approve", "account": person]) }
        let form = ["client_id": "web", "request_uri": uri ?? ""]
        return try fixture.client.get("\(fixture.base)/authorize?\(TestClient.encode(form))")
    }

    /// <https://datatracker.ietf.org/doc/html/rfc9126#section-2.3>
    @Test("a request that is too long to be kept is refused with 413")
    func longRequest() throws {
        let fixture = try OpenIDFixture()
        let long = String(repeating: "x", count: 40_000)
        #expect(try push(fixture, ["ui_locales": long]).status == 201)
        let refused = try push(fixture, ["ui_locales": long, "claims_locales": long])
        #expect(refused.status == 413)
        #expect(refused["error"] == "invalid_request")
        #expect(refused.diagnosis.contains("at most 65536"))
    }

    @Test("a pushed request is answered once, in time, for its client")
    func pushed() throws {
        let fixture = try OpenIDFixture(issuer: #""requirePushedRequests":true"#)
        try fixture.freeze()
        #expect(try fixture.authorize(by: nil).text.contains("requirePushedRequests"))
        let pushed = try push(fixture)
        #expect(pushed.status == 201)
        #expect(pushed.json["expires_in"] as? Int == 90)
        let answer = try open(fixture, pushed["request_uri"])
        #expect(answer.redirect["state"] == "s 1")
        #expect(try fixture.token(["code": answer.redirect["code"]])["id_token"] != nil)
        #expect(try open(fixture, pushed["request_uri"], by: nil).text.contains("invalid_request_uri"))
        let late = try push(fixture)["request_uri"]
        // A page that was opened in time may be answered later.
        let page = try open(fixture, late, by: nil)
        try fixture.advance("2m")
        #expect(try open(fixture, late, by: nil).diagnosis.contains("expired"))
        let browser = TestBrowser(fixture.client)
        #expect(try browser.submit(page, ["account": "ada"]).redirect["code"] != nil)
        let foreign = ["client_id": "spa", "request_uri": try push(fixture)["request_uri"] ?? ""]
        let refused = try fixture.client.get("\(fixture.base)/authorize?\(TestClient.encode(foreign))")
        #expect(refused.text.contains("invalid_request_uri"))
    }

    @Test("what can't be pushed")
    func pushRefusals() throws {
        let fixture = try OpenIDFixture()
        for (changes, error) in [
            (["client_secret": "x"], "invalid_client"), (["redirect_uri": "https://x.example"], "invalid_request"),
            (["response_type": "x"], "unsupported_response_type"), (["request_uri": "x"], "invalid_request"),
            (["request": "x"], "invalid_request_object"), (["max_age": "x"], "invalid_request"),
        ] as [([String: String?], String)] {
            let answer = try push(fixture, changes)
            #expect(answer["error"] == error, "\(changes)")
            #expect(!answer.diagnosis.isEmpty)
        }
    }

    @Test("a signed request takes the place of the query, and must be the client's own")
    func requestObjects() throws {
        let key = try Key.generateP256()
        let jwk = key.jwk(keyID: "k", algorithm: .es256).text
        let fixture = try OpenIDFixture(
            clients:
                #"{"clientID":"signs","jwks":{"keys":[\#(jwk)]},"redirectURIs":["http://localhost:3000/callback"]}"#)
        func object(_ changes: [String: JSONValue?] = [:], by key: Key = key) throws -> String {
            let now = Int64(Date().timeIntervalSince1970)
            var claims = JSONObject([
                ("iss", "signs"), ("aud", .string(fixture.issuer)), ("exp", .integer(now + 3_600)),
                ("client_id", "signs"),
                ("response_type", "code"), ("redirect_uri", "http://localhost:3000/callback"), ("scope", "openid"),
                ("state", "signed"), ("nonce", "signed nonce"), ("max_age", 600),
                ("claims", ["id_token": ["email": .null]]),
            ])
            for (name, value) in changes { claims[name] = value }
            let header = JSONObject([("alg", "ES256"), ("kid", "k")])
            return try JWS.mint(header: header, claims: claims, key: key, algorithm: .es256)
        }
        func ask(_ request: String) throws -> Answer {
            try fixture.order(["outcome": "approve", "account": "ada"])
            let form = [
                "client_id": "signs", "request": request, "state": "unsigned", "redirect_uri": "https://x.example",
            ]
            return try fixture.client.get("\(fixture.base)/authorize?\(TestClient.encode(form))")
        }
        let answer = try ask(object())
        #expect(answer.redirect["state"] == "signed")
        #expect(answer.redirect["code"] != nil)
        for (request, reason) in [
            (try object(by: try Key.generateP256()), "signature"), (try object(["aud": "https://x.example"]), "aud"),
            (try object(["iss": "web"]), "iss"), (try object(["exp": 1]), "expired"),
            (try object(["client_id": "web"]), "client_id"), (try object(["nbf": 9_999_999_999]), "nbf"),
        ] {
            let refused = try ask(request)
            #expect(refused.text.contains("invalid_request_object"))
            #expect(refused.diagnosis.contains(reason), "\(refused.diagnosis)")
        }
    }

    @Test("claims: of scopes, of the issuer, the client, the person, and those that are asked for")
    func claims() throws {
        let fixture = try OpenIDFixture(
            seed: #"""
                {"accounts":[{"id":"ada","openid":{"sub":"ada-1","claims":{"department":"engines","email":null,
                "picture":"https://x.example/ada","nonce":"no"}}}],
                "openid":{"issuers":[{"id":"corp","claims":{"tenant":"t1","department":"none"},
                "scopes":{"payroll":{"salary":1}},
                "clients":[{"clientID":"web","claims":{"tier":"gold"}}]}]}}
                """#)
        func claims(_ changes: [String: String?]) throws -> [String: Any] {
            OpenIDFixture.claims(try fixture.signIn(changes)["id_token"])
        }
        let usual = try claims(["scope": "openid email"])
        #expect(usual["sub"] as? String == "ada-1")
        #expect(usual["tenant"] as? String == "t1")
        #expect(usual["tier"] as? String == "gold")
        #expect(usual["department"] as? String == "engines")
        #expect(usual["nonce"] as? String == "n")
        for name in ["email", "picture", "salary", "groups"] { #expect(usual[name] == nil) }
        let more = try claims(["scope": "openid profile payroll groups roles phone"])
        #expect(more["picture"] as? String == "https://x.example/ada")
        #expect(more["salary"] as? Int == 1)
        #expect(more["groups"] as? [String] == ["engineers", "admins"])
        #expect(more["roles"] as? [String] == ["owner"])
        #expect(more["phone_number"] as? String == "+15555550100")
        let asked = try fixture.signIn([
            "scope": "openid", "claims": #"{"id_token":{"name":null},"userinfo":{"phone_number":{"essential":true}}}"#,
        ])
        #expect(OpenIDFixture.claims(asked["id_token"])["name"] as? String == "Ada Lovelace")
        let user = try fixture.client.get("\(fixture.base)/userinfo", headers: fixture.bearer(asked["access_token"]))
        #expect(user["phone_number"] == "+15555550100")
        #expect(user["name"] == nil)
        let minimal = try OpenIDFixture(issuer: #""claimsInIDToken":false"#)
        #expect(OpenIDFixture.claims(try minimal.signIn()["id_token"])["email"] == nil)
        let alone = try minimal.authorize(["response_type": "id_token"]).redirect["id_token"]
        #expect(OpenIDFixture.claims(alone)["email"] as? String == "ada@example.com")
    }

    @Test("pairwise subjects, and userinfo that is signed")
    func pairwise() throws {
        let uris = #""redirectURIs":["http://localhost:3000/callback"],"clientSecret":"s""#
        let fixture = try OpenIDFixture(
            issuer: #""algorithms":["RS256","ES256"]"#,
            clients: [
                #"{"clientID":"p1","subject":"pairwise","sector":"one.example",\#(uris)}"#,
                #"{"clientID":"p2","subject":"pairwise","sector":"one.example",\#(uris)}"#,
                #"{"clientID":"p3","subject":"pairwise","idTokenAlgorithm":"ES256","userInfoAlgorithm":"ES256",\#(uris)}"#,
            ].joined(separator: ","))
        func sign(_ client: String) throws -> Answer {
            let code = try fixture.code(["client_id": client])
            return try fixture.token(["client_id": client, "client_secret": "s", "code": code])
        }
        let subjects = try ["p1", "p2", "p3", "web"].map { client in
            let token = client == "web" ? try fixture.signIn() : try sign(client)
            return OpenIDFixture.claims(token["id_token"])["sub"] as? String ?? ""
        }
        #expect(subjects[0] == subjects[1])
        #expect(Set(subjects).count == 3)
        let tokens = try sign("p3")
        #expect(try JWS(parsing: tokens["id_token"] ?? "").algorithm == "ES256")
        let signed = try fixture.client.get("\(fixture.base)/userinfo", headers: fixture.bearer(tokens["access_token"]))
        #expect(signed.header("Content-Type") == "application/jwt")
        let user = try JWS(parsing: signed.text)
        #expect(user.claims["aud"]?.string == "p3")
        #expect(user.claims["sub"]?.string == subjects[2])
        let set = KeySet(try JSONValue(parsing: fixture.client.get("\(fixture.base)/jwks").text))
        #expect(set.fault(of: user, allowing: [.es256]) == nil)
        #expect(fixture.client.port > 0)
    }

    @Test("userinfo without the scope openid, and without a token")
    func userInfoRefusals() throws {
        let fixture = try OpenIDFixture()
        let token = try fixture.signIn(["scope": "email"])["access_token"]
        let refused = try fixture.client.get("\(fixture.base)/userinfo", headers: fixture.bearer(token))
        #expect(refused.status == 403)
        #expect(refused["error"] == "insufficient_scope")
        let without = try fixture.client.post("\(fixture.base)/userinfo", form: [:])
        #expect(without.status == 401)
        #expect(without.header("WWW-Authenticate") == "Bearer")
    }

    @Test("POST tokens mints for a client of an issuer")
    func minted() throws {
        let fixture = try OpenIDFixture()
        let body: [String: Any] = ["provider": "openid", "client": "web", "account": "grace", "nonce": "x"]
        let answer = try fixture.client.post("\(OpenIDFixture.control)/tokens", json: body)
        #expect(answer.status == 201)
        #expect(OpenIDFixture.claims(answer["token"])["nonce"] as? String == "x")
        let unknown = try fixture.client.post(
            "\(OpenIDFixture.control)/tokens", json: ["provider": "openid", "client": "wep"])
        #expect(unknown.status == 404)
    }

    @Test(
        "POST tokens mints for the issuer that the request names, with the issuer's short URL if it follows the request"
    )
    func mintedAtIssuer() throws {
        let both = #""issuerFollowsRequest":true,"clients":[{"clientID":"app"}]"#
        let fixture = try OpenIDFixture(
            seed: #"""
                {"openid":{"issuers":[{"id":"one","issuer":"https://one.example/",\#(both)},
                {"id":"two","issuer":"https://two.example/auth",\#(both)}]}}
                """#)
        func mint(_ order: [String: Any]) throws -> Answer {
            try fixture.client.post(
                "\(OpenIDFixture.control)/tokens",
                json: order.merging(["client": "app", "account": "grace"]) { given, _ in given })
        }
        func issuer(of answer: Answer) -> String? { OpenIDFixture.claims(answer["token"])["iss"] as? String }

        let first = try mint(["provider": "openid"])
        let second = try mint(["provider": "openid", "issuer": "two"])
        #expect(issuer(of: first)?.hasSuffix("/oidc/one/") == true)
        #expect(issuer(of: second)?.hasSuffix("/oidc/two") == true)
        let discovered = try fixture.client.get("/oidc/two/.well-known/openid-configuration")
        #expect(discovered["issuer"] == issuer(of: second))
        let local = try fixture.client.post(
            "\(OpenIDFixture.control)/seed",
            json: [
                "openid": [
                    "issuers": [
                        [
                            "id": "local", "issuer": "http://localhost:\(fixture.server.port)/realms/x",
                            "issuerFollowsRequest": true, "clients": [["clientID": "app"]],
                        ]
                    ]
                ]
            ])
        #expect(local.status == 200, "\(local)")
        let here = try fixture.client.get("/realms/x/.well-known/openid-configuration")
        #expect(here["issuer"] == issuer(of: try mint(["provider": "openid", "issuer": "local"])))
        #expect(try mint(["provider": "openid", "issuer": "three"]).text.contains("noSuchIssuer"))
        #expect(try mint(["provider": "google", "issuer": "two"]).text.contains("noIssuers"))
    }
}
