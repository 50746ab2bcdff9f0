import Control
import EmulatorCore
import HTTPServer
import Recordings

// The page requests/ID: one exchange in detail; with ?with=ID beside another. Its bodies can be downloaded.

/// A recorded request and its response, with the recorded requests that are related to it.
struct FoundExchange: Sendable {
    let known: KnownExchange
    /// The recorded requests of one sign-in, the oldest first. The request that the page shows is one of them.
    let flow: [KnownExchange]
    /// The recorded request because of which the daemon itself sent the request that the page shows; `nil` if there is
    /// none, or if it isn't recorded any more.
    let parent: KnownExchange?
    let children: [KnownExchange]
    /// Other recorded requests with the method, host and path of the request that the page shows, the latest first.
    let similar: [KnownExchange]
    let tokens: [(place: String, token: ReadToken)]
    /// The number of the request's and response's JSON Web Tokens that the page leaves out.
    let moreTokens: Int
    let advice: [FlowAdvice]

    /// The greatest number of other requests that the page offers for a comparison.
    static let similarLimit = 20
    /// The greatest number of JSON Web Tokens that the page shows.
    static let tokenLimit = 8
}

extension Inspector {
    var exchangeEndpoints: [Endpoint] {
        [
            page("GET", "requests/:id") { try await exchangePage($0) },
            page("GET", "requests/:id/request-body") { try await body($0, ofRequest: true) },
            page("GET", "requests/:id/response-body") { try await body($0, ofRequest: false) },
        ]
    }

    private func exchangePage(_ exchange: Exchange) async throws -> Response {
        let id = exchange.parameters["id"] ?? ""
        let other = exchange.request.queryForm["with"] ?? ""
        let world = exchange.world
        let found = try await world.recording.search { [self] in
            try find(id, in: world).map { found in
                (found, other.isEmpty ? nil : world.recording.known().exchanges.first { $0.exchange.id == other })
            }
        }
        guard let (found, with) = found else { return noExchange(exchange, id) }
        guard !other.isEmpty else { return exchangePage(exchange, found) }
        guard let with else { return noExchange(exchange, other) }
        return comparisonPage(exchange, found, with)
    }

    func noExchange(_ exchange: Exchange, _ id: String) -> Response {
        let message =
            "No request \(Diagnosis.quote(id)) is in this world's recording, which keeps only the last \(Recording.countLimit) requests."
        return missing(exchange, .signIns, "No such request", message, "All sign-ins")
    }

    /// Finds a recorded request by its ID. This searches the recording, so don't call it on a server's worker thread.
    private func find(_ id: String, in world: World) throws -> FoundExchange? {
        let all = world.recording.known().exchanges
        guard let known = all.first(where: { $0.exchange.id == id }) else { return nil }
        let exchange = known.exchange
        let flow = all.filter { $0.flow == known.flow }
        let similar = all.reversed().lazy.filter { other in
            other.exchange.id != id && other.exchange.request.method == exchange.request.method
                && other.exchange.host == exchange.host && other.exchange.path.utf8.elementsEqual(exchange.path.utf8)
        }
        let document = ExchangeDocument(known, masksSecrets: control.masksSecrets)
        let tokens = document.foundTokens
        let reader = ValueReader(world, by: control, at: exchange.time)
        let search = tokens.isEmpty ? RecordingSearch([]) : RecordingSearch(flow)
        return FoundExchange(
            known: known, flow: flow, parent: exchange.parent.flatMap { id in all.first { $0.exchange.id == id } },
            children: all.filter { $0.exchange.parent == id },
            similar: Array(similar.prefix(FoundExchange.similarLimit)),
            tokens: try tokens.prefix(FoundExchange.tokenLimit).map { found in
                let text = found.finding.value
                let surroundings = reader.surroundings(of: text, field: found.finding.name, in: search)
                return (found.finding.place, try reader.read(found.token, text: text, surroundings))
            },
            moreTokens: max(0, tokens.count - FoundExchange.tokenLimit),
            advice: FlowReader(control, world).advice(on: flow).filter { $0.exchange == id })
    }

    // MARK: - Bodies

    /// Answers with the body of a recorded request or response as a file, which the browser saves and doesn't open.
    private func body(_ exchange: Exchange, ofRequest: Bool) async throws -> Response {
        let id = exchange.parameters["id"] ?? ""
        let recording = exchange.world.recording
        let known = try await recording.search { recording.known().exchanges.first { $0.exchange.id == id } }
        guard let known else { return noExchange(exchange, id) }
        let document = ExchangeDocument(known, masksSecrets: control.masksSecrets)
        let (request, response) = (known.exchange.request, known.exchange.response)
        let (stored, type) =
            ofRequest
            ? (request.body, request.header("Content-Type")) : (response.body, response.header("Content-Type"))
        let bytes: [UInt8] =
            switch document.shown(body: stored, type: type) {
            case .text(let text): Array(text.utf8)
            case .bytes(let bytes): bytes
            case .withheld: Array("masked".utf8)
            }
        let name = Inspector.bodyName(id, ofRequest: ofRequest)
        return Response(
            status: 200,
            headers: Inspector.protection + [
                (name: "Content-Type", value: "application/octet-stream"),
                (name: "Content-Disposition", value: "attachment; filename=\"\(name)\""),
                (name: "Content-Security-Policy", value: "sandbox; default-src 'none'"),
            ], body: bytes)
    }

    /// Returns the name of the file in which a browser saves a recorded body, such as `r12-request-body`.
    static func bodyName(_ id: String, ofRequest: Bool) -> String { "\(id)-\(ofRequest ? "request" : "response")-body" }
}
