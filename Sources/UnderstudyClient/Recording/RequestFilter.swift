/// Conditions on exchanges. A condition that is `nil` matches every exchange.
struct RequestFilter: Sendable, Encodable {
    var host: String?
    var path: String?
    var method: String?
    var client: String?
    var status: World.StatusFilter?
    var flow: String?
    var isRefused: Bool?
    /// Values that fields of the query, form or JSON body must have; only in `verify`.
    var fields: [String: String]?

    private enum CodingKeys: String, CodingKey {
        case host, path, method, client, status, flow, fields
        case isRefused = "refused"
    }

    /// The conditions as a query.
    var query: [(name: String, value: String)] {
        let all = [
            ("host", host), ("path", path), ("method", method), ("client", client), ("status", status?.text),
            ("flow", flow), ("refused", isRefused.map { $0 ? "true" : "false" }),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }
}

extension World {
    /// A condition on the HTTP status: `401`, or `.class(4)` for 400 to 499.
    public struct StatusFilter: Sendable, Hashable, ExpressibleByIntegerLiteral, Encodable {
        let text: String

        /// Matches this status, such as 401.
        public init(integerLiteral status: Int) { text = String(status) }

        /// Matches this status, such as 401.
        public init(_ status: Int) { text = String(status) }

        /// Matches all statuses with this first digit: `.class(4)` is 400 to 499.
        public static func `class`(_ digit: Int) -> StatusFilter { StatusFilter(text: "\(digit)xx") }

        private init(text: String) { self.text = text }

        /// Writes the condition in the control API's form.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
    }
}
