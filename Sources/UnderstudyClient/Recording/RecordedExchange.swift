import Foundation

extension World {
    /// A request to a provider, and its answer, as the daemon recorded them.
    public struct RecordedExchange: Sendable, Hashable, Decodable, Identifiable {
        /// A field of a header.
        public struct Header: Sendable, Hashable, Decodable {
            /// The field's name.
            public let name: String
            /// What it says.
            public let value: String
        }

        /// What was sent one way.
        public struct Message: Sendable, Hashable, Decodable {
            /// Path and query as they came; requests have it.
            public let target: String?
            /// The fields of the header.
            public let headers: [Header]
            /// The body, if it is UTF-8; its first 256 KiB.
            public let body: String?
            /// The body in base64, if it isn't UTF-8.
            public let bodyBase64: String?
            /// Whether an ordered fault ended the connection: `beforeHeaders` or `midBody`; answers have it.
            public let disconnected: String?

            /// What the first field of that name says, in any case.
            public func header(_ name: String) -> String? {
                headers.first { $0.name.lowercased() == name.lowercased() }?.value
            }
        }

        /// A JSON Web Token that was sent.
        public struct Token: Sendable, Hashable, Decodable {
            /// Where it was, such as `response.body.id_token`.
            public let place: String
            /// Its header.
            public let header: JSONValue
            /// Its claims.
            public let claims: JSONValue
            /// Whether it has a signature.
            public let isSigned: Bool

            private enum CodingKeys: String, CodingKey {
                case place, header, claims
                case isSigned = "signed"
            }
        }

        /// The `Understudy-Request` of the answer, such as `r12`.
        public let id: String
        /// The ID of the first exchange of the sign-in that it belongs to.
        public let flow: String
        /// The exchange for which the daemon sent it itself.
        public let parent: String?
        /// Whose recording it was in, where worlds were asked for by a pattern.
        public let world: String?
        /// When it came, by the world's clock.
        public let time: Date
        /// The milliseconds that the answer took.
        public let durationMilliseconds: Double
        /// The provider's host; `nil` at the daemon's own addresses.
        public let host: String?
        /// The path on that host.
        public let path: String
        /// `GET`, `POST`…; `SMTP` is mail that was sent.
        public let method: String
        /// The client, as the provider calls it.
        public let client: String?
        /// The HTTP status of the answer.
        public let status: Int
        /// Why it was refused, and what to do; `nil` when it wasn't.
        public let diagnosis: String?
        /// What surprises in an answer that refuses nothing, such as a mail that isn't sent because nobody has the address.
        public let note: String?
        /// The ordered fault that changed the answer.
        public let fault: String?
        /// What came.
        public let request: Message
        /// What was answered.
        public let response: Message
        /// The JSON Web Tokens in both.
        public let tokens: [Token]?
    }
}

extension World.RecordedExchange: CustomStringConvertible {
    /// `POST appleid.apple.com/auth/token 400: a code works once, …`
    public var description: String {
        "\(method) \(host ?? "")\(path) \(status)\(diagnosis.map { ": \($0)" } ?? "")"
    }
}

/// Reads the recording page by page: an answer shows 2 MiB of bodies at most.
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

    /// Those that there are when there are `count` of them, or when the time is over.
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
