import Foundation
import JOSE
import TestSupport
import Testing
import Understudy

/// A daemon, with shorthand for ordering faults.
struct FaultFixture {
    static let api = AppleFixture.control
    let server: TestServer
    let client: TestClient

    /// Starts a daemon, or uses the shared one. With `isAlone` or `options`, it is the test's own.
    init(seed: String? = nil, options: RunningServer.Options? = nil, isAlone: Bool = false) throws {
        let seeds: [SeedInput] =
            [.builtIn] + (seed.map { [.json($0, directory: "\(Repository.root)/seed-data")] } ?? [])
        let isShared = !isAlone && options == nil
        server =
            try isShared
            ? TestServer.world(seeds: seeds)
            : TestServer.start(seeds: seeds, options: options ?? RunningServer.Options())
        client = TestClient(port: server.port)
    }

    @discardableResult
    func order(
        _ effect: [String: Any], at match: [String: Any] = [:], _ more: [String: Any] = [:], world: String = ""
    ) throws -> Answer {
        let body: [String: Any] = ["match": match, "effect": effect]
        let answer = try client.post("\(world)\(FaultFixture.api)/faults", json: body.merging(more) { $1 })
        if answer.status != 201 { Issue.record("\(answer)") }
        return answer
    }

    /// Returns the queued faults.
    func faults() throws -> [[String: Any]] {
        try client.get("\(FaultFixture.api)/faults").json["faults"] as? [[String: Any]] ?? []
    }

    func clock(_ order: [String: Any], world: String = "") throws {
        _ = try client.post("\(world)\(FaultFixture.api)/clock", json: order)
    }
}

@Suite("Faults at every kind of endpoint")
struct FaultTests {
    let fixture: FaultFixture

    init() throws { fixture = try FaultFixture() }

    private func isHealthy(_ site: Site) throws -> Bool {
        let answer = try site.call(fixture.client, "")
        return (200..<400).contains(answer.status) && answer.diagnosis.isEmpty && !answer.location.contains("error=")
    }

    @Test("a status in place of the answer, once", arguments: Site.all)
    func status(site: Site) throws {
        try fixture.order(
            ["status": 418, "headers": ["X-Kettle": "on"], "body": ["short": "and stout"]], at: site.match)
        let answer = try site.call(fixture.client, "")
        #expect(answer.status == 418)
        #expect(answer.header("X-Kettle") == "on")
        #expect(answer.header("Content-Type") == "application/json")
        #expect(answer.text == #"{"short":"and stout"}"#)
        #expect(answer.diagnosis.hasPrefix("ordered fault fault-1"))
        #expect(try isHealthy(site))
    }

    @Test("a delay, with the endpoint's own answer", arguments: Site.all)
    func delay(site: Site) throws {
        try fixture.order(["delay": "250ms"], at: site.match)
        let begin = ContinuousClock.now
        let answer = try site.call(fixture.client, "")
        #expect(ContinuousClock.now - begin >= .milliseconds(250))
        #expect((200..<400).contains(answer.status))
        #expect(answer.note.contains("fault-1"))
        #expect(answer.diagnosis.isEmpty)
    }

    @Test(
        "a disconnect, before the header or in the middle of the body",
        .oneProcess("a balancer answers 502 in the place of a connection that ends without an answer"),
        arguments: Site.all)
    func disconnect(site: Site) throws {
        try fixture.order(["disconnect": true], at: site.match)
        try fixture.order(["disconnect": "midBody"], at: site.match)
        let first = #expect(throws: TransportError.self) { try site.call(fixture.client, "") }
        #expect(first?.reason == "connection closed after 0 bytes")
        let second = #expect(throws: TransportError.self) { try site.call(fixture.client, "") }
        #expect(second?.reason == "connection closed inside a body")
        #expect(try isHealthy(site))
    }

    @Test("JSON that breaks off", arguments: Site.all.filter { $0.kind != .authorization })
    func malformed(site: Site) throws {
        try fixture.order(["malformedJSON": true], at: site.match)
        let answer = try site.call(fixture.client, "")
        #expect((200..<300).contains(answer.status))
        #expect(answer.json.isEmpty)
        #expect(try isHealthy(site))
    }

    /// Returns the members of the answer's object, or of the first in its list, in JSON or as a form.
    private func members(_ answer: Answer) -> [String: Any] {
        if !answer.json.isEmpty { return answer.json }
        let list = try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [[String: Any]]
        return list?.first ?? (answer.text.hasPrefix("[") || answer.text.isEmpty ? [:] : Answer.fields(answer.text))
    }

    @Test("members of an answer are others, or missing", arguments: Site.all.filter { $0.kind != .authorization })
    func response(site: Site) throws {
        let usual = members(try site.call(fixture.client, ""))
        guard let name = usual.keys.sorted().first else {
            // The answer is empty: https://developer.apple.com/documentation/signinwithapplerestapi/revoke-tokens,
            // https://datatracker.ietf.org/doc/html/rfc7009#section-2.2
            let refused = try fixture.client.post(
                "\(FaultFixture.api)/faults", json: ["match": site.match, "effect": ["response": ["a": "b"]]])
            #expect(refused.status == 400, "\(refused)")
            #expect(refused.text.contains("response isn't valid for"))
            return
        }
        try fixture.order(["response": [name: NSNull(), "expires_in": "3600"]], at: site.match)
        let answer = try site.call(fixture.client, "")
        #expect(answer.status == 200)
        #expect(answer.diagnosis.isEmpty)
        #expect(answer.note.contains("fault-1"))
        let changed = members(answer)
        #expect(changed[name] == nil || name == "expires_in")
        #expect(changed["expires_in"] as? String == "3600")
        for other in usual.keys where other != name { #expect(changed[other] != nil, "\(other)") }
        #expect(try isHealthy(site))
    }

    @Test("a fault for members waits for an answer that refuses nothing")
    func responseWaits() throws {
        let match = ["host": "appleid.apple.com", "path": "/auth/token"]
        try fixture.order(["response": ["id_token": NSNull()]], at: match)
        let refused = try fixture.client.post(
            "/appleid.apple.com/auth/token", form: ["grant_type": "authorization_code"])
        #expect(refused.status == 400)
        #expect(try fixture.faults().first?["done"] as? Int == 0)
        let site = try #require(Site.tokens.first { $0.provider == "apple" })
        let answer = try site.call(fixture.client, "")
        #expect(answer.status == 200)
        #expect(answer["id_token"] == nil)
        #expect(answer["access_token"] != nil)
        #expect(try fixture.faults().isEmpty)
    }

    /// Returns the names of an endpoint's errors in the catalogue.
    private func errors(of site: Site) throws -> [String] {
        let endpoints =
            try fixture.client.get("\(FaultFixture.api)/endpoints").json["endpoints"] as? [[String: Any]] ?? []
        let unversioned = site.path.hasPrefix("/v22.0/") ? String(site.path.dropFirst(6)) : site.path
        let found = endpoints.first { endpoint in
            endpoint["host"] as? String == site.host && endpoint["method"] as? String == site.method
                && [site.path, unversioned].contains(endpoint["path"] as? String ?? "")
        }
        return found?["errors"] as? [String] ?? []
    }

    @Test(
        "each of the endpoint's own errors, in its own form, with a diagnosis",
        arguments: Site.all.filter { $0.kind != .keySet && !$0.path.contains("openid-configuration") })
    func errors(site: Site) throws {
        let names = try errors(of: site)
        let isAdministration = site.path.contains("/projects/")
        #expect(!names.isEmpty || isAdministration)
        for name in names {
            try fixture.order(["error": name], at: site.match)
            let answer = try site.call(fixture.client, "")
            let place = answer.location + answer.text
            let encoded = name.replacingOccurrences(of: " ", with: "+")
            let code = name.split(separator: "/").last.map(String.init) ?? name
            #expect([name, encoded, code].contains { place.contains($0) }, "\(name): \(place)")
            #expect(!(name == "authorization_pending" ? answer.note : answer.diagnosis).isEmpty, "\(name)")
        }
        #expect(try isHealthy(site))
    }

    @Test("an error's own description replaces the usual one")
    func description() throws {
        try fixture.order(
            ["error": "invalid_grant", "description": "The moon is full."],
            at: ["host": "appleid.apple.com", "path": "/auth/token"])
        #expect(try Site.signIn(at: "apple", fixture.client)["error_description"] == "The moon is full.")
    }

    @Test("GitHub's primary rate limit, with the headers that clients go by; the secondary one with requests left")
    func rateLimits() throws {
        let site = try #require(Site.apis.first { $0.host == "api.github.com" })
        let fixture = try FaultFixture(seed: #"{"github":{"rateLimit":4321}}"#)
        try fixture.order(["error": "API rate limit exceeded"], at: site.match)
        let before = Int(Date().timeIntervalSince1970)
        let primary = try site.call(fixture.client, "")
        #expect(primary.status == 403)
        #expect(primary.header("X-RateLimit-Limit") == "4321")
        #expect(primary.header("X-RateLimit-Remaining") == "0")
        #expect(Int(primary.header("X-RateLimit-Reset") ?? "") ?? 0 > before)
        let name = try #require(try errors(of: site).first { $0.contains("secondary rate limit") })
        try fixture.order(["error": name], at: site.match)
        let secondary = try site.call(fixture.client, "")
        #expect(secondary.header("Retry-After") == "60")
        // Clients take a limit without requests left for the primary one:
        // https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit
        #expect(secondary.header("X-RateLimit-Remaining").flatMap { Int($0) } ?? 0 > 0)
    }

    @Test(
        "errors that stay at Google's own page, with the statuses that its help page gives",
        arguments: [
            ("admin_policy_enforced", 400), ("deleted_client", 401), ("disallowed_useragent", 403),
            ("org_internal", 403),
        ])
    func ownPages(error: String, status: Int) throws {
        let site = try #require(Site.authorizations.first { $0.provider == "google" })
        try fixture.order(["error": error], at: site.match)
        let answer = try site.call(fixture.client, "")
        #expect(answer.status == status)
        #expect(answer.location.isEmpty)
        #expect(answer.text.contains(error))
    }

    // MARK: - Authorizations

    @Test("a redirect without state, and with another one", arguments: Site.authorizations)
    func state(site: Site) throws {
        try fixture.order(["state": "missing"], at: site.match)
        try fixture.order(["state": "wrong"], at: site.match)
        let missing = try site.call(fixture.client, "")
        #expect(!missing.location.contains("state="))
        #expect(!Site.code(missing).isEmpty)
        let wrong = try site.call(fixture.client, "")
        #expect(wrong.location.contains("state=another-state-of-the-test"))
        #expect(try site.call(fixture.client, "").location.contains("state=state-of-the-test"))
    }

    @Test("a code that is used already", arguments: Site.authorizations)
    func usedCode(site: Site) throws {
        try fixture.order(["code": "used"], at: site.match)
        let code = Site.code(try site.call(fixture.client, ""))
        #expect(!code.isEmpty)
        let refused = try Site.redeem(code, at: site.provider, fixture.client)
        #expect(refused["access_token"] == nil)
        #expect(Site.saysUsed(refused), "\(refused)")
        #expect(try Site.signIn(at: site.provider, fixture.client)["access_token"] != nil)
    }

    @Test("a native code that is used already")
    func usedNativeCode() throws {
        try fixture.order(["code": "used"], at: ["path": "*/apple/authorizations"])
        let code = try Site.natives[0].call(fixture.client, "")["authorizationCode"] ?? ""
        let form = [
            "client_id": AppleFixture.app, "client_secret": try AppleFixture.secret(for: AppleFixture.app),
            "code": code, "grant_type": "authorization_code",
        ]
        let refused = try fixture.client.post("/appleid.apple.com/auth/token", form: form)
        #expect(refused["error"] == "invalid_grant")
    }

    @Test("a fault for the redirect waits behind the sign-in page", arguments: ["state", "code", "token"])
    func waits(effect: String) throws {
        let effects: [String: Any] = [
            "state": "wrong", "code": "used", "token": ["claims": ["nonce": "other"]] as [String: Any],
        ]
        try fixture.order(
            [effect: effects[effect] ?? ""], at: ["host": "appleid.apple.com", "path": "/auth/authorize"])
        let path = AppleFixture.authorizePath([
            "response_type": "code id_token", "response_mode": "fragment", "nonce": "n", "scope": nil,
        ])
        let page = try fixture.client.get(path, headers: ["Accept": "text/html"])
        #expect(page.status == 200)
        #expect(page.diagnosis.isEmpty)
        #expect(try fixture.faults().count == 1)
        let action = Answer.attribute("action", of: page.text.components(separatedBy: "<form ").last ?? "")
        let answer = try fixture.client.post(
            String(action.dropFirst("http://localhost:\(fixture.client.port)".count)),
            form: page.inputs.merging(["account": "ada", "action": "continue"]) { $1 })
        #expect(answer.status == 302)
        switch effect {
        case "state": #expect(answer.redirect["state"] == "another-s")
        case "token": #expect(AppleFixture.claims(answer.redirect["id_token"] ?? "")["nonce"] as? String == "other")
        default:
            #expect(
                try Site.redeem(answer.redirect["code"] ?? "", at: "apple", fixture.client)["error"] == "invalid_grant")
        }
        #expect(try fixture.faults().isEmpty)
    }

    // MARK: - Tokens

    private static func token(_ answer: Answer) -> String {
        for name in ["identityToken", "idToken", "authenticationToken", "id_token"] {
            if let token = answer[name] { return token }
        }
        return ""
    }

    private func keySet(of provider: String) throws -> String {
        let site = Site.keySets.first { $0.provider == provider }
        return try site?.call(fixture.client, "").text ?? ""
    }

    private func keyIDs(of provider: String) throws -> Set<String> {
        let set = try JSONSerialization.jsonObject(with: Data(try keySet(of: provider).utf8)) as? [String: Any]
        return Set((set?["keys"] as? [[String: Any]] ?? []).compactMap { $0["kid"] as? String })
    }

    /// Returns PyJWT's verdicts on the signatures of `tokens`, with the keys that are published now.
    private func verdicts(on tokens: [String], of provider: String) throws -> [TokenVerifier.Verdict] {
        let keys = try keySet(of: provider)
        return try TokenVerifier.verify(tokens.map { try .init($0, keys: keys, requires: [], lifetime: false) })
    }

    @Test("claims changed, removed, and relative to now", arguments: Site.minting)
    func claims(site: Site) throws {
        try fixture.clock(["freeze": true])
        let now = (try fixture.client.get("\(FaultFixture.api)/clock").json["milliseconds"] as? Int ?? 0) / 1000
        try fixture.order(
            [
                "token": [
                    "claims": ["aud": "other", "sub": NSNull(), "exp": "-1h", "iat": "2h", "extra": ["deep": [1]]],
                    "header": ["typ": "odd"],
                ] as [String: Any]
            ], at: site.match)
        let token = FaultTests.token(try site.call(fixture.client, ""))
        let claims = AppleFixture.claims(token.hasSuffix(".") ? token + "x" : token)
        #expect(claims["aud"] as? String == "other")
        #expect(claims["sub"] == nil)
        #expect(claims["exp"] as? Int == now - 3600)
        #expect(claims["iat"] as? Int == now + 7200)
        #expect((claims["extra"] as? [String: [Int]]) == ["deep": [1]])
        #expect(try JWS(parsing: token).header["typ"]?.string == "odd")
        #expect(claims["iss"] != nil)
        let next = FaultTests.token(try site.call(fixture.client, ""))
        #expect(AppleFixture.claims(next.hasSuffix(".") ? next + "x" : next)["sub"] != nil)
    }

    @Test(
        "signatures: PyJWT takes none of the broken ones", .pyJWT,
        arguments: Site.minting, ["invalid", "unknownKey", "wrongAlgorithm", "none"])
    func signatures(site: Site, signature: String) throws {
        try fixture.order(["token": ["signature": signature]], at: site.match)
        let token = FaultTests.token(try site.call(fixture.client, ""))
        let decoded = try JWS(parsing: token)
        #expect(decoded.claims["iss"] != nil)
        // At the own address, Firebase's tokens are unsigned, as in the Emulator Suite.
        let next = site.provider == "firebase" ? nil : FaultTests.token(try site.call(fixture.client, ""))
        let verdicts = try verdicts(on: [token] + (next.map { [$0] } ?? []), of: site.provider)
        let refusals = ["invalid": "InvalidSignatureError", "unknownKey": "UnknownKey"]
        #expect(verdicts[0].refusal == refusals[signature, default: "InvalidAlgorithmError"], "\(verdicts[0])")
        if next != nil { #expect(verdicts[1].isValid, "\(verdicts[1])") }
        switch signature {
        case "invalid":
            #expect(decoded.algorithm == "RS256")
            #expect(decoded.signature.count == 256)
        case "unknownKey": #expect(try !keySet(of: site.provider).contains(decoded.keyID ?? "?"))
        case "wrongAlgorithm":
            #expect(decoded.algorithm == "HS256")
            #expect(decoded.signature.count == 32)
        default:
            #expect(decoded.algorithm == "none")
            #expect(token.hasSuffix("."))
        }
    }

    @Test("wrongAlgorithm is signed with the public key's PEM, as the attack is")
    func confusion() throws {
        try fixture.order(["token": ["signature": "wrongAlgorithm"]], at: Site.natives[0].match)
        let token = try JWS(parsing: FaultTests.token(try Site.natives[0].call(fixture.client, "")))
        let key = try Key(pem: Array(Repository.read("seed-data/keys/apple-signing-3.pem").utf8))
        #expect(token.signature == Digest.hmacSHA256(key: Array(try key.publicPEM().utf8), token.signingInput))
    }

    // MARK: - Keys

    @Test("keys rotate, the old ones kept or dropped", .pyJWT, arguments: Site.minting, ["keep", "drop"])
    func rotation(site: Site, rotation: String) throws {
        let before = FaultTests.token(try site.call(fixture.client, ""))
        let published = try keyIDs(of: site.provider)
        try fixture.order(["rotateKeys": rotation], at: site.match)
        let after = FaultTests.token(try site.call(fixture.client, ""))
        guard site.provider != "firebase" else {
            // At the own address its tokens are unsigned, but its keys rotate all the same.
            let now = try keyIDs(of: site.provider)
            #expect(!now.subtracting(published).isEmpty)
            #expect(published.isSubset(of: now) == (rotation == "keep"))
            return
        }
        #expect(try JWS(parsing: before).keyID != (try JWS(parsing: after).keyID))
        let verdicts = try verdicts(on: [after, before], of: site.provider)
        #expect(verdicts[0].isValid, "\(verdicts[0])")
        // Of several published keys the oldest is dropped; a single key is the oldest itself.
        #expect(verdicts[1].refusal == (rotation == "keep" ? nil : "UnknownKey"), "\(verdicts[1])")
    }

    @Test("a key set that is empty, and one that lacks the signing key", arguments: Site.keySets)
    func keySets(site: Site) throws {
        let usual = try site.call(fixture.client, "")
        try fixture.order(["jwks": "empty"], at: site.match)
        let empty = try site.call(fixture.client, "")
        #expect(["{}", #"{"keys":[]}"#].contains(empty.text))
        try fixture.order(["jwks": "stale"], at: site.match)
        let stale = try site.call(fixture.client, "")
        #expect(stale.status == 200)
        #expect(stale.body.count < usual.body.count)
        #expect(try site.call(fixture.client, "").body == usual.body)
    }

    @Test("a stale key set is the one from before the rotation")
    func stale() throws {
        let site = Site.keySets[0]
        let before = try site.call(fixture.client, "").text
        try fixture.order(["rotateKeys": true], at: ["host": "appleid.apple.com", "path": "/auth/token"])
        _ = try Site.signIn(at: "apple", fixture.client)
        #expect(try site.call(fixture.client, "").text != before)
        try fixture.order(["jwks": "stale"], at: site.match)
        #expect(try site.call(fixture.client, "").text == before)
    }

    @Test("Firebase refuses what a provider's fault has broken")
    func throughFirebase() throws {
        try fixture.order(["token": ["claims": ["nonce": "other"]]], at: Site.natives[0].match)
        let nonce = FirebaseFixture.rawNonce
        let credential = try fixture.client.post(
            Site.natives[0].path,
            json: ["client": AppleFixture.app, "account": "ada", "nonce": FirebaseFixture.sha256(nonce)])
        let body: [String: Any] = [
            "requestUri": "http://localhost", "returnSecureToken": true,
            "postBody": FirebaseFixture.postBody("apple.com", idToken: credential["identityToken"], nonce: nonce),
        ]
        let path = "/identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=demo-api-key"
        #expect(try fixture.client.post(path, json: body).errorCode == "MISSING_OR_INVALID_NONCE")
        // Firebase's own requests to Apple can fail, too.
        try fixture.order(["jwks": "empty"], at: ["host": "appleid.apple.com", "path": "/auth/keys"])
        #expect(try fixture.client.post(path, json: body).errorCode == "INVALID_IDP_RESPONSE")
    }
}
