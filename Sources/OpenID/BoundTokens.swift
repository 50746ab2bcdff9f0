import EmulatorCore
import HTTPServer
import OAuth

// Access tokens may be bound to a client's key: https://datatracker.ietf.org/doc/html/rfc9449#section-7

/// An access token in a request.
struct PresentedAccessToken: Sendable {
    let text: String
    /// Whether it was sent with the scheme `DPoP`.
    let isBound: Bool

    /// Returns the token in the header Authorization, or in a field, where bound tokens aren't allowed.
    static func read(_ request: Request, for issuer: Issuer) -> PresentedAccessToken? {
        let words = (request.header("Authorization") ?? "").split(separator: " ")
        if words.count == 2, words[0].lowercased() == "dpop", issuer.policy.dpop != .off {
            return PresentedAccessToken(text: String(words[1]), isBound: true)
        }
        return request.accessToken().map { PresentedAccessToken(text: $0, isBound: false) }
    }
}

extension Issuer {
    /// Checks that the client has the key to which its token is bound. `url` is the address of the request.
    func check(
        _ token: PresentedAccessToken, boundTo thumbprint: String?, at url: String, in exchange: Exchange
    ) throws {
        guard let thumbprint else {
            guard policy.dpop != .required else {
                throw OAuthRefusal(
                    "invalid_token",
                    Diagnosis(
                        "the access token isn't bound to a key, and this issuer binds its tokens (\"dpop\": \"required\"): get one with "
                            + "a DPoP proof"))
            }
            guard token.isBound else { return }
            throw OAuthRefusal(
                "invalid_token", Diagnosis("the access token isn't bound to a key: send Authorization: Bearer"))
        }
        guard token.isBound else {
            throw OAuthRefusal(
                "invalid_token",
                Diagnosis("the access token is bound to the client's key: send Authorization: DPoP, and a proof"))
        }
        guard let proof = try DPoPProof(exchange, at: url, nonces: proofNonces(exchange), token: token.text) else {
            throw DPoPProof.refusal("there is none: send the header DPoP beside the token")
        }
        guard proof.thumbprint == thumbprint else {
            throw OAuthRefusal(
                "invalid_token",
                Diagnosis(
                    received: "a proof by the key \(Diagnosis.quote(proof.thumbprint))",
                    expected: Diagnosis.quote(thumbprint), "sign with the key that the token was asked for with"))
        }
    }
}
