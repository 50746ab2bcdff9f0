import EmulatorCore
import JOSE
import JSON
import OAuth

/// The seed's section `openid`.
struct OpenIDSection: SeedSection {
    static let name = "openid"
    static let about = "OpenID Connect issuers, such as a company's own."

    let issuers: [Issuer]

    init(_ fields: inout Fields) {
        issuers = fields.list("issuers", of: Issuer.self, key: "id", "Issuers, each with clients of its own.")
    }

    var keys: [SeededKeys] {
        issuers.map { SeededKeys($0.owner, algorithms: $0.algorithms, keys: $0.signingKeys) }
    }

    var seededClients: [SeededClient] {
        issuers.flatMap { issuer in
            issuer.clients.map {
                SeededClient(
                    id: $0.clientID, kind: "client at \(issuer.id)", addresses: $0.redirectURIs.joined(separator: " "))
            }
        }
    }

    func secret(ofClient id: String) -> String? { issuers.lazy.compactMap { $0.client(id)?.clientSecret }.first }

    static func check(_ references: inout SeedReferences) {
        let issuers = references.root[name]?["issuers"]?.items ?? []
        references.checkServers(issuers, urlMember: "issuer", default: Issuer.url)
        for issuer in issuers {
            let names = issuer["algorithms"]?.items.compactMap(\.string) ?? ["RS256"]
            references.expectSigningKeys(issuer["signingKeys"], for: names.compactMap { Algorithm(rawValue: $0) })
            references.checkInteraction(issuer["interaction"])
            for client in issuer["clients"]?.items ?? [] { ClientMetadata.check(client, &references) }
        }
    }
}
