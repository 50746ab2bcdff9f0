import HTTPServer
import Synchronization
import Time

/// A request with its answer, and details about both.
package final class RecordedExchange: Sendable {
    /// The exchange's ID, as in `Understudy-Request`: `r12`.
    package let id: String
    /// The exchange for which the daemon sent itself this request, as Firebase asks the providers; `nil` for a client's
    /// request.
    package let parent: String?
    /// The name of the world that answered it.
    package let world: String
    package let host: String?
    package let path: String
    /// The client to which the request's credentials belong, if the provider knows it.
    let knownClient: String?
    package let request: Request
    package let response: Response
    /// The sizes of the bodies in bytes. Of a body larger than `Recording.bodyLimit`, only the beginning is kept.
    package let requestBodySize: Int
    package let responseBodySize: Int
    /// The world's time when the request was answered.
    package let time: Instant
    /// The machine's time when the request came, in microseconds since 1970.
    package let began: Int64
    /// The duration of the exchange, in microseconds.
    package let duration: Int64
    /// The ordered fault that took effect, in words.
    package let fault: String?
    /// Details of mail by SMTP, which is recorded as a request with the method `SMTP`: the path is the command that
    /// decided, the body is the conversation.
    package let mail: RecordedMail?
    /// The codes and tokens by which the exchange belongs to a flow. They are found on first use.
    package let traces = Traces()
    private let place = Atomic<Int>(0)

    package convenience init(
        id: String, parent: String?, world: String, host: String?, path: String, client: String?, request: Request,
        response: Response, time: Instant,
        began: Int64, duration: Int64, fault: String?, mail: RecordedMail? = nil
    ) {
        self.init(
            id: id, parent: parent, world: world, host: host, path: path, client: client, request: request,
            response: response, sizes: (request: request.body.count, response: response.body.count), time: time,
            began: began, duration: duration, fault: fault, mail: mail)
    }

    /// `sizes` are those of the whole bodies, of which there may be only the beginnings.
    init(
        id: String, parent: String?, world: String, host: String?, path: String, client: String?, request: Request,
        response: Response, sizes: (request: Int, response: Int), time: Instant, began: Int64, duration: Int64,
        fault: String?, mail: RecordedMail?
    ) {
        self.mail = mail
        self.id = id
        self.parent = parent
        self.world = world
        self.host = host
        self.path = path
        knownClient = client
        requestBodySize = sizes.request
        responseBodySize = sizes.response
        var request = request
        var response = response
        RecordedExchange.cut(&request.body)
        RecordedExchange.cut(&response.body)
        self.request = request
        self.response = response
        self.time = time
        self.began = began
        self.duration = duration
        self.fault = fault
    }

    /// The number of exchanges that were recorded before it, in all worlds and, where the recording is shared, by all
    /// replicas.
    package internal(set) var order: Int {
        get { place.load(ordering: .relaxed) }
        set { place.store(newValue, ordering: .relaxed) }
    }

    /// The time when the request was answered, by the machine's clock in microseconds since 1970, and a number that
    /// orders exchanges of the same microsecond.
    package var answered: (time: Int64, order: Int) { (began &+ duration, order) }

    /// The client whose credentials it carries, or that the request names.
    package var client: String? { knownClient ?? traces.found(in: self).client }

    /// Whether only the beginning of a body was kept.
    package var isCut: Bool {
        requestBodySize > request.body.count || responseBodySize > response.body.count
    }

    var number: Int { RecordedExchange.number(of: id) ?? 0 }

    /// The diagnosis in a line; `nil` when it wasn't refused.
    package var diagnosis: String? { response.header(Diagnosis.headerName) }

    /// The note in a line: what is surprising about an answer that refuses nothing.
    package var note: String? { response.header(Note.headerName) }

    /// Cuts a large body at the end of a character.
    private static func cut(_ body: inout [UInt8]) {
        guard body.count > Recording.bodyLimit else { return }
        var end = Recording.bodyLimit
        // The bytes within a UTF-8 character are 10xxxxxx.
        while end > Recording.bodyLimit - 4, body[end] & 0xC0 == 0x80 { end -= 1 }
        body = Array(body.prefix(end))
    }

    /// The number of bytes of memory that the exchange takes, with everything it refers to, its codes and tokens, and
    /// its entries in tables.
    var size: Int {
        var size = RecordedExchange.ownSize + request.body.capacity + response.body.capacity
        for text in [id, parent, world, host, path, knownClient, fault, request.method, request.path, request.query] {
            size += RecordedExchange.allocated(by: text)
        }
        // The lists are read one after the other, since joining them would copy every text.
        for headers in [request.headers, response.headers] {
            for (name, value) in headers {
                size += 32 + RecordedExchange.allocated(by: name) + RecordedExchange.allocated(by: value)
            }
        }
        for address in mail.map({ $0.recipients + $0.messages + [$0.sender ?? "", $0.user ?? ""] }) ?? [] {
            size += 16 + RecordedExchange.allocated(by: address)
        }
        return size
    }

    /// The size of the object with its allocations, without texts and bodies, rounded up: 1 kB.
    private static let ownSize = 1 << 10

    /// Returns the size of a text's allocation. A text of up to 15 bytes has none.
    private static func allocated(by text: String?) -> Int {
        guard let count = text?.utf8.count, count > 15 else { return 0 }
        return count + 48
    }

    /// Returns the number in an exchange's ID; `nil` for another text.
    package static func number(of id: String) -> Int? { id.hasPrefix("r") ? Int(id.dropFirst()) : nil }
}
