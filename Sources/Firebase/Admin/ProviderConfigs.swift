import EmulatorCore
import HTTPServer
import JSON

// The methods v2 projects/P/defaultSupportedIdpConfigs and inboundSamlConfigs, also below projects/P/tenants/T:
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects.defaultSupportedIdpConfigs
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects.inboundSamlConfigs
//
// Quirks: a certificate is stored unread. Recorded in September 2026: https://github.com/t-k/fireemu,
// conformance/auth-federation-production.json, programs provider-config/default-supported and provider-config/saml.

/// A provider of a project or tenant as an administrator has configured it: one that Firebase knows by name, or a SAML
/// provider. A configuration of `google.com` or another provider that is played decides who signs in; a SAML provider's
/// is stored and returned.
struct ProviderConfig: PoolRow {
    /// The collection that a configuration is in; the raw value is its name in paths.
    enum Kind: String, CaseIterable, Codable, Sendable {
        case known = "defaultSupportedIdpConfigs"
        case saml = "inboundSamlConfigs"

        fileprivate var fields: [String] {
            switch self {
            case .known: ["enabled", "clientId", "clientSecret", "appleSignInConfig"]
            case .saml: ["displayName", "enabled", "idpConfig", "spConfig"]
            }
        }

        /// The query parameter with a new configuration's ID.
        fileprivate var idParameter: String { self == .known ? "idpId" : "inboundSamlConfigId" }
    }

    struct Key: TableKey {
        let pool: UserPool
        let kind: Kind
        let id: String

        var keyText: String { String(keyParts: pool.project, pool.tenant, kind.rawValue, id) }
    }

    static let table = Table<ProviderConfig>("firebase.providerConfig", indexes: [byPool], sortedBy: order)
    static let byPool = Index<ProviderConfig, UserPool>("pool") { $0.pool }
    static let order = SortedIndex<ProviderConfig>("order") { [place($0.kind, in: $0.pool) + $0.id] }

    /// The providers that Firebase knows by name: `provider-config/default-supported#list-supported`.
    static let knownIDs = [
        "apple.com", "facebook.com", "gc.apple.com", "github.com", "google.com", "linkedin.com", "microsoft.com",
        "playgames.google.com", "twitter.com", "yahoo.com",
    ]
    static let samlPrefix = "saml."
    /// The greatest number of configurations in a project or tenant. Production's quota isn't documented.
    static let limit = 100

    let pool: UserPool
    let kind: Kind
    let id: String
    fileprivate(set) var settings = OtherSettings()
    /// Whether an administrator has deleted the provider. The row then hides the one in the seed.
    fileprivate(set) var isDeleted = false

    var key: Key { Key(pool: pool, kind: kind, id: id) }
    var isEnabled: Bool { settings["enabled"]?.bool ?? false }

    /// Returns the common prefix of the index texts of the configurations in a collection.
    static func place(_ kind: Kind, in pool: UserPool) -> String { "\(pool.keyText)\0\(kind.rawValue)\0" }

    /// Returns the source of identities that the configuration describes; `nil` for a provider that isn't played.
    var source: (any KnownSource)? {
        guard kind == .known, !isDeleted, let type = IdentitySources.source(id) else { return nil }
        return ProviderConfig.source(type, settings.members, isEnabled: isEnabled)
    }

    private static func source<Source: KnownSource>(
        _ type: Source.Type, _ config: JSONObject, isEnabled: Bool
    ) -> Source? {
        try? Source(checking: seed(type, config, isEnabled: isEnabled))
    }

    private static func seed<Source: KnownSource>(
        _ type: Source.Type, _ config: JSONObject, isEnabled: Bool = true
    ) -> LocatedJSON {
        var seed = Source.seed(of: config)
        seed["enabled"] = .bool(isEnabled)
        return LocatedJSON(.object(seed), file: "")
    }

    /// Checks that a provider can be made of the settings.
    private static func check<Source: KnownSource>(
        _ type: Source.Type, _ config: JSONObject
    ) throws(FirebaseError) {
        guard let issue = Source.schema.issues(in: seed(type, config)).first else { return }
        throw FirebaseError("INVALID_CONFIG", because: "the seed would have \(issue.description)")
    }

    fileprivate func document(in call: FirebaseCall) throws -> JSONObject {
        let parent = call.resourceName + (pool.tenant.map { "/tenants/\($0)" } ?? "")
        var body = JSONObject([("name", .string("\(parent)/\(kind.rawValue)/\(id)"))])
        body.merge(settings.members)
        if settings["idpConfig"]?["signRequest"]?.bool ?? false {
            var provider = settings["spConfig"]?.object ?? JSONObject()
            provider["spCertificates"] = .array(try call.signingCertificates())
            body["spConfig"] = .object(provider)
        }
        return body
    }

    /// Sets the fields that the mask names, and checks that the settings are complete.
    fileprivate mutating func change(_ call: FirebaseCall, _ mask: UpdateMask, now: String) throws(FirebaseError) {
        try settings.change(call.fields.members, of: kind.rawValue, mask, fields: kind.fields, now: now)
        switch kind {
        case .known:
            guard id == "apple.com" || settings["clientId"]?.string != nil else {
                throw FirebaseError("MISSING_OAUTH_CLIENT_ID", because: "clientId is missing")
            }
            if let type = IdentitySources.source(id) { try ProviderConfig.check(type, settings.members) }
        case .saml:
            // Production's words aren't documented; the codes are those that Admin SDKs know.
            guard settings["spConfig"]?["spEntityId"]?.string != nil else {
                throw FirebaseError("MISSING_SAML_RELYING_PARTY_CONFIG", because: "spConfig.spEntityId is missing")
            }
            for member in ["idpEntityId", "ssoUrl"] {
                guard settings["idpConfig"]?[member]?.string != nil else {
                    throw FirebaseError("INVALID_CONFIG", because: "idpConfig.\(member) is missing")
                }
            }
        }
    }
}

extension FirebaseCall {
    /// The certificates of the key with which Firebase would sign requests to a SAML provider.
    fileprivate func signingCertificates() throws -> [JSONValue] {
        let certificates = try exchange.certificates(.firebase, commonName: project.host).object?.members ?? []
        return certificates.map { certificate in
            ["x509Certificate": certificate.value, "expiresAt": .string(KeyRing.endOfCertificates.textOfTimestamp)]
        }
    }
}

extension FirebaseProvider {
    /// The methods for the configurations of a project or tenant, in version 2.
    var providerConfigMethods: [(method: String, path: String, run: Method)] {
        ProviderConfig.Kind.allCases.flatMap { kind -> [(method: String, path: String, run: Method)] in
            [
                ("GET", "/\(kind.rawValue)", { try listConfigs(kind, $0) }),
                ("POST", "/\(kind.rawValue)", { try createConfig(kind, $0) }),
                ("GET", "/\(kind.rawValue)/:config", { call in try answer(try knownConfig(kind, call), call) }),
                ("PATCH", "/\(kind.rawValue)/:config", { try patchConfig(kind, $0) }),
                ("DELETE", "/\(kind.rawValue)/:config", { try deleteConfig(kind, $0) }),
            ]
        }
    }

    /// The answer to `v2/defaultSupportedIdps`, which is the same for all projects.
    static var supportedProviders: Response {
        let list = ProviderConfig.knownIDs.map { id -> JSONValue in ["idpId": .string(id)] }
        return json(["defaultSupportedIdps": .array(list)])
    }

    private func answer(_ config: ProviderConfig, _ call: FirebaseCall) throws -> FirebaseAnswer {
        FirebaseAnswer(body: try config.document(in: call))
    }

    /// Returns a provider of the seed as an administrator would have configured it.
    private func seeded(_ id: String, _ call: FirebaseCall) -> ProviderConfig? {
        guard let source = call.project.providers.source(id) else { return nil }
        var members = source.config
        if source.isEnabled { members["enabled"] = true }
        return ProviderConfig(pool: call.pool, kind: .known, id: id, settings: OtherSettings(members))
    }

    /// Returns the configuration that the path names.
    private func knownConfig(_ kind: ProviderConfig.Kind, _ call: FirebaseCall) throws(FirebaseError) -> ProviderConfig
    {
        let id = call.exchange.parameters["config"] ?? ""
        let row = call.read {
            $0.find(ProviderConfig.self, ProviderConfig.Key(pool: call.pool, kind: kind, id: id))
        }
        guard let config = row ?? (kind == .known ? seeded(id, call) : nil), !config.isDeleted else {
            throw FirebaseProvider.noConfig(id)
        }
        return config
    }

    private func createConfig(_ kind: ProviderConfig.Kind, _ call: FirebaseCall) throws -> FirebaseAnswer {
        let id = call.exchange.request.queryForm[kind.idParameter] ?? ""
        try FirebaseProvider.check(id, kind)
        var config = ProviderConfig(pool: call.pool, kind: kind, id: id)
        try config.change(call, UpdateMask(""), now: call.exchange.world.now.textOfTimestamp)
        let made = config
        let isSeeded = kind == .known && seeded(id, call) != nil
        try call.update { tables in
            let known = tables.find(ProviderConfig.self, made.key)
            guard known?.isDeleted ?? !isSeeded else {
                var error = FirebaseError(
                    "CONFIGURATION_EXISTS", status: 409, because: "there is a provider \(Diagnosis.quote(id)) already")
                error.statusName = "ALREADY_EXISTS"
                throw error
            }
            guard tables.count(ProviderConfig.byPool, call.pool) < ProviderConfig.limit else {
                throw FirebaseError.quotaExceeded(
                    "Exceeded quota for IdP configs.",
                    Diagnosis("there are \(ProviderConfig.limit) providers here: delete some"))
            }
            tables.put(made)
        }
        return try answer(made, call)
    }

    /// Checks a new configuration's ID. Production's words aren't documented.
    private static func check(_ id: String, _ kind: ProviderConfig.Kind) throws(FirebaseError) {
        switch kind {
        case .known:
            guard !ProviderConfig.knownIDs.contains(id) else { return }
            throw FirebaseError(
                "INVALID_CONFIG_ID",
                diagnosis: Diagnosis(
                    received: "idpId \(Diagnosis.quote(id))",
                    expected: ProviderConfig.knownIDs.joined(separator: ", "), "send one of these"))
        case .saml:
            let prefix = ProviderConfig.samlPrefix
            let isID =
                id.hasPrefix(prefix) && id != prefix && id.utf8.count <= 128 && TextRule.identifier.holds(id)
            guard !isID else { return }
            throw FirebaseError(
                "INVALID_CONFIG_ID",
                because: "inboundSamlConfigId is \(Diagnosis.quote(id)), not such as \"saml.corp\"")
        }
    }

    private func patchConfig(_ kind: ProviderConfig.Kind, _ call: FirebaseCall) throws -> FirebaseAnswer {
        let known = try knownConfig(kind, call)
        let mask = UpdateMask(call.exchange)
        let changed = try call.update { tables -> ProviderConfig in
            var config = tables.find(ProviderConfig.self, known.key) ?? known
            guard !config.isDeleted else { throw FirebaseProvider.noConfig(known.id) }
            // Without a mask, the fields in the body are changed, which isn't documented.
            try config.change(
                call, mask.isFullUpdate ? UpdateMask(named: call.fields.names) : mask,
                now: tables.now.textOfTimestamp)
            tables.put(config)
            return config
        }
        return try answer(changed, call)
    }

    private func deleteConfig(_ kind: ProviderConfig.Kind, _ call: FirebaseCall) throws -> FirebaseAnswer {
        let known = try knownConfig(kind, call)
        let isSeeded = kind == .known && seeded(known.id, call) != nil
        try call.update { tables in
            let row = tables.pop(ProviderConfig.self, known.key)
            guard isSeeded else {
                guard row != nil else { throw FirebaseProvider.noConfig(known.id) }
                return
            }
            guard !(row?.isDeleted ?? false) else { throw FirebaseProvider.noConfig(known.id) }
            tables.put(ProviderConfig(pool: call.pool, kind: kind, id: known.id, isDeleted: true))
        }
        return FirebaseAnswer(body: JSONObject())
    }

    /// Lists the configurations, in pages of 20 or `pageSize`, at most 100. Neither number is documented.
    private func listConfigs(_ kind: ProviderConfig.Kind, _ call: FirebaseCall) throws -> FirebaseAnswer {
        let query = call.exchange.request.queryForm
        let size = min(100, max(1, query["pageSize"].flatMap { Int($0) } ?? 20))
        let rows = call.read { tables in
            tables.rows(
                ProviderConfig.order, prefix: ProviderConfig.place(kind, in: call.pool), after: "",
                limit: ProviderConfig.limit)
        }.map(\.row)
        var configs = rows.filter { !$0.isDeleted }
        if kind == .known {
            let written = Set(rows.map(\.id))
            configs += ProviderConfig.knownIDs.filter { !written.contains($0) }.compactMap { seeded($0, call) }
        }
        let start = query["pageToken"] ?? ""
        let rest = configs.filter { $0.id > start }.sorted { $0.id < $1.id }
        let page = rest.prefix(size)
        var body = JSONObject()
        if !page.isEmpty { body[kind.rawValue] = .array(try page.map { .object(try $0.document(in: call)) }) }
        if rest.count > size { body["nextPageToken"] = page.last.map { .string($0.id) } }
        return FirebaseAnswer(body: body)
    }
}
