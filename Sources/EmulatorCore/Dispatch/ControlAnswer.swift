import HTTPServer
import JOSE
import JSON

/// Makes the control API's answers: JSON, and errors as `{"error":{"code","message","path"}}`.
package enum ControlAnswer {
    package static func ok(_ value: JSONValue, status: Int = 200) -> Response {
        Response(status: status, contentType: "application/json", body: value.serialized() + "\n".utf8)
    }

    package static func error(_ status: Int, _ code: String, _ message: String, path: String? = nil) -> Response {
        // The message may quote the request.
        let message = BoundedText.shortened(message, to: 2_000)
        var error = JSONObject([("code", .string(code)), ("message", .string(message))])
        error["path"] = path.map { .string($0) }
        let place = path.map { "\($0): " } ?? ""
        return ok(["error": .object(error)], status: status).diagnosed(Diagnosis(place + message))
    }

    /// The limits of the list of errors in a refusal of the control API: the number of errors, and the list's size in
    /// bytes.
    private static let listed = (issues: 20, bytes: 12_000)

    /// Returns the control API's refusal of a request whose body or query has errors. The refusal has the path and
    /// message of the first error, and a list of at most twenty errors in `faults`.
    package static func error(_ issues: [Issue], code: String = "invalidBody") -> Response {
        guard let first = issues.first else { return error(400, code, "the request's body is invalid") }
        var response = error(400, code, first.message, path: first.path)
        var list: [JSONValue] = []
        var size = 0
        for issue in issues.prefix(listed.issues) {
            let entry: JSONValue = ["path": .string(issue.path), "message": .string(issue.message)]
            size += entry.serialized().count
            guard size <= listed.bytes || list.isEmpty else { break }
            list.append(entry)
        }
        var error = JSONObject([
            ("code", .string(code)), ("message", .string(first.message)), ("path", .string(first.path)),
            ("faults", .array(list)),
        ])
        if issues.count > list.count { error["more"] = .string(Issues.more(issues.count - list.count)) }
        response.body = Array((JSONValue.object(JSONObject([("error", .object(error))])).text + "\n").utf8)
        return response
    }
}

/// An error of a control API call, with the response that refuses the request.
package struct ControlRefusal: AnswerableError {
    /// A closure that returns the refusal of a request whose client may not control the daemon; `nil` if the client
    /// may. `isControl` is whether the request is a call of the control API.
    package typealias Check = @Sendable (Exchange, _ isControl: Bool) -> Response?

    package let response: Response

    package init(_ response: Response) { self.response = response }

    /// Returns the control API's refusal of a request for a token that can't be signed.
    package static func signing(_ error: KeyError) -> ControlRefusal {
        ControlRefusal(ControlAnswer.error(500, "signing", error.description))
    }
}

extension Exchange {
    /// Returns the request's body as JSON that conforms to `schema`. An empty body counts as an empty object.
    package func body(_ schema: Schema) throws(ControlRefusal) -> LocatedJSON {
        let value: JSONValue
        do { value = request.body.isEmpty ? [:] : try JSONValue(parsing: request.body, limits: .control) } catch {
            throw ControlRefusal(
                ControlAnswer.error(400, "notJSON", "the request's body can't be read as JSON: \(error)", path: "$"))
        }
        let json = LocatedJSON(value, file: "body")
        let issues = schema.issues(in: json)
        guard issues.isEmpty else { throw ControlRefusal(ControlAnswer.error(issues)) }
        return json
    }

    package func body<Body: SchemaObject>(_ type: Body.Type) throws(ControlRefusal) -> Body {
        Body(reading: try body(type.schema).value)
    }

    func query<Query: SchemaObject>(_ type: Query.Type) throws(ControlRefusal) -> Query {
        let form = request.queryForm
        if let name = form.repeatedName {
            throw ControlRefusal(
                ControlAnswer.error(
                    400, "invalidQuery", "the parameter \(Diagnosis.quote(name)) occurs twice: send it once", path: "$")
            )
        }
        let sent = type.schema.object(ofQuery: form.fields.map { (name: $0.name, value: $0.value) })
        do throws(Issues) { return try type.init(checking: LocatedJSON(sent, file: "query")) } catch {
            throw ControlRefusal(ControlAnswer.error(error.all, code: "invalidQuery"))
        }
    }

    package func body<Body>(_ rule: ComposedRule<Body>) throws(ControlRefusal) -> Body {
        rule.value(reading: try body(rule.schema).value)
    }
}
