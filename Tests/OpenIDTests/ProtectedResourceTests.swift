import Foundation
import JOSE
import JSON
import TestSupport
import Testing

@Suite("OpenID Connect: the protected resource beside an issuer")
struct ProtectedResourceTests {
    private static let path = "/mcp/corp"

    private func resource(_ fixture: OpenIDFixture, world: String = "") -> String {
        "http://localhost:\(fixture.server.port)\(world)\(ProtectedResourceTests.path)"
    }

    private func signIn(_ fixture: OpenIDFixture, _ scope: String, resource: String?) throws -> Answer {
        let code = try fixture.code(["scope": scope, "resource": resource])
        return try fixture.token(["code": code, "resource": resource])
    }

    private func send(
        _ fixture: OpenIDFixture, _ method: String, _ params: [String: Any] = [:], token: String?,
        headers: [String: String] = ["MCP-Protocol-Version": "2025-11-25"]
    ) throws -> Answer {
        let sent = headers.merging(token.map { fixture.bearer($0) } ?? [:]) { $1 }
        return try fixture.client.post(
            ProtectedResourceTests.path, json: ["jsonrpc": "2.0", "id": 1, "method": method, "params": params],
            headers: sent)
    }

    private func call(_ fixture: OpenIDFixture, _ tool: String, token: String?, text: String? = nil) throws -> Answer {
        try send(
            fixture, "tools/call", ["name": tool, "arguments": text.map { ["text": $0] } ?? [:]], token: token)
    }

    private func content(_ answer: Answer) -> [String: Any]? {
        (answer.json["result"] as? [String: Any])?["structuredContent"] as? [String: Any]
    }

    @Test(
        "leads a client from a refusal to the issuer",
        arguments: [
            "/.well-known/oauth-protected-resource/mcp/corp", "/mcp/corp/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource",
        ])
    func metadata(place: String) throws {
        let fixture = try OpenIDFixture()
        let refused = try send(fixture, "ping", token: nil)
        #expect(refused.status == 401)
        let address = "http://localhost:\(fixture.server.port)/.well-known/oauth-protected-resource/mcp/corp"
        #expect(
            refused.header("WWW-Authenticate") == #"Bearer scope="mcp:read", resource_metadata="\#(address)""#)
        let document = try fixture.client.get(place).json
        #expect(document["resource"] as? String == resource(fixture))
        let issuer = try #require((document["authorization_servers"] as? [String])?.first)
        #expect(issuer == fixture.issuer)
        for form in ["oauth-authorization-server/oidc/corp", "openid-configuration/oidc/corp"] {
            #expect(try fixture.client.get("/.well-known/\(form)").json["issuer"] as? String == issuer)
        }
    }

    @Test("tells whose token it is, and asks for a further scope where it needs one")
    func stepUp() throws {
        let fixture = try OpenIDFixture()
        let first = try signIn(fixture, "openid mcp:read", resource: resource(fixture))["access_token"]
        let person = content(try call(fixture, "whoami", token: first))
        #expect(person?["account"] as? String == "ada")
        #expect(person?["client"] as? String == "web")
        #expect(content(try call(fixture, "echo", token: first, text: "a"))?["text"] as? String == "a")
        let refused = try call(fixture, "write_note", token: first, text: "a")
        #expect(refused.status == 403)
        let challenge = try #require(refused.header("WWW-Authenticate"))
        #expect(challenge.contains(#"error="insufficient_scope""#))
        #expect(challenge.contains(#"scope="mcp:read mcp:write""#))
        #expect(challenge.contains("resource_metadata="))
        let second = try signIn(fixture, "openid mcp:read mcp:write", resource: resource(fixture))["access_token"]
        #expect(content(try call(fixture, "write_note", token: second, text: "a"))?["text"] as? String == "a")
    }

    @Test(
        "takes JSON Web Tokens, and judges them by what they say",
        arguments: [
            (#"{"claims":{"aud":"https://other.example/mcp"}}"#, "https://other.example/mcp"),
            (#"{"claims":{"iss":"https://other.example"}}"#, "https://other.example"),
            (#"{"claims":{"exp":"-1h"}}"#, "it has expired"),
            (#"{"claims":{"jti":"another"}}"#, "has issued no such"),
            (#"{"signature":"unknownKey"}"#, "isn't signed by a key"),
            (#"{"signature":"none"}"#, "isn't signed by a key"),
            (#"{"claims":{"scope":"openid"}}"#, "mcp:read"),
        ])
    func signed(broken: String, reason: String) throws {
        let fixture = try OpenIDFixture(clients: #"{"clientID":"web","accessToken":"jwt"}"#)
        let good = try signIn(fixture, "openid mcp:read", resource: resource(fixture))["access_token"]
        #expect(try call(fixture, "whoami", token: good).status == 200)
        let token = try JSONSerialization.jsonObject(with: Data(broken.utf8))
        _ = try fixture.client.post(
            "\(OpenIDFixture.control)/faults", json: ["match": ["path": "*/token"], "effect": ["token": token]])
        let bad = try signIn(fixture, "openid mcp:read", resource: resource(fixture))["access_token"]
        let refused = try call(fixture, "whoami", token: bad)
        #expect(refused.status == (reason == "mcp:read" ? 403 : 401))
        #expect(refused.diagnosis.contains(reason), "\(refused.diagnosis)")
    }

    @Test("refuses a token for another resource, or for none, and says what to send")
    func audience() throws {
        let fixture = try OpenIDFixture()
        for other in ["http://localhost:\(fixture.server.port)/mcp/other", nil] {
            let token = try signIn(fixture, "openid mcp:read", resource: other)["access_token"]
            let refused = try call(fixture, "whoami", token: token)
            #expect(refused.status == 401)
            #expect(refused.header("WWW-Authenticate")?.contains(#"error="invalid_token""#) == true)
            #expect(refused.diagnosis.contains("send resource=\(resource(fixture))"))
        }
    }

    @Test("refuses tokens that were revoked, have expired, or are no access tokens")
    func ended() throws {
        let fixture = try OpenIDFixture()
        let tokens = try signIn(fixture, "openid offline_access mcp:read", resource: resource(fixture))
        #expect(try call(fixture, "whoami", token: tokens["refresh_token"]).diagnosis.contains("it is a refresh token"))
        #expect(try call(fixture, "whoami", token: tokens["id_token"]).status == 401)
        #expect(try call(fixture, "whoami", token: "undefined").diagnosis.contains("a variable that has no value"))
        try fixture.advance("2h")
        #expect(try call(fixture, "whoami", token: tokens["access_token"]).diagnosis.contains("it expired"))
        let next = try fixture.token([
            "grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "resource": resource(fixture),
        ])
        #expect(try call(fixture, "whoami", token: next["access_token"]).status == 200)
        _ = try fixture.client.post(
            "\(OpenIDFixture.control)/openid/revocations", json: ["account": "ada", "client": "web"])
        #expect(try call(fixture, "whoami", token: next["access_token"]).diagnosis.contains("the person removed"))
    }

    @Test("speaks each revision, and answers what it can't do in the protocol's words")
    func protocolRevisions() throws {
        let fixture = try OpenIDFixture()
        let token = try signIn(fixture, "mcp:read", resource: resource(fixture))["access_token"]
        for (asked, given) in [
            ("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25"),
        ] {
            let answer = try send(fixture, "initialize", ["protocolVersion": asked], token: token, headers: [:])
            #expect((answer.json["result"] as? [String: Any])?["protocolVersion"] as? String == given)
        }
        let meta: [String: Any] = [
            "_meta": [
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": [:] as [String: Any],
            ]
        ]
        let headers = ["MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"]
        let discovered = try send(fixture, "server/discover", meta, token: token, headers: headers)
        let versions = (discovered.json["result"] as? [String: Any])?["supportedVersions"] as? [String]
        #expect(versions?.first == "2026-07-28")
        func refusal(_ method: String, _ params: [String: Any], _ headers: [String: String]) throws -> (Int, Int?) {
            let answer = try send(fixture, method, params, token: token, headers: headers)
            return (answer.status, (answer.json["error"] as? [String: Any])?["code"] as? Int)
        }
        let mismatch = try refusal("tools/list", meta, headers)
        #expect(mismatch == (400, -32020))
        let unknown = try refusal("nothing", meta, headers.merging(["Mcp-Method": "nothing"]) { $1 })
        #expect(unknown == (404, -32601))
        let unsupported = try refusal("ping", [:], ["MCP-Protocol-Version": "1999-01-01"])
        #expect(unsupported == (400, -32022))
        let notified = try fixture.client.post(
            ProtectedResourceTests.path, json: ["jsonrpc": "2.0", "method": "notifications/initialized"],
            headers: fixture.bearer(token))
        #expect(notified.status == 202)
        #expect(notified.text.isEmpty)
        let unreadable = try fixture.client.post(
            ProtectedResourceTests.path, json: "no", headers: fixture.bearer(token))
        #expect(unreadable.status == 400)
        let listening = try fixture.client.get(ProtectedResourceTests.path, headers: fixture.bearer(token))
        #expect(listening.status == 405)
        #expect(listening.header("Allow") == "POST")
    }

    @Test("in a world that the address names, metadata is where clients look for it")
    func named() throws {
        let server = try TestServer.start(seeds: [.builtIn])
        defer { server.stop() }
        let client = TestClient(port: server.port)
        _ = try client.post("/_understudy/v1/worlds", json: ["name": "w1"])
        let base = "http://localhost:\(server.port)/~w1"
        let document = try client.get("/.well-known/oauth-protected-resource/~w1/mcp/corp").json
        #expect(document["resource"] as? String == "\(base)/mcp/corp")
        #expect(document["authorization_servers"] as? [String] == ["\(base)/oidc/corp"])
        for form in ["oauth-authorization-server", "openid-configuration"] {
            let metadata = try client.get("/.well-known/\(form)/~w1/oidc/corp").json
            #expect(metadata["issuer"] as? String == "\(base)/oidc/corp")
        }
    }

    @Test("a client that signs a token itself gets what it was given")
    func signedByClient() throws {
        let secret = "a secret of the client's, 32 bytes or more"
        let fixture = try OpenIDFixture(
            seed: #"""
                {"openid":{"issuers":[{"id":"corp","algorithms":["RS256","HS256"],"clients":[{"clientID":"web",
                "clientSecret":"\#(secret)","accessToken":"jwt","redirectURIs":["http://localhost:3000/callback"]}]}]}}
                """#)
        let code = try fixture.code(["scope": "mcp:read", "resource": resource(fixture)])
        let given = try fixture.token(["client_secret": secret, "code": code, "resource": resource(fixture)])
        let token = try JWS(parsing: try #require(given["access_token"]))
        var claims = token.claims
        claims["scope"] = "mcp:read mcp:write"
        claims["sub"] = "somebody"
        let forged = try JWS.mint(
            header: JSONObject([("alg", "HS256"), ("typ", "at+jwt")]), claims: claims,
            key: Key(secret: Array(secret.utf8)), algorithm: .hs256)
        #expect(content(try call(fixture, "whoami", token: given["access_token"]))?["account"] as? String == "ada")
        #expect(content(try call(fixture, "whoami", token: forged))?["sub"] as? String != "somebody")
        #expect(try call(fixture, "write_note", token: forged, text: "a").status == 403)
    }

    @Test("refuses pages of other origins than the seed names, if it names some")
    func origins() throws {
        func statuses(_ fixture: OpenIDFixture) throws -> [Int] {
            let token = try signIn(fixture, "mcp:read", resource: resource(fixture))["access_token"]
            return try [nil, "https://app.example", "https://app.example.evil.example", "null"].map { origin in
                var headers = ["MCP-Protocol-Version": "2025-11-25"]
                headers["Origin"] = origin
                return try send(fixture, "ping", token: token, headers: headers).status
            }
        }
        #expect(try statuses(OpenIDFixture()) == [200, 200, 200, 200])
        let fixture = try OpenIDFixture(issuer: #""mcp":{"origins":["https://app.example"]}"#)
        #expect(try statuses(fixture) == [200, 200, 403, 403])
        let listening = try fixture.client.get(ProtectedResourceTests.path, headers: ["Origin": "https://b.example"])
        #expect(listening.status == 403)
        #expect(listening.diagnosis.contains(#"expected "https://app.example""#), "\(listening.diagnosis)")
        #expect(try statuses(OpenIDFixture(issuer: #""mcp":{"origins":[]}"#)) == [200, 403, 403, 403])
    }

    @Test("takes the tokens of the issuers that the seed names")
    func moved() throws {
        let fixture = try OpenIDFixture(
            seed:
                #"{"openid":{"issuers":[{"id":"corp","mcp":{"authorizationServers":["new"]}},{"id":"new","clients":[{"clientID":"web","clientSecret":"openid-secret-for-tests","redirectURIs":["http://localhost:3000/callback"]}]}]}}"#
        )
        let old = try signIn(fixture, "mcp:read", resource: resource(fixture))["access_token"]
        let refused = try call(fixture, "whoami", token: old)
        #expect(refused.status == 401)
        #expect(refused.diagnosis.contains(#"the issuer "corp" gave it out"#))
        let document = try fixture.client.get("/.well-known/oauth-protected-resource/mcp/corp").json
        #expect(document["authorization_servers"] as? [String] == ["http://localhost:\(fixture.server.port)/oidc/new"])
    }

    @Test("of issuers that sign with one key, the one that the token names is asked")
    func sharedKeys() throws {
        let key = #"{"id":"seed-corp-1","privateKeyFile":"keys/openid-signing-1.pem"}"#
        let fixture = try OpenIDFixture(
            seed: #"""
                {"openid":{"issuers":[
                {"id":"corp","mcp":{"authorizationServers":["new","corp"]},"clients":[{"clientID":"web","accessToken":"jwt"}]},
                {"id":"new","signingKeys":[\#(key)]}]}}
                """#)
        let token = try signIn(fixture, "openid mcp:read", resource: resource(fixture))["access_token"]
        let person = content(try call(fixture, "whoami", token: token))
        #expect(person?["issuer"] as? String == fixture.issuer)
        #expect(person?["account"] as? String == "ada")
    }
}
