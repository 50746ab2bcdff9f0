import Foundation
import TestSupport
import Testing
import Understudy

/// Sends requests to every endpoint of the catalogue, with boundary values for every name: in the query, in a form, as
/// numbers and as strings in JSON, and in headers.
@Suite("Boundary values at every endpoint")
struct EndpointBoundaryTests {
    private struct Endpoint {
        let method: String
        let target: String
    }

    private func endpoints(_ fixture: FirebaseFixture) throws -> [Endpoint] {
        let all = try fixture.client.get("/_understudy/v1/endpoints").json["endpoints"] as? [[String: Any]] ?? []
        let endpoints = all.compactMap { entry -> Endpoint? in
            guard let method = entry["method"] as? String, let path = entry["path"] as? String else { return nil }
            let host = (entry["host"] as? String).map { "/\($0.replacingOccurrences(of: "*", with: "demo-app"))" } ?? ""
            return Endpoint(method: method, target: host + path)
        }
        let control = ["clock", "outcomes", "faults", "tokens", "accounts", "verify", "requests", "reset"].flatMap {
            call in
            ["GET", "POST"].map { Endpoint(method: $0, target: "/_understudy/v1/\(call)") }
        }
        return endpoints + control
    }

    /// Headers that are left out, because they change the connection itself.
    private static let connectionHeaders: Set<String> = [
        "connection", "content-length", "host", "transfer-encoding", "upgrade", "expect", "date",
    ]

    @Test("nothing ends the daemon or is answered with an error of its own", arguments: [0, 1])
    func everywhere(part: Int) throws {
        let fixture = try FirebaseFixture()
        let names = try Boundary.names()
        #expect(names.count > 200)
        let endpoints = try endpoints(fixture)
        #expect(endpoints.count > 300)
        let connection = KeptConnection(port: fixture.client.port)
        let values = Boundary.texts
        for (number, endpoint) in endpoints.enumerated() where number % 2 == part {
            for rotation in 0..<Boundary.rotations {
                // Each name has a value of its own, which differs between endpoints and rotations.
                let start = number * Boundary.rotations + rotation
                let fields = names.indices.map { (name: names[$0], value: values[($0 * 7 + start) % values.count]) }
                try ask(endpoint, fields, connection)
            }
            // A change by one request must not prevent the next from reaching its endpoint.
            if endpoint.target.hasPrefix("/_understudy") { _ = connection.ask("POST", "/_understudy/v1/reset") }
        }
        #expect(try fixture.client.get("/_understudy/v1/health").status == 200)
    }

    private func ask(_ endpoint: Endpoint, _ fields: [Field], _ connection: KeptConnection) throws {
        // A parameter of the path gets a value too.
        let target = endpoint.target.replacingOccurrences(of: "*", with: TestClient.escape(fields[0].value))
        let headers = fields.filter { $0.name.contains("-") && !Self.connectionHeaders.contains($0.name.lowercased()) }
        for (target, type, body) in Self.variants(endpoint.method, target, fields) {
            let answer = connection.ask(
                endpoint.method, target, headers: headers.map { ($0.name, $0.value) } + [("Content-Type", type)],
                body: body)
            #expect(
                answer.map { $0.status < 500 || $0.status == 501 } ?? false,
                "\(endpoint.method) \(target.prefix(300)) \(body.prefix(300)): \(answer?.description ?? "no answer")")
        }
    }

    private typealias Field = (name: String, value: String)

    private static func variants(
        _ method: String, _ target: String, _ fields: [Field]
    ) -> [(target: String, type: String, body: String)] {
        let pairs = fields.map { "\($0.name)=\(TestClient.escape($0.value))" }.joined(separator: "&")
        let form = "application/x-www-form-urlencoded"
        guard method != "GET" && method != "DELETE" else { return [("\(target)?\(pairs)", form, "")] }
        // A value that isn't a number in JSON is sent as a string.
        let isNumber = Set(Boundary.numbers)
        let members = fields.map { "\"\($0.name)\":" + (isNumber.contains($0.value) ? $0.value : "\"\($0.value)\"") }
        let key = target.contains("googleapis.com") ? "?key=demo-api-key" : ""
        return [
            (target + key, form, pairs),
            (target + key, "application/json", "{\(members.joined(separator: ","))}"),
        ]
    }
}
