import EmulatorCore
import HTTPServer
import JSON
import OAuth

/// A request to GitHub's authorization endpoint, `/login/oauth/authorize`, that has been read and checked.
struct AuthorizationRequest: CheckedAuthorization {
    let app: GitHubSection.App
    var client: GitHubSection.App { app }
    /// The redirect URI of the request, or the app's first registered callback URL if the request has none.
    let redirectURI: String
    /// The requested scopes; `nil` if the parameter `scope` was missing or empty. Such a request asks for the scopes
    /// that the person has granted before. For a GitHub App, whose permissions are registered, the scopes are never
    /// `nil`.
    let scopes: GitHubScopes?
    let wantsRefreshToken: Bool
    let state: Form.Field?
    let challenge: CodeChallenge?
    /// The login of the account that the client suggests to GitHub.
    let login: String?
    let allowsSignup: Bool
    /// Whether the person must choose an account, even if the browser is already signed in to GitHub.
    let selectsAccount: Bool
    /// The fields of the authorization request, unchanged. The consent page sends them again together with the person's
    /// answer.
    let form: Form

    /// The reason why GitHub refuses an authorization request. The reason also decides where the error is shown.
    enum Refusal: Error, Sendable {
        /// The client is unknown. GitHub shows its "not found" page.
        case unknownClient(Diagnosis)
        /// The `redirect_uri` matches no registered callback URL. Depending on the seed, GitHub shows its warning page
        /// or redirects to a registered callback URL.
        case mismatch(GitHubSection.App, state: Form.Field?, Diagnosis)
        /// GitHub redirects to the callback URL with this error.
        case callback(OAuthError, redirectURI: String, state: Form.Field?)
    }

    init(_ form: Form, _ provider: GitHubProvider, _ seed: Seed) throws(Refusal) {
        app = try AuthorizationRequest.app(form, provider.directory)
        state = form.field("state")
        redirectURI = try AuthorizationRequest.redirectURI(form, app, state)
        if app.isSuspended {
            let diagnosis = Diagnosis("the app \"\(app.clientID)\" is suspended in the seed")
            throw .callback(OAuthError(.applicationSuspended, diagnosis), redirectURI: redirectURI, state: state)
        }
        challenge =
            seed.plays(GitHubProvider.codeChallenges)
            ? try AuthorizationRequest.challenge(form, redirectURI, state) : nil
        let names = form["scope"].map { $0.split { $0 == " " || $0 == "," }.map(String.init) }
        // An empty `scope` counts as missing.
        scopes =
            app.isGitHubApp
            ? GitHubScopes.none : names.flatMap { $0.isEmpty ? nil : GitHubScopes($0.joined(separator: " ")) }
        wantsRefreshToken = names?.contains("offline_access") ?? false
        login = form["login"].flatMap { $0.isEmpty ? nil : $0 }
        allowsSignup = form["allow_signup"] != "false"
        // Clients that aren't web sites can't be distinguished by their address, so the person chooses each time.
        selectsAccount = form["prompt"] == "select_account" || !redirectURI.lowercased().hasPrefix("http")
        self.form = form
    }

    private static func app(_ form: Form, _ directory: GitHubDirectory) throws(Refusal) -> GitHubSection.App {
        let id = form["client_id"] ?? ""
        if let app = directory.apps[id] { return app }
        throw .unknownClient(
            id.isEmpty
                ? Diagnosis("client_id is missing: send the app's client ID")
                : Diagnosis(
                    received: "client_id \(Diagnosis.quote(id))",
                    "no such app is configured in the seed\(directory.hint(forClient: id))"))
    }

    private static func redirectURI(
        _ form: Form, _ app: GitHubSection.App, _ state: Form.Field?
    ) throws(Refusal) -> String {
        guard let uri = form["redirect_uri"], !uri.isEmpty else {
            guard let first = app.callbacks.first else {
                throw .mismatch(
                    app, state: state, Diagnosis("the app \"\(app.clientID)\" has no callback URL: add one in the seed")
                )
            }
            if let target = first.target { return target }
            throw .mismatch(
                app, state: state,
                Diagnosis(
                    received: "no redirect_uri", expected: "a redirect_uri that matches \(Diagnosis.quote(first.text))",
                    "the callback URL allows any port, so the request must name the port"))
        }
        if app.callbacks.contains(where: { $0.matches(uri) }) { return uri }
        throw .mismatch(app, state: state, AuthorizationRequest.mismatch(of: uri, app))
    }

    /// Returns the error message for a `redirect_uri` that matches none of the app's registered callback URLs.
    static func mismatch(of uri: String, _ app: GitHubSection.App) -> Diagnosis {
        let known = app.callbacks.map { callback in
            "\(Diagnosis.quote(callback.text))" + (callback.issue(with: uri).map { " (\($0))" } ?? "")
        }.joined(separator: " or ")
        return Diagnosis(
            received: "redirect_uri \(Diagnosis.quote(uri))",
            expected: known.isEmpty ? nil : "a URI that matches callback URL \(known)",
            "register the received URI as a callback URL of app \"\(app.clientID)\", or send a registered URI"
        ).mended(
            byMerging: [
                "github": [
                    app.isGitHubApp ? "githubApps" : "oauthApps": [
                        ["clientID": .string(app.clientID), "callbackURLs": [.string(uri)]]
                    ]
                ]
            ])
    }

    /// Returns the code challenge of an authorization request. It is `nil` if the request has none, or if GitHub
    /// ignores it on the day that the seed's `asOf` names. `code_challenge` and `code_challenge_method` must both be
    /// present or both be missing, and only the method S256 is supported.
    private static func challenge(
        _ form: Form, _ redirectURI: String, _ state: Form.Field?
    ) throws(Refusal) -> CodeChallenge? {
        func refuse(_ diagnosis: Diagnosis) -> Refusal {
            .callback(OAuthError(.invalidRequest, diagnosis), redirectURI: redirectURI, state: state)
        }
        let challenge = form["code_challenge"] ?? ""
        let method = form["code_challenge_method"] ?? ""
        switch (challenge.isEmpty, method.isEmpty) {
        case (true, true): return nil
        case (false, true):
            throw refuse(Diagnosis("code_challenge came without code_challenge_method: add code_challenge_method=S256"))
        case (true, false):
            throw refuse(Diagnosis("code_challenge_method came without code_challenge: send both or none"))
        case (false, false): break
        }
        guard method == CodeChallenge.Method.s256.rawValue else {
            throw refuse(
                Diagnosis(
                    received: "code_challenge_method \(Diagnosis.quote(method))", expected: "S256",
                    "GitHub supports no other method: hash the verifier with SHA-256"))
        }
        guard challenge.utf8.count == 43, CodeChallenge.isWellFormed(challenge) else {
            throw refuse(
                Diagnosis(
                    received: "a code_challenge of \(challenge.utf8.count) characters",
                    expected: "43 characters, the SHA-256 of the verifier in base64url without padding",
                    "encode the 32 bytes of the hash, not its hex text"))
        }
        return CodeChallenge(method: .s256, challenge: challenge)
    }
}

extension GitHubProvider {
    static let codeChallenges = Change(
        "codeChallenges", ("2025-07-14", nil),
        summary: "a code that was asked for with code_challenge needs its code_verifier; before, both were ignored",
        evidence: "https://github.blog/changelog/2025-07-14-pkce-support-for-oauth-and-github-app-authentication/")
}

/// A callback URL that is registered at GitHub, with the rules by which a `redirect_uri` matches it.
///
/// Quirks: with wildcard matching, subdomains and subdirectories match, but not a different port or scheme. On a
/// loopback address, any port matches, whether or not the registered URL has `*` for the port.
struct CallbackURL: Sendable {
    let text: String
    let hasWildcardMatching: Bool
    /// The redirect URI for requests that name none: the callback URL itself, or `nil` if it has `*` for the port.
    let target: String?
    private let address: WebAddress?

    init(_ text: String, wildcard: Bool) {
        self.text = text
        hasWildcardMatching = wildcard
        let anyPort = RegisteredRedirectURI(text).anyPort
        target = anyPort == nil ? text : nil
        address = WebAddress(anyPort ?? text)
    }

    func matches(_ uri: String) -> Bool { issue(with: uri) == nil }

    /// Returns why `uri` doesn't match the callback URL, in a few words; `nil` if it does.
    func issue(with uri: String) -> String? {
        guard uri != target else { return nil }
        guard let other = WebAddress(uri), !other.hasFragment else {
            return "it isn't an absolute URL without fragment"
        }
        guard let address else { return "it isn't the registered text" }
        guard other.scheme == address.scheme else { return "its scheme is \(other.scheme), not \(address.scheme)" }
        guard hasWildcardMatching || address.isLoopback else {
            return "wildcard matching is off, so every character counts"
        }
        if let issue = hostIssue(with: other, against: address) { return issue }
        guard other.effectivePort == address.effectivePort || address.isLoopback else {
            return "its port is \(other.effectivePort), not \(address.effectivePort)"
        }
        guard hasWildcardMatching || other.rest == address.rest else { return "its path differs" }
        return pathIssue(with: other.path, below: address.path)
    }

    private func hostIssue(with other: WebAddress, against address: WebAddress) -> String? {
        if other.host == address.host { return nil }
        if hasWildcardMatching, !address.isLoopback, !address.isIPAddress, other.host.hasSuffix(".\(address.host)") {
            return nil
        }
        return "its host is \(other.host), not \(address.host)"
            + (hasWildcardMatching && !address.isLoopback ? " or below it" : "")
    }

    private func pathIssue(with path: String, below registered: String) -> String? {
        // A browser resolves dot segments, which could leave the registered directory.
        let folded = path.lowercased()
        guard !folded.contains("/.."), !folded.contains("%2e"), !folded.contains("\\"), !folded.contains("/./") else {
            return "its path holds dot segments"
        }
        let base = registered.hasSuffix("/") ? String(registered.dropLast()) : registered
        guard path == registered || path == base || path.hasPrefix(base + "/") else {
            return "its path \(path.isEmpty ? "/" : path) isn't \(registered.isEmpty ? "/" : registered) or below it"
        }
        return nil
    }
}
