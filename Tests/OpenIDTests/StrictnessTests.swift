import Foundation
import JOSE
import JSON
import TestSupport
import Testing

/// Tests of values that an issuer must not take for something else.
@Suite("OpenID Connect: strictness")
struct StrictnessTests {
    private let fixture: OpenIDFixture
    private static let redirectURI = "http://localhost:3000/callback"

    init() throws {
        fixture = try OpenIDFixture(
            clients: #"""
                {"clientID":"api","clientSecret":"s","accessToken":"jwt","redirectURIs":["http://localhost:3000/callback"]},
                {"clientID":"narrow","clientSecret":"s","scopes":["openid"]},
                {"clientID":"signer","clientSecret":"signer-secret-of-32-bytes-or-more","tokenEndpointAuthMethod":"client_secret_jwt"}
                """#)
    }

    private func post(_ endpoint: String, _ form: [String: String?]) throws -> Answer {
        try fixture.client.post("\(fixture.base)/\(endpoint)", form: form.compactMapValues { $0 })
    }

    private func userInfo(_ token: String?) throws -> Answer {
        try fixture.client.get("\(fixture.base)/userinfo", headers: fixture.bearer(token))
    }

    @Test("the identifier of a JSON Web Token isn't a token")
    func identifier() throws {
        let tokens = try fixture.token([
            "client_id": "api", "client_secret": "s", "code": try fixture.code(["client_id": "api"]),
        ])
        let id = OpenIDFixture.claims(tokens["access_token"])["jti"] as? String ?? ""
        #expect(!id.isEmpty)
        #expect(try userInfo(tokens["access_token"]).status == 200)
        for text in [id, "jwt:\(id)"] {
            #expect(try userInfo(text).status == 401)
            let answer = try post(
                "introspect", ["client_id": "web", "client_secret": OpenIDFixture.secret, "token": text])
            #expect(answer.json["active"] as? Bool == false)
        }
    }

    @Test("what is kept as long as a grant is bounded")
    func keptTexts() throws {
        let resource = "https://api.example/"
        func text(_ length: Int) -> String { String(repeating: "x", count: length) }
        func own(_ resource: String) throws -> Answer {
            try post(
                "token",
                [
                    "client_id": "web", "client_secret": OpenIDFixture.secret, "grant_type": "client_credentials",
                    "resource": resource,
                ])
        }
        #expect(try own(resource + text(2_048 - resource.count)).status == 200)
        #expect(try own(resource + text(2_049 - resource.count))["error"] == "invalid_target")
        let token = try fixture.signIn(["scope": "openid"])["access_token"]
        #expect(try trade(token, "access_token", ["audience": text(2_048)]).status == 200)
        #expect(try trade(token, "access_token", ["audience": text(2_049)])["error"] == "invalid_target")
        func pushed(_ name: String, _ value: String) throws -> Answer {
            try post(
                "par",
                [
                    "client_id": "web", "client_secret": OpenIDFixture.secret, "response_type": "code",
                    "scope": "openid", "redirect_uri": StrictnessTests.redirectURI, name: value,
                ])
        }
        func claims(_ length: Int) -> String { #"{"id_token":{"a":{"value":"\#(text(length - 31))"}}}"# }
        #expect(claims(8_192).utf8.count == 8_192)
        for (name, fits, long) in [
            ("acr_values", text(1_024), text(1_025)), ("claims", claims(8_192), claims(8_193)),
        ] {
            #expect(try pushed(name, fits).status == 201, "\(name)")
            #expect(try pushed(name, long)["error"] == "invalid_request", "\(name)")
        }
    }

    private func trade(_ token: String?, _ kind: String, _ changes: [String: String] = [:]) throws -> Answer {
        let type = "urn:ietf:params:oauth:token-type"
        return try post(
            "token",
            [
                "client_id": "narrow", "client_secret": "s", "subject_token": token,
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
                "subject_token_type": "\(type):\(kind)",
            ].merging(changes.mapValues { $0.replacingOccurrences(of: "TYPE", with: type) }) { $1 })
    }

    @Test("an exchange gives a client no scope that it may not have, and takes each token for what it is")
    func exchange() throws {
        let tokens = try fixture.signIn(["scope": "openid email offline_access"])
        #expect(try trade(tokens["access_token"], "access_token")["scope"] == "openid")
        #expect(
            try trade(tokens["access_token"], "access_token", ["scope": "openid email"])["error"] == "invalid_scope")
        for (token, kind) in [
            ("refresh_token", "access_token"), ("refresh_token", "refresh_token"), ("access_token", "jwt"),
        ] {
            #expect(try trade(tokens[token], kind)["error"] == "invalid_request", "\(token) as \(kind)")
        }
        let asked = try trade(tokens["access_token"], "access_token", ["requested_token_type": "TYPE:jwt"])
        #expect(OpenIDFixture.claims(asked["access_token"])["client_id"] as? String == "narrow")
        #expect(try userInfo(asked["access_token"]).status == 200)
        let elsewhere = try trade(
            tokens["access_token"], "access_token", ["requested_token_type": "TYPE:id_token", "audience": "spa"])
        #expect(elsewhere["error"] == "invalid_target")
    }

    @Test("actors act for each other, but not without end")
    func actors() throws {
        var token = try fixture.signIn(["scope": "openid"])["access_token"]
        let actor = ["actor_token_type": "TYPE:access_token", "actor_token": token ?? ""]
        for _ in 0..<10 { token = try trade(token, "access_token", actor)["access_token"] }
        #expect(token != nil)
        let answer = try trade(token, "access_token", actor)
        #expect(answer["error"] == "invalid_request")
        #expect(answer.diagnosis.contains("more than 10"))
    }

    @Test("fields without a value count as left out, and none may occur twice")
    func fields() throws {
        let tokens = try fixture.signIn(["scope": "openid email offline_access"])
        let refreshed = try fixture.token([
            "grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "scope": "",
        ])
        #expect(refreshed["scope"] == "openid email offline_access")
        let empty = Dictionary(
            uniqueKeysWithValues: ["request", "request_uri", "claims", "id_token_hint", "response_mode", "max_age"].map
            {
                ($0, Optional(""))
            })
        #expect(try fixture.authorize(empty).redirect["code"] != nil)
        let twice = "client_id=web&client_secret=\(OpenIDFixture.secret)&grant_type=client_credentials"
        for endpoint in ["token", "par", "device_authorization", "introspect", "revoke"] {
            let answer = try fixture.client.request(
                "POST", "\(fixture.base)/\(endpoint)", headers: ["Content-Type": "application/x-www-form-urlencoded"],
                body: Array("\(twice)&client_id=web".utf8))
            #expect(answer["error"] == "invalid_request", "\(endpoint)")
            #expect(answer.diagnosis.contains("occurs twice"), "\(endpoint)")
        }
        let json = try fixture.client.post("\(fixture.base)/token", json: ["grant_type": "client_credentials"])
        #expect(json["error"] == "invalid_request")
        #expect(json.diagnosis.contains("a JSON body"))
    }

    @Test(
        "what is missing is named",
        arguments: [
            ("authorization_code", "code"), ("refresh_token", "refresh_token"),
        ])
    func missing(grantType: String, name: String) throws {
        let answer = try fixture.token(["grant_type": grantType])
        #expect(answer["error"] == "invalid_request")
        #expect(answer.diagnosis.contains("\(name) is missing"))
        let nobody = try post("token", ["grant_type": grantType])
        #expect(nobody["error"] == "invalid_client")
        #expect(nobody.diagnosis.contains("names no client"))
    }

    @Test("a token that doesn't work: why")
    func reasons() throws {
        try fixture.freeze()
        let tokens = try fixture.signIn(["scope": "openid offline_access"])
        let none = try fixture.client.get("\(fixture.base)/userinfo")
        #expect(none.status == 401)
        #expect(none.header("WWW-Authenticate") == "Bearer")
        #expect(try userInfo("x").diagnosis.contains("issued no such access token"))
        #expect(try userInfo(tokens["refresh_token"]).diagnosis.contains("it is a refresh token"))
        let own = try fixture.token(["grant_type": "client_credentials"])
        #expect(own.json["scope"] == nil)
        #expect(try userInfo(own["access_token"]).diagnosis.contains("issued to the client itself"))
        try fixture.advance("61m")
        #expect(try userInfo(tokens["access_token"]).diagnosis.contains("expired 60 s ago"))
        let other = try post(
            "token",
            [
                "client_id": "api", "client_secret": "s", "grant_type": "refresh_token",
                "refresh_token": tokens["refresh_token"],
            ])
        #expect(other.diagnosis.contains("issued to the client \"web\", not to the client \"api\" that sent it"))
    }

    @Test("a critical extension of a token is refused, since none is known")
    func critical() throws {
        func assertion(_ header: [(String, JSONValue)]) throws -> String {
            let now = Int64(Date().timeIntervalSince1970)
            return try JWS.mint(
                header: JSONObject([("alg", "HS256")] + header),
                claims: JSONObject([
                    ("iss", "signer"), ("sub", "signer"), ("aud", .string(fixture.issuer)),
                    ("exp", .integer(now + 3_600)),
                    ("jti", .string(UUID().uuidString)),
                ]), key: try Key(secret: Array("signer-secret-of-32-bytes-or-more".utf8)), algorithm: .hs256)
        }
        func send(_ assertion: String) throws -> Answer {
            try post(
                "token",
                [
                    "grant_type": "client_credentials", "client_assertion": assertion,
                    "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                ])
        }
        #expect(try send(try assertion([])).status == 200)
        for value in [["foo"], ["b64"], []] as [JSONValue] {
            let answer = try send(try assertion([("crit", value), ("foo", 1), ("b64", false)]))
            #expect(answer["error"] == "invalid_client")
            #expect(answer.diagnosis.contains("crit"))
        }
    }

    @Test("a request object elsewhere is refused to the client")
    func requestURI() throws {
        let answer = try fixture.authorize(["request_uri": "https://app.example/request.jwt"], by: nil)
        #expect(answer.redirect["error"] == "request_uri_not_supported")
        #expect(answer.redirect["state"] == "s 1")
        let unknown = try fixture.authorize(
            ["request_uri": "https://x.example/", "redirect_uri": "https://x.example/"], by: nil)
        #expect(unknown.status == 400)
        #expect(unknown.location.isEmpty)
    }

    @Test("what is kept of a request has bounds")
    func bounds() throws {
        let resources = (0..<21).map { "resource=https%3A%2F%2F\($0).example" }.joined(separator: "&")
        let many = try fixture.client.get("\(fixture.authorizePath())&\(resources)")
        #expect(many.redirect["error"] == "invalid_target")
        let scopes = "openid " + (0..<100).map { "s\($0)" }.joined(separator: " ")
        #expect(try fixture.authorize(["scope": scopes], by: nil).redirect["error"] == "invalid_scope")
    }

    @Test("metadata also lies where RFC 8414 puts it, for the short address, too")
    func metadata() throws {
        let answer = try fixture.client.get("/.well-known/oauth-authorization-server/oidc/corp")
        #expect(answer["issuer"] == fixture.issuer)
        let methods = answer.json["introspection_endpoint_auth_methods_supported"] as? [String]
        #expect(methods?.contains("none") == false)
        #expect(try fixture.client.get("/.well-known/oauth-authorization-server/oidc/corp/x").status == 404)
    }
}
