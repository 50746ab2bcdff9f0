import EmulatorCore
import JSON

/// Scopes in the order in which they were asked for: <https://developers.google.com/identity/protocols/oauth2/scopes>.
///
/// Quirk: `email` and `profile` may be asked for by these names, and are written out in answers.
struct GoogleScopes: Codable, Sendable {
    let names: [String]

    init(_ names: some Sequence<String>) { self.names = names.map(GoogleScopes.fullName) }

    /// Separated by spaces.
    init(text: String) { self.init(text.split(separator: " ").map(String.init)) }

    var text: String { names.joined(separator: " ") }

    func contains(_ name: String) -> Bool { names.contains(GoogleScopes.fullName(name)) }

    /// In words, for a consent page.
    var descriptions: [String] {
        names.map { name in
            switch name {
            case "openid": "who the person is at Google"
            case GoogleScopes.fullName("email"): "the primary address"
            case GoogleScopes.fullName("profile"): "name and picture"
            default: name
            }
        }
    }

    /// What they show of a person: claims of an ID token, and fields of a user's profile.
    func profile(of account: Account) -> [(name: String, value: JSONValue)] {
        var shown: [(name: String, value: JSONValue)] = []
        if contains("email") {
            shown += [("email", .string(account.email)), ("email_verified", .bool(account.emailVerified))]
        }
        if contains("profile") {
            shown += [
                ("name", .string(account.fullName)),
                ("picture", .string("https://lh3.googleusercontent.com/a/\(account.google.sub)=s96-c")),
                ("given_name", .string(account.name.given)), ("family_name", .string(account.name.family)),
            ]
        }
        return shown
    }

    private static func fullName(_ name: String) -> String {
        ["email", "profile"].contains(name) ? "https://www.googleapis.com/auth/userinfo.\(name)" : name
    }
}
