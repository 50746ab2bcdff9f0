import EmulatorCore
import JSON

/// A tenant in a project's seed.
package struct SeededTenant: SchemaObject {
    let id: String
    let displayName: String?
    let allowsPasswords: Bool
    let allowsEmailLinks: Bool
    let allowsAnonymous: Bool
    let isDisabled: Bool
    let mfa: MFA
    let testNumbers: [String: String]
    let others: OtherSettings
    /// The tenant's providers; `nil` if it has all of the project's.
    private(set) var providers: TenantProviders?
    let users: [SeededUser]

    package init(_ fields: inout Fields) {
        id = fields("id", .text(.identifier), "The tenant ID.")
        displayName = fields.optional("displayName", .text(.name), "What administrators call it.")
        allowsPasswords = fields(
            "allowPasswordSignup", .boolean, default: true, "Whether people may sign in with a password.")
        allowsEmailLinks = fields(
            "enableEmailLinkSignin", .boolean, default: false, "Whether a link in an e-mail may sign people in.")
        allowsAnonymous = fields(
            "enableAnonymousUser", .boolean, default: false, "Whether anonymous users may be made.")
        isDisabled = fields("disableAuth", .boolean, default: false, "Whether every sign-in is refused.")
        mfa = fields.object("mfa", MFA.self, "Multi-factor authentication.")
        let numbers = fields.map(
            "testPhoneNumbers", of: .text(.nonEmpty),
            "Numbers that may be second factors, and the code that each takes.")
        testNumbers = Dictionary(numbers.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        others = OtherSettings(seeded: &fields)
        providers = fields.optional(
            "providers", .object(TenantProviders.self),
            "The tenant's providers of identities; all of the project's by default.")
        users = fields.list("users", of: SeededUser.self, key: "localId", "Users that exist from the start.")
    }

    /// Returns the tenant completed by `providers`, the project's in the seed.
    func inheriting(from providers: JSONValue?) -> SeededTenant {
        var tenant = self
        tenant.providers?.inherit(from: providers)
        return tenant
    }
}

/// The identity providers of a tenant, and how they differ from the project's.
struct TenantProviders: SchemaObject {
    /// The members that the seed gives for each, by the provider's ID.
    private let differences: [(id: String, members: JSONObject)]
    private(set) var sources: [any KnownSource] = []
    private(set) var openID: [(id: String, provider: SeededOpenIDProvider)] = []

    init(_ fields: inout Fields) {
        var differences: [(id: String, members: JSONObject)] = []
        for type in IdentitySources.all {
            if let members = TenantProviders.members(type, &fields) {
                differences.append((id: type.id, members: members))
            }
        }
        differences += fields.family(
            OAuthIdpConfig.prefix, listedAs: "oidc.NAME", .part(of: SeededOpenIDProvider.self),
            "An OpenID Connect provider; what isn't said is as in the project's of this name."
        ).map { (id: $0.name, members: $0.value) }
        self.differences = differences
    }

    private static func members<Source: KnownSource>(_ type: Source.Type, _ fields: inout Fields) -> JSONObject? {
        fields.optional(Source.id, .part(of: Source.self), "\(Source.title); what isn't said is as in the project's.")
    }

    /// Completes the providers by `providers`, the project's in the seed.
    mutating func inherit(from providers: JSONValue?) {
        for (id, members) in differences {
            if let type = IdentitySources.source(id) {
                sources.append(TenantProviders.whole(type, members, providers?[id]))
            } else {
                openID.append(
                    (id: id, provider: TenantProviders.whole(SeededOpenIDProvider.self, members, providers?[id])))
            }
        }
    }

    private static func whole<Object: SchemaObject>(
        _ type: Object.Type, _ members: JSONObject, _ ofProject: JSONValue?
    ) -> Object {
        let own = LocatedJSON(.object(members), file: "")
        let inherited = ofProject.map { LocatedJSON($0, file: "").replacingMembers(with: own) }
        return Object(reading: (inherited ?? own).value)
    }

    /// Checks that each provider is complete, and its references to other parts of the seed.
    static func check(_ providers: LocatedJSON?, of project: LocatedJSON, _ references: inout SeedReferences) {
        for (id, own) in providers?.members ?? [] {
            let schema = IdentitySources.source(id)?.schema ?? SeededOpenIDProvider.schema
            let whole = project["providers"]?[id]?.replacingMembers(with: own) ?? own
            references.check(whole, against: schema)
            if let type = IdentitySources.source(id) {
                type.check(whole, &references)
            } else {
                SeededOpenIDProvider.check(id, whole, &references)
            }
        }
    }
}

extension Tenant {
    init(_ seeded: SeededTenant, of project: String) {
        self.init(
            project: project, id: seeded.id, displayName: seeded.displayName, allowsPasswords: seeded.allowsPasswords,
            allowsEmailLinks: seeded.allowsEmailLinks, allowsAnonymous: seeded.allowsAnonymous,
            isDisabled: seeded.isDisabled, mfa: MFAConfig(seeded.mfa), testNumbers: seeded.testNumbers, isSeeded: true,
            others: seeded.others)
    }
}
