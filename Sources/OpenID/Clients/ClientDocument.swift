import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Synchronization
import Time
import Worlds

/// A client's metadata document, fetched from the URL that is the client's ID:
/// <https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-00>.
struct ClientDocument: Row, Equatable {
    /// The table of fetched client metadata documents. When it is full, the oldest documents are removed, and fetched
    /// again if needed.
    static let table = Table<ClientDocument>(
        "oauth.clientDocument", limit: 1_000, byteLimit: 64 << 20, size: { $0.clientID.utf8.count + $0.metadata.weight }
    )

    let realm: String
    let clientID: String
    let metadata: JSONValue
    /// The time until which the client's metadata document needn't be fetched again.
    let freshUntil: Instant

    var key: String { DynamicClient.key(clientID, at: realm) }

    /// Whether a client ID is the URL of a client metadata document.
    static func isAddress(_ id: String) -> Bool { id.hasPrefix("https://") || id.hasPrefix("http://") }

    /// Returns why a URL can't be the address of a client metadata document, as a clause; `nil` if it can. The
    /// specification demands https; http is allowed for loopback addresses, which have no certificate.
    static func fault(inAddress id: String) -> String? {
        guard let address = WebAddress(id), !address.hasFragment else {
            return "it isn't a URL without a user and a fragment"
        }
        guard address.scheme == "https" || address.scheme == "http" && address.isLoopback else {
            return "it isn't an https URL, nor an http URL of this machine"
        }
        guard address.path.utf8.count > 1 else { return "it has no path" }
        // URL libraries also read "%2e" as a dot.
        let segments = address.path.lowercased().split(separator: "/").map { $0.replacing("%2e", with: ".") }
        return segments.contains { $0 == "." || $0 == ".." } ? "its path has a segment of dots" : nil
    }

    /// Reads and checks a client metadata document, for a server that signs with `algorithms`.
    ///
    /// - Throws: `invalid_client`.
    static func description(
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
        OAuthRefusal(
            "invalid_client",
            Diagnosis("the client ID metadata document \(Diagnosis.quote(id)) can't be used: \(reason)"))
    }
}

// MARK: - Fetching

extension Issuer {
    /// Fetches the metadata document of the client that sends a request, if the client ID is a document's URL and the
    /// document isn't stored.
    ///
    /// - Parameter refreshes: whether a stale document is fetched again, as at the beginning of a sign-in.
    /// - Throws: `invalid_client` if the document can't be fetched or used.
    func fetchClient(of exchange: Exchange, refreshes: Bool) async throws {
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

    /// Refuses to fetch a client metadata document from a host that is neither this machine nor named in the seed. A
    /// document on this machine is fetched only if the requesting client may choose addresses to which the daemon sends
    /// requests. Otherwise, a client could make this server send a request to any host.
    private func checkHost(of id: String, _ exchange: Exchange) throws(OAuthRefusal) {
        guard let address = WebAddress(id) else { return }
        if address.isLoopback {
            guard !exchange.mayChooseAddresses else { return }
            throw ClientDocument.refusal(
                id,
                "only requests from the daemon's own machine may name a document on that machine, and pages of other "
                    + "machines in its browsers may not")
        }
        guard !policy.acceptsDocuments(from: address) else { return }
        let name = String(address.origin.dropFirst("https://".count))
        throw ClientDocument.refusal(
            id,
            "the seed doesn't name its host: add \(Diagnosis.quote(name)) to clientMetadataHosts, or the document itself to "
                + "clientDocuments")
    }
}

/// A client metadata document as it was fetched, before its content is checked.
struct FetchedDocument: Sendable {
    let json: JSONValue
    /// The time, by the test world's clock, at which the client metadata document arrived.
    let time: Instant
    /// The time for which the client metadata document may be used, by the `Cache-Control` of the client's server.
    let age: TimeSpan
}

/// The reason why a client metadata document couldn't be fetched, as a clause.
struct FetchFailure: Error {
    let reason: String
}

/// The fetches of client metadata documents in one test world. For each URL, only one fetch runs at a time, and at most
/// one begins in ten seconds, even if it fails.
final class ClientDocumentFetches: WorldCache {
    typealias Outcome = Result<FetchedDocument, FetchFailure>

    private struct Fetch {
        /// The time at which the fetch of a document began, by two clocks: the test world's, which may stand still or
        /// be set far ahead, and the machine's.
        let began: (world: Instant, machine: Int64)
        /// The result of the fetch of a document; `nil` while the fetch runs.
        var outcome: Outcome?
        var waiting: [CheckedContinuation<Outcome, Never>] = []

        func isFresh(at now: (world: Instant, machine: Int64)) -> Bool {
            let age = now.world - began.world
            return outcome == nil
                || age < ClientDocumentFetches.rest && age >= .zero
                    && now.machine - began.machine < ClientDocumentFetches.rest.seconds * 1_000_000
        }
    }

    /// The time for which the result of fetching a document is used in any case, whatever `Cache-Control` says.
    private static let rest = TimeSpan.seconds(10)
    /// The greatest number of client metadata documents, or of failures to fetch one, that are kept in memory.
    private static let limit = 256
    /// The longest time that a fetch of a client metadata document may take, in seconds.
    private static let patience = 5

    private let fetches = Mutex<[String: Fetch]>([:])

    init() {}

    /// Removes the results of all finished fetches of client metadata documents.
    func removeAll() { fetches.withLock { $0 = $0.filter { $0.value.outcome == nil } } }

    /// Returns the client metadata document at a URL. If the document is already being fetched, the caller waits for
    /// that fetch.
    func document(at id: String, for exchange: Exchange) async -> Outcome {
        let now = (world: exchange.world.now, machine: MachineClock.microseconds)
        let isMine = fetches.withLock { fetches in
            if let known = fetches[id], known.isFresh(at: now) { return false }
            if fetches.count >= ClientDocumentFetches.limit { fetches = fetches.filter { $0.value.isFresh(at: now) } }
            fetches[id] = Fetch(began: now)
            return true
        }
        guard isMine else { return await withCheckedContinuation { join(id, $0) } }
        let outcome = await ClientDocumentFetches.fetch(id, for: exchange)
        let waiting = fetches.withLock { fetches in
            let waiting = fetches[id]?.waiting ?? []
            fetches[id] = fetches.count > ClientDocumentFetches.limit ? nil : Fetch(began: now, outcome: outcome)
            return waiting
        }
        for continuation in waiting { continuation.resume(returning: outcome) }
        return outcome
    }

    private func join(_ id: String, _ continuation: CheckedContinuation<Outcome, Never>) {
        let outcome = fetches.withLock { fetches -> Outcome? in
            guard let fetch = fetches[id] else {
                return .failure(FetchFailure(reason: "too many documents are fetched at once: try again"))
            }
            if fetch.outcome == nil { fetches[id]?.waiting.append(continuation) }
            return fetch.outcome
        }
        if let outcome { continuation.resume(returning: outcome) }
    }

    private static func fetch(_ id: String, for exchange: Exchange) async -> Outcome {
        let isLocal = WebAddress(id)?.isLoopback ?? false
        let question = OutgoingMessage(reading: id, limit: ClientDescription.sizeLimit, isVerified: !isLocal)
        func failed(_ reason: String) -> Outcome { .failure(FetchFailure(reason: reason)) }
        switch await exchange.ask(question, seconds: patience, isForOthers: true) {
        case .late: return failed("there was no answer within \(patience) s")
        case .failed(let reason): return failed("it can't be fetched: \(reason)")
        case .answered(let answer):
            // Redirects aren't followed: section 4 of the draft.
            guard answer.status == 200 else {
                return failed("the answer has the status \(answer.status), and has to have 200")
            }
            guard answer.body.count <= ClientDescription.sizeLimit else {
                return failed("it has more than \(ClientDescription.sizeLimit) bytes")
            }
            guard let json = try? JSONValue(parsing: answer.body), json.object != nil else {
                return failed("it isn't a JSON object")
            }
            let age = age(answer.header("Cache-Control"))
            return .success(FetchedDocument(json: json, time: exchange.world.now, age: age))
        }
    }

    /// Returns how long a client metadata document may be used: the `max-age` in `Cache-Control`, but at most a day.
    /// Without `max-age`, the time is one minute. With `no-store` or `no-cache`, it is zero.
    private static func age(_ cacheControl: String?) -> TimeSpan {
        let directives = (cacheControl ?? "").lowercased().split(separator: ",").map { part in
            String(part.drop { $0 == " " }.prefix { $0 != " " })
        }
        if directives.contains("no-store") || directives.contains("no-cache") { return .zero }
        let seconds = directives.compactMap { $0.hasPrefix("max-age=") ? Int64($0.dropFirst(8)) : nil }.first
        return seconds.map { .seconds(min(max($0, 0), 86_400)) } ?? .minutes(1)
    }
}
