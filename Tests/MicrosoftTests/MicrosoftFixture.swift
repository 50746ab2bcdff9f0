import Foundation
import TestSupport
import Testing

/// A world of the built-in seed, merged with `seed`, and what an app does at Microsoft.
struct MicrosoftFixture {
    static let tenant = "11111111-1111-4111-8111-111111111111"
    static let consumers = "9188040d-6c67-4c5b-b112-36a304b66dad"
    static let web = "22222222-2222-4222-8222-222222222222"
    static let native = "33333333-3333-4333-8333-333333333333"
    static let api = "44444444-4444-4444-8444-444444444444"
    static let secret = "microsoft-secret-for-tests"
    static let callback = "http://localhost:3000/callback"
    static let spa = "http://localhost:3000/spa"
    /// RFC 7636, appendix B.
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    static let pkce: [String: String?] = ["code_challenge": challenge, "code_challenge_method": "S256"]
    static let host = "/login.microsoftonline.com"

    let world: FirebaseFixture
    var client: TestClient { world.client }

    init(seed: String? = nil) throws { world = try FirebaseFixture(seed: seed) }

    func approve(_ account: String = "ada") throws {
        try world.order(["provider": "microsoft", "outcome": "approve", "account": account])
    }

    static func path(_ tenant: String, _ changes: [String: String?]) -> String {
        var form = [
            "client_id": web, "redirect_uri": callback, "response_type": "code", "state": "s 1",
            "scope": "openid profile email offline_access User.Read",
        ]
        for (name, value) in changes { form[name] = value }
        return "\(host)/\(tenant)/oauth2/v2.0/authorize?\(TestClient.encode(form))"
    }

    func authorize(_ changes: [String: String?] = [:], at tenant: String = "common") throws -> Answer {
        try client.get(MicrosoftFixture.path(tenant, changes))
    }

    func code(_ changes: [String: String?] = [:], at tenant: String = "common", by account: String = "ada") throws
        -> String
    {
        try approve(account)
        let answer = try authorize(changes, at: tenant)
        return try #require(answer.redirect["code"], "\(answer)")
    }

    /// Sends a token request of the web client; `nil` removes a field.
    func token(
        _ changes: [String: String?], at tenant: String = "common", headers: [String: String] = [:]
    ) throws -> Answer {
        var form = [
            "client_id": MicrosoftFixture.web, "client_secret": MicrosoftFixture.secret,
            "redirect_uri": MicrosoftFixture.callback, "grant_type": "authorization_code",
        ]
        for (name, value) in changes { form[name] = value }
        return try client.post("\(MicrosoftFixture.host)/\(tenant)/oauth2/v2.0/token", form: form, headers: headers)
    }

    func tokens(_ changes: [String: String?] = [:], by account: String = "ada") throws -> Answer {
        try token(["code": code(changes, by: account)])
    }

    func graph(_ path: String, _ token: String?) throws -> Answer {
        try client.get(
            "/graph.microsoft.com\(path)", headers: token.map { ["Authorization": "Bearer \($0)"] } ?? [:])
    }

    func keys(at tenant: String = "common") throws -> Answer {
        try client.get("\(MicrosoftFixture.host)/\(tenant)/discovery/v2.0/keys")
    }
}

extension Answer {
    /// The code of an error answer, of a redirect or of a page; 0 if there is none.
    var aadsts: Int {
        let text = redirect["error_description"] ?? self["error_description"] ?? self.text
        guard let start = text.range(of: "AADSTS") else { return 0 }
        return Int(text[start.upperBound...].prefix { $0.isNumber }) ?? 0
    }

    /// The claims of a token, which isn't verified.
    func decoded(_ member: String) -> [String: Any] {
        let parts = (self[member] ?? redirect[member] ?? "").split(separator: ".")
        guard parts.count == 3 else { return [:] }
        var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while text.count % 4 != 0 { text += "=" }
        let json = Data(base64Encoded: text).flatMap { try? JSONSerialization.jsonObject(with: $0) }
        return json as? [String: Any] ?? [:]
    }
}
