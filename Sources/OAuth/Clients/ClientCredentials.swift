import EmulatorCore
import JOSE

/// The way in which a client authenticates:
/// <https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication>.
package enum ClientAuthenticationMethod: String, CaseIterable, Codable, Sendable {
    case none
    case clientSecretBasic = "client_secret_basic"
    case clientSecretPost = "client_secret_post"
    case clientSecretJWT = "client_secret_jwt"
    case privateKeyJWT = "private_key_jwt"
}

/// The credentials of a client.
package struct ClientCredentials: Sendable {
    package let clientID: String
    package let secret: String?
    /// The client's public keys.
    package let keys: KeySet?
    /// The methods that are accepted.
    package let methods: Set<ClientAuthenticationMethod>

    package init(
        clientID: String, secret: String?, keys: KeySet?, methods: Set<ClientAuthenticationMethod>
    ) {
        self.clientID = clientID
        self.secret = secret
        self.keys = keys
        self.methods = methods
    }

    /// Whether the client can keep a secret: <https://datatracker.ietf.org/doc/html/rfc6749#section-2.1>.
    package var isConfidential: Bool { !methods.contains(.none) }

    /// Returns the error in the signature of a token that the client should have signed, as a sentence; `nil` if the
    /// client has signed it.
    package func fault(inSignatureOf token: JWS) -> String? {
        let name = token.algorithm ?? "missing"
        guard name != Algorithm.hs256.rawValue else {
            guard let secret else { return "alg is HS256, but \"\(clientID)\" has no secret" }
            guard let key = try? Key(secret: Array(secret.utf8)), token.verify(with: key, algorithm: .hs256) == .valid
            else { return "the signature isn't the client secret's: sign with HS256 and the secret's bytes as the key" }
            return nil
        }
        guard let keys, !keys.isEmpty else { return "the seed has no \"jwks\" for \"\(clientID)\"" }
        switch keys.fault(of: token, allowing: Algorithm.published) {
        case nil: return nil
        case .algorithm: return "alg is \(Diagnosis.quote(name)): sign with one that the discovery document lists"
        case .unknownKey:
            return
                "kid \(Diagnosis.quote(token.keyID ?? "missing")) isn't one of the client's keys in the seed, or not for \(name)"
        case .signature(.wrongKeyType): return "the client's key in the seed doesn't suit \(name)"
        case .signature(.derEncoded): return "the signature is ASN.1 DER: JOSE wants the bytes r and s joined"
        case .signature: return "the signature isn't the client's key's"
        }
    }
}
