import EmulatorCore
import JSON

/// The access that an issuer gives its clients at another issuer, for people who have signed in here:
/// <https://datatracker.ietf.org/doc/html/draft-ietf-oauth-identity-assertion-authz-grant-04>.
package struct CrossAppAccess: SchemaObject {
    /// The `id` of the other issuer.
    package let issuer: String
    private let clients: [String: String]
    package let scopes: [String]?
    package let accounts: [String]?

    package init(_ fields: inout Fields) {
        issuer = fields("issuer", .text(.identifier), "The other issuer, by its id.")
        clients = Dictionary(
            fields.map(
                "clients", of: .text(.nonEmpty),
                "Client IDs at the other issuer, by the client IDs here; the same by default."
            ).map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        scopes = fields.nullable(
            "scopes", .set(of: .text(.nonEmpty)), "The scopes that are granted there at most; all by default.")
        accounts = fields.nullable(
            "accounts", .set(of: .text(.nonEmpty)), "The people who have access, by account; all by default.")
    }

    /// Returns the ID of a client at the other issuer.
    package func client(_ id: String) -> String { clients[id] ?? id }
}

/// A person's assertion for another issuer, which a client exchanges there for an access token (ID-JAG).
package enum IdentityAssertion {
    /// The grant type of <https://datatracker.ietf.org/doc/html/rfc7523#section-2.1>.
    package static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// The name of this use of the grant type in metadata.
    package static let profile = "urn:ietf:params:oauth:grant-profile:id-jag"
    /// The `typ` of its header.
    package static let type = "oauth-id-jag+jwt"
}
