import HTTPServer
@testable import Recordings
import Testing
import Time

@testable import EmulatorCore

@Suite("An exchange as daemons share it")
struct WrittenExchangeTests {
    private static let mail = RecordedMail(
        sender: "", recipients: ["a@example.com", "ü@example.com"], user: nil, isSecure: true, messages: ["m1"])

    private static let exchanges: [RecordedExchange] = [
        RecordedExchange(
            id: "r1", parent: nil, world: "default", host: nil, path: "/", client: nil,
            request: Request(method: "GET", target: "/"), response: Response(status: 404), time: .first, began: 0,
            duration: 0, fault: nil),
        RecordedExchange(
            id: "r12345678901234", parent: "r7", world: "checkout", host: "appleid.apple.com", path: "/auth/token",
            client: "com.example.web",
            request: Request(
                method: "POST", target: "/~checkout/appleid.apple.com/auth/token?a=b&c=%20",
                headers: [
                    (name: "Content-Type", value: "application/x-www-form-urlencoded"), (name: "X-Empty", value: ""),
                    (name: "X-Empty", value: "é 😀"),
                ], body: Array("code=c1&state=s".utf8), isSecure: true, label: "checkout"),
            response: Response(
                status: 400, contentType: "application/json", headers: [(name: Diagnosis.headerName, value: "why")],
                body: #"{"error":"invalid_grant"}"#), time: .last, began: 1_790_000_000_000_000, duration: 12_345,
            fault: "an ordered fault"),
        exchange(.dropped), exchange(.cut),
        // A client's server didn't answer this request.
        RecordedExchange(
            id: "r2", parent: "r1", world: "w", host: "127.0.0.1", path: "/events", client: nil,
            request: Request(method: "POST", target: "http://127.0.0.1:1/events", body: Array("{}".utf8)),
            response: Response(status: 0), time: .first, began: 1, duration: 7_000_000, fault: nil),
        RecordedExchange(
            id: "r3", parent: nil, world: "w", host: "localhost", path: "/DATA", client: nil,
            request: Request(method: "SMTP", target: "/DATA", body: Array("EHLO x\r\n".utf8)),
            response: Response(status: 250), time: .first, began: -1, duration: 5, fault: nil, mail: mail),
        RecordedExchange(
            id: "r4", parent: nil, world: "w", host: "h", path: "/", client: nil,
            request: Request(method: "POST", target: "/", body: Array(repeating: 0xFF, count: 300_000)),
            response: Response(status: 200, body: Array(0...255)), time: .first, began: 0, duration: 0, fault: nil),
    ]

    private static func exchange(_ delivery: Response.Delivery) -> RecordedExchange {
        var response = Response(status: 200, body: [1, 2, 3])
        response.delivery = delivery
        return RecordedExchange(
            id: "r2", parent: nil, world: "w", host: "h", path: "/p", client: nil,
            request: Request(method: "PUT", target: "/other", body: [0, 13, 10]), response: response, time: .first,
            began: 1, duration: 2, fault: nil)
    }

    /// Returns everything in the exchange, as text.
    private func description(_ exchange: RecordedExchange) -> [String] {
        let (request, response) = (exchange.request, exchange.response)
        return [
            "\(exchange.id) \(exchange.parent ?? "-") \(exchange.world) \(exchange.host ?? "-") \(exchange.path)",
            "\(exchange.knownClient ?? "-") \(exchange.fault ?? "-") \(exchange.time) \(exchange.began) \(exchange.duration)",
            "\(request.method) \(request.path) \(request.query ?? "-") \(request.isSecure) \(request.label ?? "-")",
            "\(request.headers)", "\(request.body)", "\(exchange.requestBodySize) \(exchange.responseBodySize)",
            "\(response.status) \(response.headers) \(response.delivery)", "\(response.body)",
            "\(String(describing: exchange.mail))", "\(exchange.isCut) \(exchange.diagnosis ?? "-")",
            "\(exchange.client ?? "-")",
        ]
    }

    @Test("says all that the exchange holds", arguments: exchanges)
    func roundTrip(_ exchange: RecordedExchange) throws {
        let decoded = try #require(RecordedExchange.decoded(exchange.encoded))
        #expect(description(decoded) == description(exchange))
    }

    @Test("cut anywhere, isn't read")
    func damaged() {
        let bytes = Self.exchanges[1].encoded
        for end in 0..<bytes.count { #expect(RecordedExchange.decoded(Array(bytes[..<end])) == nil) }
    }
}
