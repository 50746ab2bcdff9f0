extension World {
    /// Any call of the control API, for what has no method here.
    ///
    /// - Parameters:
    ///   - method: `GET`, `POST`…
    ///   - path: the path below `/_understudy/v1/`, with its query.
    ///   - body: the body.
    /// - Returns: The answer's body; `null` where it has none.
    /// - Throws: ``UnderstudyError``.
    @discardableResult
    public func call(_ method: String, _ path: String, body: JSONValue? = nil) async throws -> JSONValue {
        let call = Call(method: method, path: path, body: try body.map { try Wire.encode($0) })
        let answer = try await send(call)
        return answer.isEmpty ? .null : try Wire.decode(answer, of: call)
    }
}
