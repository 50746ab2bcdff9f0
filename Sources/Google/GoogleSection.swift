import EmulatorCore
import JSON
import OAuth
import Time

/// The seed's section `google`.
struct GoogleSection: SeedSection {
    static let name = "google"
    static let about = "Google."

    static let words = RegisteredClientWords(
        noun: "client", defaultSecret: "google-secret-for-tests", redirectURIs: "Authorized redirect URIs")

    enum Issuer: String, CaseIterable, Sendable {
        case provider
        case request
    }

    let issuer: Issuer
    private let signingKeys: [SigningKey]
    let codeLifetime: TimeSpan
    let deviceCodeLifetime: TimeSpan
    let securityEventsURL: String?
    let clients: RegisteredClients<GoogleClient>

    init(_ fields: inout Fields) {
        issuer = fields(
            "issuer", .choice(Issuer.self), default: .provider,
            "\"provider\": https://accounts.google.com; \"request\": the address that the request used.")
        signingKeys = fields.signingKeys()
        codeLifetime = fields(
            "codeLifetime", .duration, default: .minutes(10), "How long an authorization code lasts.")
        deviceCodeLifetime = fields(
            "deviceCodeLifetime", .duration, default: .minutes(30), "How long a device waits for a person.")
        securityEventsURL = fields.nullable(
            "securityEventsURL", .text(.url), "Where security events of Cross-Account Protection are posted.")
        clients = RegisteredClients(&fields, GoogleSection.words, "OAuth clients.")
    }

    var issuerFollowsRequest: Bool { issuer == .request }

    var keys: [SeededKeys] { [SeededKeys(.google, keys: signingKeys)] }

    var seededClients: [SeededClient] { clients.seeded(at: GoogleProvider.title) }

    func secret(ofClient id: String) -> String? { clients[id]?.secret }

    static func check(_ references: inout SeedReferences) {
        for client in references.root[name]?["clients"]?.items ?? [] { GoogleClient.check(client, &references) }
    }
}

extension KeyOwner {
    static let google = KeyOwner("google")
}
