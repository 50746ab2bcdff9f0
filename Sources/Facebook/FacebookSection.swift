import EmulatorCore
import JSON
import OAuth

/// The seed's section `facebook`.
struct FacebookSection: SeedSection {
    static let name = "facebook"
    static let about = "Facebook."

    private static let words = RegisteredClientWords(
        noun: "app", defaultSecret: "facebook-secret-for-tests", redirectURIs: "Valid OAuth redirect URIs")

    private let signingKeys: [SigningKey]
    let apps: RegisteredClients<RegisteredClient>

    init(_ fields: inout Fields) {
        signingKeys = fields.signingKeys()
        apps = RegisteredClients(&fields, FacebookSection.words, "Apps.")
    }

    var keys: [SeededKeys] { [SeededKeys(.facebook, keys: signingKeys)] }

    var seededClients: [SeededClient] { apps.seeded(at: FacebookProvider.title) }

    func secret(ofClient id: String) -> String? { apps[id]?.secret }
}

extension KeyOwner {
    static let facebook = KeyOwner("facebook")
}
