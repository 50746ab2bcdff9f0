import Foundation

/// An endpoint, and a request to it that succeeds.
package struct Site: Sendable, CustomStringConvertible {
    package enum Kind: Sendable {
        case authorization
        case native
        case token
        case keySet
        case api
    }

    package let kind: Kind
    package let provider: String
    package let method: String
    /// The host; `nil` for the control API.
    package let host: String?
    package let path: String
    /// The parameters of an authorization.
    var form: [String: String] = [:]
    /// Prepares and sends the request. The world's prefix precedes every path.
    package let call: @Sendable (_ client: TestClient, _ world: String) throws -> Answer

    package var description: String { "\(method) \(host ?? "")\(path)" }

    /// The conditions that match it, for a fault.
    package var match: [String: String] {
        var match = ["method": method, "path": path]
        match["host"] = host
        return match
    }
}

extension Site {
    package static let all = authorizations + natives + tokens + keySets + apis

    package static var minting: [Site] {
        natives + tokens.filter { ["apple", "google", "openid", "firebase"].contains($0.provider) }
    }

    private static let control = "/_understudy/v1"
    private static let callback = "http://localhost:3000/callback"

    package static func order(
        _ outcome: [String: Any], at client: TestClient, _ world: String = ""
    ) throws {
        let answer = try client.post("\(world)\(control)/outcomes", json: outcome)
        guard answer.status == 201 else { throw TransportError(reason: "\(answer)") }
    }

    // MARK: - Authorizations

    package static let authorizations = [
        authorization(
            "apple", "appleid.apple.com", "/auth/authorize", client: AppleFixture.service, uri: AppleFixture.returnURL),
        authorization("github", "github.com", "/login/oauth/authorize", client: GitHubFixture.asking, uri: callback),
        authorization(
            "google", "accounts.google.com", "/o/oauth2/v2/auth", client: "example.apps.googleusercontent.com",
            uri: callback),
        authorization("facebook", "www.facebook.com", "/v22.0/dialog/oauth", client: "1234567890", uri: callback),
        authorization("openid", "login.corp.example", "/authorize", client: OpenIDFixture.web, uri: callback),
    ]

    private static func authorization(
        _ provider: String, _ host: String, _ path: String, client id: String, uri: String
    ) -> Site {
        let form = [
            "client_id": id, "redirect_uri": uri, "response_type": "code",
            "scope": provider == "apple" ? "" : "openid email", "state": "state-of-the-test",
        ]
        return Site(
            kind: .authorization, provider: provider, method: "GET", host: host, path: path,
            form: form.filter { !$0.value.isEmpty }
        ) { client, world in
            try order(["provider": provider, "outcome": "approve", "account": "ada"], at: client, world)
            return try client.get("\(world)/\(host)\(path)?\(TestClient.encode(form.filter { !$0.value.isEmpty }))")
        }
    }

    /// Returns the target of an authorization request, with further parameters.
    package func target(_ more: [String: String] = [:]) -> String {
        "/\(host ?? "")\(path)?\(TestClient.encode(form.merging(more) { $1 }))"
    }

    /// Returns the code of a redirect, without Facebook's fragment.
    package static func code(_ answer: Answer) -> String {
        let query = answer.location.drop { $0 != "?" }.dropFirst().prefix { $0 != "#" }
        return Answer.fields(String(query))["code"] ?? ""
    }

    /// Whether the answer refuses a code as redeemed before, in the providers' words and codes.
    package static func saysUsed(_ answer: Answer) -> Bool {
        !answer.diagnosis.isEmpty
            && ["invalid_grant", "bad_verification_code", "code has been used"].contains { answer.text.contains($0) }
    }

    // MARK: - Native sign-in

    package static let natives = [
        ("apple", AppleFixture.app), ("google", "example.apps.googleusercontent.com"), ("facebook", "1234567890"),
    ].map { provider, id in
        Site(
            kind: .native, provider: provider, method: "POST", host: nil, path: "\(control)/\(provider)/authorizations"
        ) { client, world in
            var body: [String: Any] = ["client": id, "account": "ada", "nonce": "the-nonce"]
            if provider == "facebook" { body["tracking"] = "limited" }
            return try client.post("\(world)\(control)/\(provider)/authorizations", json: body)
        }
    }

    // MARK: - Tokens

    /// Redeems `code` at a provider.
    package static func redeem(
        _ code: String, at provider: String, _ client: TestClient, _ world: String = ""
    ) throws -> Answer {
        var form = ["code": code, "redirect_uri": callback, "grant_type": "authorization_code"]
        switch provider {
        case "apple":
            form["client_id"] = AppleFixture.service
            form["client_secret"] = try AppleFixture.secret()
            form["redirect_uri"] = AppleFixture.returnURL
            return try client.post("\(world)/appleid.apple.com/auth/token", form: form)
        case "github":
            form = ["code": code, "client_id": GitHubFixture.asking, "client_secret": GitHubFixture.secret]
            return try client.post(
                "\(world)/github.com/login/oauth/access_token", form: form, headers: ["Accept": "application/json"])
        case "google":
            form["client_id"] = "example.apps.googleusercontent.com"
            form["client_secret"] = "google-secret-for-tests"
            return try client.post("\(world)/oauth2.googleapis.com/token", form: form)
        case "openid":
            form["client_id"] = OpenIDFixture.web
            form["client_secret"] = OpenIDFixture.secret
            return try client.post("\(world)/login.corp.example/token", form: form)
        default:
            form["client_id"] = "1234567890"
            form["client_secret"] = "facebook-secret-for-tests"
            return try client.post("\(world)/graph.facebook.com/v22.0/oauth/access_token", form: form)
        }
    }

    /// Signs Ada in at a provider and redeems the code. `more` has further parameters of the authorization.
    package static func signIn(
        at provider: String, _ client: TestClient, _ world: String = "", more: [String: String] = [:]
    ) throws -> Answer {
        guard let site = authorizations.first(where: { $0.provider == provider }) else {
            throw TransportError(reason: "no provider \(provider)")
        }
        try order(["provider": provider, "outcome": "approve", "account": "ada"], at: client, world)
        return try redeem(code(try client.get(world + site.target(more))), at: provider, client, world)
    }

    package static let tokens =
        [
            ("apple", "appleid.apple.com", "/auth/token"), ("github", "github.com", "/login/oauth/access_token"),
            ("google", "oauth2.googleapis.com", "/token"),
            ("facebook", "graph.facebook.com", "/v22.0/oauth/access_token"),
            ("openid", "login.corp.example", "/token"),
        ].map { (provider: String, host: String, path: String) in
            Site(kind: .token, provider: provider, method: "POST", host: host, path: path) { client, world in
                try signIn(at: provider, client, world)
            }
        } + [
            Site(
                kind: .token, provider: "firebase", method: "POST", host: "securetoken.googleapis.com",
                path: "/v1/token"
            ) { client, world in
                let made = try signUp(client, world)
                return try client.post(
                    "\(world)/securetoken.googleapis.com/v1/token?key=demo-api-key",
                    form: ["grant_type": "refresh_token", "refresh_token": made["refreshToken"] ?? ""])
            }
        ]

    // MARK: - Keys

    package static let keySets = [
        ("apple", "appleid.apple.com", "/auth/keys"), ("google", "www.googleapis.com", "/oauth2/v3/certs"),
        ("google", "www.googleapis.com", "/oauth2/v1/certs"),
        ("facebook", "www.facebook.com", "/.well-known/oauth/openid/jwks"),
        ("openid", "login.corp.example", "/jwks"),
        ("firebase", "www.googleapis.com", "/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"),
        ("firebase", "www.googleapis.com", "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"),
        ("firebase", "identitytoolkit.googleapis.com", "/v1/sessionCookiePublicKeys"),
    ].map { (provider: String, host: String, path: String) in
        Site(kind: .keySet, provider: provider, method: "GET", host: host, path: path) { client, world in
            try client.get("\(world)/\(host)\(path)")
        }
    }

    // MARK: - Other calls

    private static func signUp(_ client: TestClient, _ world: String) throws -> Answer {
        try client.post(
            "\(world)/identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key",
            json: ["returnSecureToken": true])
    }

    package static let apis =
        [
            Site(
                kind: .api, provider: "apple", method: "GET", host: "appleid.apple.com",
                path: "/.well-known/openid-configuration"
            ) { client, world in
                try client.get("\(world)/appleid.apple.com/.well-known/openid-configuration")
            },
            Site(kind: .api, provider: "apple", method: "POST", host: "appleid.apple.com", path: "/auth/revoke") {
                client, world in
                let tokens = try signIn(at: "apple", client, world)
                let form = [
                    "client_id": AppleFixture.service, "client_secret": try AppleFixture.secret(),
                    "token": tokens["refresh_token"] ?? "",
                ]
                return try client.post("\(world)/appleid.apple.com/auth/revoke", form: form)
            },
            Site(kind: .api, provider: "github", method: "GET", host: "api.github.com", path: "/user") {
                client, world in
                let token = try signIn(at: "github", client, world)["access_token"] ?? ""
                return try client.get(
                    "\(world)/api.github.com/user",
                    headers: ["Authorization": "Bearer \(token)", "User-Agent": "tests"])
            },
            Site(kind: .api, provider: "github", method: "POST", host: "github.com", path: "/login/device/code") {
                client, world in
                try client.post(
                    "\(world)/github.com/login/device/code", form: ["client_id": GitHubFixture.asking],
                    headers: ["Accept": "application/json"])
            },
            Site(
                kind: .api, provider: "google", method: "GET", host: "openidconnect.googleapis.com",
                path: "/v1/userinfo"
            ) { client, world in
                let token = try signIn(at: "google", client, world)["access_token"] ?? ""
                return try client.get(
                    "\(world)/openidconnect.googleapis.com/v1/userinfo", headers: ["Authorization": "Bearer \(token)"])
            },
            Site(kind: .api, provider: "google", method: "POST", host: "oauth2.googleapis.com", path: "/revoke") {
                client, world in
                let token = try signIn(at: "google", client, world)["access_token"] ?? ""
                return try client.post("\(world)/oauth2.googleapis.com/revoke", form: ["token": token])
            },
            Site(kind: .api, provider: "facebook", method: "GET", host: "graph.facebook.com", path: "/me") {
                client, world in
                let token = try signIn(at: "facebook", client, world)["access_token"] ?? ""
                return try client.get("\(world)/graph.facebook.com/v22.0/me?access_token=\(token)")
            },
            Site(kind: .api, provider: "openid", method: "GET", host: "login.corp.example", path: "/userinfo") {
                client, world in
                let token = try signIn(at: "openid", client, world)["access_token"] ?? ""
                return try client.get(
                    "\(world)/login.corp.example/userinfo", headers: ["Authorization": "Bearer \(token)"])
            },
        ]
        + ["introspect", "revoke"].map { path in
            Site(kind: .api, provider: "openid", method: "POST", host: "login.corp.example", path: "/\(path)") {
                client, world in
                let token = try signIn(at: "openid", client, world)["access_token"] ?? ""
                return try client.post(
                    "\(world)/login.corp.example/\(path)", form: ["token": token], headers: OpenIDFixture.basic())
            }
        } + [
            Site(
                kind: .api, provider: "firebase", method: "POST", host: "identitytoolkit.googleapis.com",
                path: "/v1/accounts:signUp"
            ) { client, world in try signUp(client, world) },
            Site(
                kind: .api, provider: "firebase", method: "POST", host: "identitytoolkit.googleapis.com",
                path: "/v1/projects/demo-app/accounts:lookup"
            ) { client, world in
                try client.request(
                    "POST", "\(world)/identitytoolkit.googleapis.com/v1/projects/demo-app/accounts:lookup",
                    headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"],
                    body: Array(#"{"localId":["nobody"]}"#.utf8))
            },
        ]
}
