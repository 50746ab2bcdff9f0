import HTTPServer
import JSON
import EmulatorCore

/// The form of the token and device endpoints' answers: form encoded, unless `Accept` says otherwise.
/// <https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#response>
enum AnswerFormat: Sendable {
    typealias Field = (name: String, value: JSONValue)

    case form
    case json
    case xml

    /// Reads `Accept`. The first known type decides; weights are ignored, because no client sends them here.
    init(accept: String?) {
        self = .form
        for type in (accept ?? "").utf8.split(separator: UInt8(ascii: ",")) {
            switch Substring(type).mediaType {
            case "application/json", "text/json":
                self = .json
                return
            case "application/xml", "text/xml":
                self = .xml
                return
            case "application/x-www-form-urlencoded": return
            default: continue
            }
        }
    }

    /// Returns a response. The fields keep their order in JSON, and are sorted in a form.
    func response(_ fields: [Field], status: Int = 200) -> Response {
        let headers = [
            (name: "Cache-Control", value: "max-age=0, private, must-revalidate"),
            (name: "Vary", value: "Accept-Encoding, Accept, X-Requested-With"),
            (name: "X-Content-Type-Options", value: "nosniff"), (name: "X-Frame-Options", value: "deny"),
        ]
        switch self {
        case .form:
            let form = Form(
                fields: fields.sorted { $0.name < $1.name }.map { Form.Field(name: $0.name, value: text($0.value)) })
            return Response(
                status: status, contentType: "application/x-www-form-urlencoded; charset=utf-8", headers: headers,
                body: form.encoded)
        case .json:
            return Response(
                status: status, contentType: "application/json; charset=utf-8", headers: headers,
                body: JSONValue.object(JSONObject(fields.map { ($0.name, $0.value) })).serialized())
        case .xml:
            let elements = fields.map { "  <\($0.name)>\(HTML.escape(text($0.value)))</\($0.name)>\n" }.joined()
            return Response(
                status: status, contentType: "application/xml; charset=utf-8", headers: headers,
                body: "<OAuth>\n\(elements)</OAuth>\n")
        }
    }

    private func text(_ value: JSONValue) -> String { value.string ?? value.text }
}
