import Foundation

extension World {
    /// A sign-in: the requests that belong together, who signed in, and how it ended.
    public struct SignIn: Sendable, Hashable, Decodable, Identifiable {
        /// The end of a sign-in, so far.
        public enum Ending: String, Sendable, Hashable, Decodable {
            /// The client got its tokens.
            case signedIn
            /// The provider refused a request.
            case refused
            /// The person cancelled the sign-in, or an order made them cancel it.
            case cancelled
            /// An ordered fault made it fail.
            case faulted
            /// Something is still to come.
            case unfinished
            /// The requests weren't meant to sign anybody in, and all were answered.
            case answered
            /// The tokens were revoked, or the person signed out, without a sign-in before it in the recording.
            case signedOut
        }

        /// The person who signed in.
        public struct Person: Sendable, Hashable, Decodable {
            /// The ID of the account in this world.
            public let account: String?
            /// The name.
            public let name: String?
            /// The e-mail address.
            public let email: String?
        }

        /// A request of a sign-in.
        public struct Step: Sendable, Hashable, Decodable, Identifiable {
            /// The request's ID, for ``World/request(_:)``.
            public let id: String
            /// The sender: `app`, `browser`, `backend`, `scenario`, or a provider's name in the seed.
            public let from: String
            /// The provider that was asked, or `backend` or `understudy`.
            public let to: String
            /// The purpose of the request, such as `redeem code`.
            public let does: String
            /// The method.
            public let method: String
            /// The provider's host.
            public let host: String?
            /// The path on that host.
            public let path: String
            /// The HTTP status of the answer.
            public let status: Int
            /// The answer in a few words, such as `302 code`.
            public let answer: String
            /// The reason why the request was refused; `nil` if it wasn't.
            public let diagnosis: String?
            /// The ordered fault that changed the answer.
            public let fault: String?
        }

        /// The ID of the sign-in's first request.
        public let id: String
        /// The kind of sign-in, such as `Apple web sign-in`.
        public let name: String
        /// The end, so far.
        public let ending: Ending
        /// The reason why the sign-in failed; `nil` if it didn't fail.
        public let diagnosis: String?
        /// The ID of the request that failed.
        public let stoppedBy: String?
        /// What an unfinished sign-in waits for.
        public let hint: String?
        /// The providers that took part, by their names in the seed.
        public let providers: [String]
        /// The client's ID at the provider.
        public let client: String?
        /// The person, if known.
        public let person: Person?
        /// The requests, in the order of their answers.
        public let steps: [Step]
    }

    /// Returns the sign-ins that meet all conditions, the most recently active last.
    ///
    ///     let refused = try await world.signIns(isRefused: true, waitingAtMost: .seconds(5))
    ///
    /// - Parameters:
    ///   - isRefused: `true` returns those that a refusal, the person or a fault stopped, `false` the others.
    ///   - isUnfinished: `true` returns those that aren't finished, `false` those that are.
    ///   - provider: a provider that took part, by its name in the seed.
    ///   - client: a part of the client's ID.
    ///   - text: a text of the diagnosis, the person, the client or an ID; case is ignored.
    ///   - id: the ID of a request; only sign-ins with a later request are returned.
    ///   - wait: the time to wait for the first one, a minute at most.
    /// - Throws: ``UnderstudyError``.
    public func signIns(
        isRefused: Bool? = nil, isUnfinished: Bool? = nil, provider: String? = nil, client: String? = nil,
        text: String? = nil, after id: String? = nil, waitingAtMost wait: Duration? = nil
    ) async throws -> [SignIn] {
        struct Page: Decodable {
            let flows: [SignIn]
            let last: String?
            let more: Bool?
        }
        let conditions = [
            ("refused", isRefused.map { $0 ? "true" : "false" }),
            ("unfinished", isUnfinished.map { $0 ? "true" : "false" }), ("provider", provider), ("client", client),
            ("text", text),
        ].compactMap { name, value in value.map { (name: name, value: $0) } }
        var (found, after, waiting) = ([SignIn](), id, wait)
        while true {
            let place = after.map { [(name: "after", value: $0)] } ?? []
            let patience = waiting.map { [(name: "wait", value: $0.wire)] } ?? []
            let page: Page = try await call(
                Call(method: "GET", path: "flows", query: conditions + place + patience, wait: waiting ?? .zero))
            found += page.flows
            guard page.more == true, let last = page.last else { return found }
            (after, waiting) = (last, nil)
        }
    }

    /// Returns one sign-in.
    ///
    /// - Parameter id: the ID of any of its requests: an answer's `Understudy-Request`.
    /// - Throws: ``UnderstudyError``, with the code `noSuchFlow` if the recording doesn't have it.
    public func signIn(_ id: String) async throws -> SignIn { try await call("GET", "flows/\(Address.segment(id))") }
}
