import EmulatorCore

extension FirebaseProvider {
    package func subject(_ subject: String, of client: String, in world: World) -> KnownSubject? {
        let pool = UserPool(project: client, tenant: nil)
        return world.read { $0.user(subject, in: pool) }.map { user in
            KnownSubject(about: "the user \(user.email ?? user.displayName ?? subject) of project \(client)")
        }
    }

    /// Whether a client's tokens are unsigned: those of SDKs in emulator mode are, and all those of a project whose
    /// seed says so.
    package func leavesUnsigned(tokensFor client: String, in world: World) -> Bool {
        projects.project(id: client)?.idTokenSignature != .rs256
    }
}
