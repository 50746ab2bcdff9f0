import JSON

/// A user in a project's seed.
package struct SeededUser: SchemaObject {
    struct Factor: SchemaObject {
        let id: String
        let displayName: String?
        /// The kind of factor; `nil` if the seed has neither a valid number nor a valid secret.
        let kind: SecondFactor.Kind?

        init(_ fields: inout Fields) {
            id = fields("id", .text(.nonEmpty), "The enrolment ID.")
            displayName = fields.optional("displayName", .text(.any), "What the user calls it.")
            let number = fields.optional("phoneNumber", .text(.phoneNumber), "The number, for a factor by SMS.")
            let secret = fields.optional(
                "totpSecret", .text(.base32), "The secret in base32, for an authenticator app.")
            kind = number.map { .phone($0) } ?? secret.flatMap { Base32.decode($0) }.map { .totp($0) }
        }
    }

    let localId: String
    let email: String?
    let emailVerified: Bool
    let password: String?
    let displayName: String?
    let photoUrl: String?
    let phoneNumber: String?
    let disabled: Bool
    let customClaims: JSONObject
    let links: [User.Link]
    let factors: [Factor]

    package init(_ fields: inout Fields) {
        localId = fields("localId", .text(.nonEmpty), "The user ID.")
        let email = fields.optional("email", .text(.email), "The address.")
        self.email = email
        emailVerified = fields("emailVerified", .boolean, default: false, "Whether the address is verified.")
        password = fields.optional("password", .text(.nonEmpty), "The password.")
        displayName = fields.optional("displayName", .text(.any), "The name.")
        photoUrl = fields.optional("photoUrl", .text(.any), "The picture's address.")
        phoneNumber = fields.optional("phoneNumber", .text(.phoneNumber), "The phone number.")
        disabled = fields("disabled", .boolean, default: false, "Whether the user may not sign in.")
        let claims = fields.nullable("customClaims", .text(.any), "A JSON object, as a text.")
        customClaims = claims.flatMap { try? JSONValue(parsing: $0) }?.object ?? JSONObject()
        links = fields.list(
            "links", of: ComposedRule { User.Link(&$0, of: email) }, key: "providerId", "Identities at providers.")
        factors = fields.list("factors", of: Factor.self, key: "id", "Second factors, enrolled.")
    }
}

extension User.Link {
    /// Reads a link to a provider's identity from the seed. Without an address of its own, it has `email`, the user's.
    fileprivate init(_ fields: inout Fields, of email: String?) {
        let providerId = fields("providerId", .text(.nonEmpty), "Such as github.com.")
        let rawId = fields("rawId", .text(.nonEmpty), "The provider's identifier of the person.")
        let own = fields.optional("email", .text(.email), "The address at the provider; the user's by default.")
        self.init(
            providerId: providerId, rawId: rawId,
            displayName: fields.optional("displayName", .text(.any), "The name at the provider."),
            photoUrl: fields.optional("photoUrl", .text(.any), "The picture's address."), email: own ?? email,
            screenName: fields.optional("screenName", .text(.any), "The user name at the provider."))
    }
}
