import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("OpenID Connect: clients that register themselves")
struct RegistrationTests {
    private static let loopback = "http://127.0.0.1:4000/callback"

    /// Returns the metadata of a public client, such as a client of the Model Context Protocol.
    private static func described(_ changes: [String: Any?] = [:]) -> [String: Any] {
        var metadata: [String: Any] = [
            "client_name": "Tool", "redirect_uris": [loopback], "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"],
        ]
        for (name, value) in changes { metadata[name] = value }
        return metadata
    }

    @Test("registers, signs in, and is told the defaults")
    func signIn() throws {
        let fixture = try OpenIDFixture()
        let discovery = try fixture.client.get("\(fixture.base)/.well-known/openid-configuration").json
        #expect(discovery["registration_endpoint"] as? String == "\(fixture.issuer)/register")
        let answer = try fixture.client.post(
            "\(fixture.base)/register", json: ["redirect_uris": [RegistrationTests.loopback]])
        #expect(answer.status == 201)
        #expect(answer.header("Cache-Control") == "no-store")
        let client = answer.json
        #expect(client["token_endpoint_auth_method"] as? String == "client_secret_basic")
        #expect(client["grant_types"] as? [String] == ["authorization_code"])
        #expect(client["response_types"] as? [String] == ["code"])
        #expect(client["application_type"] as? String == "native")
        #expect(client["client_secret_expires_at"] as? Int == 0)
        let id = try #require(client["client_id"] as? String)
        let secret = try #require(client["client_secret"] as? String)
        // Another port than the registered one: RFC 8252 section 7.3.
        let callback = "http://127.0.0.1:5000/callback"
        let code = try fixture.code(["client_id": id, "redirect_uri": callback])
        let tokens = try fixture.token([
            "code": code, "client_id": id, "client_secret": nil, "redirect_uri": callback,
        ])
        #expect(tokens.status == 401)
        let form = ["grant_type": "authorization_code", "code": code, "redirect_uri": callback]
        let redeemed = try fixture.client.post(
            "\(fixture.base)/token", form: form, headers: OpenIDFixture.basic(id, secret: secret))
        #expect(redeemed.status == 200, "\(redeemed)")
        #expect(OpenIDFixture.claims(redeemed["id_token"])["aud"] as? String == id)
        #expect(OpenIDFixture.claims(redeemed["access_token"])["client_id"] as? String == id)
    }

    @Test(
        "what can't be used is refused, and it is said why",
        arguments: [
            (#"{"grant_types":["authorization_code"]}"#, "invalid_redirect_uri", "redirect_uris is missing"),
            (#"{"redirect_uris":["https://a.example/#x"]}"#, "invalid_redirect_uri", "without a fragment"),
            (#"{"redirect_uris":["https://a.example/#\u0301x"]}"#, "invalid_redirect_uri", "without a fragment"),
            (#"{"redirect_uris":["https://a.example/\u0001"]}"#, "invalid_redirect_uri", "an absolute URI"),
            (#"{"redirect_uris":["http://127.0.0.1@evil.example/"]}"#, "invalid_redirect_uri", "or a user"),
            (#"{"redirect_uris":["http://localhost:*/x"]}"#, "invalid_redirect_uri", "a wildcard"),
            (#"{"redirect_uris":["javascript:alert(1)"]}"#, "invalid_redirect_uri", "javascript"),
            (
                #"{"redirect_uris":["http://a.example/x"]}"#, "invalid_redirect_uri",
                "the default application_type"
            ),
            (
                #"{"redirect_uris":["http://localhost/x"],"application_type":"web"}"#, "invalid_redirect_uri",
                #""application_type": "native""#
            ),
            (
                #"{"redirect_uris":["http://a.example/x"],"application_type":"native"}"#, "invalid_redirect_uri",
                "of a native client"
            ),
            (#"{"redirect_uris":"https://a.example/x"}"#, "invalid_client_metadata", "an array of strings"),
            (#"{"redirect_uris":["https://a.example/x"],"application_type":"tv"}"#, "invalid_client_metadata", "tv"),
            (
                #"{"redirect_uris":["https://a.example/x"],"token_endpoint_auth_method":"tls_client_auth"}"#,
                "invalid_client_metadata", "tls_client_auth"
            ),
            (
                #"{"redirect_uris":["https://a.example/x"],"token_endpoint_auth_method":"private_key_jwt"}"#,
                "invalid_client_metadata", "send them in jwks"
            ),
            (
                #"{"redirect_uris":["https://a.example/x"],"jwks_uri":"https://a.example/keys"}"#,
                "invalid_client_metadata", "jwks_uri isn't fetched"
            ),
            (
                #"{"redirect_uris":["https://a.example/x"],"id_token_signed_response_alg":"ES384"}"#,
                "invalid_client_metadata", #"expected "RS256""#
            ),
            (
                #"{"redirect_uris":["https://a.example/x"],"userinfo_signed_response_alg":"HS256"}"#,
                "invalid_client_metadata", #"expected "RS256""#
            ),
            (
                #"{"redirect_uris":["https://a.example/x"],"jwks":[]}"#, "invalid_client_metadata",
                "received jwks an array"
            ),
            (
                #"{"redirect_uris":["https://a.example/x"],"jwks":{"keys":{}}}"#, "invalid_client_metadata",
                #"jwks without the array "keys""#
            ),
            (
                #"{"redirect_uris":["https://a.example/x"],"jwks":{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"AA"}]}}"#,
                "invalid_client_metadata", "jwks.keys[0] has d, which is private"
            ),
            (
                #"{"redirect_uris":["https://a.example/x"],"jwks":{"keys":[{"kty":"EC","crv":"P-256","x":"AA"}]}}"#,
                "invalid_client_metadata", "jwks.keys[0] can't be used"
            ),
            (
                #"{"redirect_uris":["https://a.example/x"],"jwks":{"keys":[\#(String(repeating: "{},", count: 32)){}]}}"#,
                "invalid_client_metadata", "at most 32"
            ),
            (
                #"{"redirect_uris":["https://a.example/x"],"grant_types":["password"]}"#, "invalid_client_metadata",
                "password"
            ),
            (
                #"{"redirect_uris":["https://a.example/x"],"response_types":["id_token"]}"#, "invalid_client_metadata",
                "implicit"
            ),
            (#"{"redirect_uris":["https://a.example/x"],"client_uri":"no"}"#, "invalid_client_metadata", "client_uri"),
            (#"[]"#, "invalid_client_metadata", "an array"), (#"a=b"#, "invalid_client_metadata", "a JSON object"),
            (#"{redirect_uris:[]}"#, "invalid_client_metadata", "the JSON body can't be read: line 1, column "),
        ])
    func refusals(body: String, error: String, advice: String) throws {
        let fixture = try OpenIDFixture()
        let answer = try fixture.client.request(
            "POST", "\(fixture.base)/register", headers: ["Content-Type": "application/json"], body: Array(body.utf8))
        #expect(answer.status == 400)
        #expect(answer["error"] == error)
        #expect(answer.diagnosis.contains(advice), "\(answer.diagnosis)")
    }

    @Test("reads, changes and ends its registration with its token alone")
    func management() throws {
        let fixture = try OpenIDFixture()
        let client = try fixture.client.post("\(fixture.base)/register", json: RegistrationTests.described()).json
        let id = try #require(client["client_id"] as? String)
        let address = try #require(client["registration_client_uri"] as? String)
        #expect(address == "\(fixture.issuer)/register/\(id)")
        let path = "\(fixture.base)/register/\(id)"
        let token = fixture.bearer(client["registration_access_token"] as? String)
        #expect(try fixture.client.get(path).status == 401)
        #expect(try fixture.client.get(path, headers: fixture.bearer("another")).status == 401)
        #expect(try fixture.client.get(path, headers: token).json["client_name"] as? String == "Tool")
        func put(_ changes: [String: Any?]) throws -> Answer {
            try fixture.client.post(
                path, json: RegistrationTests.described(changes.merging(["client_id": id]) { first, _ in first }),
                method: "PUT", headers: token)
        }
        #expect(try put(["client_id": "another"])["error"] == "invalid_client_metadata")
        #expect(try put(["registration_access_token": "t"])["error"] == "invalid_client_metadata")
        #expect(try put(["token_endpoint_auth_method": "client_secret_post"])["error"] == "invalid_client_metadata")
        #expect(try put(["client_name": "Renamed"]).json["client_name"] as? String == "Renamed")
        let code = try fixture.code([
            "client_id": id, "redirect_uri": RegistrationTests.loopback, "code_challenge": OpenIDFixture.challenge,
            "code_challenge_method": "S256",
        ])
        #expect(!code.isEmpty)
        #expect(try fixture.client.request("DELETE", path, headers: token).status == 204)
        #expect(try fixture.client.get(path, headers: token).status == 401)
        let late = try fixture.token([
            "code": code, "client_id": id, "client_secret": nil, "redirect_uri": RegistrationTests.loopback,
            "code_verifier": OpenIDFixture.verifier,
        ])
        #expect(late["error"] == "invalid_client")
        #expect(late.diagnosis.contains("register again"))
    }

    @Test("needs the initial access token where the seed says so")
    func initialToken() throws {
        let fixture = try OpenIDFixture(issuer: #""registration":"token","registrationToken":"t-1""#)
        let path = "\(fixture.base)/register"
        let refused = try fixture.client.post(path, json: RegistrationTests.described())
        #expect(refused.status == 401)
        #expect(refused.header("WWW-Authenticate") == "Bearer")
        let wrong = try fixture.client.post(path, json: RegistrationTests.described(), headers: fixture.bearer("t-2"))
        #expect(wrong["error"] == "invalid_token")
        let taken = try fixture.client.post(path, json: RegistrationTests.described(), headers: fixture.bearer("t-1"))
        #expect(taken.status == 201)
    }

    @Test("isn't offered where the seed has it off")
    func off() throws {
        let fixture = try OpenIDFixture(issuer: #""registration":"off""#)
        let discovery = try fixture.client.get("\(fixture.base)/.well-known/openid-configuration").json
        #expect(discovery["registration_endpoint"] == nil)
        #expect(try fixture.client.post("\(fixture.base)/register", json: RegistrationTests.described()).status == 404)
    }

    @Test("200 registrations at once are 200 clients, which the control API lists and removes")
    func many() throws {
        let fixture = try OpenIDFixture()
        let queue = OperationQueue()
        let registered = Mutex<[String]>([])
        queue.maxConcurrentOperationCount = 200
        for _ in 0..<200 {
            queue.addOperation {
                let answer = try? fixture.client.post("\(fixture.base)/register", json: RegistrationTests.described())
                registered.withLock { $0.append(answer?["client_id"] ?? "") }
            }
        }
        queue.waitUntilAllOperationsAreFinished()
        let ids = Set(registered.withLock { $0 })
        #expect(ids.count == 200)
        let path = "\(OpenIDFixture.control)/openid/clients"
        let first = try fixture.client.get("\(path)?limit=150").json
        let next = try #require(first["next"] as? String)
        let rest = try fixture.client.get("\(path)?limit=150&after=\(TestClient.escape(next))").json
        #expect(rest["next"] == nil)
        let listed = [first, rest].flatMap { $0["clients"] as? [[String: Any]] ?? [] }
        #expect(Set(listed.compactMap { $0["clientID"] as? String }) == ids)
        let one = try #require(ids.first)
        #expect(try fixture.client.request("DELETE", "\(path)/\(one)").status == 204)
        #expect(try fixture.client.request("DELETE", "\(path)/\(one)").status == 404)
        #expect(try fixture.client.request("DELETE", path).status == 204)
        #expect((try fixture.client.get(path).json["clients"] as? [Any])?.isEmpty == true)
    }

    @Test("an order's error is answered in its words")
    func ordered() throws {
        let fixture = try OpenIDFixture()
        _ = try fixture.client.post(
            "\(OpenIDFixture.control)/faults",
            json: ["match": ["path": "*/register"], "effect": ["error": "invalid_client_metadata"]])
        let answer = try fixture.client.post("\(fixture.base)/register", json: RegistrationTests.described())
        #expect(answer["error"] == "invalid_client_metadata")
        #expect(try fixture.client.post("\(fixture.base)/register", json: RegistrationTests.described()).status == 201)
    }

    @Test("a member that is null is as if it were left out")
    func nulls() throws {
        let fixture = try OpenIDFixture()
        let members = ["jwks_uri", "jwks", "client_uri", "id_token_signed_response_alg", "grant_types"]
        let changes = Dictionary(uniqueKeysWithValues: members.map { ($0, Any?.some(NSNull())) })
        let answer = try fixture.client.post(
            "\(fixture.base)/register", json: RegistrationTests.described(changes))
        #expect(answer.status == 201, "\(answer)")
        #expect(answer.json["jwks_uri"] == nil && answer.json["jwks"] == nil)
    }

    @Test("a client may have the algorithms that the issuer signs with")
    func algorithms() throws {
        let fixture = try OpenIDFixture(issuer: #""algorithms":["ES256","HS256"]"#)
        let asked = RegistrationTests.described([
            "id_token_signed_response_alg": "HS256", "userinfo_signed_response_alg": "ES256",
            "token_endpoint_auth_method": "client_secret_post",
        ])
        let answer = try fixture.client.post("\(fixture.base)/register", json: asked)
        #expect(answer.status == 201, "\(answer)")
        #expect(answer["id_token_signed_response_alg"] == "HS256")
        let rsa = RegistrationTests.described(["id_token_signed_response_alg": "RS256"])
        let refused = try fixture.client.post("\(fixture.base)/register", json: rsa)
        #expect(refused["error"] == "invalid_client_metadata")
    }

    @Test("a seed's client has no more keys than one that registers")
    func seededKeys() {
        let keys = Array(repeating: #"{"kty":"EC"}"#, count: 33).joined(separator: ",")
        let failure = #expect(throws: (any Error).self) {
            try OpenIDFixture(clients: #"{"clientID":"many","jwks":{"keys":[\#(keys)]}}"#, isAlone: true)
        }
        let text = failure.map { "\($0)" }
        #expect(text?.contains("at most 32 are read") == true, "\(text ?? "")")
    }
}
