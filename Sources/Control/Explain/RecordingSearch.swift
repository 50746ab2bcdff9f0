import EmulatorCore
import HTTPServer
import Recordings

/// Finds values in the fields of recorded requests and responses. The initializer reads all these fields, which takes
/// some time, so don't call it on a server's worker thread.
package struct RecordingSearch: Sendable {
    /// The least number of bytes of a value that is searched for. A shorter value could occur anywhere by chance.
    private static let shortest = 6

    private let entries: [(known: KnownExchange, request: [Finding], response: [Finding])]

    /// Prepares a search of recorded requests with their responses. They must be in the order in which they were
    /// answered.
    package init(_ exchanges: [KnownExchange]) {
        entries = exchanges.map { known in
            let found = known.exchange.unplacedFindings
            return (known, found.request, found.response)
        }
    }

    /// Returns the oldest recorded request whose response contains `value`. The value counts as issued by this
    /// response.
    package func maker(of value: String) -> KnownExchange? {
        guard value.utf8.count >= RecordingSearch.shortest else { return nil }
        return entries.first { $0.response.contains { $0.value == value } }?.known
    }

    /// Returns the most recent recorded request that has `value` in a field with one of these names.
    package func sender(of value: String, as names: Set<String>) -> KnownExchange? {
        entries.last { $0.request.contains { names.contains($0.name) && $0.value == value } }?.known
    }

    /// Returns all recorded requests that have `value` in any field.
    package func senders(of value: String) -> [KnownExchange] {
        guard value.utf8.count >= RecordingSearch.shortest else { return [] }
        return entries.filter { $0.request.contains { $0.value == value } }.map(\.known)
    }

    /// Returns the values of the fields called `name` in requests that contain no token, such as authorization
    /// requests.
    func asked(_ name: String) -> [(value: String, known: KnownExchange)] {
        entries.filter { entry in !entry.request.contains { RecordingSearch.isToken($0.value) } }
            .flatMap { entry in
                entry.request.filter { $0.name == name && !$0.value.isEmpty }.map { ($0.value, entry.known) }
            }
    }

    /// Returns the raw nonce that a request sent together with `token`; `nil` if no request did.
    func rawNonce(beside token: String) -> (value: String, known: KnownExchange)? {
        for entry in entries where entry.request.contains(where: { $0.value == token }) {
            if let nonce = entry.request.first(where: { ["nonce", "rawNonce"].contains($0.name) }) {
                return (nonce.value, entry.known)
            }
        }
        return nil
    }

    /// Returns the values of the fields with these names in all responses that contain `token`. If none of these
    /// responses has such a field, returns the values of the fields in their requests.
    func values(beside token: String, named names: Set<String>) -> [String] {
        var answers: [String] = []
        var requests: [String] = []
        for entry in entries where entry.response.contains(where: { $0.value == token }) {
            answers += entry.response.filter { names.contains($0.name) }.map(\.value)
            requests += entry.request.filter { names.contains($0.name) }.map(\.value)
        }
        // The values of the answer count; only if there are none, those of the request.
        return (answers.isEmpty ? requests : answers).filter { $0 != token }
    }

    static func isToken(_ value: String) -> Bool { value.hasPrefix("eyJ") }
}

extension ValueReader {
    /// Returns what the recording tells about a token: the provider that issued it, its client, and the values that
    /// were sent or issued together with it.
    package func surroundings(
        of token: String, field: String?, in search: RecordingSearch, rawNonce given: String? = nil
    ) -> TokenSurroundings {
        var surroundings = TokenSurroundings(field: field)
        if let maker = search.maker(of: token) {
            surroundings.maker = provider(of: maker.exchange)
            let receiver = surroundings.maker.map { ValueReader.title(of: $0) } ?? "the provider"
            if let client = maker.exchange.client {
                surroundings.client = .init(client, to: receiver, in: maker.exchange.id)
            }
            let asked = search.asked("nonce").last { asked in
                asked.known.flow == maker.flow
                    && provider(of: asked.known.exchange)?.name == surroundings.maker?.name
            }
            if let asked { surroundings.sentNonce = .init(asked.value, to: receiver, in: asked.known.exchange.id) }
        }
        if let given {
            surroundings.rawNonce = .init(given, to: "", in: nil)
        } else if let raw = search.rawNonce(beside: token) {
            let receiver = provider(of: raw.known.exchange).map { ValueReader.title(of: $0) } ?? "the backend"
            surroundings.rawNonce = .init(raw.value, to: receiver, in: raw.known.exchange.id)
        }
        surroundings.accessTokens = search.values(beside: token, named: ["access_token", "accessToken"])
        surroundings.codes = search.values(beside: token, named: ["code", "authorizationCode"])
        return surroundings
    }
}
