import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Worlds

// The methods v2 projects/P/defaultSupportedIdpConfigs and inboundSamlConfigs, also below projects/P/tenants/T:
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects.defaultSupportedIdpConfigs
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects.inboundSamlConfigs
//
// Quirks: a certificate is stored unread. Recorded in September 2026: https://github.com/t-k/fireemu,
// conformance/auth-federation-production.json, programs provider-config/default-supported and provider-config/saml.

/// An administrator's configuration of an identity provider in a project or tenant. The provider is one that Firebase
/// knows by name, or a SAML provider. The configuration takes effect only if Understudy simulates the provider, such as
/// `google.com`. Other configurations are only stored and returned.
struct ProviderConfig: PoolRow {
    /// The API's collection to which a provider configuration belongs. The raw value is the collection's name in paths.
    enum Kind: String, CaseIterable, Codable, Sendable {
        case known = "defaultSupportedIdpConfigs"
        case saml = "inboundSamlConfigs"

        fileprivate var fields: [String] {
            switch self {
            case .known: ["enabled", "clientId", "clientSecret", "appleSignInConfig"]
            case .saml: ["displayName", "enabled", "idpConfig", "spConfig"]
            }
        }

        /// The name of the query parameter with the ID of a new provider configuration.
        fileprivate var idParameter: String { self == .known ? "idpId" : "inboundSamlConfigId" }
    }

    struct Key: TableKey {
        let pool: UserPool
        let kind: Kind
        let id: String

        var keyText: String { String(keyParts: pool.project, pool.tenant, kind.rawValue, id) }
    }

    static let table = Table<ProviderConfig>(
        "firebase.providerConfig", indexes: [byPool], sortedBy: order, size: { $0.settings.size })
    static let byPool = Index<ProviderConfig, UserPool>("pool") { $0.pool }
    static let order = SortedIndex<ProviderConfig>("order") { [place($0.kind, in: $0.pool) + $0.id] }

    /// The IDs of the identity providers that Firebase knows by name. Production's list of them is known from the
    /// recording `provider-config/default-supported#list-supported`.
    static let knownIDs = [
        "apple.com", "facebook.com", "gc.apple.com", "github.com", "google.com", "linkedin.com", "microsoft.com",
        "playgames.google.com", "twitter.com", "yahoo.com",
    ]
    static let samlPrefix = "saml."

    let pool: UserPool
    let kind: Kind
    let id: String
    fileprivate(set) var settings = OtherSettings()
    /// Whether an administrator has deleted the provider. If so, a provider with the same ID in the seed is ignored.
    fileprivate(set) var isDeleted = false

    var key: Key { Key(pool: pool, kind: kind, id: id) }
    var isEnabled: Bool { settings["enabled"]?.bool ?? false }

    /// Returns the text with which the sort key of each provider configuration of this kind in a project or tenant
    /// begins.
    static func place(_ kind: Kind, in pool: UserPool) -> String { "\(pool.keyText)\0\(kind.rawValue)\0" }

    /// The identity provider that the configuration describes; `nil` if Understudy doesn't simulate the provider, or if
    /// an administrator has deleted the configuration.
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

    /// Checks that an administrator's settings for an identity provider are complete and valid.
    private static func check<Source: KnownSource>(_ type: Source.Type, _ config: JSONObject) throws(FirebaseError) {
        guard let issue = Source.schema.issues(in: seed(type, config)).first else { return }
        throw FirebaseError(
            "INVALID_CONFIG", because: "the settings of the identity provider are invalid: \(issue.description)")
    }

    fileprivate func document(in call: FirebaseCall) throws -> JSONObject {
        let parent = call.resourceName + (pool.tenant.map { "/tenants/\($0)" } ?? "")
        var body = JSONObject(["name": "\(parent)/\(kind.rawValue)/\(id)"])
        body.merge(settings.members)
        if settings["idpConfig"]?["signRequest"]?.bool ?? false {
            var provider = settings["spConfig"]?.object ?? JSONObject()
            provider["spCertificates"] = .array(try call.signingCertificates())
            body["spConfig"] = .object(provider)
        }
        return body
    }

    /// Sets those fields of a provider configuration that the update mask names, and checks that the settings are
    /// complete.
    fileprivate mutating func change(_ call: FirebaseCall, _ mask: UpdateMask, now: String) throws(FirebaseError) {
        try settings.change(call, of: kind.rawValue, mask, fields: kind.fields, now: now)
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

extension Transaction {
    /// Adds a new configuration of an identity provider. The argument `kinds` is the plural noun for the provider's
    /// type in the error `QUOTA_EXCEEDED`. The argument `detail` is the text after the code in the error
    /// `CONFIGURATION_EXISTS`.
    ///
    /// - Throws: `CONFIGURATION_EXISTS`, `QUOTA_EXCEEDED`.
    fileprivate mutating func add<Config: PoolRow>(
        _ config: Config, called id: String, _ kinds: String, isTaken: Bool, _ detail: String? = nil
    ) throws(FirebaseError) {
        guard !isTaken else {
            throw FirebaseError(
                "CONFIGURATION_EXISTS", detail, status: 409, named: "ALREADY_EXISTS",
                because: "the identity provider \(Diagnosis.quote(id)) already exists")
        }
        guard count(Config.byPool, config.pool) < FirebaseCall.configLimit else {
            throw .quotaExceeded(
                "Exceeded quota for \(kinds).",
                Diagnosis(
                    "the project or tenant already has \(FirebaseCall.configLimit) identity providers, the limit: delete some"
                ))
        }
        put(config)
    }
}

extension FirebaseCall {
    /// The greatest number of OpenID providers that can be created in a project or tenant, and also the greatest number
    /// of other stored provider configurations. OpenID providers of the seed count. Other providers of the seed count
    /// only if an administrator has changed or deleted them. Production's quota isn't documented.
    fileprivate static let configLimit = 100

    /// The number of provider configurations in one page of a list. It is the request's `pageSize`, but at most 100,
    /// and 20 if the request doesn't have it. Neither number is documented.
    fileprivate var pageSize: Int {
        min(100, max(1, exchange.request.queryForm["pageSize"].flatMap { Int($0) } ?? 20))
    }

    /// Returns one page of a list of provider configurations. `configs` are the configurations after the previous page:
    /// all of them, or at least one more than a page holds. `id` returns the ID of a configuration.
    fileprivate func page<Config>(
        _ configs: [Config], in list: String, id: (Config) -> String, _ document: (Config) throws -> JSONObject
    ) rethrows -> FirebaseAnswer {
        let page = configs.prefix(pageSize)
        let documents = try page.map(document)
        return FirebaseAnswer([
            list: documents.isEmpty ? nil : documents,
            "nextPageToken": configs.count > pageSize ? page.last.map(id) : nil,
        ])
    }

    /// The certificates of the key with which Firebase would sign requests to a SAML provider.
    fileprivate func signingCertificates() throws -> [JSONValue] {
        let certificates = try exchange.certificates(.firebase, commonName: project.host).object?.members ?? []
        return certificates.map { certificate in
            ["x509Certificate": certificate.value, "expiresAt": .string(KeyRing.endOfCertificates.textOfTimestamp)]
        }
    }
}

extension FirebaseProvider {
    /// The methods of Identity Toolkit v2 for the provider configurations of a project or tenant.
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

    /// The list of the providers that Firebase knows by name, for `v2/defaultSupportedIdps`. The list is the same for
    /// all projects.
    static var supportedProviders: Response {
        let list = ProviderConfig.knownIDs.map { id -> JSONValue in ["idpId": .string(id)] }
        return json(["defaultSupportedIdps": .array(list)])
    }

    private func answer(_ config: ProviderConfig, _ call: FirebaseCall) throws -> FirebaseAnswer {
        FirebaseAnswer(body: try config.document(in: call))
    }

    /// Returns the seed's identity provider with this ID as a provider configuration, as if an administrator had made
    /// it; `nil` if the seed doesn't have the provider.
    private func seeded(_ id: String, _ call: FirebaseCall) -> ProviderConfig? {
        guard let source = call.project.providers.source(id) else { return nil }
        var members = source.config
        if source.isEnabled { members["enabled"] = true }
        return ProviderConfig(pool: call.pool, kind: .known, id: id, settings: OtherSettings(members))
    }

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
            try tables.add(made, called: id, "IdP configs", isTaken: !(known?.isDeleted ?? !isSeeded))
            try tables.checkRoomForSettings(in: call.exchange.world)
        }
        return try answer(made, call)
    }

    /// Checks the ID of a new provider configuration. Production's error texts aren't documented.
    private static func check(_ id: String, _ kind: ProviderConfig.Kind) throws(FirebaseError) {
        switch kind {
        case .known:
            guard !ProviderConfig.knownIDs.contains(id) else { return }
            throw FirebaseError(
                "INVALID_CONFIG_ID",
                diagnosis: Diagnosis(
                    received: "idpId \(Diagnosis.quote(id))",
                    expected: ProviderConfig.knownIDs.joined(separator: ", "), "send the ID of a supported provider"))
        case .saml:
            let prefix = ProviderConfig.samlPrefix
            let isID =
                id.hasPrefix(prefix) && id != prefix && id.utf8.count <= 128 && TextRule.identifier.holds(id)
            guard !isID else { return }
            throw FirebaseError(
                "INVALID_CONFIG_ID",
                because: "inboundSamlConfigId \(Diagnosis.quote(id)) is invalid: send an ID such as \"saml.corp\"")
        }
    }

    private func patchConfig(_ kind: ProviderConfig.Kind, _ call: FirebaseCall) throws -> FirebaseAnswer {
        let known = try knownConfig(kind, call)
        let mask = UpdateMask(call.exchange)
        let seeded = kind == .known ? seeded(known.id, call) : nil
        let changed = try call.update { tables -> ProviderConfig in
            guard var config = tables.find(ProviderConfig.self, known.key) ?? seeded, !config.isDeleted else {
                throw FirebaseProvider.noConfig(known.id)
            }
            // Without a mask, the fields in the body are changed, which isn't documented.
            try config.change(
                call, mask.isFullUpdate ? UpdateMask(named: call.fields.names) : mask,
                now: tables.now.textOfTimestamp)
            tables.put(config)
            try tables.checkRoomForSettings(in: call.exchange.world)
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
        return FirebaseAnswer.empty
    }

    private func listConfigs(_ kind: ProviderConfig.Kind, _ call: FirebaseCall) throws -> FirebaseAnswer {
        let rows = call.read { tables in
            tables.rows(
                ProviderConfig.order, prefix: ProviderConfig.place(kind, in: call.pool), after: "",
                limit: FirebaseCall.configLimit)
        }.map(\.row)
        var configs = rows.filter { !$0.isDeleted }
        if kind == .known {
            let written = Set(rows.map(\.id))
            configs += ProviderConfig.knownIDs.filter { !written.contains($0) }.compactMap { seeded($0, call) }
        }
        let start = call.exchange.request.queryForm["pageToken"] ?? ""
        let rest = configs.filter { $0.id > start }.sorted { $0.id < $1.id }
        return try call.page(rest, in: kind.rawValue, id: \.id) { try $0.document(in: call) }
    }
}

// The methods v2 projects/P/oauthIdpConfigs, also below projects/P/tenants/T:
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects.oauthIdpConfigs
//
// Quirks: exactly one of the two response types is true. A tenant doesn't have the project's providers.

/// An OpenID provider of a project or tenant: its issuer, client ID and secret, and whether people may sign in with it.
struct OAuthIdpConfig: PoolRow {
    struct Key: TableKey {
        let pool: UserPool
        let id: String

        var keyText: String { String(keyParts: pool.project, pool.tenant, id) }
    }

    static let table = Table<OAuthIdpConfig>(
        "firebase.oauthIdpConfig", indexes: [byPool], sortedBy: order,
        size: { config in
            [config.displayName ?? "", config.issuer, config.clientID, config.clientSecret ?? ""].reduce(0) {
                $0 + $1.utf8.count
            }
        })
    static let byPool = Index<OAuthIdpConfig, UserPool>("pool") { $0.pool }
    static let order = SortedIndex<OAuthIdpConfig>("order") { [place(in: $0.pool) + $0.id] }

    static let prefix = "oidc."
    let pool: UserPool
    let id: String
    var displayName: String?
    var isEnabled = false
    var issuer = ""
    var clientID = ""
    var clientSecret: String?
    /// Whether a browser's sign-in requests an authorization code from the provider instead of an ID token.
    var usesCode = false

    var key: Key { Key(pool: pool, id: id) }

    /// Returns the text with which the sort key of each OpenID provider of a project or tenant begins.
    static func place(in pool: UserPool) -> String { "\(pool.keyText)\0" }

    /// Whether a text is a valid ID of an OpenID provider, such as `oidc.corp`. Production's limit of the length isn't
    /// documented.
    static func isID(_ id: String) -> Bool {
        id.hasPrefix(prefix) && id != prefix && id.utf8.count <= 128 && TextRule.identifier.holds(id)
    }

    static func isIssuer(_ url: String) -> Bool {
        guard TextRule.url.holds(url), let address = WebAddress(url) else { return false }
        return address.scheme == "https" && !address.rest.contains("?") && !address.hasFragment
    }

    /// Returns the OpenID provider in the API's form. Production leaves out `enabled` if it is false (as in the
    /// recording `third-party-refusals#create-disabled`). In emulator mode, `enabled` is always included.
    func document(in call: FirebaseCall) -> JSONObject {
        let parent = call.resourceName + (pool.tenant.map { "/tenants/\($0)" } ?? "")
        return JSONObject([
            "name": "\(parent)/oauthIdpConfigs/\(id)", "clientId": clientID, "issuer": issuer,
            "displayName": displayName, "enabled": isEnabled || call.isInEmulatorMode ? isEnabled : nil,
            "clientSecret": clientSecret, "responseType": JSONObject([usesCode ? "code" : "idToken": true]),
        ])
    }
}

extension OAuthIdpConfig {
    init(_ seeded: SeededOpenIDProvider, id: String, in pool: UserPool) {
        self.init(
            pool: pool, id: id, displayName: seeded.displayName, isEnabled: seeded.isEnabled, issuer: seeded.issuer,
            clientID: seeded.clientID, clientSecret: seeded.clientSecret, usesCode: seeded.usesCode)
    }

    /// Sets those fields of an OpenID provider for which `isNamed` returns true. Their values are in the request's
    /// body. A field that the body lacks is cleared, except `responseType`.
    fileprivate mutating func change(_ call: FirebaseCall, _ isNamed: (String) -> Bool) throws(FirebaseError) {
        if isNamed("displayName") { displayName = try call.text("displayName") }
        if isNamed("enabled") { isEnabled = try call.flag("enabled") ?? false }
        if isNamed("clientId") { clientID = try call.text("clientId") ?? "" }
        if isNamed("clientSecret") { clientSecret = try call.text("clientSecret") }
        if isNamed("issuer") { issuer = try call.text("issuer") ?? "" }
        if isNamed("responseType"), let type = try call.nested("responseType") {
            let (code, idToken) = (try type.flag("code") ?? false, try type.flag("idToken") ?? false)
            guard code != idToken, try type.flag("token") != true else {
                throw FirebaseError(
                    "INVALID_CONFIG",
                    "response_type should have exactly one of 'idToken' and 'code' being true."
                        + (code && idToken
                            ? " Setting both types to be true ('{code: true, idToken: true}') is not yet supported."
                            : ""),
                    because:
                        "responseType has code \(code) and idToken \(idToken): set exactly one of the two, and never token"
                )
            }
            usesCode = code
        }
        try check()
    }

    /// Checks that the settings of an OpenID provider are complete. Production's errors are known from the recording
    /// `provider-config/oidc` (https://github.com/t-k/fireemu, conformance/auth-federation-production.json). Admin SDKs
    /// know the code `MISSING_ISSUER`; the text that production sends with it isn't documented.
    private func check() throws(FirebaseError) {
        guard !clientID.isEmpty else {
            throw FirebaseError(
                "MISSING_OAUTH_CLIENT_ID", "Client_id in OAuthIdpConfig cannot be empty.",
                because: "clientId is missing")
        }
        guard !issuer.isEmpty else { throw FirebaseError("MISSING_ISSUER", because: "issuer is missing") }
        guard OAuthIdpConfig.isIssuer(issuer) else {
            throw FirebaseError(
                "INVALID_ISSUER", "Issuer in OAuthIdpConfig should be a valid URL.",
                because: "issuer must be an https URL without query and fragment, not \(Diagnosis.quote(issuer))")
        }
        guard !usesCode || clientSecret != nil else {
            throw FirebaseError(
                "INVALID_CONFIG", "client_secret cannot be empty for code flow.",
                because: "clientSecret is missing: the code flow (responseType.code) needs one")
        }
    }
}

extension FirebaseProvider {
    private func openIDConfig(_ call: FirebaseCall) throws(FirebaseError) -> OAuthIdpConfig {
        let id = call.exchange.parameters["config"] ?? ""
        let config = call.read { $0.find(OAuthIdpConfig.self, OAuthIdpConfig.Key(pool: call.pool, id: id)) }
        guard let config else { throw FirebaseProvider.noConfig(id) }
        return config
    }

    static func noConfig(_ id: String) -> FirebaseError {
        FirebaseError(
            "CONFIGURATION_NOT_FOUND", status: 404, named: "NOT_FOUND",
            because: "the project or tenant has no identity provider \(Diagnosis.quote(id))")
    }

    func createOAuthIdpConfig(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let query = call.exchange.request.queryForm
        let id = query["oauthIdpConfigId"] ?? query["oauth_idp_config_id"] ?? ""
        guard OAuthIdpConfig.isID(id) else {
            throw FirebaseError(
                "INVALID_CONFIG_ID",
                "Oauth_idp_config_id must start with 'oidc.' and can only have alphanumeric characters, hyphens, underscores "
                    + "or periods. The part after 'oidc.' must also start with a lowercase letter, end with an alphanumeric "
                    + "character, and have at least 2 characters.",
                because: "oauthIdpConfigId \(Diagnosis.quote(id)) is invalid: send an ID such as \"oidc.corp\"")
        }
        var config = OAuthIdpConfig(pool: call.pool, id: id)
        try config.change(call) { _ in true }
        let made = config
        try call.update { tables in
            try tables.add(
                made, called: id, "OAuth IdP configs", isTaken: tables.find(OAuthIdpConfig.self, made.key) != nil,
                "The OAuthIdpConfig already exists with config_id: \(id)")
            try tables.checkRoomForSettings(in: call.exchange.world)
        }
        return FirebaseAnswer(body: made.document(in: call))
    }

    func getOAuthIdpConfig(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        FirebaseAnswer(body: try openIDConfig(call).document(in: call))
    }

    /// Changes an OpenID provider. A request without `updateMask` changes the fields that its body has. What production
    /// does without `updateMask` isn't documented.
    func patchOAuthIdpConfig(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let key = try openIDConfig(call).key
        let query = call.exchange.request.queryForm
        let mask = (query["updateMask"] ?? query["update_mask"]).map { text in
            Set(text.split(separator: ",").map { MessageFields.camelCase(String($0.prefix { $0 != "." })) })
        }
        let changed = try call.update { tables -> OAuthIdpConfig in
            guard var config = tables.find(OAuthIdpConfig.self, key) else { throw FirebaseProvider.noConfig(key.id) }
            try config.change(call) { name in mask?.contains(name) ?? call.has(name) }
            tables.put(config)
            try tables.checkRoomForSettings(in: call.exchange.world)
            return config
        }
        return FirebaseAnswer(body: changed.document(in: call))
    }

    func deleteOAuthIdpConfig(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let key = try openIDConfig(call).key
        guard try call.update({ $0.pop(OAuthIdpConfig.self, key) }) != nil else {
            throw FirebaseProvider.noConfig(key.id)
        }
        return FirebaseAnswer.empty
    }

    func listOAuthIdpConfigs(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let after = call.exchange.request.queryForm["pageToken"] ?? ""
        let place = OAuthIdpConfig.place(in: call.pool)
        let configs = call.read { tables in
            tables.rows(OAuthIdpConfig.order, prefix: place, after: place + after, limit: call.pageSize + 1)
        }.map(\.row)
        return call.page(configs, in: "oauthIdpConfigs", id: \.id) { $0.document(in: call) }
    }
}
