import Foundation

extension World {
    /// A recorded request to a provider that the daemon stands in for, with its answer. Mails that came by SMTP, and
    /// requests that the daemon itself sent, are recorded in the same form.
    public struct RecordedExchange: Sendable, Hashable, Decodable, Identifiable {
        /// A header field of a recorded request or answer.
        public struct Header: Sendable, Hashable, Decodable {
            /// The name of a header field.
            public let name: String
            /// The value of a header field.
            public let value: String
        }

        /// A recorded request, or the recorded answer to it.
        public struct Message: Sendable, Hashable, Decodable {
            /// The path and the query of a recorded request, as they were received; `nil` for a recorded answer.
            public let target: String?
            /// The header fields of a recorded request or answer.
            public let headers: [Header]
            /// The body of a recorded request or answer as text, if it is UTF-8. Of a longer body, only the first 256
            /// KiB are kept.
            public let body: String?
            /// The body of a recorded request or answer in base64, if it isn't UTF-8.
            public let bodyBase64: String?
            /// The moment at which an injected fault closed the connection during an answer: `beforeHeaders` or
            /// `midBody`. It is `nil` if no fault did so.
            public let disconnected: String?

            /// Returns the value of the first header field with this name. The case of its letters doesn't matter.
            public func header(_ name: String) -> String? {
                headers.first { $0.name.lowercased() == name.lowercased() }?.value
            }
        }

        /// The source, such as a page of documentation, that shows that the real provider gives the recorded answer.
        public struct Evidence: Sendable, Hashable, Decodable {
            /// The kind of source from which the provider's answer is known: `documented`, `recorded`, `specified`,
            /// `reported` or `chosen`.
            public let kind: String
            /// The address of the source from which the provider's answer is known. If ``kind`` is `chosen`, there is
            /// no source, and this text is the reason for the answer.
            public let source: String
            /// The date of the source from which the provider's answer is known: a year, month or day, such as
            /// `2024-05`.
            public let date: String?
        }

        /// A JSON Web Token found in a recorded request or answer.
        public struct Token: Sendable, Hashable, Decodable {
            /// The place of the token in the recorded request or answer, such as `response.body.id_token`.
            public let place: String
            /// The decoded header of the JSON Web Token.
            public let header: JSONValue
            /// The decoded claims of the JSON Web Token.
            public let claims: JSONValue
            /// Whether the JSON Web Token has a signature.
            public let isSigned: Bool

            private enum CodingKeys: String, CodingKey {
                case place, header, claims
                case isSigned = "signed"
            }
        }

        /// The ID of the recorded request, such as `r12`. The answer's header `Understudy-Request` has the same value.
        public let id: String
        /// The ID of the first recorded request of the sign-in to which this request belongs.
        public let flow: String
        /// For a request that the daemon itself sent, such as a notification to an app: the ID of the recorded request
        /// that caused it. For a scenario's request: `scenario`.
        public let parent: String?
        /// The name of the test world that recorded the request; `nil` unless the recordings of several worlds were
        /// requested.
        public let world: String?
        /// The time at which the request came, by the test world's clock.
        public let time: Date
        /// The milliseconds from the request until the answer was ready.
        public let durationMilliseconds: Double
        /// The host of the provider to which the request was sent; `nil` for the daemon's own addresses.
        public let host: String?
        /// The path of the recorded request on the provider's host.
        public let path: String
        /// The HTTP method of the recorded request: `GET`, `POST`…; `SMTP` for a mail that was sent.
        public let method: String
        /// The client's ID at the provider, if the request names the client or has its credentials.
        public let client: String?
        /// The HTTP status of the recorded answer.
        public let status: Int
        /// The reason why the request was refused, and how to correct it; `nil` if it wasn't refused.
        public let diagnosis: String?
        /// A remark about an answer that isn't a refusal: for example, that no mail is sent because no user has the
        /// address.
        public let note: String?
        /// The source that shows that the real provider gives the recorded answer; `nil` for answers that aren't a
        /// provider's.
        public let evidence: Evidence?
        /// The injected fault that changed the answer; `nil` if there is none.
        public let fault: String?
        /// The recorded request, without its answer.
        public let request: Message
        /// The answer to the recorded request.
        public let response: Message
        /// The JSON Web Tokens in the recorded request and its answer.
        public let tokens: [Token]?
    }
}

extension World.RecordedExchange: CustomStringConvertible {
    /// A line about a recorded request and its answer, such as
    /// `POST appleid.apple.com/auth/token 400: a code works once, …`
    public var description: String {
        "\(method) \(host ?? "")\(path) \(status)\(diagnosis.map { ": \($0)" } ?? "")"
    }
}

/// Reads recorded requests page by page. A page ends as soon as the bodies of its requests and answers have 2 MiB
/// together.
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

    /// Returns the recorded requests and answers as soon as there are `count` of them, or when the time `wait` is over.
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
