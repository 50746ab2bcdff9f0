import Foundation
import JOSE
import JSON
import TestSupport
import Testing

@Suite("OpenID Connect: tokens that are bound to a key (DPoP)")
struct DPoPTests {
    private static let key = try? Key.generateP256()
    private static let other = try? Key.generateP256()

    private let fixture: OpenIDFixture
    private var resource: String { "http://localhost:\(fixture.server.port)/mcp/corp" }
    private var tokenURL: String { "\(fixture.issuer)/token" }

    init() throws { fixture = try OpenIDFixture() }

    private static func proof(
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
            #expect(try send(fixture.bearer(token)).diagnosis.contains("send Authorization: DPoP"))
            #expect(try send(scheme).diagnosis.contains("send the header DPoP"))
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
}
