import JSON

/// A JSON Web Key Set (RFC 7517 §5): a client's registered keys, or a provider's published ones.
package struct KeySet: Sendable {
    private struct Member: Sendable {
        let id: String?
        /// The signature algorithm for which the key is meant, if its JWK names one.
        let algorithm: String?
        let key: Key
    }

    /// The reason why a token isn't signed by any key of the key set.
    package enum Fault: Sendable, Equatable {
        /// The token's `alg` is missing, unknown or not allowed.
        case algorithm
        /// No key in the set has the token's `kid`; or the token has no `kid`, and no key suits its algorithm.
        case unknownKey
        case signature(Verdict)
    }

    /// The greatest number of keys that are read from a key set. Real key sets have a few.
    package static let limit = 32

    private let members: [Member]

    /// Reads the first 32 elements of the member `keys` in a JSON Web Key Set. Keys that can't be used are skipped, as
    /// RFC 7517 asks.
    package init(_ jwks: JSONValue) {
        members = (jwks["keys"]?.array ?? []).prefix(KeySet.limit).compactMap { jwk in
            guard let key = try? Key(jwk: jwk), jwk["use"]?.string != "enc" else { return nil }
            return Member(id: jwk["kid"]?.string, algorithm: jwk["alg"]?.string, key: key)
        }
    }

    package var isEmpty: Bool { members.isEmpty }

    /// Returns the error in the signature of `token`; `nil` if a key of this set has signed the token with one of
    /// `algorithms`. For a token without a `kid`, every key that suits the algorithm is tried.
    package func fault(of token: JWS, allowing algorithms: [Algorithm]) -> Fault? {
        guard let algorithm = token.algorithm.flatMap({ Algorithm(rawValue: $0) }), algorithms.contains(algorithm)
        else { return .algorithm }
        let candidates = members.lazy.filter { member in
            token.keyID.map { $0 == member.id } ?? member.key.suits(algorithm)
        }
        var last: Verdict?
        for member in candidates {
            let isMeant = member.algorithm.map { $0 == algorithm.rawValue } ?? true
            let verdict = isMeant ? token.verify(with: member.key, algorithm: algorithm) : .wrongKeyType
            if verdict == .valid { return nil }
            last = verdict
        }
        return last.map { .signature($0) } ?? .unknownKey
    }
}
