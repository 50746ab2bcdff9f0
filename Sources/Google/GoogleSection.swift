import EmulatorCore
import JSON
import OAuth
import Time

/// The seed's section `google`.
struct GoogleSection: SeedSection {
    static let name = "google"
    static let about = "Google."

    private static let words = RegisteredClients.Words(
        noun: "client", defaultSecret: "google-secret-for-tests", redirectURIs: "Authorized redirect URIs")

    enum Issuer: String, CaseIterable, Sendable {
        case provider
        case request
    }

    let issuer: Issuer
    private let signingKeys: [SigningKey]
    let codeLifetime: TimeSpan
    let clients: RegisteredClients

    init(_ fields: inout Fields) {
        issuer = fields(
            "issuer", .choice(Issuer.self), default: .provider,
            "\"provider\": https://accounts.google.com; \"request\": the address that the request used.")
        signingKeys = fields.signingKeys()
        codeLifetime = fields(
            "codeLifetime", .duration, default: .minutes(10), "How long an authorization code lasts.")
        clients = RegisteredClients(&fields, GoogleSection.words, "OAuth clients.")
    }

    var issuerFollowsRequest: Bool { issuer == .request }

    var keys: [SeededKeys] { [SeededKeys(.google, keys: signingKeys)] }

    var seededClients: [SeededClient] { clients.seeded(at: GoogleProvider.title) }

    func secret(ofClient id: String) -> String? { clients[id]?.secret }
}

extension KeyOwner {
    static let google = KeyOwner("google")
}
