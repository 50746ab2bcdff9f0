import EmulatorCore
import JSON
import Synchronization
import Time

/// A client that has registered itself: <https://datatracker.ietf.org/doc/html/rfc7591>.
package struct DynamicClient: Row {
    package static let table = Table<DynamicClient>("oauth.client", limit: limit)
    /// How many a world keeps. One more is refused.
    package static let limit = 5_000

    /// The server at which it has registered.
    package let realm: String
    package let clientID: String
    let secret: String?
    /// The token by which it reads and changes its registration: <https://datatracker.ietf.org/doc/html/rfc7592#section-3>.
    let registrationToken: String
    package let issued: Instant
    var metadata: JSONValue

    package var key: String { DynamicClient.key(clientID, at: realm) }

    package static func key(_ clientID: String, at realm: String) -> String { "\(realm) \(clientID)" }

    package var description: ClientDescription { ClientDescription(kept: metadata) }
}

/// Clients that describe themselves, read. A description that hasn't changed isn't read again, and neither are its keys.
final class DescribedClients: WorldCache {
    /// Clients that are kept. More of them than most tests have.
    private static let limit = 256
    private let clients = Mutex<[String: (metadata: JSONValue, client: ClientMetadata)]>([:])

    var count: Int { clients.withLock { $0.count } }

    /// `key` is the client's and its server's. `metadata` is what is kept of it, or the document that the seed has; `read` reads it.
    func client(
        _ key: String, _ metadata: JSONValue, read: () -> ClientMetadata?
    ) -> ClientMetadata? {
        if let known = clients.withLock({ $0[key] }), known.metadata == metadata { return known.client }
        guard let client = read() else { return nil }
        clients.withLock { clients in
            if clients.count >= DescribedClients.limit { clients = [:] }
            clients[key] = (metadata: metadata, client: client)
        }
        return client
    }
}

extension AuthorizationServer {
    /// The client of that ID: the seed's, one that has registered itself, or one that publishes a document.
    package func client(_ id: String, in world: World) -> ClientMetadata? {
        if let seeded = client(id) { return seeded }
        let key = DynamicClient.key(id, at: realm)
        let clients = world.caches[DescribedClients.self]
        if policy.registration != .off, let row = world.read({ $0.find(DynamicClient.self, key) }) {
            return clients.client(key, row.metadata) { row.description.client(id, secret: row.secret) }
        }
        guard policy.clientMetadataDocuments, ClientDocument.isAddress(id) else { return nil }
        if let document = policy.clientDocuments[id] {
            return clients.client(key, document) {
                try? ClientDocument.description(document, at: id, for: policy, algorithms: algorithms)
                    .client(id, secret: nil)
            }
        }
        guard let row = world.read({ $0.find(ClientDocument.self, key) }) else { return nil }
        return clients.client(key, row.metadata) {
            ClientDescription(kept: row.metadata).client(id, secret: nil)
        }
    }

    /// The reason why there is no client of an ID, in a clause.
    package func noClient(_ id: String) -> String {
        if ClientDocument.isAddress(id) {
            return policy.clientMetadataDocuments
                ? "no such client is seeded, and no document of it was fetched: sign-ins begin at the authorization endpoint"
                : "no such client is seeded, and documents of clients aren't fetched: \"clientMetadataDocuments\": true"
        }
        let hint = hint(for: id)
        guard hint.isEmpty, policy.registration != .off else { return "no such client is seeded\(hint)" }
        return
            "no such client is seeded, and none of that ID has registered since this world began or was reset: register again"
    }
}
