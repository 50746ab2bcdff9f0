import EmulatorCore
import JSON

extension GitHubProvider {
    /// <https://docs.github.com/rest/users/users#get-the-authenticated-user>
    package func remarks(on exchange: RecordedExchange, in flow: [RecordedExchange]) -> [String] {
        guard exchange.host == "api.github.com", exchange.path == "/user", exchange.response.status == 200,
            let user = try? JSONValue(parsing: exchange.response.body, limits: .answer), user["email"] == .null
        else { return [] }
        return [
            "email is null because the person shows no address in public: ask for the scope user:email, and read GET /user/emails."
        ]
    }
}
