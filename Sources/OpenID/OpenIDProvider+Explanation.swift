import EmulatorCore
import OAuth

extension OpenIDProvider {
    package func issued(_ text: String, in world: World) -> IssuedValue? {
        // A code's own client is named together with its issuer.
        world.issued(text, OpenIDGrant.self) { $0.client }
    }

    /// A pairwise `sub` is made for one client and leads nowhere.
    package func subject(_ subject: String, of client: String, in world: World) -> KnownSubject? {
        world.subject(identifier: OpenIDProfile.identifier(subject))
    }
}
