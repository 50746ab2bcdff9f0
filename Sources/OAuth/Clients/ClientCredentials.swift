import EmulatorCore
import HTTPServer
import JOSE
import Recordings

/// The ID and the secret that a client sends to a token endpoint. They are read from the fields `client_id` and
/// `client_secret`; a missing field is taken from HTTP Basic authentication:
/// <https://datatracker.ietf.org/doc/html/rfc6749#section-2.3.1>.
package struct ClientCredentials: Sendable {
    package let id: String?
    package let secret: String?

    /// Reads the client's ID and secret from a request. `field` returns the value of a request parameter by its name.
    package init(_ request: Request, _ field: (_ name: String) -> String?) {
        let basic = BasicCredentials.read(request)
        id = field("client_id") ?? basic?.user
        secret = field("client_secret") ?? basic?.password
    }

    /// Whether the client has sent a secret, and it equals `expected`.
    package func have(_ expected: String) -> Bool { secret?.isSecret(expected) ?? false }
}

extension String {
    /// Whether this secret equals `expected`. The comparison takes constant time, so its duration doesn't reveal how
    /// many characters agree.
    package func isSecret(_ expected: String) -> Bool { constantTimeEquals(Array(utf8), Array(expected.utf8)) }
}
