import EmulatorCore
import JSON
import OAuth

/// An app of the seed.
struct FacebookApp: SeededOAuthClient {
    private let client: RegisteredClient
    /// The accounts that may look at the app's tokens.
    let developers: Set<String>
    let requiresAppSecret: Bool
    let deauthorizeURL: String?
    let dataDeletionURL: String?

    var id: String { client.id }
    var secret: String { client.secret }
    var name: String { client.name }
    var redirectURIs: [String] { client.redirectURIs }
    var interaction: Interaction? { client.interaction }

    init(_ fields: inout Fields, _ words: RegisteredClientWords) {
        client = RegisteredClient(&fields, words)
        developers = Set(
            fields(
                "developers", .set(of: .text(.nonEmpty)), default: [],
                "Accounts with a role in the app: debug_token takes their access tokens, too."))
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
