import HTTPClient
import HTTPServer
import JSON
import ModelContextProtocol
import Understudy

/// Calls the daemon's control API for the tools of coding assistants.
struct DaemonAccess: Sendable {
    struct Answer {
        let status: Int
        /// The JSON body of the control API's answer; null if it has no body.
        let json: JSONValue

        var isSuccess: Bool { (200..<300).contains(status) }
    }

    let supply: DaemonSupply

    /// Calls the control API. Throws an error if the API refuses the call.
    ///
    /// - Parameters:
    ///   - path: the path below the control API's root.
    ///   - query: parameters; those without a value are left out.
    ///   - subject: the test world that the call is for, or the daemon.
    @discardableResult
    func call(
        _ method: String, _ path: String, query: [(String, String?)] = [], body: JSONValue? = nil,
        about subject: DaemonSupply.Subject
    ) throws(ToolFailure) -> JSONValue {
        let answer = try ask(method, path, query: query, body: body, about: subject)
        guard answer.isSuccess else { throw DaemonAccess.failure(answer) }
        return answer.json
    }

    /// Calls the control API, and returns its answer as the tool's answer, shortened if it is too long.
    func answer(
        _ method: String, _ path: String, query: [(String, String?)] = [], body: JSONValue? = nil,
        about subject: DaemonSupply.Subject, as schema: Schema
    ) throws(ToolFailure) -> ToolAnswer {
        let json = try call(method, path, query: query, body: body, about: subject)
        return .object(try AnswerSize.fitted(json.object ?? JSONObject(), schema))
    }

    /// Calls the control API, and returns its answer even if the status is an error.
    func ask(
        _ method: String, _ path: String, query: [(String, String?)] = [], body: JSONValue? = nil,
        about subject: DaemonSupply.Subject
    ) throws(ToolFailure) -> Answer {
        let found = try fetch(method, path, query: query, body: body, about: subject)
        let json = (try? JSONValue(parsing: found.body, limits: .answer)) ?? .null
        guard found.status == 204 || json.object != nil else {
            throw ToolFailure(
                "the server at \(supply.client(.daemon).base) answered \(found.status) without JSON: it isn't an "
                    + "Understudy daemon, or the request didn't reach one. Set UNDERSTUDY_URL to the daemon's address.")
        }
        return Answer(status: found.status, json: json)
    }

    /// Calls the control API, and returns the status and the bytes of its answer.
    func fetch(
        _ method: String, _ path: String, query: [(String, String?)] = [], body: JSONValue? = nil,
        about subject: DaemonSupply.Subject
    ) throws(ToolFailure) -> OutgoingRequest.Answer {
        let fields = query.compactMap { name, value in
            value.map { "\(name)=\(PercentCoding.encode(Array($0.utf8)))" }
        }
        let target = fields.isEmpty ? path : "\(path)?\(fields.joined(separator: "&"))"
        do throws(ConnectionProblem) {
            return try supply.ask(method, target, body: body?.serialized() ?? [], about: subject)
        } catch {
            throw ToolFailure(
                "no Understudy daemon answers at \(error.url) (\(error.reason)). Start one with \"understudy serve\", "
                    + "which listens on \(DaemonClient.defaultURL), or have this server start one with \"understudy "
                    + "mcp --start\"; UNDERSTUDY_URL sets another address.")
        }
    }

    /// Returns the list that a member of the control API's answer contains. Throws an error if the member has no list.
    static func list(_ name: String, in answer: JSONValue) throws(ToolFailure) -> [JSONValue] {
        guard let list = answer[name]?.array else {
            throw ToolFailure(
                "the response has no list \"\(name)\": it isn't from an Understudy daemon of this version")
        }
        return list
    }

    static func segment(_ text: String) -> String { PercentCoding.encode(Array(text.utf8)) }

    /// Returns the error for a call that the control API has refused. It says what is wrong, and in which member of the
    /// body.
    static func failure(_ answer: Answer) -> ToolFailure {
        let error = answer.json["error"]
        var faults = (error?["faults"]?.array ?? []).compactMap { fault -> String? in
            guard let path = fault["path"]?.string, let message = fault["message"]?.string else { return nil }
            return "\(path): \(message)"
        }
        if faults.isEmpty, let message = error?["message"]?.string {
            faults = [(error?["path"]?.string.map { "\($0): " } ?? "") + message]
        }
        if let more = error?["more"]?.string { faults.append(more) }
        if answer.status == 401 {
            faults.append("give the token to \"understudy mcp\" in the environment variable UNDERSTUDY_CONTROL_TOKEN")
        }
        let text = faults.isEmpty ? "the daemon answered \(answer.status)" : faults.joined(separator: "\n")
        return ToolFailure(text)
    }
}
