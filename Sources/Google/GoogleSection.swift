import EmulatorCore
import JSON
import Time

/// The seed's section `google`.
struct GoogleSection: SeedSection {
    static let name = "google"
    static let about = "Google."

    struct Client: SchemaObject {
        let clientID: String
        let clientSecret: String
        let name: String
        let redirectURIs: [String]
        let interaction: Interaction?

        init(_ fields: inout Fields) {
            clientID = fields("clientID", .text(.nonEmpty), "The client ID.")
            clientSecret = fields(
                "clientSecret", .text(.nonEmpty), default: "google-secret-for-tests", "The client secret.")
            name = fields("name", .text(.nonEmpty), default: "Example", "What the consent page calls the client.")
            redirectURIs = fields("redirectURIs", .set(of: .text(.url)), default: [], "Authorized redirect URIs.")
            interaction = fields.clientInteraction()
        }
    }

    private let signingKeys: [SigningKey]
    let codeLifetime: TimeSpan
    let clients: [Client]

    init(_ fields: inout Fields) {
        signingKeys = fields.signingKeys()
        codeLifetime = fields(
            "codeLifetime", .duration, default: .minutes(10), "How long an authorization code lasts.")
        clients = fields.list("clients", of: Client.self, key: "clientID", "OAuth clients.")
    }

    var keys: [SeededKeys] { [SeededKeys(.google, keys: signingKeys)] }

    var seededClients: [SeededClient] {
        clients.map {
            SeededClient(
                id: $0.clientID, kind: "client at Google", addresses: $0.redirectURIs.joined(separator: " "))
        }
    }

    func secret(ofClient id: String) -> String? { clients.first { $0.clientID == id }?.clientSecret }
}

extension KeyOwner {
    static let google = KeyOwner("google")
}
