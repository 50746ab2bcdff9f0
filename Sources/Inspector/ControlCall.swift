import Control
import EmulatorCore
import HTTPServer
import JSON

/// A refusal of a call of the control API, or of an action that was chosen on the page of an account or a user.
struct CallRefusal: Error, Sendable {
    let status: Int
    let message: String
    /// The path of the wrong member in the call's body, such as `$.effect.delay`; `nil` if no member was wrong.
    var path: String?
    /// The mistakes in the call's body, each with its path and message. The list is empty if the call was refused for
    /// another reason.
    var issues: [SchemaForm.Fault] = []
    /// A text that says how many further mistakes the control API found but didn't list.
    var more: String?

    /// The mistakes in a refused call's body, to be shown beside the fields of a form. Without such mistakes, the list
    /// has only the refusal's own message.
    var faults: [SchemaForm.Fault] { issues.isEmpty ? [(path: path, message: message)] : issues }
    var diagnosis: Diagnosis { Diagnosis("\(path.map { "\($0): " } ?? "")\(message)") }
}

extension Inspector {
    static func segment(_ text: String) -> String { PercentCoding.encode(Array(text.utf8)) }

    /// Calls the control API in the test world of the page. `path` is below the API's root and percent-encoded, such as
    /// `faults/fault-1`.
    ///
    /// - Throws: The control API's refusal.
    func call(
        _ method: String, _ path: String, _ body: JSONValue? = nil, in exchange: Exchange
    ) async throws(CallRefusal) -> JSONValue {
        try await call(method, path, bytes: body.map { $0.serialized() } ?? [], in: exchange)
    }

    /// Calls the control API with a body that the user has typed, which may not be valid JSON.
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

    /// Returns the JSON schema of the body of a call to the control API, such as `POST faults`.
    func schema(of method: String, _ path: String) -> Schema {
        let call = control.calls.first { $0.method == method && $0.path == "\(ControlAPI.root)/\(path)" }
        return call?.call?.body?.schema ?? .any
    }

    /// Performs `change` by calls of the control API. If one of these is refused, returns the page that `refused` makes
    /// of the refusal.
    func trying(
        _ change: () async throws -> Response, refused: (CallRefusal) async throws -> Response
    ) async throws -> Response {
        do { return try await change() } catch let error as CallRefusal { return try await refused(error) } catch let
            error as InspectedRefusal
        { return try await refused(CallRefusal(status: error.status, message: error.message, path: error.path)) }
    }

    /// Returns an HTML form that changes something. It is posted to `path` below the inspector's address, with the
    /// secret that protects against forged requests.
    func form(
        to path: String, _ exchange: Exchange, _ attributes: Attributes = [:], _ content: HTML?...
    ) -> HTML {
        .of(
            "form", attributes.after(["method": "post", "action": exchange.inspector(path)]), formToken.field,
            .group(content.compactMap { $0 }))
    }

    /// Returns a button that posts one change to the inspector, with `fields` as hidden fields of the button's form.
    func action(
        _ exchange: Exchange, _ path: String, _ label: String, _ kind: String = "", spoken: String? = nil,
        _ fields: KeyValuePairs<String, String> = [:]
    ) -> HTML {
        form(
            to: path, exchange, ["class": "inline"], .group(fields.map { .hidden($0.key, $0.value) }),
            .button(label, spoken: spoken, kind))
    }

    /// Redirects to the page at `path` below the inspector's address, after a form has changed something.
    func changed(_ exchange: Exchange, show path: String) -> Response {
        .redirect(to: exchange.inspector(path), status: 303)
    }
}
