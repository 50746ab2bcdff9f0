import JSON

/// Somebody's JSON Web Key Set (RFC 7517 §5), read: a client's registered keys, or a provider's published ones.
package struct KeySet: Sendable {
    private struct Member: Sendable {
        let id: String?
        /// What the key is meant for, if the set says so.
        let algorithm: String?
        let key: Key
    }

    /// Why a token's signature isn't one of this set's keys'.
    package enum Fault: Sendable, Equatable {
        /// The token's `alg` is missing, unknown or not among those that are taken.
        case algorithm
        /// No key has the token's `kid`; without a `kid`, none is of the algorithm's kind.
        case unknownKey
        case signature(Verdict)
    }

    /// As many keys are read; sets in use have a few.
    package static let limit = 32

    private let members: [Member]

    /// Reads the first 32 elements of `keys`, and leaves out those that can't be used, as RFC 7517 asks of readers.
    package init(_ jwks: JSONValue) {
        members = (jwks["keys"]?.array ?? []).prefix(KeySet.limit).compactMap { jwk in
            guard let key = try? Key(jwk: jwk), jwk["use"]?.string != "enc" else { return nil }
            return Member(id: jwk["kid"]?.string, algorithm: jwk["alg"]?.string, key: key)
        }
    }

    package var isEmpty: Bool { members.isEmpty }

    /// What is wrong with the signature of `token`; `nil` when it is by a key of this set, with one of `algorithms`. Without
    /// a `kid` every key of the algorithm's kind is tried.
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
