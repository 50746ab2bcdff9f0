import EmulatorCore
import JSON
import OAuth

/// An app in the seed.
struct FacebookApp: SeededOAuthClient {
    /// The accounts that may use an app: <https://developers.facebook.com/docs/development/build-and-test/app-modes>.
    enum Mode: String, CaseIterable, Sendable {
        case live
        /// Only accounts with a role in the app.
        case development
    }

    private let client: RegisteredClient
    /// The origins of pages that may use Facebook's SDK for this app.
    let javaScriptOrigins: [String]
    let mode: Mode
    /// The accounts with a role in the app. They may inspect its tokens.
    let developers: Set<String>
    let requiresAppSecret: Bool
    let deauthorizeURL: String?
    let dataDeletionURL: String?

    var id: String { client.id }
    var secret: String { client.secret }
    var name: String { client.name }
    var redirectURIs: [String] { client.redirectURIs }

    /// Whether a person may sign in to the app.
    func admits(_ account: Account) -> Bool { mode == .live || developers.contains(account.id) }

    /// Returns why an app in development doesn't admit a person.
    func reason(againstAdmitting account: Account) -> Diagnosis {
        Diagnosis(
            received: "the account \(Diagnosis.quote(account.id))",
            expected: developers.isEmpty ? nil : Diagnosis.alternatives(developers.sorted()),
            "the app's mode is development: name the account in its \"developers\", or set the mode to live")
    }

    var interaction: Interaction? { client.interaction }

    init(_ fields: inout Fields, _ words: RegisteredClientWords) {
        client = RegisteredClient(&fields, words)
        javaScriptOrigins = fields(
            "javaScriptOrigins", .set(of: .text(JavaScriptOrigin.rule)), default: [],
            "Allowed Domains for the JavaScript SDK, as origins: pages elsewhere can't sign in by it. Without any, \"Login with the "
                + "JavaScript SDK\" is off.")
        mode = fields(
            "mode", .choice(Mode.self), default: .live,
            "The app mode. While it is in development, only its developers can sign in.")
        developers = Set(
            fields(
                "developers", .set(of: .text(.nonEmpty)), default: [],
                "Accounts with a role in the app: debug_token takes their access tokens, too, and they are shown which permissions there aren't."
            ))
        requiresAppSecret = fields(
            "requireAppSecret", .boolean, default: false,
            "\"Require App Secret\": the Graph API takes no access token without its appsecret_proof.")
        deauthorizeURL = fields.nullable(
            "deauthorizeURL", .text(.url), "The deauthorize callback: it is told when a person removes the app.")
        dataDeletionURL = fields.nullable(
            "dataDeletionURL", .text(.url),
            "The data deletion request callback: it is asked to delete the data of a person who removes the app.")
    }
}

/// The seed's section `facebook`.
struct FacebookSection: SeedSection {
    static let name = "facebook"
    static let about = "Facebook."

    private static let words = RegisteredClientWords(
        noun: "app", defaultSecret: "facebook-secret-for-tests", redirectURIs: "Valid OAuth redirect URIs")

    private let signingKeys: [SigningKey]
    let apps: RegisteredClients<FacebookApp>

    init(_ fields: inout Fields) {
        signingKeys = fields.signingKeys()
        apps = RegisteredClients(&fields, FacebookSection.words, "Apps.")
    }

    var keys: [SeededKeys] { [SeededKeys(.facebook, keys: signingKeys)] }

    var seededClients: [SeededClient] { apps.seeded(at: FacebookProvider.title) }

    func secret(ofClient id: String) -> String? { apps[id]?.secret }

    static func check(_ references: inout SeedReferences) {
        for app in references.root[name]?["apps"]?.items ?? [] {
            references.checkInteraction(app["interaction"])
            for developer in app["developers"]?.items ?? [] { references.expectAccount(developer) }
        }
    }
}

extension KeyOwner {
    static let facebook = KeyOwner("facebook")
}
