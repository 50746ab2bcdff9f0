import EmulatorCore
import OAuth

extension GoogleProvider {
    package func issued(_ text: String, in world: World) -> IssuedValue? { world.issued(text, GoogleGrant.self) }

    package func ended(_ text: String, in world: World) -> String? {
        world.read { $0.find(EndedCredential<GoogleGrant>.self, text) }.map { "no longer works: \($0.reason)" }
    }

    package func subject(_ subject: String, of client: String, in world: World) -> KnownSubject? {
        world.subject(identifier: "google.sub:\(subject)")
    }
}
