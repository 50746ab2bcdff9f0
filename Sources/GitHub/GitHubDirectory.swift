import EmulatorCore
import JSON

/// The apps and organizations of a seed, looked up by what requests name.
struct GitHubDirectory: Sendable {
    let apps: [String: GitHubSection.App]
    /// In the seed's order.
    let organizations: [GitHubSection.Organization]
    private let organizationPlaces: [String: Int]

    init(_ section: GitHubSection) {
        apps = Dictionary(section.apps.map { ($0.clientID, $0) }, uniquingKeysWith: { $1 })
        organizations = section.organizations
        organizationPlaces = Dictionary(
            organizations.enumerated().map { ($1.login.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Logins are compared without case.
    func organization(_ login: String) -> GitHubSection.Organization? {
        organizationPlaces[login.lowercased()].map { organizations[$0] }
    }

    func hint(for clientID: String) -> String { Spelling.hint(clientID, among: apps.keys.sorted()) }
}
