import Foundation

/// A call of the control API that came to nothing: the daemon refused it, or wasn't reached.
public struct UnderstudyError: Error, Sendable, Hashable, LocalizedError, CustomStringConvertible {
    /// The call, such as `POST outcomes`.
    public let call: String
    /// The answer's HTTP status; `nil` when there was none.
    public let status: Int?
    /// What it is called, such as `noSuchAccount`; `unreachable`, `notADaemon`, `invalidURL`, `invalidWorldName` and `unexpectedAnswer`
    /// are this client's own.
    public let code: String
    /// What was wrong, in words.
    public let message: String
    /// Where in the call it was wrong, such as `$.account`.
    public let path: String?

    init(call: String, status: Int? = nil, code: String, message: String, path: String? = nil) {
        self.call = call
        self.status = status
        self.code = code
        self.message = message
        self.path = path
    }

    /// What an answer says that isn't of success, or that isn't of a daemon's at all.
    init(_ answer: Answer, to call: Call, at base: String) {
        let error = (try? JSONDecoder().decode(JSONValue.self, from: answer.body))?["error"]
        guard answer.isDaemons || error != nil else {
            self.init(
                call: call.name, status: answer.status, code: "notADaemon",
                message: "what answers at \(base) is no daemon: its answer has no Understudy-Request")
            return
        }
        self.init(
            call: call.name, status: answer.status,
            code: error?["code"]?.string ?? error?["name"]?.string ?? "status\(answer.status)",
            message: error?["message"]?.string ?? String(decoding: answer.body.prefix(1_000), as: UTF8.self),
            path: error?["path"]?.string)
    }

    /// The call, what was wrong, and where.
    public var description: String {
        let place = path.map { "\($0): " } ?? ""
        return "\(call)\(status.map { " was answered \($0)" } ?? "") (\(code)): \(place)\(message)"
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
