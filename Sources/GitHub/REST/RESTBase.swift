import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time

/// The base URLs in responses of GitHub's REST API. They lead to this daemon, at the address by which the client has
/// reached it.
struct RESTBase: Sendable {
    /// The base of API URLs, such as `http://localhost:9099/api.github.com`, or `…/github.com/api/v3` for clients that
    /// use GitHub Enterprise's layout.
    let api: String
    /// The base of URLs of GitHub's pages, such as `http://localhost:9099/github.com`.
    let html: String
    private let avatars: String

    init(_ address: Address, isEnterprise: Bool) {
        html = address.base(of: GitHubProvider.host)
        api = isEnterprise ? html + GitHubProvider.enterprisePrefix : address.base(of: GitHubProvider.apiHost)
        avatars = address.base(of: GitHubProvider.avatarHost)
    }

    func avatar(_ id: Int) -> String { "\(avatars)/u/\(id)?v=4" }
}

/// A person as GitHub's REST API represents users.
struct UserDocument: Sendable {
    private let account: Account
    private let profile: GitHubProfile
    private let base: RESTBase

    init(_ account: Account, _ base: RESTBase) {
        self.account = account
        profile = account.github
        self.base = base
    }

    /// Returns the short form of a user, as other objects of GitHub's REST API contain it. The members are in GitHub's
    /// order.
    func simple(isPrivate: Bool = false) -> JSONObject {
        let url = "\(base.api)/users/\(profile.login)"
        return JSONObject([
            ("login", .string(profile.login)), ("id", .integer(Int64(profile.id))),
            ("node_id", .string(UserDocument.nodeID("User", profile.id))),
            ("avatar_url", .string(base.avatar(profile.id))), ("gravatar_id", ""), ("url", .string(url)),
            ("html_url", .string("\(base.html)/\(profile.login)")), ("followers_url", .string("\(url)/followers")),
            ("following_url", .string("\(url)/following{/other_user}")),
            ("gists_url", .string("\(url)/gists{/gist_id}")),
            ("starred_url", .string("\(url)/starred{/owner}{/repo}")),
            ("subscriptions_url", .string("\(url)/subscriptions")), ("organizations_url", .string("\(url)/orgs")),
            ("repos_url", .string("\(url)/repos")), ("events_url", .string("\(url)/events{/privacy}")),
            ("received_events_url", .string("\(url)/received_events")), ("type", "User"),
            ("user_view_type", isPrivate ? "private" : "public"), ("site_admin", .bool(profile.siteAdmin)),
        ])
    }

    /// Returns a user's whole profile, as in `GET /user`. If `isPrivate` is true, the profile includes its private
    /// members.
    func full(isPrivate: Bool) -> JSONObject {
        let email = UserDocument.text(publicEmail)
        let common = simple(isPrivate: isPrivate).members.map { ($0.key, $0.value) }
        let shown: [(String, JSONValue)] = [
            ("name", UserDocument.text(profile.name)), ("company", UserDocument.text(profile.company)),
            ("blog", .string(profile.blog ?? "")), ("location", UserDocument.text(profile.location)), ("email", email),
            ("hireable", profile.hireable.map { .bool($0) } ?? .null), ("bio", UserDocument.text(profile.bio)),
            ("twitter_username", UserDocument.text(profile.twitterUsername)), ("notification_email", email),
            ("public_repos", .integer(Int64(profile.publicRepos))),
            ("public_gists", .integer(Int64(profile.publicGists))), ("followers", .integer(Int64(profile.followers))),
            ("following", .integer(Int64(profile.following))), ("created_at", .string(profile.createdAt.text)),
            ("updated_at", .string(profile.updatedAt.text)),
        ]
        return JSONObject(common + shown + (isPrivate ? privateFields : []))
    }

    private var privateFields: [(String, JSONValue)] {
        let isPaid = profile.plan != "free"
        let plan: JSONValue = [
            "name": .string(profile.plan), "space": 976_562_499, "collaborators": 0,
            "private_repos": isPaid ? 9999 : 10_000,
        ]
        return [
            ("private_gists", .integer(Int64(profile.privateGists))),
            ("total_private_repos", .integer(Int64(profile.privateRepos))),
            ("owned_private_repos", .integer(Int64(profile.privateRepos))), ("disk_usage", 0), ("collaborators", 0),
            ("two_factor_authentication", .bool(profile.twoFactorAuthentication)), ("plan", plan),
        ]
    }

    /// The user's primary email address, if it is public and verified.
    private var publicEmail: String? {
        profile.primaryEmail.flatMap { $0.visibility == "public" && $0.verified ? $0.email : nil }
    }

    /// The day (18 July 2017) since which GitHub's no-reply addresses contain the user's number. The addresses of older
    /// accounts don't contain it.
    private static let numberedAddresses = Instant.first + .seconds(1_500_336_000)

    /// The user's email addresses, as `GET /user/emails` returns them. A person whose primary address is private also
    /// has a no-reply address.
    var emails: [JSONValue] {
        var emails = profile.emails
        let hasNoReply = emails.contains { $0.email.hasSuffix("@users.noreply.github.com") }
        if profile.primaryEmail?.visibility == "private", !hasNoReply {
            let number = profile.createdAt < UserDocument.numberedAddresses ? "" : "\(profile.id)+"
            let address = "\(number)\(profile.login)@users.noreply.github.com"
            emails.append(GitHubProfile.Email(email: address, primary: false, verified: true, visibility: nil))
        }
        return emails.map { email in
            [
                "email": .string(email.email), "primary": .bool(email.primary), "verified": .bool(email.verified),
                "visibility": email.primary ? UserDocument.text(email.visibility) : .null,
            ]
        }
    }

    static func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }

    /// Returns a GitHub node ID in the older form, which GitHub still accepts. It is base64 of a text such as
    /// `04:User7`: the length of the type's name, the name, and the object's number.
    static func nodeID(_ type: String, _ id: Int) -> String {
        let length = type.utf8.count < 10 ? "0\(type.utf8.count)" : "\(type.utf8.count)"
        return Base64.encode(Array("\(length):\(type)\(id)".utf8))
    }
}

/// An organization as GitHub's REST API represents it.
struct OrganizationDocument: Sendable {
    private let organization: GitHubSection.Organization
    private let base: RESTBase

    init(_ organization: GitHubSection.Organization, _ base: RESTBase) {
        self.organization = organization
        self.base = base
    }

    func simple() -> JSONObject {
        let url = "\(base.api)/orgs/\(organization.login)"
        return JSONObject([
            ("login", .string(organization.login)), ("id", .integer(Int64(organization.id))),
            ("node_id", .string(UserDocument.nodeID("Organization", organization.id))), ("url", .string(url)),
            ("repos_url", .string("\(url)/repos")), ("events_url", .string("\(url)/events")),
            ("hooks_url", .string("\(url)/hooks")), ("issues_url", .string("\(url)/issues")),
            ("members_url", .string("\(url)/members{/member}")),
            ("public_members_url", .string("\(url)/public_members{/member}")),
            ("avatar_url", .string(base.avatar(organization.id))),
            ("description", UserDocument.text(organization.description)),
        ])
    }

    func full() -> JSONObject {
        let common = simple().members.map { ($0.key, $0.value) }
        return JSONObject(
            common + [
                ("name", UserDocument.text(organization.name)), ("company", UserDocument.text(organization.company)),
                ("blog", UserDocument.text(organization.blog)), ("location", UserDocument.text(organization.location)),
                ("email", UserDocument.text(organization.email)),
                ("twitter_username", UserDocument.text(organization.twitterUsername)),
                ("is_verified", .bool(organization.isVerified)), ("has_organization_projects", true),
                ("has_repository_projects", true), ("public_repos", .integer(Int64(organization.publicRepos))),
                ("public_gists", 0), ("followers", 0), ("following", 0),
                ("html_url", .string("\(base.html)/\(organization.login)")),
                ("created_at", .string(organization.createdAt.text)),
                ("updated_at", .string(organization.updatedAt.text)), ("archived_at", .null), ("type", "Organization"),
            ])
    }

    /// Returns the short form of a team in GitHub's REST API, as in the list of an organization's teams.
    func team(_ team: GitHubSection.Team) -> JSONObject {
        let url = "\(base.api)/organizations/\(organization.id)/team/\(team.id)"
        return JSONObject([
            ("name", .string(team.name)), ("id", .integer(Int64(team.id))),
            ("node_id", .string(UserDocument.nodeID("Team", team.id))), ("slug", .string(team.slug)),
            ("description", UserDocument.text(team.description)), ("privacy", .string(team.privacy)),
            ("notification_setting", "notifications_enabled"), ("url", .string(url)),
            ("html_url", .string("\(base.html)/orgs/\(organization.login)/teams/\(team.slug)")),
            ("members_url", .string("\(url)/members{/member}")), ("repositories_url", .string("\(url)/repos")),
            ("type", "organization"), ("organization_id", .integer(Int64(organization.id))), ("permission", "pull"),
            ("parent", .null),
        ])
    }

    /// Returns the long form of a team in GitHub's REST API, with the number of members and the organization.
    func fullTeam(_ team: GitHubSection.Team) -> JSONObject {
        let members = team.people.count
        return JSONObject(
            self.team(team).members.map { ($0.key, $0.value) } + [
                ("members_count", .integer(Int64(members))), ("repos_count", 0),
                ("created_at", .string(organization.createdAt.text)),
                ("updated_at", .string(organization.updatedAt.text)), ("organization", .object(full())),
            ])
    }
}

// Lists have pages of thirty elements, a hundred at most. `Link` has the neighbouring pages, with `last` if there is a
// `next`.

extension RESTCall {
    func list(_ items: [JSONValue]) -> RESTAnswer { list(items) { $0 } }

    /// Returns a response of GitHub's REST API with one page of a list. `document` makes an item's JSON.
    func list<Item>(_ items: [Item], _ document: (Item) -> JSONValue) -> RESTAnswer {
        let page = page(of: items)
        var answer = RESTAnswer.ok(.array(page.items.map(document)))
        answer.headers = page.headers
        return answer
    }

    /// Returns a response of GitHub's REST API with a list as the member `name`, and the number of the list's items as
    /// `total_count`.
    func countedList(_ name: String, _ items: [JSONValue]) -> RESTAnswer {
        let page = page(of: items)
        let body = JSONObject([("total_count", .integer(Int64(items.count))), (name, .array(page.items))])
        var answer = RESTAnswer.ok(body)
        answer.headers = page.headers
        return answer
    }

    private func page<Item>(of items: [Item]) -> (items: [Item], headers: [(name: String, value: String)]) {
        let query = exchange.request.queryForm
        let size = min(100, max(1, query["per_page"].flatMap { Int($0) } ?? 30))
        let page = min(1_000_000, max(1, query["page"].flatMap { Int($0) } ?? 1))
        let start = min(items.count, (page - 1) * size)
        let shown = Array(items[start..<min(items.count, start + size)])
        let last = max(1, (items.count + size - 1) / size)
        guard last > 1 else { return (shown, []) }
        var links: [String] = []
        func add(_ number: Int, _ relation: String) {
            var form = Form(fields: query.fields.filter { $0.name != "page" })
            form.fields.append(Form.Field(name: "page", value: String(number)))
            links.append("<\(address)?\(form.encoded)>; rel=\"\(relation)\"")
        }
        if page > 1 { add(min(page - 1, last), "prev") }
        if page < last {
            add(page + 1, "next")
            add(last, "last")
        }
        if page > 1 { add(1, "first") }
        return (shown, [(name: "Link", value: links.joined(separator: ", "))])
    }

    /// The URL of the present API request, without its query.
    private var address: String {
        let path = exchange.address.path
        return path.hasPrefix(GitHubProvider.enterprisePrefix) && base.api.hasSuffix(GitHubProvider.enterprisePrefix)
            ? base.html + path : base.api + path
    }
}
