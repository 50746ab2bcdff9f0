import Foundation

extension World {
    /// A recorded sign-in: its requests, the user, and how the sign-in ended.
    public struct SignIn: Sendable, Hashable, Decodable, Identifiable {
        /// The state that a recorded sign-in has reached, such as signed in or cancelled.
        public enum Ending: String, Sendable, Hashable, Decodable {
            /// The client got its tokens, so the user is signed in.
            case signedIn
            /// The sign-in failed because the provider refused a request.
            case refused
            /// The user cancelled the sign-in, or a preset sign-in result cancelled it.
            case cancelled
            /// The sign-in failed because of an injected fault.
            case faulted
            /// The sign-in isn't finished: a further request is still to come.
            case unfinished
            /// The requests weren't meant to sign a user in, and all were answered.
            case answered
            /// The user signed out, or tokens were revoked. The recording doesn't contain the sign-in before that.
            case signedOut
        }

        /// The user who signed in.
        public struct Person: Sendable, Hashable, Decodable {
            /// The ID, in this test world, of the account that signed in.
            public let account: String?
            /// The name of the user who signed in.
            public let name: String?
            /// The e-mail address of the user who signed in.
            public let email: String?
        }

        /// A request that belongs to a recorded sign-in.
        public struct Step: Sendable, Hashable, Decodable, Identifiable {
            /// The ID of the recorded request, for ``World/request(_:)``.
            public let id: String
            /// The sender of a recorded request: `app`, `browser`, `backend`, `scenario`, or a provider's name, such as
            /// `google`.
            public let from: String
            /// The receiver of a recorded request: a provider's name, such as `google`, or `backend` or `understudy`.
            public let to: String
            /// The purpose of the recorded request, such as `redeem code`.
            public let does: String
            /// The HTTP method of the recorded request.
            public let method: String
            /// The provider's host to which the request was sent.
            public let host: String?
            /// The path of the recorded request on the provider's host.
            public let path: String
            /// The HTTP status of the answer to the recorded request.
            public let status: Int
            /// A summary of the answer to the recorded request, such as `302 code`.
            public let answer: String
            /// The reason why the request was refused; `nil` if it wasn't.
            public let diagnosis: String?
            /// The injected fault that changed the answer; `nil` if there is none.
            public let fault: String?
        }

        /// The ID of the first request of a recorded sign-in.
        public let id: String
        /// The kind of the recorded sign-in, such as `Apple web sign-in`.
        public let name: String
        /// The state that the sign-in has reached, such as signed in or cancelled.
        public let ending: Ending
        /// The reason why the sign-in failed; `nil` if it didn't fail.
        public let diagnosis: String?
        /// The ID of the request at which the sign-in failed.
        public let stoppedBy: String?
        /// A sentence that says for which event an unfinished sign-in waits; `nil` for finished ones.
        public let hint: String?
        /// The providers that took part in the sign-in, by their names in the seed (the daemon's test data).
        public let providers: [String]
        /// The `client_id`, at the provider, of the client for which the user signed in; at Firebase, the project's ID.
        public let client: String?
        /// The user who signed in, if known.
        public let person: Person?
        /// The requests of the sign-in, in the sequence in which they were answered.
        public let steps: [Step]
    }

    /// Returns the recorded sign-ins that meet all conditions, sorted by their last activity: the sign-in with the most
    /// recent request comes last. Requests that only fetch key sets or discovery documents aren't included.
    ///
    ///     let refused = try await world.signIns(isRefused: true, waitingAtMost: .seconds(5))
    ///
    /// - Parameters:
    ///   - isRefused: `true` returns the sign-ins that the provider refused, the user cancelled or an injected fault
    ///     stopped, `false` all others.
    ///   - isUnfinished: `true` returns only unfinished sign-ins, `false` only finished ones.
    ///   - provider: a provider that took part, by its name in the seed.
    ///   - client: a part of the client's ID.
    ///   - text: a part of the diagnosis, of the user's data, of the client's ID or of a request's ID; case is ignored.
    ///   - id: the ID of a request; only sign-ins with a later request are returned.
    ///   - wait: the time to wait for the first sign-in, a minute at most.
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

    /// Returns a recorded sign-in by the ID of one of its requests.
    ///
    /// - Parameter id: the ID of any request of the sign-in: the value of the answer's header `Understudy-Request`.
    /// - Throws: ``UnderstudyError``, with the code `noSuchFlow` if the recording doesn't have it.
    public func signIn(_ id: String) async throws -> SignIn { try await call("GET", "flows/\(Address.segment(id))") }
}
