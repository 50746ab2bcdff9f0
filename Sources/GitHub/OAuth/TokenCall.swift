import EmulatorCore
import HTTPServer
import JSON

/// The parameters of a call to the token or device endpoint: of the query, and of a form or JSON. The client's also come
/// by Basic authentication.
struct TokenCall: Sendable {
    private let fields: [String: String]
    private let basic: (user: String, password: String)?

    init(_ request: Request) {
        var fields: [String: String] = [:]
        for field in request.queryForm.fields { fields[field.name] = field.value }
        if request.hasJSONBody {
            for member in (try? JSONValue(parsing: request.body))?.object?.members ?? [] {
                if let text = member.value.string { fields[member.key] = text }
            }
        } else {
            for field in request.bodyForm.fields { fields[field.name] = field.value }
        }
        self.fields = fields
        basic = BasicCredentials.read(request)
    }

    subscript(name: String) -> String? { fields[name] }

    var clientID: String { fields["client_id"] ?? basic?.user ?? "" }
    var clientSecret: String? { fields["client_secret"] ?? basic?.password }
}
