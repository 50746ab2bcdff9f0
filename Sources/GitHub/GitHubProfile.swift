import EmulatorCore
import JSON
import Time

struct GitHubProfile: AccountProfile {
    static let name = "github"
    static let about = "The person at GitHub."

    struct Email: SchemaObject, Codable, Equatable {
        let email: String
        let primary: Bool
        let verified: Bool
        let visibility: String?

        init(email: String, primary: Bool, verified: Bool, visibility: String?) {
            self.email = email
            self.primary = primary
            self.verified = verified
            self.visibility = visibility
        }

        init(_ fields: inout Fields) {
            email = fields("email", .text(.email), "The address.")
            primary = fields("primary", .boolean, default: false, "Whether it is the primary address.")
            verified = fields("verified", .boolean, default: true, "Whether it is verified.")
            visibility = fields.nullable(
                "visibility", .choice(["public", "private"]),
                "Only the primary address has one. A public one is the profile's address.")
        }
    }

    let login: String
    let id: Int
    let name: String?
    let twoFactorAuthentication: Bool
    let emails: [Email]
    let orgs: [String]
    let company: String?
    let blog: String?
    let location: String?
    let bio: String?
    let hireable: Bool?
    let twitterUsername: String?
    let siteAdmin: Bool
    let followers: Int
    let following: Int
    let publicRepos: Int
    let privateRepos: Int
    let publicGists: Int
    let privateGists: Int
    let plan: String
    let createdAt: Instant
    let updatedAt: Instant

    var primaryEmail: Email? { emails.first { $0.primary } ?? emails.first }

    init(_ fields: inout Fields, of account: Account) {
        login = fields.optional("login", .text(.identifier), "The user name; the id by default.") ?? account.id
        id =
            fields.optional("id", .gitHubID, "The numeric user ID; made from the id by default.")
            ?? GitHubSection.number(from: account.id)
        name =
            fields.optional(
                "name", .nullable(.text(.any)), "The name on the profile; the person's own by default.")
            ?? account.fullName
        twoFactorAuthentication = fields(
            "twoFactorAuthentication", .boolean, default: false, "Whether two-factor authentication is on.")
        emails =
            fields.optional(
                "emails", .list(of: Email.self, key: "email"), "Addresses; the person's own by default.")
            ?? [
                Email(
                    email: account.email, primary: true, verified: account.emailVerified, visibility: "private")
            ]
        orgs = fields("orgs", .set(of: .text(.identifier)), default: [], "Organizations, by login.")
        company = fields.nullable("company", .text(.any), "Company, on the profile.")
        blog = fields.nullable("blog", .text(.any), "Website, on the profile.")
        location = fields.nullable("location", .text(.any), "Place, on the profile.")
        bio = fields.nullable("bio", .text(.any), "A few words, on the profile.")
        hireable = fields.nullable("hireable", .boolean, "Whether the profile says available for hire.")
        twitterUsername = fields.nullable("twitterUsername", .text(.any), "Name at Twitter, on the profile.")
        siteAdmin = fields("siteAdmin", .boolean, default: false, "Whether the person works at GitHub.")
        followers = fields("followers", .gitHubCount, default: 0, "The number of the person's followers.")
        following = fields("following", .gitHubCount, default: 0, "The number of people whom the person follows.")
        publicRepos = fields("publicRepos", .gitHubCount, default: 0, "Public repositories.")
        privateRepos = fields(
            "privateRepos", .gitHubCount, default: 0, "Private repositories; only the person sees how many.")
        publicGists = fields("publicGists", .gitHubCount, default: 0, "Public gists.")
        privateGists = fields(
            "privateGists", .gitHubCount, default: 0, "Secret gists; only the person sees how many.")
        plan = fields("plan", .choice(["free", "pro"]), default: "free", "The plan; only the person sees it.")
        createdAt = fields(
            "createdAt", .timestamp, default: .gitHubCreation, "The time at which the account was created.")
        updatedAt = fields("updatedAt", .timestamp, default: .gitHubUpdate, "The time of the profile's last change.")
    }

    var identifiers: [String] {
        uniqueIdentifiers.map(\.identifier) + orgs.map { "github.org:\($0.lowercased())" }
    }

    var uniqueIdentifiers: [(member: String, identifier: String)] {
        [
            (member: "login", identifier: "github.login:\(login.lowercased())"),
            (member: "id", identifier: "github.id:\(id)"),
        ]
    }

    static let hasSearchNames = true

    var searchNames: [String] { [login] }

    static func check(_ references: inout SeedReferences) {
        let profiles = references.accounts.compactMap { $0[name] }
        let organizations = KnownNames(references.root[GitHubSection.name]?["orgs"], "login")
        for profile in profiles {
            for organization in profile["orgs"]?.items ?? [] {
                references.expect(organization, among: organizations, "organization", in: " in github.orgs")
            }
        }
        references.checkUnique(profiles, key: "login", what: "person")
        references.checkUnique(profiles, key: "id", what: "person")
    }

    func issues(in seed: Seed) -> [(place: String, message: String)] {
        let known = KnownNames(seed[GitHubSection.self].organizations.map(\.login))
        var issues: [(place: String, message: String)] = []
        for (place, login) in orgs.enumerated() where !known.contains(login) {
            // Further issues aren't listed, and comparing words costs more than finding an issue.
            let hint = issues.count < Issues.listed ? Spelling.hint(login, among: known.all) : ""
            issues.append(
                (place: "orgs[\(place)]", message: "no organization \(Diagnosis.quote(login)) in github.orgs\(hint)"))
        }
        return issues
    }
}

extension Account {
    var github: GitHubProfile { self[GitHubProfile.self] }
}

extension Rule where Self == IntegerRule {
    static var gitHubID: IntegerRule { .integer(1...Int(Int32.max)) }
    static var gitHubCount: IntegerRule { .integer(0...Int(Int32.max)) }
}

extension Instant {
    /// The default creation time of GitHub users and organizations: 2020-01-01T00:00:00Z.
    static let gitHubCreation = Instant.first + .seconds(1_577_836_800)
    /// The default time of the last change to GitHub users and organizations: 2026-01-01T00:00:00Z.
    static let gitHubUpdate = Instant.first + .seconds(1_767_225_600)
}
