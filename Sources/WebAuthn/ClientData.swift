import JOSE
import JSON

/// The client data of a WebAuthn response, written by the browser or the operating system: type of ceremony, challenge,
/// origin. <https://www.w3.org/TR/webauthn-3/#dictionary-client-data>
package struct ClientData: Sendable {
    enum Ceremony: String, Sendable {
        case create = "webauthn.create"
        case get = "webauthn.get"
    }

    let hash: [UInt8]
    private let type: String
    /// The challenge that the authenticator has answered, in base64url.
    package let challenge: String
    private let origin: String

    package init(parsing bytes: [UInt8]) throws(WebAuthnError) {
        let value: JSONValue
        do { value = try JSONValue(parsing: bytes) } catch {
            throw WebAuthnError("clientDataJSON can't be read as JSON: \(error)")
        }
        guard let type = value["type"]?.string, let challenge = value["challenge"]?.string,
            let origin = value["origin"]?.string
        else { throw WebAuthnError("clientDataJSON lacks type, challenge or origin") }
        (self.type, self.challenge, self.origin) = (type, challenge, origin)
        hash = Digest.sha256(bytes)
    }

    /// Checks the type of ceremony and the challenge of a WebAuthn response, and that its origin is the relying
    /// party's.
    func check(_ ceremony: Ceremony, challenge: String, at party: RelyingParty) throws(WebAuthnError) {
        guard type == ceremony.rawValue else {
            throw WebAuthnError("clientDataJSON is of type \"\(type.prefix(64))\", not \"\(ceremony.rawValue)\"")
        }
        guard self.challenge == challenge else { throw WebAuthnError("clientDataJSON has another challenge") }
        guard party.accepts(origin) else {
            throw WebAuthnError(
                "the origin \"\(origin.prefix(256))\" isn't among those of the relying party \"\(party.id)\"")
        }
    }
}
