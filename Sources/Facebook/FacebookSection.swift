import EmulatorCore
import JSON

/// The seed's section `facebook`.
struct FacebookSection: SeedSection {
    static let name = "facebook"
    static let about = "Facebook."

    struct App: SchemaObject {
        let appID: String
        let appSecret: String
        let name: String
        let redirectURIs: [String]
        let interaction: Interaction?

        init(_ fields: inout Fields) {
            appID = fields("appID", .text(.nonEmpty), "The app ID.")
            appSecret = fields(
                "appSecret", .text(.nonEmpty), default: "facebook-secret-for-tests", "The app secret.")
            name = fields("name", .text(.nonEmpty), default: "Example", "What the consent page calls the app.")
            redirectURIs = fields("redirectURIs", .set(of: .text(.url)), default: [], "Valid OAuth redirect URIs.")
            interaction = fields.clientInteraction()
        }
    }

    private let signingKeys: [SigningKey]
    let apps: [App]

    init(_ fields: inout Fields) {
        signingKeys = fields.signingKeys()
        apps = fields.list("apps", of: App.self, key: "appID", "Apps.")
    }

    var keys: [SeededKeys] { [SeededKeys(.facebook, keys: signingKeys)] }

    var seededClients: [SeededClient] {
        apps.map {
            SeededClient(id: $0.appID, kind: "app at Facebook", addresses: $0.redirectURIs.joined(separator: " "))
        }
    }

    func secret(ofClient id: String) -> String? { apps.first { $0.appID == id }?.appSecret }
}

extension KeyOwner {
    static let facebook = KeyOwner("facebook")
}
