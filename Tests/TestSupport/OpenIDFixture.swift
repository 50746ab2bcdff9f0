import Foundation
import Understudy

/// A world of the built-in seed, merged with `seed`, with shorthand for requests to its issuer `corp`.
package final class OpenIDFixture: Sendable {
    package static let control = "/_understudy/v1"
    package static let web = "web"
    package static let spa = "spa"
    package static let secret = "openid-secret-for-tests"
    package static let callback = "http://localhost:3000/callback"
    /// The example of RFC 7636, appendix B.
    package static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    package static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    package let server: TestServer
    package let client: TestClient
    package let base: String

    /// Makes a world. `issuer` has members of the issuer `corp`, and `clients` has further clients of it, in JSON.
    package convenience init(
        issuer: String = "", clients: String = "", base: String = "/oidc/corp", isAlone: Bool = false
    ) throws {
        let members = issuer.isEmpty ? "" : "\(issuer),"
        try self.init(
            seed: #"{"openid":{"issuers":[{"id":"corp",\#(members)"clients":[\#(clients)]}]}}"#, base: base,
            isAlone: isAlone)
    }

    /// Makes a world. With `isAlone`, it gets a daemon of its own.
    package init(seed: String, base: String = "/oidc/corp", isAlone: Bool = false) throws {
        let seeds: [SeedInput] = [.builtIn, .json(seed, directory: "\(Repository.root)/seed-data")]
        server = try isAlone ? TestServer.start(seeds: seeds) : TestServer.world(seeds: seeds)
        client = TestClient(port: server.port)
        self.base = base
    }

    deinit { server.stop() }

    /// The expected `iss`, if it follows from the request's address.
    package var issuer: String { "http://localhost:\(server.port)\(base)" }

    package func order(_ outcome: [String: Any]) throws {
        let answer = try client.post(
            "\(OpenIDFixture.control)/outcomes", json: outcome.merging(["provider": "openid"]) { $1 })
        guard answer.status == 201 else { throw TransportError(reason: "\(answer)") }
    }

    /// Stops the world's clock at the present time. Tests do this before steps that must happen at one moment or within
    /// a lifetime, even on a busy machine.
    package func freeze() throws {
        _ = try client.post("\(OpenIDFixture.control)/clock", json: ["freeze": true])
    }

    package func advance(_ duration: String) throws {
        _ = try client.post("\(OpenIDFixture.control)/clock", json: ["advance": duration])
    }

    /// Returns the parameters of an authorization request, replaced or, with `nil`, removed.
    package func parameters(_ changes: [String: String?] = [:]) -> [String: String] {
        var form = [
            "client_id": OpenIDFixture.web, "redirect_uri": OpenIDFixture.callback, "response_type": "code",
            "scope": "openid profile email", "state": "s 1", "nonce": "n",
        ]
        for (name, value) in changes { form[name] = value }
        return form
    }

    package func authorizePath(_ changes: [String: String?] = [:]) -> String {
        "\(base)/authorize?\(TestClient.encode(parameters(changes)))"
    }

    /// Sends an authorization request, which `person` approves if there is one.
    package func authorize(_ changes: [String: String?] = [:], by person: String? = "ada") throws -> Answer {
        if let person { try order(["outcome": "approve", "account": person]) }
        return try client.get(authorizePath(changes))
    }

    package func code(_ changes: [String: String?] = [:], by person: String = "ada") throws -> String {
        try authorize(changes, by: person).redirect["code"] ?? ""
    }

    /// Sends a request to the token endpoint as the client `web`.
    package func token(_ changes: [String: String?]) throws -> Answer {
        var form = [
            "client_id": OpenIDFixture.web, "client_secret": OpenIDFixture.secret, "grant_type": "authorization_code",
        ]
        if changes["code"] != nil { form["redirect_uri"] = OpenIDFixture.callback }
        for (name, value) in changes { form[name] = value }
        return try client.post("\(base)/token", form: form)
    }

    /// Signs a person in and redeems the code.
    package func signIn(_ changes: [String: String?] = [:], by person: String = "ada") throws -> Answer {
        try token(["code": try code(changes, by: person)])
    }

    package func bearer(_ token: String?) -> [String: String] { ["Authorization": "Bearer \(token ?? "")"] }

    package static func basic(_ client: String = web, secret: String = secret) -> [String: String] {
        ["Authorization": "Basic \(Data("\(client):\(secret)".utf8).base64EncodedString())"]
    }

    /// Returns the claims of a token without verifying it.
    package static func claims(_ token: String?) -> [String: Any] {
        let parts = (token ?? "").split(separator: ".")
        guard parts.count > 1 else { return [:] }
        var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while text.count % 4 != 0 { text += "=" }
        let data = Data(base64Encoded: text) ?? Data()
        return (try? JSONSerialization.jsonObject(with: data) as? [String: Any]) ?? [:]
    }
}
