import JOSE
import JSON
import Time

/// The owner of keys that sign tokens. Each provider that signs tokens is an owner; a provider with several OpenID
/// issuers has an owner for each issuer.
package struct KeyOwner: Hashable, Sendable {
    package let name: String

    package init(_ name: String) { self.name = name }
}

/// The signing keys of one owner (a provider or an OpenID issuer) in the seed.
package struct SeededKeys: Sendable {
    package let owner: KeyOwner
    /// The algorithms with which the keys' owner signs tokens. The first one is used unless another is requested.
    package let algorithms: [Algorithm]
    /// The owner's signing keys in the seed, oldest first. For an algorithm without a key in the seed, keys are
    /// generated.
    package let keys: [SigningKey]
    /// The period after which the next key begins to sign; `nil` if the signing key never changes.
    package let rotation: TimeSpan?

    /// Makes the signing keys of an owner. An empty list of `algorithms` means RS256.
    package init(
        _ owner: KeyOwner, algorithms: [Algorithm] = [.rs256], keys: [SigningKey], rotation: TimeSpan? = nil
    ) {
        self.owner = owner
        self.algorithms = algorithms.isEmpty ? [.rs256] : algorithms
        self.keys = keys
        self.rotation = rotation
    }
}

/// A key in the seed that signs tokens.
package struct SigningKey: Sendable, Equatable {
    /// The ID of the signing key, as in `kid`.
    package let id: String
    /// The private key that signs tokens, as PEM text.
    package let privateKey: String
    /// The algorithm with which the key signs; `nil` for the first of its owner's algorithms for which the key is
    /// suitable.
    package let algorithm: Algorithm?
}

extension SeededKeys {
    func isSame(as other: SeededKeys) -> Bool {
        owner == other.owner && algorithms == other.algorithms && rotation == other.rotation && keys == other.keys
    }

    /// Returns the parsed keys of the owner, each with its algorithm. A key without an algorithm in the seed gets the
    /// first of the owner's algorithms for which it is suitable.
    func named(_ known: [String: Key]) -> [KeyGenerator.NamedKey] {
        keys.compactMap { seeded in
            guard let key = known[seeded.privateKey],
                let algorithm = seeded.algorithm ?? algorithms.first(where: { key.suits($0) })
            else { return nil }
            return KeyGenerator.NamedKey(id: seeded.id, algorithm: algorithm, key: key)
        }
    }
}

extension Algorithm {
    /// The algorithms with which a provider can sign tokens. HMAC isn't one, because its secret can't be published.
    package static let published: [Algorithm] = [
        .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .es256, .es384, .es512, .edDSA,
    ]
}

extension Fields {
    /// Reads the keys in a provider's section of the seed that sign the provider's tokens. `rule` is the rule for the
    /// keys' IDs. With `anyAlgorithm`, keys may be for any of `Algorithm.published`, and otherwise only for RS256.
    package mutating func signingKeys(_ rule: TextRule = .identifier, anyAlgorithm: Bool = false) -> [SigningKey] {
        let key = ComposedRule { fields in
            SigningKey(
                id: fields("id", .text(rule), "The `kid`."), privateKey: fields.privateKey() ?? "",
                algorithm: anyAlgorithm
                    ? fields.optional(
                        "algorithm", .choice(Algorithm.published.map(\.rawValue)),
                        "The algorithm with which the key signs; by default the first one in use that suits the key. A key for an algorithm that isn't in use is ignored."
                    ).flatMap { Algorithm(rawValue: $0) } : nil)
        }
        return list(
            "signingKeys", of: key, key: "id",
            anyAlgorithm
                ? "Keys that sign tokens, oldest first: RSA-2048, P-256, P-384, P-521 or Ed25519; one is made for each algorithm that has none."
                : "RSA-2048 keys that sign tokens, oldest first; one is made by default.")
    }

    // The loader reads the files and puts their text in place of their names.

    /// Reads a private key from the seed, and returns its PEM text.
    package mutating func privateKey(
        _ about: String = "A PKCS#8 PEM file, relative to this file."
    ) -> String? {
        _ = optional("privateKeyFile", .text(.nonEmpty), about)
        return optional("privateKey", .text(.nonEmpty), "The PEM text itself, instead of a file.")
    }

    /// Reads a public key from the seed, and returns its PEM text.
    package mutating func publicKey() -> String? {
        _ = optional("publicKeyFile", .text(.nonEmpty), "A P-256 SPKI PEM file, relative to this file.")
        return optional("publicKey", .text(.nonEmpty), "The PEM text itself, instead of a file.")
    }
}

extension SeedReferences {
    /// Notes an error if the object `json` has a private and a public key that don't belong together.
    package mutating func expectPair(_ json: LocatedJSON) {
        guard let half = json["privateKey"], let privateKey = half.string.flatMap({ keys[$0] }),
            let publicKey = json["publicKey"]?.string.flatMap({ keys[$0] })
        else { return }
        if !privateKey.hasSamePublicHalf(as: publicKey) {
            add(half, "this private key doesn't belong to the public key beside it")
        }
    }

    /// Notes an error for each signing key in the list `json` that isn't suitable for the algorithm that it names, or
    /// for any of `algorithms` if it names none.
    package mutating func expectSigningKeys(_ json: LocatedJSON?, for algorithms: [Algorithm] = [.rs256]) {
        for item in json?.items ?? [] {
            guard let pem = item["privateKey"], let key = pem.string.flatMap({ keys[$0] }) else { continue }
            var wanted = algorithms
            if let algorithm = item["algorithm"]?.string.flatMap({ Algorithm(rawValue: $0) }) {
                // A key for an algorithm that isn't in use isn't used either.
                wanted = [algorithm]
            }
            if !wanted.contains(where: { key.signs($0) }) { add(pem, "expected \(SeedReferences.kinds(for: wanted))") }
        }
    }

    private static func kinds(for algorithms: [Algorithm]) -> String {
        var kinds: [String] = []
        for algorithm in algorithms {
            let kind =
                switch algorithm {
                case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: "an RSA private key of 2048 bits"
                case .es256: "a P-256 private key"
                case .es384: "a P-384 private key"
                case .es512: "a P-521 private key"
                case .edDSA: "an Ed25519 private key"
                case .hs256: "no key"
                }
            if !kinds.contains(kind) { kinds.append(kind) }
        }
        return kinds.joined(separator: " or ")
    }
}

extension Key {
    /// Returns whether the key can sign a provider's tokens with `algorithm`. RSA keys must have 2,048 bits, so that
    /// each signature costs the same time.
    fileprivate func signs(_ algorithm: Algorithm) -> Bool {
        guard isPrivate, suits(algorithm) else { return false }
        if case .rsa(let bits) = kind { return bits == 2048 }
        return true
    }
}
