import Foundation
import TestSupport
import Testing

/// The answers that a client gets in a scenario, and the steps of a correct client.
struct ScenarioWalk: Sendable, CustomStringConvertible {
    typealias SignInStep = @Sendable (_ client: TestClient) throws -> Void

    let name: String
    var values: [String: String] = [:]
    /// Whether every request fails until the scenario is over.
    var lasts = false
    /// The steps of people before the scenario.
    var before: @Sendable (_ client: TestClient) throws -> [String: String] = { _ in [:] }
    /// The checks in the scenario, with the values that `before` has returned.
    let meets: @Sendable (_ client: TestClient, _ values: [String: String]) throws -> Void
    /// The steps that must succeed.
    var correct: SignInStep = { try ScenarioWalk.everywhere($0) }

    var description: String { name }

    static let control = "/_understudy/v1"
    static let providers = ["apple", "github", "google", "facebook", "openid"]

    static func everywhere(_ client: TestClient) throws {
        for provider in providers {
            #expect(try Site.signIn(at: provider, client)["access_token"] != nil, "\(provider)")
        }
    }

    static func claims(_ answer: Answer) -> [String: Any] {
        AppleFixture.claims(answer["identityToken"] ?? answer["idToken"] ?? answer["id_token"] ?? "")
    }

    static func native(_ client: TestClient, _ account: String = "ada", nonce: String? = nil) throws -> Answer {
        var body: [String: Any] = ["client": AppleFixture.app, "account": account, "scopes": ["fullName", "email"]]
        body["nonce"] = nonce
        return try client.post("\(control)/apple/authorizations", json: body)
    }

    /// Returns the IDs of published keys.
    static func keys(_ path: String, _ client: TestClient) throws -> Set<String> {
        let keys = try client.get(path).json["keys"] as? [[String: Any]] ?? []
        return Set(keys.compactMap { $0["kid"] as? String })
    }

    static func kid(_ token: String) -> String {
        let header = token.split(separator: ".").first.map(String.init) ?? ""
        return AppleFixture.claims("e30.\(header).x")["kid"] as? String ?? ""
    }

    /// Signs in to Firebase with an Apple credential.
    static func firebase(_ client: TestClient, rawNonce: String) throws -> Answer {
        let credential = try native(client, nonce: FirebaseFixture.sha256(rawNonce))
        return try identity(
            client, FirebaseFixture.postBody("apple.com", idToken: credential["identityToken"], nonce: rawNonce))
    }

    static func identity(_ client: TestClient, _ postBody: String, _ more: [String: Any] = [:]) throws -> Answer {
        let body: [String: Any] = [
            "requestUri": "http://localhost", "returnSecureToken": true, "returnIdpCredential": true,
            "postBody": postBody,
        ]
        return try toolkit("v1/accounts:signInWithIdp", body.merging(more) { $1 }, client)
    }

    static func toolkit(_ call: String, _ body: [String: Any], _ client: TestClient) throws -> Answer {
        try client.post("\(FirebaseFixture.toolkit)/\(call)?key=\(FirebaseFixture.key)", json: body)
    }

    /// Whether the world's clock is this number of seconds ahead of the machine's.
    static func isAhead(_ client: TestClient, by seconds: Double) throws -> Bool {
        let before = Date().timeIntervalSince1970
        let now = try client.get("\(control)/clock").json["milliseconds"] as? Double ?? 0
        let after = Date().timeIntervalSince1970
        return (before - 1...after + 1).contains(now / 1_000 - seconds)
    }

    static func openID(_ client: TestClient) throws -> [String: Any] {
        claims(try Site.signIn(at: "openid", client))
    }
}
