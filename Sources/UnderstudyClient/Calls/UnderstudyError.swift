import Foundation

/// A failed call of the control API: the daemon refused it, or couldn't be reached.
public struct UnderstudyError: Error, Sendable, Hashable, LocalizedError, CustomStringConvertible {
    /// The call, such as `POST outcomes`.
    public let call: String
    /// The answer's HTTP status; `nil` if there was no answer.
    public let status: Int?
    /// The error's name, such as `noSuchAccount`. The names `unreachable`, `notADaemon`, `invalidURL`,
    /// `invalidWorldName` and `unexpectedAnswer` come from this client, not from the daemon.
    public let code: String
    /// A description of the error.
    public let message: String
    /// The faulty member of the call, such as `$.account`.
    public let path: String?

    init(call: String, status: Int? = nil, code: String, message: String, path: String? = nil) {
        self.call = call
        self.status = status
        self.code = code
        self.message = message
        self.path = path
    }

    /// Makes an error of a refusal, or of an answer that isn't a daemon's.
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

    /// The call, the error and the faulty member.
    public var description: String {
        let place = path.map { "\($0): " } ?? ""
        return "\(call)\(status.map { " was answered \($0)" } ?? "") (\(code)): \(place)\(message)"
    }

    /// The call, the error and the faulty member.
    public var errorDescription: String? { description }
}
