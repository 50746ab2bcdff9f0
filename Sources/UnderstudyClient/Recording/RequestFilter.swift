/// Conditions on exchanges. What is `nil` matches everything.
struct RequestFilter: Sendable, Encodable {
    var host: String?
    var path: String?
    var method: String?
    var client: String?
    var status: World.StatusFilter?
    var flow: String?
    var isRefused: Bool?
    /// Fields of the query, form or JSON body; for expectations only.
    var fields: [String: String]?

    private enum CodingKeys: String, CodingKey {
        case host, path, method, client, status, flow, fields
        case isRefused = "refused"
    }

    /// As parameters of a query.
    var query: [(name: String, value: String)] {
        let all = [
            ("host", host), ("path", path), ("method", method), ("client", client), ("status", status?.text),
            ("flow", flow), ("refused", isRefused.map { $0 ? "true" : "false" }),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }
}

extension World {
    /// An HTTP status, or all that begin with the same digit: `401`, `.class(4)`.
    public struct StatusFilter: Sendable, Hashable, ExpressibleByIntegerLiteral, Encodable {
        let text: String

        /// This status, such as 401.
        public init(integerLiteral status: Int) { text = String(status) }

        /// This status, such as 401.
        public init(_ status: Int) { text = String(status) }

        /// All that begin with this digit: `.class(4)` is 400 to 499.
        public static func `class`(_ digit: Int) -> StatusFilter { StatusFilter(text: "\(digit)xx") }

        private init(text: String) { self.text = text }

        /// Writes it as the control API reads it.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
    }
}
