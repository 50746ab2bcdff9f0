import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Synchronization
import Time
import Worlds

// https://datatracker.ietf.org/doc/html/rfc7591#section-3 and https://datatracker.ietf.org/doc/html/rfc7592#section-2

extension Issuer {
    func register(_ exchange: Exchange) throws -> Response {
        if policy.registration == .token { try checkInitialToken(exchange) }
        let description = try ClientDescription(
            reading: try registrationBody(exchange), for: policy, algorithms: algorithms)
        let row = try exchange.world.update { tables -> DynamicClient? in
            // The limit is checked in the transaction that adds the client.
            guard tables.count(DynamicClient.self) < DynamicClient.limit,
                tables.size(DynamicClient.self) < DynamicClient.byteLimit
            else { return nil }
            let row = DynamicClient(
                realm: realm, clientID: Base64URL.encode(tables.random.bytes(18)),
                secret: description.needsSecret ? Base64URL.encode(tables.random.bytes(32)) : nil,
                registrationToken: Base64URL.encode(tables.random.bytes(32)), issued: tables.now,
                metadata: .object(description.metadata))
            tables.put(row)
            return row
        }
        guard let row else {
            throw OAuthRefusal(
                "temporarily_unavailable",
                Diagnosis(
                    "this test world has \(DynamicClient.limit) registered clients, or "
                        + "\(DynamicClient.byteLimit >> 20) MiB of their metadata, and can't have more: remove some "
                        + "(DELETE openid/clients), or reset the test world"))
        }
        return answer(row, exchange, status: 201)
    }

    /// Returns a client's current registration: <https://datatracker.ietf.org/doc/html/rfc7592#section-2.1>.
    func readRegistration(_ exchange: Exchange) -> Response {
        do throws(OAuthRefusal) { return answer(try registration(of: exchange), exchange) } catch {
            return error.bearerResponse
        }
    }

    /// Replaces a client's registration. Members that the request leaves out get their defaults.
    func changeRegistration(_ exchange: Exchange) throws -> Response {
        let known: DynamicClient
        do throws(OAuthRefusal) { known = try registration(of: exchange) } catch { return error.bearerResponse }
        let body = try registrationBody(exchange)
        try check(body, against: known)
        let description = try ClientDescription(reading: body, for: policy, algorithms: algorithms)
        guard description.needsSecret == (known.secret != nil) else {
            throw OAuthRefusal(
                "invalid_client_metadata",
                Diagnosis(
                    "token_endpoint_auth_method can't change between methods with and without a secret: register a new client"
                ))
        }
        let changed = try exchange.world.update { tables -> DynamicClient? in
            guard var row = tables.find(DynamicClient.self, known.key) else { return nil }
            row.metadata = .object(description.metadata)
            tables.put(row)
            return row
        }
        guard let changed else { return goneRegistration.bearerResponse }
        return answer(changed, exchange)
    }

    func endRegistration(_ exchange: Exchange) throws -> Response {
        do {
            let known = try registration(of: exchange)
            guard try exchange.world.update({ $0.pop(DynamicClient.self, known.key) }) != nil else {
                throw goneRegistration
            }
            return Response(status: 204, headers: [(name: "Cache-Control", value: "no-store")])
        } catch let error as OAuthRefusal { return error.bearerResponse }
    }

    // MARK: - Requests

    private func registrationBody(_ exchange: Exchange) throws(OAuthRefusal) -> JSONValue {
        let body = exchange.request.body
        guard body.count <= ClientDescription.sizeLimit else {
            throw OAuthRefusal(
                "invalid_client_metadata",
                Diagnosis(
                    received: "client metadata of \(body.count) bytes",
                    expected: "at most \(ClientDescription.sizeLimit) bytes",
                    "send less metadata"))
        }
        guard body.holdsJSON else {
            throw OAuthRefusal(
                "invalid_client_metadata",
                Diagnosis(
                    received: body.isEmpty ? "an empty body" : "a body that isn't JSON",
                    expected: "a JSON object",
                    "send the client's metadata as JSON (RFC 7591 section 3.1)"))
        }
        do { return try JSONValue(parsing: body) } catch {
            throw OAuthRefusal(
                "invalid_client_metadata", Diagnosis("the JSON body can't be read: \(error.description)"))
        }
    }

    private func checkInitialToken(_ exchange: Exchange) throws(OAuthRefusal) {
        let sent = exchange.request.accessToken()
        guard let sent, sent.isSecret(policy.registrationToken) else {
            var refusal = OAuthRefusal(
                "invalid_token",
                Diagnosis(
                    received: sent == nil ? "no access token" : "a different access token",
                    expected: "the issuer's registrationToken",
                    "this issuer registers only clients with a token (\"registration\": \"token\"): send registrationToken as Bearer token"
                ))
            refusal.challenge = sent == nil ? "Bearer" : "Bearer error=\"invalid_token\""
            throw refusal
        }
    }

    /// Checks a client's request to change its registration:
    /// <https://datatracker.ietf.org/doc/html/rfc7592#section-2.2>
    private func check(_ body: JSONValue, against known: DynamicClient) throws(OAuthRefusal) {
        func refuse(_ reason: String) -> OAuthRefusal { OAuthRefusal("invalid_client_metadata", Diagnosis(reason)) }
        guard body["client_id"]?.string == known.clientID else { throw refuse("client_id must be the client's own") }
        let own = [
            "registration_access_token", "registration_client_uri", "client_secret_expires_at", "client_id_issued_at",
        ]
        if let name = own.first(where: { body[$0] != nil }) {
            throw refuse("\(name) is set by the server: leave it out")
        }
        if let secret = body["client_secret"], secret.string != known.secret {
            throw refuse("client_secret can't be changed by the client: send the present one, or none")
        }
    }

    private var goneRegistration: OAuthRefusal {
        OAuthRefusal("invalid_token", Diagnosis("the client is no longer registered"))
    }

    /// Returns the client registration that the request's path names, if the request has that client's registration
    /// access token.
    private func registration(of exchange: Exchange) throws(OAuthRefusal) -> DynamicClient {
        let id = exchange.parameters["client"] ?? ""
        guard let token = exchange.request.accessToken() else {
            throw OAuthRefusal(
                "invalid_token",
                Diagnosis("the token is missing: send registration_access_token as Authorization: Bearer")
            )
        }
        let row = exchange.world.read { $0.find(DynamicClient.self, DynamicClient.key(id, at: realm)) }
        // An unknown client is refused like an invalid token: RFC 7592 section 2.
        guard let row else { throw goneRegistration }
        guard token.isSecret(row.registrationToken) else {
            throw OAuthRefusal(
                "invalid_token", Diagnosis("the Bearer token isn't the registration_access_token of this client"))
        }
        return row
    }

    // MARK: - Answers

    private func answer(_ row: DynamicClient, _ exchange: Exchange, status: Int = 200) -> Response {
        var body = JSONObject([
            ("client_id", .string(row.clientID)), ("client_id_issued_at", .numericDate(row.issued)),
        ])
        if let secret = row.secret {
            body["client_secret"] = .string(secret)
            body["client_secret_expires_at"] = 0
        }
        body["registration_access_token"] = .string(row.registrationToken)
        body["registration_client_uri"] = .string(url("\(policy.paths.registration)/\(row.clientID)", exchange))
        for (name, value) in row.description.metadata.members { body[name] = value }
        return OAuthRefusal.json(.object(body), status: status)
    }
}

/// A client that has registered itself: <https://datatracker.ietf.org/doc/html/rfc7591>.
struct DynamicClient: Row {
    static let table = Table<DynamicClient>("oauth.client", limit: limit, size: { $0.metadata.weight })
    /// The greatest number of registered clients in a test world. Further registrations are refused.
    static let limit = 5_000
    /// The greatest size in bytes of all registered clients' metadata. Further registrations are refused.
    static let byteLimit = 64 << 20

    /// The issuer at which the client has registered: the provider's name and the issuer's ID.
    let realm: String
    let clientID: String
    let secret: String?
    /// The token with which the client reads and changes its registration:
    /// <https://datatracker.ietf.org/doc/html/rfc7592#section-3>.
    let registrationToken: String
    let issued: Instant
    var metadata: JSONValue

    var key: String { DynamicClient.key(clientID, at: realm) }

    static func key(_ clientID: String, at realm: String) -> String { "\(realm) \(clientID)" }

    var description: ClientDescription { ClientDescription(kept: metadata) }
}

/// A cache of clients whose metadata and keys have been parsed. A client whose stored metadata has changed is parsed
/// again.
final class DescribedClients: WorldCache {
    /// The greatest number of clients in the cache. When it is reached, the cache is emptied.
    private static let limit = 256
    private let clients = Mutex<[String: (metadata: JSONValue, client: ClientMetadata)]>([:])

    var count: Int { clients.withLock { $0.count } }

    /// Returns the client from the cache. If the client is new, or its `metadata` has changed, `read` makes it. `key`
    /// names the client and its issuer.
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

extension Issuer {
    /// Returns the client with this ID: a client in the seed, a client that has registered itself, or a client whose
    /// metadata document is in the seed or has been fetched. If the issuer accepts any client, one is made.
    func client(_ id: String, in world: World) -> ClientMetadata? {
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

    /// Returns why there is no client with this ID, as a clause for an error message.
    func noClient(_ id: String) -> String {
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
