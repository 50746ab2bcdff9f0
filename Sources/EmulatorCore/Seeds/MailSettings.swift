import JOSE
import JSON

/// The seed's section `mail`: what is common to all mail that apps send.
package struct MailSettings: SchemaObject {
    package static let name = "mail"

    /// Whose signatures can be verified.
    let dkim: [SigningKey]

    package init(_ fields: inout Fields) {
        dkim = fields.sequence(
            "dkim", of: SigningKey.self,
            "The public keys by which signatures of mails (DKIM) are verified. In the world they stand in the DNS; of two for one name, the later counts."
        )
    }

    struct SigningKey: SchemaObject {
        let domain: String
        let selector: String
        /// A record of the DNS, the key in it, or PEM.
        let publicKey: String

        init(_ fields: inout Fields) {
            domain = fields("domain", .text(.identifier), "The domain that signs: a signature's `d`.")
            selector = fields("selector", .text(.identifier), "Which of its keys: a signature's `s`.")
            _ = fields.optional(
                "publicKeyFile", .text(.nonEmpty), "A file that holds the key, relative to this file.")
            publicKey =
                fields.optional(
                    "publicKey", .text(.nonEmpty),
                    "The key itself, instead of a file: the record as the DNS has it (`v=DKIM1; k=rsa; p=…`), its `p` alone, or PEM. RSA or Ed25519."
                ) ?? ""
        }
    }
}
