import EmulatorCore
import JSON

/// The apps and organizations of a seed, by the names in requests.
struct GitHubDirectory: Sendable {
    /// A team, with its organization.
    typealias TeamPlace = (organization: GitHubSection.Organization, team: GitHubSection.Team)

    let apps: [String: GitHubSection.App]
    /// The organizations in the seed's order.
    private let organizations: [GitHubSection.Organization]
    private let byLogin: [String: Int]
    private let byNumber: [Int: Int]
    /// The positions of the teams by number; a seed may give several teams the same one.
    private let teamsByNumber: [Int: [(organization: Int, team: Int)]]
    /// The client IDs, sorted, for hints.
    private let clientIDs: [String]

    init(_ section: GitHubSection) {
        apps = Dictionary(section.apps.map { ($0.clientID, $0) }, uniquingKeysWith: { $1 })
        clientIDs = apps.keys.sorted()
        organizations = section.organizations
        byLogin = Dictionary(
            organizations.enumerated().map { ($1.login.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
        byNumber = Dictionary(
            organizations.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        let teams = organizations.enumerated().flatMap { place, organization in
            organization.teams.enumerated().map { (number: $1.id, place: (organization: place, team: $0)) }
        }
        teamsByNumber = Dictionary(grouping: teams, by: \.number).mapValues { $0.map(\.place) }
    }

    /// Returns the organization with this login, in upper or lower case.
    func organization(_ login: String) -> GitHubSection.Organization? {
        byLogin[login.lowercased()].map { organizations[$0] }
    }

    func organization(number: Int) -> GitHubSection.Organization? { byNumber[number].map { organizations[$0] } }

    /// Returns the account's organizations, in the seed's order.
    func organizations(of account: Account) -> [GitHubSection.Organization] {
        Set(account.github.orgs.compactMap { byLogin[$0.lowercased()] }).sorted().map { organizations[$0] }
    }

    /// Returns the first team with this number, in the organization with another number or in any.
    func team(number: Int, inOrganization organization: Int? = nil) -> TeamPlace? {
        let places = teamsByNumber[number] ?? []
        guard
            let place = places.first(where: { organization == nil || organizations[$0.organization].id == organization }
            )
        else { return nil }
        return (organizations[place.organization], organizations[place.organization].teams[place.team])
    }

    func hint(forClient id: String) -> String { Spelling.hint(id, among: clientIDs) }

    func hint(forOrganization login: String) -> String {
        Spelling.hint(login, among: organizations.prefix(Spelling.limit).map(\.login))
    }
}
