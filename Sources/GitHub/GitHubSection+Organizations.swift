import EmulatorCore
import JSON
import Time

extension GitHubSection {
    struct Organization: SchemaObject {
        let login: String
        let id: Int
        let name: String?
        let description: String?
        let company: String?
        let blog: String?
        let location: String?
        let email: String?
        let twitterUsername: String?
        let isVerified: Bool
        let publicRepos: Int
        let createdAt: Instant
        let updatedAt: Instant
        let owners: Set<String>
        let publicMembers: Set<String>
        let pendingMembers: Set<String>
        let oauthAppRestrictions: Bool
        let approvedApps: Set<String>
        let samlEnforced: Bool
        let teams: [Team]
        private let teamPlaces: [String: Int]
        /// The positions of each person's teams in `teams`.
        private let placesByPerson: [String: [Int]]

        init(_ fields: inout Fields) {
            let login = fields("login", .text(.identifier), "The organization's login.")
            self.login = login
            id =
                fields.optional("id", .gitHubID, "The numeric ID; made from the login by default.")
                ?? GitHubSection.number(from: "org:\(login)")
            name = fields.nullable("name", .text(.any), "The display name.")
            description = fields.nullable("description", .text(.any), "What it is.")
            company = fields.nullable("company", .text(.any), "Company.")
            blog = fields.nullable("blog", .text(.any), "Website.")
            location = fields.nullable("location", .text(.any), "Place.")
            email = fields.nullable("email", .text(.email), "Public address.")
            twitterUsername = fields.nullable("twitterUsername", .text(.any), "Name at Twitter.")
            isVerified = fields("isVerified", .boolean, default: false, "Whether its domain is verified.")
            publicRepos = fields("publicRepos", .gitHubCount, default: 0, "Public repositories.")
            createdAt = fields("createdAt", .timestamp, default: .gitHubCreation, "When it was made.")
            updatedAt = fields("updatedAt", .timestamp, default: .gitHubUpdate, "When it last changed.")
            owners = Set(
                fields(
                    "owners", .set(of: .text(.identifier)), default: [], "Members who are owners, by account."))
            publicMembers = Set(
                fields(
                    "publicMembers", .set(of: .text(.identifier)), default: [],
                    "Members who show their membership, by account."))
            pendingMembers = Set(
                fields(
                    "pendingMembers", .set(of: .text(.identifier)), default: [],
                    "Members who haven't accepted their invitation yet, by account."))
            oauthAppRestrictions = fields(
                "oauthAppRestrictions", .boolean, default: false,
                "Whether OAuth apps need the organization's approval.")
            approvedApps = Set(
                fields(
                    "approvedApps", .set(of: .text(.nonEmpty)), default: [], "OAuth apps it approved, by client ID."))
            samlEnforced = fields(
                "samlEnforced", .boolean, default: false,
                "Whether tokens must be authorized for SAML single sign-on.")
            teams = fields.list("teams", of: ComposedRule { Team(&$0, of: login) }, key: "slug", "Teams.")
            teamPlaces = Dictionary(
                teams.enumerated().map { ($1.slug.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
            let people = teams.enumerated().flatMap { place, team in team.people.map { (id: $0, place: place) } }
            placesByPerson = Dictionary(grouping: people, by: \.id).mapValues { $0.map(\.place) }
        }

        /// Returns the team with this slug, in upper or lower case.
        func team(slug: String) -> Team? { teamPlaces[slug.lowercased()].map { teams[$0] } }

        /// Returns the teams of an account.
        func teams(of account: String) -> [Team] { (placesByPerson[account] ?? []).map { teams[$0] } }

        func hides(from app: App) -> Bool {
            oauthAppRestrictions && !app.isGitHubApp && !approvedApps.contains(app.clientID)
        }
    }

    struct Team: Sendable {
        let slug: String
        let id: Int
        let name: String
        let description: String?
        let privacy: String
        /// The maintainers and the members by account, each once.
        let people: [String]
        private let maintainers: Set<String>
        private let members: Set<String>

        init(_ fields: inout Fields, of organization: String) {
            slug = fields("slug", .text(.identifier), "The team's name in addresses.")
            id =
                fields.optional("id", .gitHubID, "The numeric ID; made from the slug by default.")
                ?? GitHubSection.number(from: "team:\(organization)/\(slug)")
            name = fields.optional("name", .text(.nonEmpty), "The display name; the slug by default.") ?? slug
            description = fields.nullable("description", .text(.any), "What it is.")
            privacy = fields("privacy", .choice(["closed", "secret"]), default: "closed", "Who sees it.")
            let members = fields("members", .set(of: .text(.identifier)), default: [], "Members, by account.")
            let maintainers = fields(
                "maintainers", .set(of: .text(.identifier)), default: [], "Maintainers, by account.")
            let leading = Set(maintainers)
            people = maintainers + members.filter { !leading.contains($0) }
            self.members = Set(members)
            self.maintainers = leading
        }

        func role(of account: String) -> String? {
            if maintainers.contains(account) { return "maintainer" }
            return members.contains(account) ? "member" : nil
        }
    }
}
