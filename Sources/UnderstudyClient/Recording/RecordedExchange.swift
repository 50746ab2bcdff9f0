import Foundation

extension World {
    /// A recorded exchange: a request to a provider, and its answer.
    public struct RecordedExchange: Sendable, Hashable, Decodable, Identifiable {
        /// A header field.
        public struct Header: Sendable, Hashable, Decodable {
            /// The field's name.
            public let name: String
            /// The field's value.
            public let value: String
        }

        /// The request or the answer of an exchange.
        public struct Message: Sendable, Hashable, Decodable {
            /// The path and the query as they were received; only in requests.
            public let target: String?
            /// The header fields.
            public let headers: [Header]
            /// The body as text, if it is UTF-8. Of a longer body, only the first 256 KiB are kept.
            public let body: String?
            /// The body in base64, if it isn't UTF-8.
            public let bodyBase64: String?
            /// The moment at which an ordered fault closed the connection: `beforeHeaders` or `midBody`; only in
            /// answers.
            public let disconnected: String?

            /// Returns the value of the first field with this name, in upper or lower case.
            public func header(_ name: String) -> String? {
                headers.first { $0.name.lowercased() == name.lowercased() }?.value
            }
        }

        /// The source from which it is known that the provider answers so.
        public struct Evidence: Sendable, Hashable, Decodable {
            /// `documented`, `recorded`, `specified`, `reported` or `chosen`.
            public let kind: String
            /// The address of the source; for `chosen`, the reason.
            public let source: String
            /// The year, month or day of the source, such as `2024-05`.
            public let date: String?
        }

        /// A JSON Web Token found in an exchange.
        public struct Token: Sendable, Hashable, Decodable {
            /// The token's position, such as `response.body.id_token`.
            public let place: String
            /// The token's header.
            public let header: JSONValue
            /// The token's claims.
            public let claims: JSONValue
            /// Whether the token has a signature.
            public let isSigned: Bool

            private enum CodingKeys: String, CodingKey {
                case place, header, claims
                case isSigned = "signed"
            }
        }

        /// The exchange's ID, such as `r12`: the answer's `Understudy-Request`.
        public let id: String
        /// The ID of the first exchange of the same sign-in.
        public let flow: String
        /// The ID of the exchange during which the daemon sent this request itself.
        public let parent: String?
        /// The name of the world, if several worlds were asked for.
        public let world: String?
        /// The time at which the request came, by the world's clock.
        public let time: Date
        /// The milliseconds until the answer was ready.
        public let durationMilliseconds: Double
        /// The provider's host; `nil` at the daemon's own addresses.
        public let host: String?
        /// The path on that host.
        public let path: String
        /// `GET`, `POST`…; `SMTP` for a mail that was sent.
        public let method: String
        /// The client's ID at the provider.
        public let client: String?
        /// The HTTP status of the answer.
        public let status: Int
        /// The reason why the request was refused, and how to correct it; `nil` if it wasn't refused.
        public let diagnosis: String?
        /// A surprising detail of an answer that isn't a refusal: for example, a mail isn't sent because nobody has the
        /// address.
        public let note: String?
        /// The source from which the answer is known; `nil` if a provider didn't give the answer.
        public let evidence: Evidence?
        /// The ordered fault that changed the answer.
        public let fault: String?
        /// The request.
        public let request: Message
        /// The answer.
        public let response: Message
        /// The JSON Web Tokens in the request and the answer.
        public let tokens: [Token]?
    }
}

extension World.RecordedExchange: CustomStringConvertible {
    /// `POST appleid.apple.com/auth/token 400: a code works once, …`
    public var description: String {
        "\(method) \(host ?? "")\(path) \(status)\(diagnosis.map { ": \($0)" } ?? "")"
    }
}

/// Reads the recording page by page. One page has 2 MiB of bodies at most.
enum RequestPages {
    private struct Page: Decodable {
        let requests: [World.RecordedExchange]
        let last: String?
        let more: Bool?
    }

    static func all(
        _ query: [(name: String, value: String)], of callee: some Callee, after id: String? = nil
    ) async throws -> [World.RecordedExchange] {
        var found: [World.RecordedExchange] = []
        var after = id
        while true {
            let page: Page = try await callee.call(
                "GET", "requests", query: query + (after.map { [("after", $0)] } ?? []))
            found += page.requests
            guard page.more == true, let last = page.last else { return found }
            after = last
        }
    }

    /// Returns the exchanges as soon as there are `count` of them, or when `wait` is over.
    static func waiting(
        _ query: [(name: String, value: String)], of world: World, after id: String?, count: Int, atMost wait: Duration
    ) async throws -> [World.RecordedExchange] {
        let waiting = [("wait", wait.wire), ("count", String(count))] + (id.map { [("after", $0)] } ?? [])
        let page: Page = try await world.call(
            Call(method: "GET", path: "requests", query: query + waiting, wait: wait))
        guard page.more == true, let last = page.last else { return page.requests }
        return page.requests + (try await all(query, of: world, after: last))
    }
}
