import HTTPServer
import Recordings
import Testing

@Suite("Values in recorded messages")
struct FindingTests {
    @Test("of a message with many values, the first 1,000 are collected without their places")
    func limit() {
        let body = "{\"n\":[" + (0..<3_000).map { "\"v\($0)\"" }.joined(separator: ",") + "]}"
        let exchange = RecordedExchange(
            id: "r1", parent: nil, world: "default", host: nil, path: "/", client: nil,
            request: Request(method: "POST", target: "/", body: Array(body.utf8)),
            response: Response(status: 200, contentType: "application/json", body: body), time: .first, began: 0,
            duration: 0, fault: nil)
        let found = exchange.unplacedFindings
        #expect(found.request.map(\.value) == (0..<1_000).map { "v\($0)" })
        #expect(found.response.map(\.value) == (0..<1_000).map { "v\($0)" })
        #expect(Set((found.request + found.response).map(\.place)) == [""])
        #expect(exchange.requestFindings.count == 3_000)
    }
}
