import EmulatorCore
import HTTPServer
import JSON

/// The parameters of a call to the token or device endpoint, from the query and from a form or JSON. The client's can
/// also be in Basic authentication.
struct TokenCall: Sendable {
    /// The fields. If several have the same name, the last one counts.
    private let fields: [(name: String, value: String)]
    private let basic: (user: String, password: String)?

    init(_ request: Request) {
        var fields = request.queryForm.fields.map { (name: $0.name, value: $0.value) }
        if request.hasJSONBody {
            for member in (try? JSONValue(parsing: request.body))?.object?.members ?? [] {
                if let text = member.value.string { fields.append((name: member.key, value: text)) }
            }
        } else {
            fields += request.bodyForm.fields.lazy.map { (name: $0.name, value: $0.value) }
        }
        self.fields = fields
        basic = BasicCredentials.read(request)
    }

    subscript(name: String) -> String? { fields.last { $0.name == name }?.value }

    var clientID: String { self["client_id"] ?? basic?.user ?? "" }
    var clientSecret: String? { self["client_secret"] ?? basic?.password }
}
