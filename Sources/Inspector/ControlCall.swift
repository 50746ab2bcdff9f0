import Control
import EmulatorCore
import HTTPServer
import JSON

/// A refusal by the control API.
struct CallRefusal: Error, Sendable {
    let status: Int
    /// A sentence that says what was wrong.
    let message: String
    /// The path in the body, such as `$.effect.delay`; `nil` if no member of it was wrong.
    let path: String?
    /// All that is wrong with the body, if it is the body: path and message of each.
    let issues: [(path: String, message: String)]
    /// A text that says how many more issues there are.
    let more: String?
}

extension Inspector {
    /// Calls the control API in the request's world: `path` is like `faults/fault-1`, percent-encoded.
    ///
    /// - Throws: The control API's refusal.
    func call(
        _ method: String, _ path: String, _ body: JSONValue? = nil, in exchange: Exchange
    ) async throws(CallRefusal) -> JSONValue {
        try await call(method, path, bytes: body.map { $0.serialized() } ?? [], in: exchange)
    }

    /// Calls the control API with a body that a person wrote, which may not be JSON.
    ///
    /// - Throws: The control API's refusal.
    func call(
        _ method: String, _ path: String, bytes: [UInt8], in exchange: Exchange
    ) async throws(CallRefusal) -> JSONValue {
        let answer = await exchange.fetch(method, "localhost", "\(ControlAPI.root)/\(path)", body: bytes)
        let value = answer.body.isEmpty ? [:] : (try? JSONValue(parsing: answer.body, limits: .answer)) ?? [:]
        guard (200..<300).contains(answer.status) else {
            throw CallRefusal(
                status: answer.status, message: value["error"]?["message"]?.string ?? "refused with \(answer.status)",
                path: value["error"]?["path"]?.string,
                issues: (value["error"]?["faults"]?.array ?? []).map {
                    (path: $0["path"]?.string ?? "", message: $0["message"]?.string ?? "")
                }, more: value["error"]?["more"]?.string)
        }
        return value
    }

    /// Returns a form that changes something: it is sent to `path` below the inspector's address, with the token.
    func form(
        to path: String, _ exchange: Exchange, _ attributes: [(String, String?)] = [], _ content: [HTML]
    ) -> HTML {
        .element(
            "form",
            attributes: [(name: "method", value: "post"), (name: "action", value: exchange.inspector(path))]
                + attributes.map { (name: $0.0, value: $0.1) },
            children: [formToken.field] + content)
    }

    /// Redirects to the page at `path` below the inspector's address, after a change.
    func changed(_ exchange: Exchange, show path: String) -> Response {
        .redirect(to: exchange.inspector(path), status: 303)
    }
}
