import EmulatorCore
import HTTPServer
import JOSE
import Recordings

/// The credentials that a client sends to a token endpoint: the fields `client_id` and `client_secret`, or each that is
/// missing by HTTP Basic: <https://datatracker.ietf.org/doc/html/rfc6749#section-2.3.1>.
package struct ClientCredentials: Sendable {
    package let id: String?
    package let secret: String?

    /// Reads the credentials of a request; `field` returns its fields.
    package init(_ request: Request, _ field: (_ name: String) -> String?) {
        let basic = BasicCredentials.read(request)
        id = field("client_id") ?? basic?.user
        secret = field("client_secret") ?? basic?.password
    }

    /// Whether the secret is sent, and is this one.
    package func have(_ expected: String) -> Bool { secret?.isSecret(expected) ?? false }
}

extension String {
    /// Whether the texts are equal. The time doesn't tell how far they are.
    package func isSecret(_ expected: String) -> Bool { constantTimeEquals(Array(utf8), Array(expected.utf8)) }
}
