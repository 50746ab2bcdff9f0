import Control
import EmulatorCore
import HTTPServer
import JSON

/// A refusal by the control API, or of an action on somebody's page.
struct CallRefusal: Error, Sendable {
    let status: Int
    /// A sentence that says what was wrong.
    let message: String
    /// The path in the body, such as `$.effect.delay`; `nil` if no member of it was wrong.
    var path: String?
    /// The issues of the body, each with its path and message; empty if something other than the body was wrong.
    var issues: [SchemaForm.Fault] = []
    /// A text that says how many more issues there are.
    var more: String?

    /// The issues, for the fields of a form.
    var faults: [SchemaForm.Fault] { issues.isEmpty ? [(path: path, message: message)] : issues }
    var diagnosis: Diagnosis { Diagnosis("\(path.map { "\($0): " } ?? "")\(message)") }
}

extension Inspector {
    /// Returns a text as one segment of the path of a call.
    static func segment(_ text: String) -> String { PercentCoding.encode(Array(text.utf8)) }

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
        guard !(200..<300).contains(answer.status) else { return value }
        let error = value["error"] ?? [:]
        throw CallRefusal(
            status: answer.status, message: error["message"]?.string ?? "refused with \(answer.status)",
            path: error["path"]?.string,
            issues: (error["faults"]?.array ?? []).map { ($0["path"]?.string, $0["message"]?.string ?? "") },
            more: error["more"]?.string)
    }

    /// Returns the schema of a call's body, such as that of `POST faults`.
    func schema(of method: String, _ path: String) -> Schema {
        let call = control.calls.first { $0.method == method && $0.path == "\(ControlAPI.root)/\(path)" }
        return call?.call?.body?.schema ?? .any
    }

    /// Makes a change; a refusal of it becomes the answer of `refused`.
    func trying(
        _ change: () async throws -> Response, refused: (CallRefusal) async throws -> Response
    ) async throws -> Response {
        do { return try await change() } catch let error as CallRefusal { return try await refused(error) } catch let
            error as InspectedRefusal
        { return try await refused(CallRefusal(status: error.status, message: error.message, path: error.path)) }
    }

    /// Returns a form that changes something: it is sent to `path` below the inspector's address, with the token.
    func form(
        to path: String, _ exchange: Exchange, _ attributes: Attributes = [:], _ content: HTML?...
    ) -> HTML {
        .of(
            "form", attributes.after(["method": "post", "action": exchange.inspector(path)]), formToken.field,
            .group(content.compactMap { $0 }))
    }

    /// Returns a button that makes one change. `fields` are sent with it.
    func action(
        _ exchange: Exchange, _ path: String, _ label: String, _ kind: String = "", spoken: String? = nil,
        _ fields: KeyValuePairs<String, String> = [:]
    ) -> HTML {
        form(
            to: path, exchange, ["class": "inline"], .group(fields.map { .hidden($0.key, $0.value) }),
            .button(label, spoken: spoken, kind))
    }

    /// Redirects to the page at `path` below the inspector's address, after a change.
    func changed(_ exchange: Exchange, show path: String) -> Response {
        .redirect(to: exchange.inspector(path), status: 303)
    }
}
