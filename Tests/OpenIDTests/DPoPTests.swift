import Foundation
import JOSE
import JSON
import TestSupport
import Testing

@Suite("OpenID Connect: tokens that are bound to a key (DPoP)")
struct DPoPTests {
    static let key = try? Key.generateP256()
    static let other = try? Key.generateP256()

    private let fixture: OpenIDFixture
    private var resource: String { "http://localhost:\(fixture.server.port)/mcp/corp" }
    private var tokenURL: String { "\(fixture.issuer)/token" }

    init() throws { fixture = try OpenIDFixture() }

    static func proof(
        _ method: String, _ url: String, _ changes: [String: JSONValue?] = [:], header: [String: JSONValue?] = [:],
        token: String? = nil, key: Key? = DPoPTests.key
    ) throws -> [String: String] {
        let key = try #require(key)
        var head = JSONObject([("typ", "dpop+jwt"), ("alg", "ES256")])
        head["jwk"] = .object(JSONObject(key.publicMembers))
        for (name, value) in header { head[name] = value }
        var claims = JSONObject([
            ("jti", .string(UUID().uuidString)), ("htm", .string(method)), ("htu", .string(url)),
            ("iat", .integer(Int64(Date().timeIntervalSince1970))),
        ])
        claims["ath"] = token.map { .string(Base64URL.encode(Digest.sha256($0))) }
        for (name, value) in changes { claims[name] = value }
        return ["DPoP": try JWS.mint(header: head, claims: claims, key: key, algorithm: .es256)]
    }

    private func redeem(
        _ fixture: OpenIDFixture, proof: [String: String], authorization: [String: String?] = [:]
    ) throws -> Answer {
        let asked = ["scope": "openid mcp:read", "resource": resource(fixture)].merging(authorization) { $1 }
        let form = [
            "grant_type": "authorization_code", "code": try fixture.code(asked), "redirect_uri": OpenIDFixture.callback,
        ]
        return try fixture.client.post(
            "\(fixture.base)/token", form: form, headers: OpenIDFixture.basic().merging(proof) { $1 })
    }

    private func resource(_ fixture: OpenIDFixture) -> String { "http://localhost:\(fixture.server.port)/mcp/corp" }

    private func call(_ headers: [String: String]) throws -> Answer {
        try fixture.client.post(
            "/mcp/corp", json: ["jsonrpc": "2.0", "id": 1, "method": "tools/list"], headers: headers)
    }

    @Test("binds a token to the key, which userinfo and the resource ask for")
    func bound() throws {
        let discovery = try fixture.client.get("\(fixture.base)/.well-known/openid-configuration").json
        #expect((discovery["dpop_signing_alg_values_supported"] as? [String])?.contains("ES256") == true)
        let tokens = try redeem(fixture, proof: DPoPTests.proof("POST", tokenURL))
        #expect(tokens["token_type"] == "DPoP", "\(tokens)")
        let token = try #require(tokens["access_token"])
        let scheme = ["Authorization": "DPoP \(token)"]
        for (method, url, send) in [
            ("GET", "\(fixture.issuer)/userinfo", { try fixture.client.get("\(fixture.base)/userinfo", headers: $0) }),
            ("POST", resource, { try call($0) }),
        ] as [(String, String, ([String: String]) throws -> Answer)] {
            let good = try DPoPTests.proof(method, url, token: token)
            #expect(try send(scheme.merging(good) { $1 }).status == 200)
            let again = try send(scheme.merging(good) { $1 })
            #expect(again.diagnosis.contains("its jti was used before"))
            #expect(again.header("WWW-Authenticate")?.hasPrefix(#"DPoP error="invalid_dpop_proof""#) == true)
            #expect(try send(fixture.bearer(token)).diagnosis.contains("as Authorization: DPoP"))
            #expect(try send(scheme).diagnosis.contains("in the header DPoP"))
            let another = try DPoPTests.proof(method, url, token: token, key: DPoPTests.other)
            #expect(try send(scheme.merging(another) { $1 })["error"] == "invalid_token")
            let unrelated = try DPoPTests.proof(method, url, token: "another")
            #expect(try send(scheme.merging(unrelated) { $1 }).diagnosis.contains("ath isn't"))
        }
        let described = try fixture.client.post(
            "\(fixture.base)/introspect", form: ["token": token], headers: OpenIDFixture.basic()
        ).json
        #expect(described["token_type"] as? String == "DPoP")
        #expect((described["cnf"] as? [String: Any])?["jkt"] as? String != nil)
    }

    @Test(
        "what a proof must say",
        arguments: [
            (#"{"htm":"GET"}"#, "{}", "sign the request's method"),
            (#"{"htu":"https://a.example/"}"#, "{}", "sign the address"),
            (#"{"iat":1000}"#, "{}", "iat isn't within"), (#"{"jti":null}"#, "{}", "jti is missing"),
            ("{}", #"{"typ":"JWT"}"#, "typ must be"), ("{}", #"{"jwk":null}"#, "no jwk"),
            ("{}", #"{"alg":"none"}"#, "alg must be"), ("{}", #"{"alg":"RS256"}"#, "the signature isn't"),
        ])
    func refusals(claims: String, header: String, reason: String) throws {
        func changes(_ text: String) throws -> [String: JSONValue?] {
            Dictionary(
                uniqueKeysWithValues: try #require(JSONValue(parsing: text).object).members.map {
                    ($0.key, $0.value.isNull ? JSONValue?.none : $0.value)
                })
        }
        let proof = try DPoPTests.proof("POST", tokenURL, changes(claims), header: changes(header))
        let answer = try redeem(fixture, proof: proof)
        #expect(answer.status == 400)
        #expect(answer["error"] == "invalid_dpop_proof")
        #expect(answer.diagnosis.contains(reason), "\(answer.diagnosis)")
    }

    @Test("an authorization request may name the key")
    func namedKey() throws {
        let key = try #require(DPoPTests.key)
        let members = JSONObject(
            key.publicMembers.filter { ["crv", "kty", "x", "y"].contains($0.0) }.sorted { $0.0 < $1.0 })
        let thumbprint = Base64URL.encode(Digest.sha256(JSONValue.object(members).text))
        let asked: [String: String?] = ["dpop_jkt": thumbprint]
        let without = try redeem(fixture, proof: [:], authorization: asked)
        #expect(without["error"] == "invalid_grant")
        let other = try redeem(
            fixture, proof: DPoPTests.proof("POST", tokenURL, key: DPoPTests.other), authorization: asked)
        #expect(other["error"] == "invalid_grant")
        let own = try redeem(fixture, proof: DPoPTests.proof("POST", tokenURL), authorization: asked)
        #expect(own["token_type"] == "DPoP", "\(own)")
    }

    @Test("an issuer that knows nothing of proofs takes no notice of the key")
    func ignored() throws {
        let fixture = try OpenIDFixture(issuer: #""dpop":"off""#)
        let tokens = try redeem(fixture, proof: [:], authorization: ["dpop_jkt": "another"])
        #expect(tokens["token_type"] == "Bearer", "\(tokens)")
    }

    @Test("an issuer may ask for proofs, and for a nonce in them")
    func required() throws {
        let fixture = try OpenIDFixture(issuer: #""dpop":"required","dpopNonce":true"#)
        let url = "\(fixture.issuer)/token"
        #expect(try redeem(fixture, proof: [:]).diagnosis.contains(#""dpop": "required""#))
        let first = try redeem(fixture, proof: DPoPTests.proof("POST", url))
        #expect(first["error"] == "use_dpop_nonce")
        let nonce = try #require(first.header("DPoP-Nonce"))
        let second = try redeem(fixture, proof: DPoPTests.proof("POST", url, ["nonce": .string(nonce)]))
        #expect(second["token_type"] == "DPoP", "\(second)")
        let document = try fixture.client.get("/.well-known/oauth-protected-resource/mcp/corp").json
        #expect(document["dpop_bound_access_tokens_required"] as? Bool == true)
    }

    @Test("without a proof, tokens are as before")
    func bearer() throws {
        let tokens = try redeem(fixture, proof: [:])
        #expect(tokens["token_type"] == "Bearer")
        let token = try #require(tokens["access_token"])
        #expect(try call(fixture.bearer(token)).status == 200)
        let proof = try DPoPTests.proof("POST", resource, token: token)
        let refused = try call(["Authorization": "DPoP \(token)"].merging(proof) { $1 })
        #expect(refused.diagnosis.contains("isn't bound to a key"))
    }

    private func challenges(_ answer: Answer) -> [String] {
        answer.headers.filter { $0.name.lowercased() == "www-authenticate" }.map(\.value)
    }

    @Test(
        "a request without a token is told each scheme that is taken, and no error",
        arguments: [("off", ["Bearer"]), ("optional", ["Bearer", "DPoP"]), ("required", ["DPoP"])])
    func challenge(dpop: String, schemes: [String]) throws {
        let fixture = try OpenIDFixture(issuer: #""dpop":"\#(dpop)""#)
        let userInfo = try fixture.client.get("\(fixture.base)/userinfo")
        let message = try fixture.client.post("/mcp/corp", json: ["jsonrpc": "2.0", "id": 1, "method": "ping"])
        for answer in [userInfo, message] {
            #expect(answer.status == 401)
            let challenges = challenges(answer)
            #expect(challenges.map { String($0.prefix { $0 != " " }) } == schemes)
            #expect(challenges.allSatisfy { !$0.contains("error") })
            if dpop != "off" { #expect(challenges.last?.contains("algs=\"RS256") == true) }
        }
        #expect(challenges(message).allSatisfy { $0.contains("resource_metadata=") })
    }

    @Test("a page of another origin reads the nonce and the challenge")
    func exposed() throws {
        let fixture = try OpenIDFixture(issuer: #""dpopNonce":true"#)
        let origin = ["Origin": "https://app.example"]
        let proof = try DPoPTests.proof("POST", "\(fixture.issuer)/token")
        let form = ["grant_type": "client_credentials"]
        let headers = OpenIDFixture.basic().merging(origin) { $1 }
        let asked = try fixture.client.post(
            "\(fixture.base)/token", form: form, headers: headers.merging(proof) { $1 })
        #expect(asked["error"] == "use_dpop_nonce")
        let order: [String: Any] = ["match": ["path": "/oidc/corp/token"], "effect": ["error": "use_dpop_nonce"]]
        #expect(try fixture.client.post("\(OpenIDFixture.control)/faults", json: order).status == 201)
        let ordered = try fixture.client.post("\(fixture.base)/token", form: form, headers: headers)
        #expect(ordered["error"] == "use_dpop_nonce")
        let userInfo = try fixture.client.get("\(fixture.base)/userinfo", headers: origin)
        for answer in [asked, ordered, userInfo] {
            #expect(answer.header("Access-Control-Allow-Origin") == "https://app.example")
            let exposed = answer.header("Access-Control-Expose-Headers") ?? ""
            #expect(exposed.contains("DPoP-Nonce") && exposed.contains("WWW-Authenticate"), "\(exposed)")
        }
        #expect(asked.header("DPoP-Nonce") == ordered.header("DPoP-Nonce"))
        #expect(asked.header("DPoP-Nonce") != nil)
    }

    @Test("an issuer that binds its tokens gives none by the browser", arguments: ["token", "code token"])
    func browser(type: String) throws {
        let fixture = try OpenIDFixture(
            issuer: #""dpop":"required","responseTypes":["code","token","code token"]"#,
            clients: #"{"clientID":"web","responseTypes":["token","code token"]}"#)
        let discovery = try fixture.client.get("\(fixture.base)/.well-known/openid-configuration").json
        #expect(discovery["response_types_supported"] as? [String] == ["code"])
        #expect((discovery["grant_types_supported"] as? [String])?.contains("implicit") == false)
        let answer = try fixture.authorize(["response_type": type, "response_mode": "fragment"])
        #expect(answer.location.contains("error=unsupported_response_type"), "\(answer)")
        #expect(answer.diagnosis.contains(#""dpop": "required""#))
    }

    @Test("an issuer that binds its tokens takes no other from before")
    func unbound() throws {
        let token = try redeem(fixture, proof: [:])["access_token"]
        #expect(try call(fixture.bearer(token)).status == 200)
        let change = ["openid": ["issuers": [["id": "corp", "dpop": "required"]]]]
        #expect(try fixture.client.post("\(OpenIDFixture.control)/seed", json: change).status == 200)
        for answer in [
            try call(fixture.bearer(token)),
            try fixture.client.get("\(fixture.base)/userinfo", headers: fixture.bearer(token)),
        ] {
            #expect(answer.status == 401)
            #expect(challenges(answer).first?.hasPrefix(#"DPoP error="invalid_token""#) == true)
            #expect(answer.diagnosis.contains("isn't bound to a key"), "\(answer.diagnosis)")
        }
    }

    @Test("nobody else can make a nonce, and the one before is good, too")
    func nonces() throws {
        let fixture = try OpenIDFixture(issuer: #""dpopNonce":true"#)
        try fixture.freeze()
        let (url, start) = ("\(fixture.issuer)/token", Int64(Date().timeIntervalSince1970))
        func ask(_ nonce: String, after seconds: Int64) throws -> Answer {
            let claims: [String: JSONValue?] = ["nonce": .string(nonce), "iat": .integer(start + seconds)]
            return try redeem(fixture, proof: DPoPTests.proof("POST", url, claims))
        }
        let world = fixture.server.worldName ?? "default"
        let guessed = Digest.sha256("\(world) openid.corp \(start / 300)").prefix(18)
        let refused = try ask(Base64URL.encode(Array(guessed)), after: 0)
        let first = try #require(refused.header("DPoP-Nonce"))
        #expect(first != Base64URL.encode(Array(guessed)))
        #expect(try ask(first, after: 0)["token_type"] == "DPoP")
        try fixture.advance("5m")
        #expect(try ask(first, after: 300)["token_type"] == "DPoP")
        try fixture.advance("5m")
        let late = try ask(first, after: 600)
        #expect(late["error"] == "use_dpop_nonce")
        let other = try OpenIDFixture(issuer: #""dpopNonce":true"#)
        let elsewhere = try redeem(other, proof: DPoPTests.proof("POST", "\(other.issuer)/token"))
        #expect(elsewhere.header("DPoP-Nonce") != nil)
        #expect(![first, late.header("DPoP-Nonce")].contains(elsewhere.header("DPoP-Nonce")))
    }

    @Test("a key has the same name whatever else its JWK says")
    func strayMembers() throws {
        let key = try #require(DPoPTests.key)
        var members = JSONObject(key.publicMembers)
        let name = try thumbprint(of: redeem(fixture, proof: DPoPTests.proof("POST", tokenURL)))
        for stray in ["e", "n", "use", "kid"] { members[stray] = "AQAB" }
        let proof = try DPoPTests.proof("POST", tokenURL, header: ["jwk": .object(members)])
        #expect(try thumbprint(of: redeem(fixture, proof: proof)) == name)
        members["d"] = "AQAB"
        let foolish = try DPoPTests.proof("POST", tokenURL, header: ["jwk": .object(members)])
        #expect(try redeem(fixture, proof: foolish).diagnosis.contains("jwk has d, which is private"))
    }

    private func thumbprint(of tokens: Answer) throws -> String {
        let described = try fixture.client.post(
            "\(fixture.base)/introspect", form: ["token": try #require(tokens["access_token"])],
            headers: OpenIDFixture.basic()
        ).json
        return try #require((described["cnf"] as? [String: Any])?["jkt"] as? String)
    }

    @Test("a request that is pushed with a proof is bound to its key")
    func pushed() throws {
        func push(_ changes: [String: String?] = [:]) throws -> Answer {
            try fixture.client.post(
                "\(fixture.base)/par", form: fixture.parameters(changes),
                headers: OpenIDFixture.basic().merging(
                    try DPoPTests.proof("POST", "\(fixture.issuer)/par", key: DPoPTests.other)
                ) { $1 })
        }
        #expect(try push(["dpop_jkt": "another"])["error"] == "invalid_dpop_proof")
        for (key, error) in [(DPoPTests.key, "invalid_grant"), (DPoPTests.other, nil)] {
            let uri = try #require(try push()["request_uri"])
            let code = try fixture.code([
                "request_uri": uri, "redirect_uri": nil, "response_type": nil, "scope": nil, "state": nil, "nonce": nil,
            ])
            let form = ["grant_type": "authorization_code", "code": code, "redirect_uri": OpenIDFixture.callback]
            let proof = try DPoPTests.proof("POST", tokenURL, key: key)
            let tokens = try fixture.client.post(
                "\(fixture.base)/token", form: form, headers: OpenIDFixture.basic().merging(proof) { $1 })
            #expect(tokens["error"] == error, "\(tokens)")
        }
    }
}
