extension World {
    /// How many exchanges are expected.
    public struct ExpectedCount: Sendable, Hashable {
        let exactly: Int?
        let least: Int?
        let most: Int?

        /// This many.
        public static func exactly(_ count: Int) -> ExpectedCount {
            ExpectedCount(exactly: count, least: nil, most: nil)
        }

        /// This many or more.
        public static func atLeast(_ count: Int) -> ExpectedCount {
            ExpectedCount(exactly: nil, least: count, most: nil)
        }

        /// This many or fewer.
        public static func atMost(_ count: Int) -> ExpectedCount {
            ExpectedCount(exactly: nil, least: nil, most: count)
        }

        /// None.
        public static let none = ExpectedCount.exactly(0)
    }
}

/// What was expected and didn't happen.
public struct VerificationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// An exchange that came near, and how it differed.
    public struct Near: Sendable, Hashable, Decodable {
        /// The exchange's ID.
        public let id: String
        /// One line for each difference.
        public let differences: [String]
    }

    /// What was expected, and how many there were.
    public let message: String
    /// The exchanges that came nearest.
    public let near: [Near]
    /// What the world has recorded, a line for each exchange, the last twenty.
    public let recorded: [String]

    /// All of it, in lines.
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

    /// Compares the recording with what you expect.
    ///
    /// - Parameters:
    ///   - count: how many exchanges must meet all conditions.
    ///   - host: the provider's host; `*` stands for any characters.
    ///   - path: the path on it; `*` stands for any characters.
    ///   - method: `GET`, `POST`…; `SMTP` is mail that was sent.
    ///   - client: the client, as the provider calls it.
    ///   - status: the answer's status.
    ///   - isRefused: with `true` those with a diagnosis, with `false` the others.
    ///   - flow: the ID of the first exchange of a sign-in.
    ///   - fields: fields of the query, form or JSON body, and their values.
    /// - Throws: ``VerificationError``, which says what came instead; ``UnderstudyError``.
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
