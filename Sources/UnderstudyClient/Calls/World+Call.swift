extension World {
    /// Makes any call of the control API, for calls that have no method here.
    ///
    ///     let status = try await world.call("GET", "health")
    ///
    /// - Parameters:
    ///   - method: `GET`, `POST`…
    ///   - path: the path below `/_understudy/v1/`, with its query.
    ///   - body: the body.
    /// - Returns: The answer's body; `null` if it has none.
    /// - Throws: ``UnderstudyError``.
    @discardableResult
    public func call(_ method: String, _ path: String, body: JSONValue? = nil) async throws -> JSONValue {
        let call = Call(method: method, path: path, body: try body.map { try Wire.encode($0) })
        let answer = try await send(call)
        return answer.isEmpty ? .null : try Wire.decode(answer, of: call)
    }
}
