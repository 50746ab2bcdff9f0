import EmulatorCore
import OAuth

extension GoogleProvider {
    package func issued(_ text: String, in world: World) -> IssuedValue? { world.issued(text, GoogleGrant.self) }

    package func subject(_ subject: String, of client: String, in world: World) -> KnownSubject? {
        world.subject(identifier: "google.sub:\(subject)")
    }
}
