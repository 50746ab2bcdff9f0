import Control
import EmulatorCore
import HTTPServer
import JSON

/// What the control API refused.
struct CallRefusal: Error, Sendable {
    let status: Int
    /// What was wrong, in a sentence.
    let message: String
    /// Where in the body that was sent, such as `$.effect.delay`; `nil` where it is about no member.
    let path: String?
    /// All that is wrong with the body, if it is the body: path and message of each.
    let issues: [(path: String, message: String)]
    /// How many more there are, in words.
    let more: String?
}

extension Inspector {
    /// A call of the control API in the request's world: `path` as in `faults/fault-1`, percent-encoded.
    ///
    /// - Throws: What the control API refuses.
    func call(
        _ method: String, _ path: String, _ body: JSONValue? = nil, in exchange: Exchange
    ) async throws(CallRefusal) -> JSONValue {
        try await call(method, path, bytes: body.map { $0.serialized() } ?? [], in: exchange)
    }

    /// The same with a body that somebody wrote, which needn't be JSON.
    ///
    /// - Throws: What the control API refuses.
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

    /// A form that changes something: it is sent to `path` below the inspector's address, and carries the token.
    func form(
        to path: String, _ exchange: Exchange, _ attributes: [(String, String?)] = [], _ content: [HTML]
    ) -> HTML {
        .element(
            "form",
            attributes: [(name: "method", value: "post"), (name: "action", value: exchange.inspector(path))]
                + attributes.map { (name: $0.0, value: $0.1) },
            children: [formToken.field] + content)
    }

    /// After a change: the page at `path` below the inspector's address.
    func changed(_ exchange: Exchange, show path: String) -> Response {
        .redirect(to: exchange.inspector(path), status: 303)
    }
}
