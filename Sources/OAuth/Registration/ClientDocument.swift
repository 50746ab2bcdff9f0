import EmulatorCore
import HTTPServer
import JSON
import Time

/// What a client says of itself at the URL that is its ID, as it was fetched:
/// <https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-00>.
package struct ClientDocument: Row {
    /// A document that was let go is fetched again.
    package static let table = Table<ClientDocument>("oauth.clientDocument", limit: 1_000)

    let realm: String
    let clientID: String
    let metadata: JSONValue
    /// Until when it needn't be fetched again.
    let freshUntil: Instant

    package var key: String { DynamicClient.key(clientID, at: realm) }
    var client: ClientMetadata { ClientDescription(kept: metadata).client(clientID, secret: nil) }

    /// Whether an ID is meant to be a document's address.
    static func isAddress(_ id: String) -> Bool { id.hasPrefix("https://") || id.hasPrefix("http://") }

    /// Why a document can't be at an address, in a clause; `nil` where it can. Section 3 wants https; http is for this machine, where
    /// nobody has a certificate.
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

    /// What a document says, checked.
    ///
    /// - Throws: `invalid_client`.
    package static func description(
        _ document: JSONValue, at id: String, for policy: ServerPolicy
    ) throws(OAuthRefusal) -> ClientDescription {
        if let fault = fault(inAddress: id) { throw refusal(id, fault) }
        guard document["client_id"]?.string == id else {
            let found = document["client_id"].map { Diagnosis.quote($0.string ?? $0.text) } ?? "none"
            throw refusal(id, "its client_id is \(found): it must be the document's own URL, character by character")
        }
        if let name = ["client_secret", "client_secret_expires_at"].first(where: { document[$0] != nil }) {
            throw refusal(id, "it has \(name), and what is published is no secret: leave it out")
        }
        // MCP asks for the name: https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration
        guard document["client_name"]?.string.map({ !$0.isEmpty }) ?? false else {
            throw refusal(id, "it has no client_name")
        }
        do throws(OAuthRefusal) {
            return try ClientDescription(reading: document, for: policy, isDocument: true)
        } catch { throw refusal(id, error.diagnosis.line) }
    }

    static func refusal(_ id: String, _ reason: String) -> OAuthRefusal {
        OAuthRefusal("invalid_client", Diagnosis("the client ID metadata document \(Diagnosis.quote(id)): \(reason)"))
    }
}

// MARK: - Fetching

extension AuthorizationServer {
    /// Has the document of the client at hand that sends a request, if its ID is a document's address.
    ///
    /// - Parameter refreshes: whether one that isn't fresh is fetched again, as it is where a sign-in begins.
    /// - Throws: `invalid_client`, when it can't be had or can't be used.
    package func fetchClient(of exchange: Exchange, refreshes: Bool) async throws(OAuthRefusal) {
        guard policy.clientMetadataDocuments, let id = exchange.request.namedClient, ClientDocument.isAddress(id),
            client(id) == nil, policy.clientDocuments[id] == nil
        else { return }
        let isAtHand = exchange.world.read { tables in
            tables.find(ClientDocument.self, DynamicClient.key(id, at: realm)).map {
                !refreshes || $0.freshUntil > tables.now
            } ?? false
        }
        guard !isAtHand else { return }
        if let fault = ClientDocument.fault(inAddress: id) { throw ClientDocument.refusal(id, fault) }
        try checkHost(of: id, exchange)
        let isLocal = WebAddress(id)?.isLoopback ?? false
        let question = OutgoingMessage(reading: id, limit: ClientDescription.sizeLimit, isVerified: !isLocal)
        switch await exchange.ask(question, seconds: ClientDocument.patience) {
        case .late: throw ClientDocument.refusal(id, "there was no answer within \(ClientDocument.patience) s")
        case .failed(let reason): throw ClientDocument.refusal(id, "it can't be fetched: \(reason)")
        case .answered(let answer):
            // Section 4: redirects aren't followed.
            guard answer.status == 200 else {
                throw ClientDocument.refusal(id, "the answer has the status \(answer.status), and has to have 200")
            }
            guard answer.body.count <= ClientDescription.sizeLimit else {
                throw ClientDocument.refusal(id, "it has more than \(ClientDescription.sizeLimit) bytes")
            }
            guard let json = try? JSONValue(parsing: answer.body), json.object != nil else {
                throw ClientDocument.refusal(id, "it isn't a JSON object")
            }
            let description = try ClientDocument.description(json, at: id, for: policy)
            let age = ClientDocument.age(answer.header("Cache-Control"))
            exchange.world.update { tables in
                tables.put(
                    ClientDocument(
                        realm: realm, clientID: id, metadata: .object(description.metadata),
                        freshUntil: tables.now + age))
            }
        }
    }

    /// Documents come from hosts that the seed names, and from this machine: a client chooses the address.
    private func checkHost(of id: String, _ exchange: Exchange) throws(OAuthRefusal) {
        let address = WebAddress(id)
        let host = address?.host ?? ""
        guard address?.isLoopback ?? false else {
            guard !policy.clientMetadataHosts.contains(host) else { return }
            throw ClientDocument.refusal(
                id,
                "the seed doesn't name its host: add \(Diagnosis.quote(host)) to clientMetadataHosts, or the document itself "
                    + "to clientDocuments")
        }
        guard exchange.mayChooseAddresses else {
            throw ClientDocument.refusal(id, "only who is on the daemon's machine may have it fetch from there")
        }
    }
}

extension ClientDocument {
    /// Seconds that a fetch may take.
    fileprivate static let patience = 5

    /// For how long a document is good: what `Cache-Control` says, a day at most, or a minute. Section 4.4 leaves bounds to the server.
    fileprivate static func age(_ cacheControl: String?) -> TimeSpan {
        let directives = (cacheControl ?? "").lowercased().split(separator: ",").map { part in
            String(part.drop { $0 == " " }.prefix { $0 != " " })
        }
        if directives.contains("no-store") || directives.contains("no-cache") { return .zero }
        let seconds = directives.compactMap { $0.hasPrefix("max-age=") ? Int64($0.dropFirst(8)) : nil }.first
        return seconds.map { .seconds(min(max($0, 0), 86_400)) } ?? .minutes(1)
    }
}
