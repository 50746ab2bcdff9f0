import EmulatorCore
import HTTPServer
import JSON
import Synchronization
import Time

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
package final class ClientDocumentFetches: WorldCache {
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

    package init() {}

    /// Removes all outcomes.
    package func removeAll() { fetches.withLock { $0 = $0.filter { $0.value.outcome == nil } } }

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

    /// Returns how long a document is valid: the time in `Cache-Control`, a day at most, or a minute. Section 4.4 of
    /// the draft leaves the limits to the server.
    private static func age(_ cacheControl: String?) -> TimeSpan {
        let directives = (cacheControl ?? "").lowercased().split(separator: ",").map { part in
            String(part.drop { $0 == " " }.prefix { $0 != " " })
        }
        if directives.contains("no-store") || directives.contains("no-cache") { return .zero }
        let seconds = directives.compactMap { $0.hasPrefix("max-age=") ? Int64($0.dropFirst(8)) : nil }.first
        return seconds.map { .seconds(min(max($0, 0), 86_400)) } ?? .minutes(1)
    }
}
