import EmulatorCore
import JSON
import Synchronization
import Time

/// A client that has registered itself: <https://datatracker.ietf.org/doc/html/rfc7591>.
package struct DynamicClient: Row {
    package static let table = Table<DynamicClient>("oauth.client", limit: limit)
    /// The most clients of a world. A further one is refused.
    package static let limit = 5_000

    /// The key of the server at which it has registered.
    package let realm: String
    package let clientID: String
    let secret: String?
    /// The token with which the client reads and changes its registration:
    /// <https://datatracker.ietf.org/doc/html/rfc7592#section-3>.
    let registrationToken: String
    package let issued: Instant
    var metadata: JSONValue

    package var key: String { DynamicClient.key(clientID, at: realm) }

    package static func key(_ clientID: String, at realm: String) -> String { "\(realm) \(clientID)" }

    package var description: ClientDescription { ClientDescription(kept: metadata) }
}

/// A cache of clients that have been read from their metadata. While the metadata is unchanged, neither it nor its keys
/// are read again.
final class DescribedClients: WorldCache {
    /// The most clients in the cache. Most tests have fewer.
    private static let limit = 256
    private let clients = Mutex<[String: (metadata: JSONValue, client: ClientMetadata)]>([:])

    var count: Int { clients.withLock { $0.count } }

    /// Returns a client, and reads it if its metadata is new. `key` names the client and its server. `metadata` is the
    /// stored one or the seed's document.
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
    /// Returns the client with this ID: the seed's, one that has registered itself, or one that publishes a document.
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

    /// Returns why there is no client with this ID, as a clause.
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
