import Foundation

extension World {
    /// Returns the recorded exchanges (requests with their answers) of this test world that meet all conditions, the
    /// oldest first. A world keeps its last 1,000 exchanges.
    ///
    ///     let refused = try await world.requests(host: "appleid.apple.com", isRefused: true)
    ///
    /// - Parameters:
    ///   - host: the provider's host; `*` stands for any characters.
    ///   - path: the path on that host; `*` stands for any characters.
    ///   - method: the HTTP method: `GET`, `POST`…; `SMTP` for a mail that was sent.
    ///   - client: the client's ID at the provider.
    ///   - status: the answer's status.
    ///   - isRefused: `true` returns only exchanges whose request was refused, `false` only exchanges whose request
    ///     wasn't refused.
    ///   - flow: the ID of the first exchange of a sign-in. All exchanges of that sign-in are returned.
    ///   - id: the ID of an exchange; only later ones are returned.
    /// - Throws: ``UnderstudyError``.
    public func requests(
        host: String? = nil, path: String? = nil, method: String? = nil, client: String? = nil,
        status: StatusFilter? = nil, isRefused: Bool? = nil, flow: String? = nil, after id: String? = nil
    ) async throws -> [RecordedExchange] {
        let filter = RequestFilter(
            host: host, path: path, method: method, client: client, status: status, flow: flow, isRefused: isRefused)
        return try await RequestPages.all(filter.query, of: self, after: id)
    }

    /// Waits until `count` recorded exchanges (requests with their answers) meet all conditions, and returns them, the
    /// oldest first.
    ///
    /// - Parameters:
    ///   - wait: the time to wait, a minute at most. When the time is over, the exchanges recorded so far are returned.
    ///   - count: the number of exchanges to wait for.
    ///   - host: the provider's host; `*` stands for any characters.
    ///   - path: the path on that host; `*` stands for any characters.
    ///   - method: the HTTP method: `GET`, `POST`…; `SMTP` for a mail that was sent.
    ///   - client: the client's ID at the provider.
    ///   - status: the answer's status.
    ///   - isRefused: `true` returns only exchanges whose request was refused, `false` only exchanges whose request
    ///     wasn't refused.
    ///   - id: the ID of an exchange; only later ones are returned.
    /// - Throws: ``UnderstudyError``.
    public func requests(
        waitingAtMost wait: Duration, forCount count: Int = 1, host: String? = nil, path: String? = nil,
        method: String? = nil, client: String? = nil, status: StatusFilter? = nil, isRefused: Bool? = nil,
        after id: String? = nil
    ) async throws -> [RecordedExchange] {
        let filter = RequestFilter(
            host: host, path: path, method: method, client: client, status: status, isRefused: isRefused)
        return try await RequestPages.waiting(filter.query, of: self, after: id, count: count, atMost: wait)
    }

    /// Returns the recorded requests of this test world that were refused, each with the ``RecordedExchange/diagnosis``
    /// that says why, the oldest first.
    ///
    /// - Throws: ``UnderstudyError``.
    public func refusals() async throws -> [RecordedExchange] { try await requests(isRefused: true) }

    /// Returns a recorded exchange (a request with its answer) by its ID.
    ///
    /// - Parameter id: the exchange's ID: the value of the answer's header `Understudy-Request`.
    /// - Throws: ``UnderstudyError``, with the code `noSuchRequest` if the recording doesn't have it.
    public func request(_ id: String) async throws -> RecordedExchange {
        try await call("GET", "requests/\(Address.segment(id))")
    }

    /// Returns this test world's recorded requests and answers as an HTTP archive (HAR 1.2), which a browser's network
    /// panel can open. If the bodies have more than 2 MiB, only the first requests are returned: the archive's
    /// `comment` says that more follow.
    ///
    /// - Throws: ``UnderstudyError``.
    public func har() async throws -> Data { try await send("GET", "requests", query: [("format", "har")]) }

    /// Deletes all recorded requests and answers of this test world.
    ///
    /// - Throws: ``UnderstudyError``.
    public func forgetRequests() async throws { try await send("DELETE", "requests") }
}

/// Conditions on recorded exchanges (requests with their answers). A condition that is `nil` matches every exchange.
struct RequestFilter: Sendable, Encodable {
    var host: String?
    var path: String?
    var method: String?
    var client: String?
    var status: World.StatusFilter?
    var flow: String?
    var isRefused: Bool?
    /// Values that fields of a request's query, form or JSON body must have. Only `verify` supports this condition.
    var fields: [String: String]?

    private enum CodingKeys: String, CodingKey {
        case host, path, method, client, status, flow, fields
        case isRefused = "refused"
    }

    /// The conditions on recorded requests, as the query of a URL.
    var query: [(name: String, value: String)] {
        let all = [
            ("host", host), ("path", path), ("method", method), ("client", client), ("status", status?.text),
            ("flow", flow), ("refused", isRefused.map { $0 ? "true" : "false" }),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }
}

extension World {
    /// A condition on the HTTP status of recorded answers: `401`, or `.class(4)` for 400 to 499.
    public struct StatusFilter: Sendable, Hashable, ExpressibleByIntegerLiteral, Encodable {
        let text: String

        /// Matches answers with this HTTP status, such as 401.
        public init(integerLiteral status: Int) { text = String(status) }

        /// Matches answers with this HTTP status, such as 401.
        public init(_ status: Int) { text = String(status) }

        /// Matches all HTTP statuses with this first digit: `.class(4)` is 400 to 499.
        public static func `class`(_ digit: Int) -> StatusFilter { StatusFilter(text: "\(digit)xx") }

        private init(text: String) { self.text = text }

        /// Encodes the condition on the HTTP status as JSON for the control API.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
    }
}
