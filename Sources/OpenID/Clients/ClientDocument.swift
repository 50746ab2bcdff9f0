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
    /// The table of fetched documents. When it is full, the oldest documents are removed, and fetched again if needed.
    static let table = Table<ClientDocument>("oauth.clientDocument", limit: 1_000)

    let realm: String
    let clientID: String
    let metadata: JSONValue
    /// The time until which the document needn't be fetched again.
    let freshUntil: Instant

    var key: String { DynamicClient.key(clientID, at: realm) }

    /// Whether an ID is the address of a document.
    static func isAddress(_ id: String) -> Bool { id.hasPrefix("https://") || id.hasPrefix("http://") }

    /// Returns why a document can't be at an address, as a clause; `nil` if it can. Section 3 demands https; http is
    /// allowed for this machine, which has no certificate.
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

    /// Reads and checks a document, for a server that signs with `algorithms`.
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
        OAuthRefusal("invalid_client", Diagnosis("the client ID metadata document \(Diagnosis.quote(id)): \(reason)"))
    }
}

// MARK: - Fetching

extension Issuer {
    /// Fetches the document of the client that sends a request, if its ID is a document's address and the document
    /// isn't stored.
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

    /// Refuses a document at a host that is neither this machine nor in the seed, because the client chooses the
    /// address.
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

/// The document from a client's server, not checked yet.
struct FetchedDocument: Sendable {
    let json: JSONValue
    /// The world's time when it arrived.
    let time: Instant
    /// The time for which the server's `Cache-Control` allows its use.
    let age: TimeSpan
}

/// The reason why a document couldn't be fetched, as a clause.
struct FetchFailure: Error {
    let reason: String
}

/// This daemon's fetches of clients' documents. An address has one fetch at a time, and at most one in ten seconds,
/// even if it failed.
final class ClientDocumentFetches: WorldCache {
    typealias Outcome = Result<FetchedDocument, FetchFailure>

    private struct Fetch {
        /// The world's time and the machine's when the fetch began. The world's may stand still, or be set far ahead.
        let began: (world: Instant, machine: Int64)
        /// The outcome; `nil` while the tasks in `waiting` wait for it.
        var outcome: Outcome?
        var waiting: [CheckedContinuation<Outcome, Never>] = []

        func isFresh(at now: (world: Instant, machine: Int64)) -> Bool {
            let age = now.world - began.world
            return outcome == nil
                || age < ClientDocumentFetches.rest && age >= .zero
                    && now.machine - began.machine < ClientDocumentFetches.rest.seconds * 1_000_000
        }
    }

    /// The time for which an outcome is used, whatever its server says.
    private static let rest = TimeSpan.seconds(10)
    /// The most outcomes that are kept.
    private static let limit = 256
    /// The most seconds of a fetch.
    private static let patience = 5

    private let fetches = Mutex<[String: Fetch]>([:])

    init() {}

    /// Removes all outcomes.
    func removeAll() { fetches.withLock { $0 = $0.filter { $0.value.outcome == nil } } }

    /// Returns the document at an address. A caller during a fetch waits for its answer.
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
        switch await exchange.ask(question, seconds: patience) {
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

    /// Returns how long a document is valid: the time in `Cache-Control`, a day at most, or a minute.
    private static func age(_ cacheControl: String?) -> TimeSpan {
        let directives = (cacheControl ?? "").lowercased().split(separator: ",").map { part in
            String(part.drop { $0 == " " }.prefix { $0 != " " })
        }
        if directives.contains("no-store") || directives.contains("no-cache") { return .zero }
        let seconds = directives.compactMap { $0.hasPrefix("max-age=") ? Int64($0.dropFirst(8)) : nil }.first
        return seconds.map { .seconds(min(max($0, 0), 86_400)) } ?? .minutes(1)
    }
}
