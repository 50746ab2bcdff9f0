import JOSE
import JSON
import EmulatorCore

/// A Firebase project, with what its providers need filled in from their own seeds.
struct Project: Sendable {
    let id: String
    let number: String
    let apiKeys: [String]
    let authorizedDomains: [String]
    var oneAccountPerEmail: Bool
    var hidesEmails: Bool
    var mfa: FirebaseSeed.MFA
    let takesFakes: Bool
    let providers: FirebaseSeed.Providers
    let idTokenSignature: FirebaseSeed.IDTokenSignature
    let users: [FirebaseSeed.User]
    /// Whether a seed holds it.
    let isSeeded: Bool

    var issuer: String { "https://securetoken.google.com/\(id)" }
    var host: String { "\(id).firebaseapp.com" }
    /// The project's own users, not those of its tenants.
    var pool: UserPool { UserPool(project: id, tenant: nil) }
    /// Where providers send people back to.
    var handler: String { "https://\(host)\(FirebaseProvider.handlerPath)" }

    fileprivate init(_ seed: FirebaseSeed.Project) {
        id = seed.id
        number = seed.number ?? Project.number(of: seed.id)
        apiKeys = seed.apiKeys
        authorizedDomains = seed.authorizedDomains
        oneAccountPerEmail = seed.oneAccountPerEmail
        hidesEmails = seed.emailEnumerationProtection
        providers = seed.providers
        idTokenSignature = seed.idTokenSignature
        mfa = seed.mfa
        takesFakes = seed.acceptFakeCredentials
        users = seed.users
        isSeeded = true
    }

    /// A project that nobody seeded: the Emulator Suite takes any whose ID begins with `demo-`.
    fileprivate init(demo id: String) {
        self.id = id
        number = Project.number(of: id)
        apiKeys = [id]
        authorizedDomains = ["localhost"]
        oneAccountPerEmail = true
        hidesEmails = true
        providers = .plain
        idTokenSignature = .auto
        mfa = .all
        takesFakes = true
        users = []
        isSeeded = false
    }

    private static func number(of id: String) -> String {
        let number = Digest.sha256("firebase:project:\(id)").prefix(6).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return String(100_000_000_000 + number % 900_000_000_000)
    }

    /// What Apple's, GitHub's … part of the project says, if it is there.
    func isEnabled(_ provider: String) -> Bool? {
        switch provider {
        case "apple.com": providers.apple?.enabled
        case "github.com": providers.github?.enabled
        case "google.com": providers.google?.enabled
        case "facebook.com": providers.facebook?.enabled
        case "password": providers.password?.enabled
        case "anonymous": providers.anonymous?.enabled
        case "phone": providers.phone?.enabled
        default: nil
        }
    }
}

/// The projects of a seed, by what requests name.
struct ProjectDirectory: Sendable {
    private let projects: [String: Project]
    private let keys: [String: String]

    init(_ seed: FirebaseSeed) {
        projects = Dictionary(seed.projects.map { ($0.id, Project($0)) }, uniquingKeysWith: { first, _ in first })
        keys = Dictionary(
            seed.projects.flatMap { project in project.apiKeys.map { ($0, project.id) } },
            uniquingKeysWith: { first, _ in first })
    }

    func project(id: String) -> Project? {
        projects[id] ?? (ProjectDirectory.isDemo(id) ? Project(demo: id) : nil)
    }

    /// A project that nobody seeded has its ID as its API key.
    func project(apiKey: String) -> Project? {
        keys[apiKey].flatMap { projects[$0] } ?? (ProjectDirectory.isDemo(apiKey) ? project(id: apiKey) : nil)
    }

    private static func isDemo(_ id: String) -> Bool {
        id.hasPrefix("demo-") && id.utf8.count <= 64 && TextRule.identifier.holds(id)
    }

    func hint(forKey key: String) -> String {
        let known = keys.keys.sorted()
        let hint = Spelling.hint(key, among: known)
        return hint.isEmpty && !known.isEmpty ? "; seeded: \(known.prefix(5).joined(separator: ", "))" : hint
    }
}

/// What of a project's settings was changed at run time, by an administrator.
struct ProjectSettings: Row {
    static let table = Table<ProjectSettings>("firebase.projectSettings")

    /// How the second factors are set up.
    struct MFA: Codable, Sendable {
        let state: String
        let providers: [String]
    }

    let project: String
    var oneAccountPerEmail: Bool?
    var hidesEmails: Bool?
    var mfa: MFA?

    var key: String { project }

    func apply(to project: Project) -> Project {
        var project = project
        if let oneAccountPerEmail { project.oneAccountPerEmail = oneAccountPerEmail }
        if let hidesEmails { project.hidesEmails = hidesEmails }
        if let mfa { project.mfa = FirebaseSeed.MFA(state: mfa.state, providers: mfa.providers) }
        return project
    }
}
