import EmulatorCore
import JSON

/// A person's profile at OpenID Connect issuers.
struct OpenIDProfile: AccountProfile {
    static let name = "openid"
    static let about = "The person at OpenID Connect issuers."

    let sub: String
    let groups: [String]
    let roles: [String]
    /// Further claims, an object.
    let claims: JSONValue

    init(_ fields: inout Fields, of account: Account) {
        sub =
            fields.optional("sub", .text(.nonEmpty), "The public subject; made from the id by default.")
            ?? DerivedNumber.uuid(of: "openid:\(account.id)")
        groups = fields("groups", .set(of: .text(.nonEmpty)), default: [], "`groups`, for the scope of that name.")
        roles = fields("roles", .set(of: .text(.nonEmpty)), default: [], "`roles`, for the scope of that name.")
        let claims = fields.map(
            "claims", of: .any, "Claims, instead of those that follow from the account; null removes one.")
        self.claims = .object(JSONObject(claims.map { ($0.name, $0.value) }))
    }

    var uniqueIdentifiers: [(member: String, identifier: String)] {
        [(member: "sub", identifier: OpenIDProfile.identifier(sub))]
    }

    static func identifier(_ sub: String) -> String { "openid.sub:\(sub)" }

    static func check(_ references: inout SeedReferences) {
        references.checkUnique(references.accounts.compactMap { $0[name] }, key: "sub", what: "person")
    }
}
