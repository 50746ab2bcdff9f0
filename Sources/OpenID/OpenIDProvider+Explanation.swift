import EmulatorCore
import OAuth

extension OpenIDProvider {
    package func issued(_ text: String, in world: World) -> IssuedValue? {
        // The client in a code's row has its issuer before it, so the grant's is used.
        world.issued(text, OpenIDGrant.self) { $0.client }
    }

    /// Returns the person with this `sub`. A pairwise one can't be traced back.
    package func subject(_ subject: String, of client: String, in world: World) -> KnownSubject? {
        world.subject(identifier: OpenIDProfile.identifier(subject))
    }
}
