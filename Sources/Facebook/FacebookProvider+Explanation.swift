import EmulatorCore
import OAuth

extension FacebookProvider {
    package func issued(_ text: String, in world: World) -> IssuedValue? { world.issued(text, FacebookGrant.self) }

    package func subject(_ subject: String, of client: String, in world: World) -> KnownSubject? {
        world.subject(identifier: "facebook.id:\(subject)")
    }
}
