import EmulatorCore
import JSON
import Time

/// The seed's section `firebase`.
package struct FirebaseSection: SeedSection {
    package static let name = "firebase"
    package static let about = "Firebase Authentication."

    private let signingKeys: [SigningKey]
    let idTokenLifetime: TimeSpan
    let recentLoginWindow: TimeSpan
    let pendingTokenLifetime: TimeSpan
    package let projects: [Project]
    let defaultProject: String?
    let unknownKeys: UnknownKeys

    package init(_ fields: inout Fields) {
        signingKeys = fields.signingKeys()
        idTokenLifetime = fields("idTokenLifetime", .duration, default: .hours(1), "How long an ID token lasts.")
        recentLoginWindow = fields(
            "recentLoginWindow", .duration, default: .minutes(5),
            "How recent a sign-in must be for a change of password or address, and for deletion.")
        pendingTokenLifetime = fields(
            "pendingTokenLifetime", .duration, default: .minutes(10),
            "How long the credential of a refused sign-in or link may be used again.")
        projects = fields.list("projects", of: Project.self, key: "id", "Projects.")
        defaultProject = fields.optional(
            FirebaseSection.defaultProjectField, .text(.identifier),
            "The project of requests that name none, also `serve --project`; the first one by default.")
        unknownKeys = fields(
            "unknownKeys", .choice(UnknownKeys.self), default: .auto,
            "API keys and project IDs that no seed holds: `accept` takes such a key as the default project's and such a "
                + "project with the Emulator Suite's defaults, `refuse` refuses them, `auto` takes them at the daemon's own "
                + "address only, where SDKs are in emulator mode.")
    }

    private static let defaultProjectField = "defaultProject"

    /// Returns a seed that only names the default project.
    package static func seed(defaultProject id: String) -> JSONValue {
        [name: [defaultProjectField: .string(id)]]
    }

    package var keys: [SeededKeys] { [SeededKeys(.firebase, keys: signingKeys)] }

    package var seededClients: [SeededClient] {
        projects.map {
            SeededClient(
                id: $0.id, kind: "Firebase project", addresses: "API keys: \($0.apiKeys.joined(separator: " "))")
        }
    }

    /// Whether this project exists or may be made at its first use: one with a `demo-` ID always, and another where
    /// unknown projects are taken, unless its ID is nearly that of a seeded one.
    package func knows(client id: String) -> Bool {
        let seeded = projects.map(\.id)
        if seeded.contains(id) || id == defaultProject || ProjectDirectory.isDemo(id) { return true }
        // The form of an ID: https://cloud.google.com/resource-manager/docs/creating-managing-projects
        let isID =
            (6...30).contains(id.utf8.count)
            && id.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
        return unknownKeys != .refuse && isID && Spelling.hint(id, among: seeded).isEmpty
    }

    package var hosts: [String] {
        let unseeded = defaultProject.flatMap { id in projects.contains { $0.id == id } ? nil : Project(unseeded: id) }
        return (projects + (unseeded.map { [$0] } ?? [])).map(\.host)
    }

    package static func check(_ references: inout SeedReferences) {
        var keys: [String: LocatedJSON] = [:]
        for project in references.root[name]?["projects"]?.items ?? [] {
            for key in project["apiKeys"]?.items ?? [] { references.claim(key, as: "API key", in: &keys) }
            BlockingFunctions.check(project["blockingFunctions"], &references)
            for source in IdentitySources.all {
                if let settings = project["providers"]?[source.id] { source.check(settings, &references) }
            }
            for (id, settings) in project["providers"]?.members ?? [] where id.hasPrefix(OAuthIdpConfig.prefix) {
                SeededOpenIDProvider.check(id, settings, &references)
            }
            for tenant in project["tenants"]?.items ?? [] {
                TenantProviders.check(tenant["providers"], of: project, &references)
            }
        }
    }
}

extension KeyOwner {
    static let firebase = KeyOwner("firebase")
}
