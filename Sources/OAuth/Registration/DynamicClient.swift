import EmulatorCore
import JSON
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
    package var client: ClientMetadata { description.client(clientID, secret: secret) }
}

extension AuthorizationServer {
    /// The client of that ID: the seed's, one that has registered itself, or one that publishes a document.
    package func client(_ id: String, in tables: borrowing some TableReading & ~Copyable) -> ClientMetadata? {
        if let seeded = client(id) { return seeded }
        let key = DynamicClient.key(id, at: realm)
        if policy.registration != .off, let registered = tables.find(DynamicClient.self, key) {
            return registered.client
        }
        guard policy.clientMetadataDocuments, ClientDocument.isAddress(id) else { return nil }
        guard let document = policy.clientDocuments[id] else { return tables.find(ClientDocument.self, key)?.client }
        return try? ClientDocument.description(document, at: id, for: policy).client(id, secret: nil)
    }

    /// The same, where no tables are at hand.
    package func client(_ id: String, in world: World) -> ClientMetadata? {
        if let seeded = client(id) { return seeded }
        guard policy.registration != .off || policy.clientMetadataDocuments else { return nil }
        return world.read { tables in client(id, in: tables) }
    }

    /// Why there is no client of an ID, in a clause that begins with what is known of it.
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
