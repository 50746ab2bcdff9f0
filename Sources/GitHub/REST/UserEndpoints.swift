import HTTPServer
import JSON
import EmulatorCore

// https://docs.github.com/rest/users/users, https://docs.github.com/rest/users/emails
//
// Quirks: `email` is the public address or null. All addresses are at /user/emails, which is 404 for a token without
// the scope. The private part of the profile needs the scope `user` or `read:user`.

extension GitHubProvider {
    static let userEndpoints: [RESTEndpoint] = [
        RESTEndpoint(
            "GET", "/user", "users/users#get-the-authenticated-user", .signedIn, accepted: [], title: "who signed in",
            step: Step(.userInfo, "ask who it is"), remarks: remarks
        ) { call in
            guard let account = call.viewer.account else { return call.notFound(because: "nobody is signed in") }
            // How much of the private part a GitHub App's token shows isn't documented; the plan needs a permission.
            let isPrivate =
                call.viewer.app?.isGitHubApp ?? false
                ? call.viewer.may([], permission: "plan") : call.viewer.may([.user, .readUser])
            return call.profile(of: account, isPrivate: isPrivate)
        },
        RESTEndpoint(
            "GET", "/user/emails", "users/emails#list-email-addresses-for-the-authenticated-user",
            .person(scopes: [.user, .userEmail], permission: "emails", refusal: .notFound), title: "their addresses",
            step: Step(.userInfo, "ask for e-mail addresses")
        ) { call in
            call.list(call.viewer.account.map { UserDocument($0, call.base).emails } ?? [])
        },
        RESTEndpoint(
            "GET", "/user/public_emails", "users/emails#list-public-email-addresses-for-the-authenticated-user",
            .person(scopes: [.user, .userEmail], permission: "emails", refusal: .notFound)
        ) { call in
            let emails = call.viewer.account.map { UserDocument($0, call.base).emails } ?? []
            return call.list(emails.filter { $0["visibility"]?.string == "public" })
        },
        RESTEndpoint("GET", "/users/:login", "users/users#get-a-user") { call in
            if let account = call.account(login: call.parameter("login")) { return shown(account, call) }
            // GitHub also shows organizations at this path.
            guard let organization = call.directory.organization(call.parameter("login")) else {
                return call.notFound(because: "nobody has the login \(Diagnosis.quote(call.parameter("login")))")
            }
            return .ok(OrganizationDocument(organization, call.base).full(), lastModified: organization.updatedAt.text)
        },
        RESTEndpoint("GET", "/user/:account_id", "users/users#get-a-user-using-their-id") { call in
            // An ID has only digits. Other texts belong to addresses such as /user/repos, which aren't served.
            guard call.parameter("account_id").utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                return call.notServed()
            }
            let account = Int(call.parameter("account_id")).flatMap { id in
                call.exchange.world.read { $0.first(Account.byIdentifier, "github.id:\(id)") }
            }
            return account.map { shown($0, call) }
                ?? call.notFound(because: "nobody has the number \(Diagnosis.quote(call.parameter("account_id")))")
        },
        RESTEndpoint(
            "GET", "/user/installations",
            "apps/installations#list-app-installations-accessible-to-the-user-access-token", .signedIn
        ) {
            installations($0)
        },
    ]

    private static func shown(_ account: Account, _ call: RESTCall) -> RESTAnswer {
        call.profile(of: account, isPrivate: false)
    }

    /// Returns the installations of the GitHub App that the person can see.
    private static func installations(_ call: RESTCall) -> RESTAnswer {
        guard let account = call.viewer.account, let app = call.viewer.app, let details = app.details else {
            return RESTAnswer.error(
                403,
                "You must authenticate with an access token authorized to a GitHub App in order to list installations",
                call.documentation
            ).because("only a GitHub App's user token (ghu_) may ask this")
        }
        let visible = details.installations(at: account.github.orgs + [account.github.login])
        let installations = visible.map { number, login -> JSONValue in
            let organization = call.directory.organization(login)
            let (owner, kind) =
                organization.map { (OrganizationDocument($0, call.base).simple(), "Organization") }
                ?? (UserDocument(account, call.base).simple(), "User")
            let id = Int64(details.id) * 100 + Int64(number)
            let permissions = details.permissions.sorted { $0.key < $1.key }.map {
                ($0.key, JSONValue.string($0.value))
            }
            return [
                "id": .integer(id), "account": .object(owner), "repository_selection": "all",
                "access_tokens_url": .string("\(call.base.api)/app/installations/\(id)/access_tokens"),
                "repositories_url": .string("\(call.base.api)/installation/repositories"),
                "html_url": .string("\(call.base.html)/settings/installations/\(id)"),
                "app_id": .integer(Int64(details.id)), "app_slug": .string(details.slug),
                "target_id": owner["id"] ?? .null, "target_type": .string(kind),
                "permissions": .object(JSONObject(permissions)), "events": [], "single_file_name": .null,
                "suspended_by": .null, "suspended_at": .null,
            ]
        }
        return call.countedList("installations", installations)
    }
}

extension GitHubProvider {
    /// <https://docs.github.com/rest/users/users#get-the-authenticated-user>
    private static func remarks(on exchange: RecordedExchange, in flow: [RecordedExchange]) -> [String] {
        guard exchange.response.status == 200,
            let user = try? JSONValue(parsing: exchange.response.body, limits: .answer), user["email"] == .null
        else { return [] }
        return [
            "email is null because the person shows no address in public: ask for the scope user:email, and read GET /user/emails."
        ]
    }
}

extension RESTEndpoint.Access {
    /// Anybody with a token, with any scopes.
    static let signedIn = RESTEndpoint.Access.person(scopes: [], permission: nil, refusal: .notFound)
}
