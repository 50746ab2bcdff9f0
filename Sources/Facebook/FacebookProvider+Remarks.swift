import EmulatorCore
import HTTPServer
import JSON

extension FacebookProvider {
    /// <https://developers.facebook.com/docs/graph-api/overview#fields>
    package func remarks(on exchange: RecordedExchange, in flow: [RecordedExchange]) -> [String] {
        guard exchange.host == "graph.facebook.com", exchange.path.hasSuffix("/me"), exchange.response.status == 200
        else { return [] }
        guard let fields = exchange.request.queryForm["fields"] else {
            return ["Without fields, the Graph API answers with id and name only: ask for fields=id,name,email."]
        }
        let user = try? JSONValue(parsing: exchange.response.body, limits: .answer)
        guard fields.split(separator: ",").contains("email"), let user, user["email"] == nil else { return [] }
        return [
            "There is no email: the permission email wasn't asked for or granted, or the person has no confirmed address. Plan for both."
        ]
    }
}
