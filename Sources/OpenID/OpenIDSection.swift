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
        var places: [String: LocatedJSON] = [:]
        for issuer in references.root[name]?["issuers"]?.items ?? [] {
            references.claim(issuer["issuer"], as: "issuer", in: &places)
            if let json = issuer["issuer"], let url = json.string {
                let address = WebAddress(url)
                if address.map({ $0.path != $0.rest }) ?? true {
                    references.add(json, "expected a URL without a query, a fragment and a user")
                } else if let address, !address.isIPAddress, !address.isLocalhost {
                    references.checkHost(json, address.host)
                }
            }
            let names = issuer["algorithms"]?.items.compactMap(\.string) ?? ["RS256"]
            references.expectSigningKeys(issuer["signingKeys"], for: names.compactMap { Algorithm(rawValue: $0) })
            references.checkInteraction(issuer["interaction"])
            for client in issuer["clients"]?.items ?? [] { ClientMetadata.check(client, &references) }
        }
    }
}
