import Foundation

/// A failed call of Understudy's control API: the daemon refused the call, couldn't be reached, or gave an unusable
/// answer.
public struct UnderstudyError: Error, Sendable, Hashable, LocalizedError, CustomStringConvertible {
    /// The failed call of the control API, as a method and a path, such as `POST outcomes`.
    public let call: String
    /// The HTTP status of the answer that refused the call; `nil` for an error that this client found, such as an
    /// unreachable daemon.
    public let status: Int?
    /// The name of the error, such as `noSuchAccount`. The names `unreachable`, `notADaemon`, `invalidURL`,
    /// `invalidWorldName` and `unexpectedAnswer` come from this client, not from the daemon. For an answer without a
    /// name, it is `status` and the HTTP status, such as `status502`.
    public let code: String
    /// The reason why the call of the control API failed, in words.
    public let message: String
    /// The part of the request that is wrong, as a path in its JSON, such as `$.account`; `nil` if the error names no
    /// part.
    public let path: String?

    init(call: String, status: Int? = nil, code: String, message: String, path: String? = nil) {
        self.call = call
        self.status = status
        self.code = code
        self.message = message
        self.path = path
    }

    /// Makes the error for a request to the control API that the daemon refused or another server answered.
    init(_ answer: DaemonAnswer, to call: Call, at base: String) {
        let error = (try? JSONDecoder().decode(JSONValue.self, from: answer.body))?["error"]
        guard answer.isDaemons || error != nil else {
            self.init(
                call: call.name, status: answer.status, code: "notADaemon",
                message: "the server at \(base) isn't Understudy: its answer has no header Understudy-Request")
            return
        }
        self.init(
            call: call.name, status: answer.status,
            code: error?["code"]?.string ?? error?["name"]?.string ?? "status\(answer.status)",
            message: error?["message"]?.string ?? String(decoding: answer.body.prefix(1_000), as: UTF8.self),
            path: error?["path"]?.string)
    }

    /// The failed call of the control API, the error, and the wrong part of the request, as a text.
    public var description: String {
        let place = path.map { "\($0): " } ?? ""
        return "\(call)\(status.map { " was answered \($0)" } ?? "") (\(code)): \(place)\(message)"
    }

    /// The failed call of the control API, the error, and the wrong part of the request, as a text.
    public var errorDescription: String? { description }
}
