import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time

/// A client's metadata document, fetched from the URL that is the client's ID:
/// <https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-00>.
package struct ClientDocument: Row, Equatable {
    /// The table. When it is full, the oldest documents are removed, and fetched again if needed.
    package static let table = Table<ClientDocument>("oauth.clientDocument", limit: 1_000)

    let realm: String
    let clientID: String
    let metadata: JSONValue
    /// The time until which the document needn't be fetched again.
    let freshUntil: Instant

    package var key: String { DynamicClient.key(clientID, at: realm) }

    /// Whether an ID is the address of a document.
    static func isAddress(_ id: String) -> Bool { id.hasPrefix("https://") || id.hasPrefix("http://") }

    /// Returns why a document can't be at an address, as a clause; `nil` if it can. Section 3 demands https; http is
    /// allowed for this machine, which has no certificate.
    package static func fault(inAddress id: String) -> String? {
        guard let address = WebAddress(id), !address.hasFragment else {
            return "it isn't a URL without a user and a fragment"
        }
        guard address.scheme == "https" || address.scheme == "http" && address.isLoopback else {
            return "it isn't an https URL, nor an http URL of this machine"
        }
        let segments = address.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard address.path.utf8.count > 1 else { return "it has no path" }
        return segments.contains { $0 == "." || $0 == ".." } ? "its path has a segment of dots" : nil
    }

    /// Reads and checks a document, for a server that signs with `algorithms`.
    ///
    /// - Throws: `invalid_client`.
    package static func description(
        _ document: JSONValue, at id: String, for policy: ServerPolicy, algorithms: [Algorithm]
    ) throws(OAuthRefusal) -> ClientDescription {
        if let fault = fault(inAddress: id) { throw refusal(id, fault) }
        guard document["client_id"]?.string == id else {
            let found = document["client_id"].map { Diagnosis.quote($0.string ?? $0.text) } ?? "none"
            throw refusal(id, "its client_id is \(found): it must be the document's own URL, character by character")
        }
        if let name = ["client_secret", "client_secret_expires_at"].first(where: { document[$0] != nil }) {
            throw refusal(id, "it has \(name), and what is published is no secret: leave it out")
        }
        // MCP requires the name:
        // https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration
        guard document["client_name"]?.string.map({ !$0.isEmpty }) ?? false else {
            throw refusal(id, "it has no client_name")
        }
        do throws(OAuthRefusal) {
            return try ClientDescription(
                reading: document, for: policy, algorithms: algorithms, isDocument: true)
        } catch { throw refusal(id, error.diagnosis.line) }
    }

    static func refusal(_ id: String, _ reason: String) -> OAuthRefusal {
        OAuthRefusal("invalid_client", Diagnosis("the client ID metadata document \(Diagnosis.quote(id)): \(reason)"))
    }
}

// MARK: - Fetching

extension AuthorizationServer {
    /// Fetches the document of the client that sends a request, if its ID is a document's address and the document
    /// isn't stored.
    ///
    /// - Parameter refreshes: whether a stale document is fetched again, as at the beginning of a sign-in.
    /// - Throws: `invalid_client` if the document can't be fetched or used.
    package func fetchClient(of exchange: Exchange, refreshes: Bool) async throws {
        guard policy.clientMetadataDocuments, let id = exchange.request.namedClient, ClientDocument.isAddress(id),
            client(id) == nil, policy.clientDocuments[id] == nil
        else { return }
        let (known, now) = exchange.world.read { tables in
            (tables.find(ClientDocument.self, DynamicClient.key(id, at: realm)), tables.now)
        }
        guard known.map({ refreshes && $0.freshUntil <= now }) ?? true else { return }
        if let fault = ClientDocument.fault(inAddress: id) { throw ClientDocument.refusal(id, fault) }
        try checkHost(of: id, exchange)
        let fetched: FetchedDocument
        switch await exchange.world.caches[ClientDocumentFetches.self].document(at: id, for: exchange) {
        case .success(let document): fetched = document
        case .failure(let failure): throw ClientDocument.refusal(id, failure.reason)
        }
        let description = try ClientDocument.description(fetched.json, at: id, for: policy, algorithms: algorithms)
        let row = ClientDocument(
            realm: realm, clientID: id, metadata: .object(description.metadata),
            freshUntil: fetched.time + fetched.age)
        guard row != known else { return }
        try exchange.world.update { tables in tables.put(row) }
    }

    /// Refuses other hosts than this machine and those in the seed, because the client chooses the address.
    private func checkHost(of id: String, _ exchange: Exchange) throws(OAuthRefusal) {
        guard let address = WebAddress(id) else { return }
        if address.isLoopback {
            guard !exchange.mayChooseAddresses else { return }
            throw ClientDocument.refusal(id, "only who is on the daemon's machine may have it fetch from there")
        }
        guard !policy.takesDocuments(from: address) else { return }
        let name = String(address.origin.dropFirst("https://".count))
        throw ClientDocument.refusal(
            id,
            "the seed doesn't name its host: add \(Diagnosis.quote(name)) to clientMetadataHosts, or the document itself to "
                + "clientDocuments")
    }
}
