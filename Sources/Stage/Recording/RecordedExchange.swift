import HTTPServer
import Time

/// A request, what was answered, and what is known of it.
package final class RecordedExchange: Sendable {
    /// `r12`, as `Understudy-Request` carries it.
    package let id: String
    /// The request that made the daemon ask itself, as Firebase asks the providers; `nil` for a client's own.
    package let parent: String?
    package let host: String?
    package let path: String
    /// The client to whom the request's credentials belong, if the provider knows.
    private let knownClient: String?
    package let request: Request
    package let response: Response
    /// The world's time when it was answered.
    package let time: Instant
    /// The machine's, when the request came, in microseconds since 1970.
    package let began: Int64
    /// How long it took, in microseconds.
    package let duration: Int64
    /// The ordered fault that was carried out, in words.
    package let fault: String?
    /// What ties it to others, found when somebody first asks.
    package let traces = Traces()

    package init(
        id: String, parent: String?, host: String?, path: String, client: String?, request: Request,
        response: Response, time: Instant,
        began: Int64, duration: Int64, fault: String?
    ) {
        self.id = id
        self.parent = parent
        self.host = host
        self.path = path
        knownClient = client
        self.request = request
        self.response = response
        self.time = time
        self.began = began
        self.duration = duration
        self.fault = fault
    }

    /// The client whose credentials it carries, or that the request names.
    package var client: String? { knownClient ?? request.namedClient }

    var number: Int { RecordedExchange.number(of: id) ?? 0 }

    /// One line that says why it was refused; `nil` when it wasn't.
    package var diagnosis: String? { response.header(Diagnosis.headerName) }

    /// Roughly what it takes in memory, in bytes.
    var size: Int {
        let headers = request.headers + response.headers
        return 512 + request.path.utf8.count + (request.query?.utf8.count ?? 0) + request.body.count
            + response.body.count + headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
    }

    /// The number in an exchange's ID; `nil` when it isn't one.
    package static func number(of id: String) -> Int? { id.hasPrefix("r") ? Int(id.dropFirst()) : nil }
}
