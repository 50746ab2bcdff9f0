import EmulatorCore
import JSON

/// The treatment of API keys and project IDs that aren't in the seed.
enum UnknownKeys: String, CaseIterable, Sendable {
    /// Unknown keys and IDs are accepted from SDKs in emulator mode, and refused at the real hosts.
    case auto
    case accept
    case refuse
}

/// The projects of a seed, found by what a request names.
struct ProjectDirectory: Sendable {
    private let projects: [String: Project]
    private let keys: [String: String]
    private let numbers: [String: String]
    private let defaultID: String?
    private let unknownKeys: UnknownKeys
    private let imported: AccountExport?

    /// Makes the directory. `hidesEmails` is for projects whose seed doesn't say.
    init(_ section: FirebaseSection, imported: AccountExport?, hidesEmails: Bool) {
        self.imported = imported
        let seeded = section.projects.map { project in
            var project = project
            project.hidesEmails = project.seededProtection ?? hidesEmails
            if project.id == imported?.project { project.imported = imported }
            return project
        }
        projects = Dictionary(seeded.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        keys = Dictionary(
            seeded.flatMap { project in project.apiKeys.map { ($0, project.id) } },
            uniquingKeysWith: { first, _ in first })
        numbers = Dictionary(seeded.map { ($0.number, $0.id) }, uniquingKeysWith: { first, _ in first })
        defaultID = section.defaultProject ?? seeded.first?.id
        unknownKeys = section.unknownKeys
    }

    /// The project of requests that name none, and of API keys that are taken on trust; `nil` if the seed has no
    /// project and names no default.
    var defaultProject: Project? { defaultID.flatMap { project(id: $0) } }

    /// Returns a seeded project, by its ID or number, the default project, or one whose ID begins with `demo-`.
    func project(id: String) -> Project? {
        projects[id] ?? numbers[id].flatMap { projects[$0] }
            ?? (id == defaultID || ProjectDirectory.isDemo(id) ? unseeded(id) : nil)
    }

    /// Returns the project of an API key. The ID is the API key of a project that isn't in the seed or has no keys
    /// there.
    func project(apiKey: String) -> Project? {
        if let id = keys[apiKey] { return projects[id] }
        if let project = projects[apiKey], project.apiKeys.isEmpty { return project }
        let isUnseededDefault = apiKey == defaultID && projects[apiKey] == nil
        return isUnseededDefault || ProjectDirectory.isDemo(apiKey) ? project(id: apiKey) : nil
    }

    /// Returns an unknown project, if it is taken on trust at this address.
    func trustedProject(id: String, at address: Address) -> Project? {
        takesUnknown(at: address) && ProjectDirectory.isID(id) ? unseeded(id) : nil
    }

    /// Returns the project for an unknown API key, if it is taken on trust at this address.
    func trustedProject(forKey key: String, at address: Address) -> Project? {
        let isKey = (1...200).contains(key.utf8.count) && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        return isKey && takesUnknown(at: address) ? defaultProject : nil
    }

    /// Returns a project that is in the seed, is the default one, or was made by requests in this world.
    func existing(_ id: String, in world: World) -> Project? {
        if let project = projects[id] { return project }
        let pool = UserPool(project: id, tenant: nil)
        return id == defaultID || world.read({ $0.find(UnseededPool.self, pool) != nil }) ? unseeded(id) : nil
    }

    private func unseeded(_ id: String) -> Project {
        var project = Project(unseeded: id)
        if id == imported?.project { project.imported = imported }
        return project
    }

    /// Whether naming an unknown tenant creates it, as in the official emulator: only in projects that aren't seeded or
    /// whose ID begins with `demo-`, at addresses where unknown projects are taken.
    func takesUnknownTenant(_ id: String, of project: Project, at address: Address) -> Bool {
        let isOpen = !project.isSeeded || ProjectDirectory.isDemo(project.id)
        return isOpen && takesUnknown(at: address) && ProjectDirectory.isID(id)
    }

    private func takesUnknown(at address: Address) -> Bool {
        switch unknownKeys {
        case .auto: address.form == .prefix
        case .accept: true
        case .refuse: false
        }
    }

    static func isDemo(_ id: String) -> Bool { id.hasPrefix("demo-") && isID(id) }

    private static func isID(_ id: String) -> Bool { id.utf8.count <= 64 && TextRule.identifier.holds(id) }

    func hint(forKey key: String) -> String {
        let known = keys.keys.sorted()
        let hint = Spelling.hint(key, among: known)
        return hint.isEmpty && !known.isEmpty ? "; seeded: \(known.prefix(5).joined(separator: ", "))" : hint
    }
}
