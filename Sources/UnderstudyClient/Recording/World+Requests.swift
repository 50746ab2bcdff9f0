import Foundation

extension World {
    /// The recorded exchanges of this world that meet all conditions, the oldest first. It keeps the last 1,000.
    ///
    /// - Parameters:
    ///   - host: the provider's host; `*` stands for any characters.
    ///   - path: the path on it; `*` stands for any characters.
    ///   - method: `GET`, `POST`…; `SMTP` is mail that was sent.
    ///   - client: the client, as the provider calls it.
    ///   - status: the answer's status.
    ///   - isRefused: with `true` those with a diagnosis, with `false` the others.
    ///   - flow: the ID of the first exchange of a sign-in: all exchanges of that sign-in.
    ///   - id: only those that were recorded after the one with this ID.
    /// - Throws: ``UnderstudyError``.
    public func requests(
        host: String? = nil, path: String? = nil, method: String? = nil, client: String? = nil,
        status: StatusFilter? = nil, isRefused: Bool? = nil, flow: String? = nil, after id: String? = nil
    ) async throws -> [RecordedExchange] {
        let filter = RequestFilter(
            host: host, path: path, method: method, client: client, status: status, flow: flow, isRefused: isRefused)
        return try await RequestPages.all(filter.query, of: self, after: id)
    }

    /// The same as ``requests(host:path:method:client:status:isRefused:flow:after:)``, once there are enough of them: for what is still
    /// to come.
    ///
    /// - Parameters:
    ///   - wait: how long to wait, a minute at most. When it is over, those are returned that there are.
    ///   - count: how many there must be.
    ///   - host: the provider's host; `*` stands for any characters.
    ///   - path: the path on it; `*` stands for any characters.
    ///   - method: `GET`, `POST`…; `SMTP` is mail that was sent.
    ///   - client: the client, as the provider calls it.
    ///   - status: the answer's status.
    ///   - isRefused: with `true` those with a diagnosis, with `false` the others.
    ///   - id: only those that were recorded after the one with this ID.
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

    /// What was refused in this world, each with its ``RecordedExchange/diagnosis``, the oldest first.
    ///
    /// - Throws: ``UnderstudyError``.
    public func refusals() async throws -> [RecordedExchange] { try await requests(isRefused: true) }

    /// One recorded exchange.
    ///
    /// - Parameter id: the `Understudy-Request` of its answer.
    /// - Throws: ``UnderstudyError``, with the code `noSuchRequest` when the recording doesn't hold it.
    public func request(_ id: String) async throws -> RecordedExchange {
        try await call("GET", "requests/\(Address.segment(id))")
    }

    /// The recording as an HTTP archive (HAR 1.2), for a browser's network panel.
    ///
    /// - Throws: ``UnderstudyError``.
    public func har() async throws -> Data { try await send("GET", "requests", query: [("format", "har")]) }

    /// Empties the recording.
    ///
    /// - Throws: ``UnderstudyError``.
    public func forgetRequests() async throws { try await send("DELETE", "requests") }
}
