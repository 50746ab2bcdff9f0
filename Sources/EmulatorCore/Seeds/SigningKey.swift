import JSON

/// A key that signs tokens.
package struct SigningKey: Sendable {
    /// Its `kid`.
    package let id: String
    /// PEM.
    package let privateKey: String
}

extension Fields {
    /// The keys that sign a provider's tokens. `rule` is what their IDs look like.
    package mutating func signingKeys(_ rule: TextRule = .identifier) -> [SigningKey] {
        let key = ComposedRule { fields in
            SigningKey(id: fields("id", .text(rule), "The `kid`."), privateKey: fields.privateKey() ?? "")
        }
        return list(
            "signingKeys", of: key, key: "id",
            "RSA-2048 keys that sign tokens, oldest first; three are made by default.")
    }

    // The loader reads the files and puts their text in place of their names.

    /// A private key as PEM text.
    package mutating func privateKey() -> String? {
        _ = optional("privateKeyFile", .text(.nonEmpty), "A PKCS#8 PEM file, relative to this file.")
        return optional("privateKey", .text(.nonEmpty), "The PEM text itself, instead of a file.")
    }

    /// A public key as PEM text.
    package mutating func publicKey() -> String? {
        _ = optional("publicKeyFile", .text(.nonEmpty), "A P-256 SPKI PEM file, relative to this file.")
        return optional("publicKey", .text(.nonEmpty), "The PEM text itself, instead of a file.")
    }
}
