import Foundation
import TestSupport
import Testing

/// A world with Google clients of every type, and shorthand for what apps send to Google.
struct GoogleFixture {
    static let web = "example.apps.googleusercontent.com"
    static let other = "other.apps.googleusercontent.com"
    static let desktop = "desktop.apps.googleusercontent.com"
    static let ios = "ios.apps.googleusercontent.com"
    static let android = "android.apps.googleusercontent.com"
    static let androidWithScheme = "scheme.apps.googleusercontent.com"
    static let device = "tv.apps.googleusercontent.com"
    static let secret = "google-secret-for-tests"
    static let callback = "http://localhost:3000/callback"
    static let control = FirebaseFixture.control
    static let drive = "https://www.googleapis.com/auth/drive.file"
    static let email = "https://www.googleapis.com/auth/userinfo.email"
    static let profile = "https://www.googleapis.com/auth/userinfo.profile"

    let world: FirebaseFixture
    var client: TestClient { world.client }

    init() throws {
        world = try FirebaseFixture(
            seed: """
                {"google": {"clients": [
                  {"clientID": "\(GoogleFixture.other)", "redirectURIs": [
                    "\(GoogleFixture.callback)", "http://192.168.1.8:8080/cb", "http://8.8.8.8/cb", "http://app:3000/cb"]},
                  {"clientID": "\(GoogleFixture.desktop)", "type": "desktop"},
                  {"clientID": "\(GoogleFixture.ios)", "type": "ios", "appID": "com.example.app", "clientSecret": null,
                   "redirectURIs": ["com.googleusercontent.apps.ios:/oauth2redirect"]},
                  {"clientID": "\(GoogleFixture.android)", "type": "android"},
                  {"clientID": "\(GoogleFixture.androidWithScheme)", "type": "android", "customURIScheme": true},
                  {"clientID": "\(GoogleFixture.device)", "type": "device", "name": "Living room"}
                ]}}
                """)
    }

    func authorizeURL(_ changes: [String: String?] = [:], version: String = "/v2") -> String {
        var form: [String: String] = [
            "client_id": GoogleFixture.web, "redirect_uri": GoogleFixture.callback, "response_type": "code",
            "scope": "openid email profile", "state": "s",
        ]
        for (name, value) in changes { form[name] = value }
        return "/accounts.google.com/o/oauth2\(version)/auth?\(TestClient.encode(form))"
    }

    /// An authorization that nobody is asked about.
    func approve(_ changes: [String: String?] = [:], granting: [String]? = nil) throws -> Answer {
        var outcome: [String: Any] = ["provider": "google", "outcome": "approve", "account": "ada"]
        outcome["scopes"] = granting
        try world.order(outcome)
        return try client.get(authorizeURL(changes))
    }

    func token(_ changes: [String: String?] = [:]) throws -> Answer {
        var form: [String: String] = [
            "client_id": GoogleFixture.web, "client_secret": GoogleFixture.secret,
            "redirect_uri": GoogleFixture.callback, "grant_type": "authorization_code",
        ]
        for (name, value) in changes { form[name] = value }
        return try client.post("/oauth2.googleapis.com/token", form: form)
    }

    /// Returns the answer of the token endpoint to the code of an approved authorization.
    func tokens(_ changes: [String: String?] = [:], granting: [String]? = nil) throws -> Answer {
        let code = try approve(changes, granting: granting).redirect["code"]
        return try token(["code": code, "client_id": changes["client_id"] ?? GoogleFixture.web])
    }

    func get(_ path: String, _ accessToken: String?) throws -> Answer {
        try client.get(path, headers: accessToken.map { ["Authorization": "Bearer \($0)"] } ?? [:])
    }

    func native(_ body: [String: Any]) throws -> Answer {
        try client.post("\(GoogleFixture.control)/google/authorizations", json: body)
    }
}

extension Answer {
    /// Whether the page contains a sentence, whose apostrophes are escaped in HTML.
    func shows(_ sentence: String) -> Bool { text.contains(sentence.replacingOccurrences(of: "'", with: "&#39;")) }

    var claims: [String: Any] { decoded("id_token") }

    func decoded(_ member: String) -> [String: Any] {
        let parts = (self[member] ?? "").split(separator: ".")
        guard parts.count == 3 else { return [:] }
        var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while text.count % 4 != 0 { text += "=" }
        let json = Data(base64Encoded: text).flatMap { try? JSONSerialization.jsonObject(with: $0) }
        return json as? [String: Any] ?? [:]
    }
}
