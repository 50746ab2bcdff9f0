import HTTPServer
import JOSE

/// The code challenge of an authorization request, by Proof Key for Code Exchange:
/// <https://datatracker.ietf.org/doc/html/rfc7636>.
package struct CodeChallenge: Codable, Sendable, Equatable {
    package enum Method: String, Codable, Sendable {
        case plain
        case s256 = "S256"
    }

    package let method: Method
    package let challenge: String

    package init(method: Method, challenge: String) {
        self.method = method
        self.challenge = challenge
    }

    /// The reason why the code challenge of an authorization request can't be used.
    package enum Fault: Sendable {
        case method(String)
        case challenge(String)
    }

    /// Reads the code challenge of an authorization request; `nil` if the request has none. `refuse` returns the
    /// provider's error for an unusable challenge.
    package static func read<Refusal: Error>(
        _ form: Form, refuse: (Fault) -> Refusal
    ) throws(Refusal) -> CodeChallenge? {
        guard let text = form["code_challenge"], !text.isEmpty else { return nil }
        let name = form["code_challenge_method"] ?? Method.plain.rawValue
        guard let method = Method(rawValue: name) else { throw refuse(.method(name)) }
        guard isWellFormed(text) else { throw refuse(.challenge(text)) }
        return CodeChallenge(method: method, challenge: text)
    }

    /// Whether `text` has 43 to 128 unreserved characters, as code verifiers and challenges must (RFC 7636 §4.1, §4.2).
    package static func isWellFormed(_ text: String) -> Bool {
        (43...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || "-._~".utf8.contains(byte)
            }
    }

    /// Returns a sentence that says why a code verifier is malformed; `nil` if it is well-formed or missing.
    package static func fault(inFormOf verifier: String?) -> String? {
        guard let verifier, !verifier.isEmpty, !isWellFormed(verifier) else { return nil }
        let count = verifier.utf8.count
        return (43...128).contains(count)
            ? "code_verifier holds other characters than letters, digits and -._~ (RFC 7636 section 4.1): make it of these"
            : "code_verifier has \(count) characters, and RFC 7636 section 4.1 wants 43 to 128: make it of 32 random bytes or more"
    }

    package func isMet(by verifier: String) -> Bool {
        let expected = method == .plain ? verifier : Base64URL.encode(Digest.sha256(verifier))
        return expected.isSecret(challenge)
    }

    /// Returns the reason why a code verifier is wrong, as a sentence; `nil` if it fits this code challenge.
    package func fault(of verifier: String?) -> String? {
        guard let verifier, !verifier.isEmpty else {
            return "code_verifier is missing, though the authorization request had a code_challenge: send the verifier"
        }
        guard !isMet(by: verifier) else { return nil }
        if method == .s256, verifier == challenge {
            return "code_verifier is the challenge itself: send the text that was hashed, not its hash"
        }
        if method == .s256, Hex.encode(Digest.sha256(verifier)) == challenge {
            return "code_challenge was the verifier's SHA-256 in hex: send it in base64url without padding"
        }
        if method == .s256, Base64.encode(Digest.sha256(verifier)) == challenge {
            return "code_challenge was the verifier's SHA-256 in base64: send it in base64url without padding"
        }
        return "code_verifier isn't the one whose code_challenge began this sign-in: keep it from request to exchange"
    }
}
