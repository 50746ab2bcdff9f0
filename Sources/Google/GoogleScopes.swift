import EmulatorCore
import JSON

/// Scopes in the order in which they were requested: <https://developers.google.com/identity/protocols/oauth2/scopes>.
///
/// Quirks: `email` and `profile` may be requested by these names, and are written as URLs in answers. They include
/// `openid`, even if it wasn't requested (<https://github.com/requests/requests-oauthlib/issues/387>).
struct GoogleScopes: Codable, Sendable {
    private static let prefix = "https://www.googleapis.com/auth/"

    let names: [String]

    /// Makes scopes of names, each once.
    init(_ names: some Sequence<String>) {
        var seen: Set<String> = []
        self.names = names.map(GoogleScopes.fullName).filter { seen.insert($0).inserted }
    }

    /// Reads names separated by spaces.
    init(text: String) { self.init(text.split(separator: " ").map(String.init)) }

    var text: String { names.joined(separator: " ") }

    func contains(_ name: String) -> Bool { names.contains(GoogleScopes.fullName(name)) }

    // MARK: - Granting

    /// Whether a scope may exist. There is no list of Google's scopes here: all but the three of OpenID Connect are
    /// URLs, so every URL is accepted.
    private static func isKnown(_ name: String) -> Bool {
        name == "openid" || name.hasPrefix("https://") || name.hasPrefix("http://")
    }

    /// Google's sentence about unknown scopes; `nil` if there are none. <https://github.com/markbates/goth/issues/445>,
    /// <https://github.com/google/oauth2l/issues/89>.
    var fault: String? {
        let invalid = names.filter { !GoogleScopes.isKnown($0) }
        guard !invalid.isEmpty else { return nil }
        let valid = names.filter(GoogleScopes.isKnown)
        let known = valid.isEmpty ? "" : "valid=[\(valid.joined(separator: ", "))], "
        return "Some requested scopes were invalid. {\(known)invalid=[\(invalid.joined(separator: ", "))]}"
    }

    /// The scopes with `openid`, if scopes of sign-in are among them.
    var withSignIn: GoogleScopes {
        contains("email") || contains("profile") ? GoogleScopes(names + ["openid"]) : self
    }

    /// Returns the scopes that a person grants; `nil` grants all. Google's page asks for each scope except those of
    /// sign-in: <https://developers.google.com/identity/protocols/oauth2/resources/granular-permissions>.
    func granted(_ granted: [String]?) -> GoogleScopes {
        guard let granted = granted.map({ Set(GoogleScopes($0).names) }) else { return self }
        return GoogleScopes(names.filter { GoogleScopes.isOfSignIn($0) || granted.contains($0) })
    }

    /// The scopes that a person can't deselect.
    var ofSignIn: GoogleScopes { GoogleScopes(names.filter(GoogleScopes.isOfSignIn)) }

    /// The scopes that a person may deselect.
    var optional: [String] { names.filter { !GoogleScopes.isOfSignIn($0) } }

    /// Returns these scopes and others that were granted before.
    func adding(_ others: some Sequence<String>) -> GoogleScopes { GoogleScopes(names + others.sorted()) }

    func isSubset(of others: GoogleScopes) -> Bool { Set(names).isSubset(of: others.names) }

    /// Returns the scopes for an authorization's redirect: if `email` and `profile` were requested by these names, they
    /// also precede the others.
    func callbackText(asked: String) -> String {
        let short = asked.split(separator: " ").filter { $0 == "email" || $0 == "profile" }.map(String.init)
        var seen: Set<String> = []
        let shown = short.filter { seen.insert($0).inserted && contains($0) }
        return (shown + names).joined(separator: " ")
    }

    // MARK: - Data that scopes allow

    /// Descriptions for a consent page.
    var descriptions: [String] { names.map { GoogleScopes.description(of: $0) } }

    static func description(of name: String) -> String {
        switch name {
        case "openid": "who the person is at Google"
        case fullName("email"): "the primary address"
        case fullName("profile"): "name and picture"
        default: name
        }
    }

    /// Returns the data about a person that the scopes allow: claims of an ID token, and members of a profile.
    func profile(of account: Account) -> [(name: String, value: JSONValue)] {
        var shown: [(name: String, value: JSONValue)] = []
        if contains("email") {
            shown += [("email", .string(account.email)), ("email_verified", .bool(account.emailVerified))]
        }
        if contains("profile") {
            shown += [
                ("name", .string(account.fullName)), ("picture", .string(account.google.picture)),
                ("given_name", .string(account.name.given)), ("family_name", .string(account.name.family)),
            ]
        }
        return shown
    }

    private static func isOfSignIn(_ name: String) -> Bool {
        ["openid", fullName("email"), fullName("profile")].contains(name)
    }

    private static func fullName(_ name: String) -> String {
        ["email", "profile"].contains(name) ? "\(prefix)userinfo.\(name)" : name
    }
}
