extension World {
    /// The number of recorded requests that a test expects: `.exactly(1)`, `.atLeast(2)`, `.none`.
    public struct ExpectedCount: Sendable, Hashable {
        let exactly: Int?
        let least: Int?
        let most: Int?

        /// Expects exactly `count` recorded requests.
        public static func exactly(_ count: Int) -> ExpectedCount {
            ExpectedCount(exactly: count, least: nil, most: nil)
        }

        /// Expects `count` recorded requests or more.
        public static func atLeast(_ count: Int) -> ExpectedCount {
            ExpectedCount(exactly: nil, least: count, most: nil)
        }

        /// Expects `count` recorded requests or fewer.
        public static func atMost(_ count: Int) -> ExpectedCount {
            ExpectedCount(exactly: nil, least: nil, most: count)
        }

        /// Expects that no recorded request meets the conditions of a verification.
        public static let none = ExpectedCount.exactly(0)
    }
}

/// The error if more or fewer recorded requests meet a test's conditions than the test expects.
public struct VerificationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A recorded request that nearly met the conditions of a test's expectation.
    public struct Near: Sendable, Hashable, Decodable {
        /// The ID of a recorded request that nearly met the conditions of the verification.
        public let id: String
        /// The differences between the recorded request and the conditions of the verification, a line each.
        public let differences: [String]
    }

    /// The expectation about recorded requests, and the number of requests that met it.
    public let message: String
    /// The recorded requests that nearly met the conditions of the expectation, three at most; empty if too many
    /// requests met the conditions.
    public let near: [Near]
    /// The last twenty recorded requests with their answers, a line each.
    public let recorded: [String]

    /// The error's report, in several lines: the expectation of the test that wasn't met, and the recorded requests.
    public var description: String {
        let near = near.map { "  near: \($0.id): \($0.differences.joined(separator: "; "))" }
        let recorded = recorded.map { "  recorded: \($0)" }
        return ([message] + near + (recorded.isEmpty ? ["  nothing was recorded"] : recorded)).joined(separator: "\n")
    }
}

extension World {
    private struct Expectation: Encodable {
        let filter: RequestFilter
        let count: ExpectedCount

        private enum CodingKeys: String, CodingKey { case times, atLeast, atMost }

        func encode(to encoder: any Encoder) throws {
            try filter.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(count.exactly, forKey: .times)
            try container.encodeIfPresent(count.least, forKey: .atLeast)
            try container.encodeIfPresent(count.most, forKey: .atMost)
        }
    }

    private struct Verdict: Decodable {
        struct Expectation: Decodable {
            let message: String?
            let near: [VerificationError.Near]?
        }
        let verified: Bool
        let expectations: [Expectation]
    }

    /// Checks that the expected number of recorded exchanges (requests with their answers) meet all conditions.
    ///
    ///     try await world.verify(.exactly(1), host: "appleid.apple.com", path: "/auth/token")
    ///
    /// - Parameters:
    ///   - count: the expected number.
    ///   - host: the provider's host; `*` stands for any characters.
    ///   - path: the path on that host; `*` stands for any characters.
    ///   - method: the HTTP method: `GET`, `POST`…; `SMTP` for a mail that was sent.
    ///   - client: the client's ID at the provider.
    ///   - status: the answer's status.
    ///   - isRefused: `true` counts only exchanges whose request was refused, `false` only exchanges whose request
    ///     wasn't refused.
    ///   - flow: the ID of the first exchange of a sign-in.
    ///   - fields: values that fields of the query, form or JSON body must have.
    /// - Throws: ``VerificationError`` if the number isn't the expected one. If it is too small, the error has the
    ///   exchanges that nearly met the conditions. ``UnderstudyError`` if the daemon can't be reached or refuses the
    ///   call.
    public func verify(
        _ count: ExpectedCount = .atLeast(1), host: String? = nil, path: String? = nil, method: String? = nil,
        client: String? = nil, status: StatusFilter? = nil, isRefused: Bool? = nil, flow: String? = nil,
        fields: [String: String]? = nil
    ) async throws {
        let filter = RequestFilter(
            host: host, path: path, method: method, client: client, status: status, flow: flow, isRefused: isRefused,
            fields: fields)
        let call = Call(
            method: "POST", path: "verify", body: try Wire.encode(Expectation(filter: filter, count: count)))
        let answer = try await answer(call)
        guard answer.status == 200 || answer.status == 409 else {
            throw UnderstudyError(answer, to: call, at: url)
        }
        let verdict: Verdict = try Wire.decode(answer.body, of: call)
        guard !verdict.verified, let unmet = verdict.expectations.first else { return }
        throw VerificationError(
            message: unmet.message ?? "", near: unmet.near ?? [],
            recorded: try await requests().suffix(20).map { "\($0.id) \($0)" })
    }
}
