import Foundation
import JOSE
import JSON
import Understudy

/// A world of the built-in seed, merged with `seed`, with shorthand for requests to Apple.
package final class AppleFixture: Sendable {
    package static let prefix = "/appleid.apple.com"
    package static let control = "/_understudy/v1"
    package static let service = "com.example.web"
    package static let app = "com.example.app"
    package static let returnURL = "https://example.com/callback"
    package static let issuer = "https://appleid.apple.com"

    package let server: TestServer
    package let client: TestClient

    /// Makes a world. With `isAlone`, it gets a daemon of its own.
    package init(seed: String? = nil, seeds: [SeedInput]? = nil, isAlone: Bool = false) throws {
        let inputs = seeds ?? [.builtIn] + (seed.map { [.json($0, directory: "\(Repository.root)/seed-data")] } ?? [])
        server = try isAlone ? TestServer.start(seeds: inputs) : TestServer.world(seeds: inputs)
        client = TestClient(port: server.port)
    }

    deinit { server.stop() }

    /// Returns a client secret. Claims and header members are replaced or, with `NSNull`, removed.
    package static func secret(
        for clientID: String = service, team: String = "A1B2C3D4E5", keyID: String = "ABC123DEFG",
        key: String? = nil, header: [String: JSONValue?] = [:], claims: [String: JSONValue?] = [:], der: Bool = false,
        now: Int64 = Int64(Date().timeIntervalSince1970)
    ) throws -> String {
        let pem = try Repository.read("seed-data/keys/AuthKey_\(key ?? keyID).p8")
        let signer = try Key(pem: Array(pem.utf8))
        var head = JSONObject([("alg", "ES256"), ("kid", .string(keyID))])
        for (name, value) in header { head[name] = value }
        var body = JSONObject([
            ("iss", .string(team)), ("iat", .integer(now)), ("exp", .integer(now + 3600)),
            ("aud", .string(issuer)), ("sub", .string(clientID)),
        ])
        for (name, value) in claims { body[name] = value }
        let input =
            Base64URL.encode(JSONValue.object(head).serialized()) + "."
            + Base64URL.encode(JSONValue.object(body).serialized())
        let signature = try signer.sign(Array(input.utf8), with: .es256)
        return input + "." + Base64URL.encode(der ? ECDSASignature.der(fromRaw: signature) ?? [] : signature)
    }

    package func order(_ outcome: [String: Any]) throws -> Answer {
        try client.post("\(AppleFixture.control)/outcomes", json: outcome.merging(["provider": "apple"]) { $1 })
    }

    /// Stops the world's clock at the present time. Tests do this before steps that must happen at one moment or within
    /// a lifetime, even on a busy machine.
    package func freeze() throws {
        _ = try client.post("\(AppleFixture.control)/clock", json: ["freeze": true])
    }

    package func advance(_ duration: String) throws {
        _ = try client.post("\(AppleFixture.control)/clock", json: ["advance": duration])
    }

    package static func authorizePath(_ parameters: [String: String?] = [:]) -> String {
        var form: [String: String] = [
            "client_id": service, "redirect_uri": returnURL, "response_type": "code", "state": "s",
        ]
        for (name, value) in parameters { form[name] = value }
        return "\(prefix)/auth/authorize?\(TestClient.encode(form))"
    }

    /// Sends a request to the authorize endpoint, which an ordered outcome answers for `account`.
    package func authorize(
        _ parameters: [String: String?] = [:], account: String = "ada", outcome: [String: Any] = [:]
    ) throws -> Answer {
        _ = try order(["outcome": "approve", "account": account].merging(outcome) { $1 })
        return try client.get(AppleFixture.authorizePath(parameters))
    }

    package func code(_ parameters: [String: String?] = [:], account: String = "ada") throws -> String {
        let answer = try authorize(parameters, account: account)
        return answer.redirect["code"] ?? answer.inputs["code"] ?? ""
    }

    /// Redeems a code. Parameters are replaced or, with `nil`, removed.
    package func token(_ parameters: [String: String?]) throws -> Answer {
        var form: [String: String] = [
            "client_id": AppleFixture.service, "grant_type": "authorization_code",
            "redirect_uri": AppleFixture.returnURL,
        ]
        if parameters["client_secret"] == nil { form["client_secret"] = try AppleFixture.secret() }
        for (name, value) in parameters { form[name] = value }
        return try client.post("\(AppleFixture.prefix)/auth/token", form: form)
    }

    package func native(_ body: [String: Any] = [:]) throws -> Answer {
        let whole: [String: Any] = ["client": AppleFixture.app, "scopes": ["fullName", "email"], "account": "ada"]
        return try client.post("\(AppleFixture.control)/apple/authorizations", json: whole.merging(body) { $1 })
    }

    /// Returns the claims of a token without verifying it.
    package static func claims(_ token: String) -> [String: Any] {
        let parts = token.split(separator: ".")
        guard parts.count == 3, let bytes = Base64URL.decode(parts[1]) else { return [:] }
        return (try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]) ?? [:]
    }
}
