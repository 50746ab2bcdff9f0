/// A scope of OAuth apps: <https://docs.github.com/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps>.
enum GitHubScope: String, Codable, CaseIterable, Sendable {
    case adminEnterprise = "admin:enterprise"
    case adminGPGKey = "admin:gpg_key"
    case adminOrg = "admin:org"
    case adminOrgHook = "admin:org_hook"
    case adminPublicKey = "admin:public_key"
    case adminRepoHook = "admin:repo_hook"
    case codespace
    case deletePackages = "delete:packages"
    case deleteRepo = "delete_repo"
    case gist
    case manageBillingEnterprise = "manage_billing:enterprise"
    case manageRunnersEnterprise = "manage_runners:enterprise"
    case notifications
    case project
    case publicRepo = "public_repo"
    case readAuditLog = "read:audit_log"
    case readEnterprise = "read:enterprise"
    case readGPGKey = "read:gpg_key"
    case readOrg = "read:org"
    case readPackages = "read:packages"
    case readProject = "read:project"
    case readPublicKey = "read:public_key"
    case readRepoHook = "read:repo_hook"
    case readUser = "read:user"
    case repo
    case repoInvite = "repo:invite"
    case repoStatus = "repo:status"
    case repoDeployment = "repo_deployment"
    case securityEvents = "security_events"
    case siteAdmin = "site_admin"
    case user
    case userEmail = "user:email"
    case userFollow = "user:follow"
    case workflow
    case writeGPGKey = "write:gpg_key"
    case writeOrg = "write:org"
    case writePackages = "write:packages"
    case writePublicKey = "write:public_key"
    case writeRepoHook = "write:repo_hook"

    /// The scopes directly included in this one.
    var children: [GitHubScope] {
        switch self {
        case .repo: [.repoStatus, .repoDeployment, .publicRepo, .repoInvite, .securityEvents]
        case .adminRepoHook: [.writeRepoHook]
        case .writeRepoHook: [.readRepoHook]
        case .adminOrg: [.writeOrg]
        case .writeOrg: [.readOrg]
        case .adminPublicKey: [.writePublicKey]
        case .writePublicKey: [.readPublicKey]
        case .adminGPGKey: [.writeGPGKey]
        case .writeGPGKey: [.readGPGKey]
        case .adminEnterprise: [.manageRunnersEnterprise, .manageBillingEnterprise, .readEnterprise]
        case .user: [.readUser, .userEmail, .userFollow]
        case .project: [.readProject]
        case .writePackages: [.readPackages]
        default: []
        }
    }

    /// The description on the consent page.
    var about: String {
        switch self {
        case .adminEnterprise: "Manage enterprises: runners, billing and profile"
        case .adminGPGKey: "Add, list and remove GPG keys"
        case .adminOrg: "Manage organizations, their teams and members"
        case .adminOrgHook: "Manage webhooks of organizations"
        case .adminPublicKey: "Add, list and remove public SSH keys"
        case .adminRepoHook: "Read, make and remove webhooks of repositories"
        case .codespace: "Make and manage codespaces"
        case .deletePackages: "Delete packages"
        case .deleteRepo: "Delete repositories"
        case .gist: "Write gists"
        case .manageBillingEnterprise: "Read and write an enterprise's billing"
        case .manageRunnersEnterprise: "Manage an enterprise's runners"
        case .notifications: "Read notifications and mark them as read"
        case .project: "Read and write projects"
        case .publicRepo: "Read and write public repositories"
        case .readAuditLog: "Read the audit log"
        case .readEnterprise: "Read an enterprise's profile"
        case .readGPGKey: "List GPG keys"
        case .readOrg: "Read organizations, teams and memberships"
        case .readPackages: "Download packages"
        case .readProject: "Read projects"
        case .readPublicKey: "List public SSH keys"
        case .readRepoHook: "Read webhooks of repositories"
        case .readUser: "Read all of the profile, the private part included"
        case .repo: "Read and write all repositories, private ones included"
        case .repoInvite: "Accept and decline invitations to repositories"
        case .repoStatus: "Read and write commit statuses"
        case .repoDeployment: "Read and write deployment statuses"
        case .securityEvents: "Read and write code scanning alerts"
        case .siteAdmin: "Administer the site"
        case .user: "Read and write the profile, e-mail addresses and whom the person follows"
        case .userEmail: "Read all e-mail addresses"
        case .userFollow: "Follow and unfollow people"
        case .workflow: "Change workflow files of GitHub Actions"
        case .writeGPGKey: "Add and list GPG keys"
        case .writeOrg: "Read and write organizations' memberships and projects"
        case .writePackages: "Upload packages"
        case .writePublicKey: "Add and list public SSH keys"
        case .writeRepoHook: "Read and make webhooks of repositories"
        }
    }
}

/// A set of scopes in GitHub's form: a scope that another one includes is dropped.
struct GitHubScopes: Hashable, Sendable {
    private let bits: UInt64

    static let none = GitHubScopes(normalizing: 0)

    private init(normalizing bits: UInt64) {
        var kept = bits
        for place in Places(bits) { kept &= ~GitHubScopes.below[place] }
        self.bits = kept
    }

    init(_ scopes: some Sequence<GitHubScope>) {
        self.init(normalizing: scopes.reduce(0) { $0 | GitHubScopes.bit(of: $1) })
    }

    /// Reads names separated by spaces or commas. Unknown ones are dropped; how GitHub treats them isn't documented.
    init(_ text: String) {
        let names = text.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ",") }
        self.init(names.lazy.compactMap { GitHubScope(rawValue: String(Substring($0))) })
    }

    /// The scopes, sorted.
    var scopes: [GitHubScope] { Places(bits).map { GitHubScopes.all[$0] } }

    var isEmpty: Bool { bits == 0 }

    func joined(by separator: String) -> String {
        var text = ""
        for place in Places(bits) {
            if !text.isEmpty { text += separator }
            text += GitHubScopes.names[place]
        }
        return text
    }

    func union(_ other: GitHubScopes) -> GitHubScopes { GitHubScopes(normalizing: bits | other.bits) }

    /// Returns the scopes that both sets include.
    func intersection(_ other: GitHubScopes) -> GitHubScopes {
        GitHubScopes(normalizing: effective & other.effective)
    }

    /// Whether all of `other` is included.
    func covers(_ other: GitHubScopes) -> Bool { other.bits & ~effective == 0 }

    /// Whether one of these scopes is included, directly or within another.
    func allows(anyOf scopes: [GitHubScope]) -> Bool {
        scopes.contains { effective & GitHubScopes.bit(of: $0) != 0 }
    }

    private var effective: UInt64 { Places(bits).reduce(bits) { $0 | GitHubScopes.below[$1] } }

    // MARK: - Bits

    /// The numbers of the bits that are set, from the lowest.
    private struct Places: Sequence, IteratorProtocol {
        private var rest: UInt64

        init(_ bits: UInt64) { rest = bits }

        mutating func next() -> Int? {
            guard rest != 0 else { return nil }
            defer { rest &= rest - 1 }
            return rest.trailingZeroBitCount
        }
    }

    private static let all = GitHubScope.allCases.sorted { $0.rawValue < $1.rawValue }
    private static let names = all.map(\.rawValue)
    private static let numbers = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1, $0) })
    /// For each scope, all scopes within it.
    private static let below: [UInt64] = all.map { below($0) }

    private static func bit(of scope: GitHubScope) -> UInt64 { 1 << UInt64(numbers[scope] ?? 63) }

    private static func below(_ scope: GitHubScope) -> UInt64 {
        scope.children.reduce(0) { $0 | bit(of: $1) | below($1) }
    }
}

/// Scopes are encoded by name, so that bits may change their meaning.
extension GitHubScopes: Codable {
    init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode([GitHubScope].self))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Places(bits).map { GitHubScopes.names[$0] })
    }
}
