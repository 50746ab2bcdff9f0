import Foundation
import TestSupport
import Testing

/// A world of the built-in seed, merged with `seed`, and what an app does at Facebook.
struct FacebookFixture {
    static let id = "1234567890"
    static let secret = "facebook-secret-for-tests"
    static let callback = "http://localhost:3000/callback"
    static let ada = "10150000000000001"
    static var appToken: String { "\(id)|\(secret)" }

    let world: FirebaseFixture
    var client: TestClient { world.client }

    /// `app` are members of the seed's app.
    init(app: String = "", seed: String? = nil) throws {
        let members = #"{"facebook":{"apps":[{"appID":"\#(FacebookFixture.id)",\#(app)}]}}"#
        world = try FirebaseFixture(seed: app.isEmpty ? seed : members)
    }

    func approve(_ account: String = "ada", scopes: [String]? = nil) throws {
        var order: [String: Any] = ["provider": "facebook", "outcome": "approve", "account": account]
        order["scopes"] = scopes
        try world.order(order)
    }

    /// Opens the login dialog; parameters replaced or, with `nil`, removed.
    func dialog(_ changes: [String: String?] = [:], version: String = "/v22.0") throws -> Answer {
        var form = [
            "client_id": FacebookFixture.id, "redirect_uri": FacebookFixture.callback, "state": "s 1",
            "scope": "email",
        ]
        for (name, value) in changes { form[name] = value }
        return try client.get("/www.facebook.com\(version)/dialog/oauth?\(TestClient.encode(form))")
    }

    /// Returns the parameters of a redirect to the callback, whether they are in the query or in the fragment.
    static func fields(_ answer: Answer) -> [String: String] {
        let location = answer.location.hasSuffix("#_=_") ? String(answer.location.dropLast(4)) : answer.location
        return Answer.fields(String(location.drop { $0 != "?" && $0 != "#" }.dropFirst()))
    }

    func code(_ changes: [String: String?] = [:], account: String = "ada", scopes: [String]? = nil) throws -> String {
        try approve(account, scopes: scopes)
        let answer = try dialog(changes)
        return try #require(FacebookFixture.fields(answer)["code"])
    }

    func graph(_ path: String, _ query: [String: String?] = [:], method: String = "GET") throws -> Answer {
        let text = TestClient.encode(query.compactMapValues { $0 })
        return try client.request(method, "/graph.facebook.com\(path)" + (text.isEmpty ? "" : "?\(text)"))
    }

    func redeem(_ changes: [String: String?]) throws -> Answer {
        var form: [String: String?] = [
            "client_id": FacebookFixture.id, "client_secret": FacebookFixture.secret,
            "redirect_uri": FacebookFixture.callback,
        ]
        for (name, value) in changes { form[name] = value }
        return try graph("/v22.0/oauth/access_token", form)
    }

    func token(_ changes: [String: String?] = [:], account: String = "ada", scopes: [String]? = nil) throws -> String {
        try #require(try redeem(["code": code(changes, account: account, scopes: scopes)])["access_token"])
    }

    /// Returns the data with which debug_token answers for a token.
    func inspected(_ token: String, by caller: String = FacebookFixture.appToken) throws -> [String: Any]? {
        try graph("/debug_token", ["input_token": token, "access_token": caller]).json["data"] as? [String: Any]
    }
}

extension Answer {
    var graphError: [String: Any]? { json["error"] as? [String: Any] }

    /// Code and subcode, as orders name them.
    var graphCode: String {
        let code = (graphError?["code"] as? Int).map(String.init) ?? "none"
        return code + ((graphError?["error_subcode"] as? Int).map { "/\($0)" } ?? "")
    }
}
