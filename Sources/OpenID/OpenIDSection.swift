import EmulatorCore
import JOSE
import JSON
import OAuth

/// The section `openid` of the seed (the test data).
struct OpenIDSection: SeedSection {
    static let name = "openid"
    static let about = "OpenID Connect issuers, such as a company's own."

    let issuers: [Issuer]
    let takesUnknown: Bool

    init(_ fields: inout Fields) {
        issuers = fields.list("issuers", of: Issuer.self, key: "id", "Issuers, each with clients of its own.")
        takesUnknown =
            fields(
                "unknownIssuers", .choice(["refuse", "accept"]), default: "refuse",
                "The handling of an issuer that no seed has: with `accept`, any at `/oidc/NAME` is made on first use, up to 100 in a world, and takes any client, secret and redirect URI."
            ) == "accept"
    }

    var keys: [SeededKeys] {
        issuers.map { issuer in
            SeededKeys(issuer.owner, algorithms: issuer.algorithms.filter { $0 != .hs256 }, keys: issuer.signingKeys)
        } + (takesUnknown ? [SeededKeys(Issuer.ownerOnTrust, keys: [])] : [])
    }

    var seededClients: [SeededClient] {
        issuers.flatMap { issuer in
            issuer.clients.map {
                SeededClient(
                    id: $0.clientID, kind: "client at \(issuer.id)", addresses: $0.redirectURIs.joined(separator: " "))
            }
        }
    }

    func secret(ofClient id: String) -> String? { issuers.lazy.compactMap { $0.client(id)?.clientSecret }.first }

    static func check(_ references: inout SeedReferences) {
        let issuers = references.root[name]?["issuers"]?.items ?? []
        references.checkServers(issuers, urlMember: "issuer", default: Issuer.url, short: Issuer.shortPrefix)
        let ids = KnownNames(references.root[name]?["issuers"], "id")
        for issuer in issuers {
            let names = issuer["algorithms"]?.items.compactMap(\.string) ?? ["RS256"]
            let published = names.compactMap { Algorithm(rawValue: $0) }.filter { $0 != .hs256 }
            references.expectSigningKeys(issuer["signingKeys"], for: published.isEmpty ? [.rs256] : published)
            references.checkInteraction(issuer["interaction"])
            let policy = ServerPolicy(reading: issuer.value)
            for (id, document) in policy.clientDocuments {
                guard let json = issuer["clientDocuments"]?[id] else { continue }
                do throws(OAuthRefusal) {
                    _ = try ClientDocument.description(
                        document, at: id, for: policy, algorithms: names.compactMap { Algorithm(rawValue: $0) })
                } catch {
                    references.add(json, error.diagnosis.advice)
                }
            }
            let access = issuer["crossAppAccess"]?.items ?? []
            let named =
                (issuer["mcp"]?["authorizationServers"]?.items ?? []) + (issuer["trustedIssuers"]?.items ?? [])
                + access.compactMap { $0["issuer"] }
                + (issuer["workloadPlatforms"]?.items ?? []).filter { $0["jwks"] == nil }.compactMap { $0["issuer"] }
            for server in named { references.expect(server, among: ids, "issuer", in: " in openid.issuers") }
            for platform in issuer["workloadPlatforms"]?.items ?? [] {
                ClientMetadata.checkKeys(platform["jwks"], &references)
            }
            for account in access.flatMap({ $0["accounts"]?.items ?? [] }) { references.expectAccount(account) }
            for client in issuer["clients"]?.items ?? [] {
                ClientMetadata.check(client, &references)
                checkAlgorithms(of: client, names, &references)
            }
        }
    }

    /// Reports a mistake in the seed if HS256 would have to sign tokens for a client without a secret: HS256 signs with
    /// the client's secret. `names` are the issuer's signature algorithms.
    private static func checkAlgorithms(
        of client: LocatedJSON, _ names: [String], _ references: inout SeedReferences
    ) {
        let shared = Algorithm.hs256.rawValue
        let hasSecret = client["clientSecret"]?.string != nil
        for member in ["idTokenAlgorithm", "userInfoAlgorithm"] where !hasSecret {
            guard let written = client[member], written.string == shared, names.contains(shared) else { continue }
            references.add(written, "HS256 signs with the client's secret, and it has none")
        }
        if !hasSecret, !names.isEmpty, names.allSatisfy({ $0 == shared }) {
            references.add(
                client,
                "the issuer signs with client secrets only (HS256), and this client has none: give it one, or the "
                    + "issuer another algorithm, too")
        }
    }
}

/// A person's profile at OpenID Connect issuers.
struct OpenIDProfile: AccountProfile {
    static let name = "openid"
    static let about = "The person at OpenID Connect issuers."

    let sub: String
    let groups: [String]
    let roles: [String]
    /// The claims that the seed sets for the person, as a JSON object. They replace claims with the same names that are
    /// made from other settings of the account.
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
