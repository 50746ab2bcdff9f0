import EmulatorCore
import HTTPServer
import JSON
import OAuth

// The methods v2 projects/P/oauthIdpConfigs, also below projects/P/tenants/T:
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects.oauthIdpConfigs
//
// Quirks: exactly one of the two response types is true. A tenant doesn't have the project's providers.

/// The settings with which people sign in to a project or tenant at an OpenID provider.
struct OAuthIdpConfig: PoolRow {
    struct Key: TableKey {
        let pool: UserPool
        let id: String

        var keyText: String { String(keyParts: pool.project, pool.tenant, id) }
    }

    static let table = Table<OAuthIdpConfig>("firebase.oauthIdpConfig", indexes: [byPool], sortedBy: order)
    static let byPool = Index<OAuthIdpConfig, UserPool>("pool") { $0.pool }
    static let order = SortedIndex<OAuthIdpConfig>("order") { [place(in: $0.pool) + $0.id] }

    static let prefix = "oidc."
    /// The greatest number of providers in a project or tenant beside the seeded ones. Production's quota isn't
    /// documented.
    static let limit = 100

    let pool: UserPool
    let id: String
    var displayName: String?
    var isEnabled = false
    var issuer = ""
    var clientID = ""
    var clientSecret: String?
    /// Whether the web flow asks for a code instead of an ID token.
    var usesCode = false

    var key: Key { Key(pool: pool, id: id) }

    /// Returns the common prefix of the index texts of a pool's providers.
    static func place(in pool: UserPool) -> String { "\(pool.keyText)\0" }

    /// Whether a text is a valid ID. Production's limit of its length isn't documented.
    static func isID(_ id: String) -> Bool {
        id.hasPrefix(prefix) && id != prefix && id.utf8.count <= 128 && TextRule.identifier.holds(id)
    }

    static func isIssuer(_ url: String) -> Bool {
        guard TextRule.url.holds(url), let address = WebAddress(url) else { return false }
        return address.scheme == "https" && !address.rest.contains("?") && !address.hasFragment
    }

    /// Returns the resource. As in production, members that are false are left out. Recorded as
    /// `third-party-refusals#create-disabled`.
    func document(in call: FirebaseCall) -> JSONObject {
        let parent = call.resourceName + (pool.tenant.map { "/tenants/\($0)" } ?? "")
        var body = JSONObject([
            ("name", .string("\(parent)/oauthIdpConfigs/\(id)")), ("clientId", .string(clientID)),
            ("issuer", .string(issuer)),
        ])
        body["displayName"] = displayName.map { .string($0) }
        if isEnabled || call.isInEmulatorMode { body["enabled"] = .bool(isEnabled) }
        body["clientSecret"] = clientSecret.map { .string($0) }
        body["responseType"] = usesCode ? ["code": true] : ["idToken": true]
        return body
    }
}

extension OAuthIdpConfig {
    init(_ seeded: SeededOpenIDProvider, id: String, in pool: UserPool) {
        self.init(
            pool: pool, id: id, displayName: seeded.displayName, isEnabled: seeded.isEnabled, issuer: seeded.issuer,
            clientID: seeded.clientID, clientSecret: seeded.clientSecret, usesCode: seeded.usesCode)
    }

    /// Sets the fields that `isNamed` names to the body's values. A named field that the body lacks is cleared.
    fileprivate mutating func change(
        _ call: FirebaseCall, _ isNamed: (String) -> Bool
    ) throws(FirebaseError) {
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
                    because: "responseType has code \(code) and idToken \(idToken): set one of them, and never token")
            }
            usesCode = code
        }
        try check()
    }

    /// Checks that the settings are complete. Recorded as `provider-config/oidc`: https://github.com/t-k/fireemu,
    /// conformance/auth-federation-production.json. Production's text behind `MISSING_ISSUER`, which Admin SDKs know,
    /// isn't documented.
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
                because: "the code flow (responseType.code) needs a clientSecret")
        }
    }
}

extension FirebaseProvider {
    /// Returns the provider that the path names.
    private func openIDConfig(_ call: FirebaseCall) throws(FirebaseError) -> OAuthIdpConfig {
        let id = call.exchange.parameters["config"] ?? ""
        let config = call.read { $0.find(OAuthIdpConfig.self, OAuthIdpConfig.Key(pool: call.pool, id: id)) }
        guard let config else { throw FirebaseProvider.noConfig(id) }
        return config
    }

    static func noConfig(_ id: String) -> FirebaseError {
        var error = FirebaseError(
            "CONFIGURATION_NOT_FOUND", status: 404, because: "there is no provider \(Diagnosis.quote(id)) here")
        error.statusName = "NOT_FOUND"
        return error
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
                because: "oauthIdpConfigId is \(Diagnosis.quote(id)), not such as \"oidc.corp\"")
        }
        var config = OAuthIdpConfig(pool: call.pool, id: id)
        try config.change(call) { _ in true }
        let made = config
        try call.update { tables in
            guard tables.find(OAuthIdpConfig.self, made.key) == nil else {
                var error = FirebaseError(
                    "CONFIGURATION_EXISTS", "The OAuthIdpConfig already exists with config_id: \(id)", status: 409,
                    because: "there is a provider \(Diagnosis.quote(id)) already")
                error.statusName = "ALREADY_EXISTS"
                throw error
            }
            guard tables.count(OAuthIdpConfig.byPool, call.pool) < OAuthIdpConfig.limit else {
                throw FirebaseError.quotaExceeded(
                    "Exceeded quota for OAuth IdP configs.",
                    Diagnosis("there are \(OAuthIdpConfig.limit) providers here: delete some"))
            }
            tables.put(made)
        }
        return FirebaseAnswer(body: made.document(in: call))
    }

    func getOAuthIdpConfig(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        FirebaseAnswer(body: try openIDConfig(call).document(in: call))
    }

    /// Changes a provider. Without `updateMask`, the fields in the body are changed, which isn't documented.
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
            return config
        }
        return FirebaseAnswer(body: changed.document(in: call))
    }

    func deleteOAuthIdpConfig(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let key = try openIDConfig(call).key
        guard try call.update({ $0.pop(OAuthIdpConfig.self, key) }) != nil else {
            throw FirebaseProvider.noConfig(key.id)
        }
        return FirebaseAnswer(body: JSONObject())
    }

    /// Lists providers, in pages of 20 or `pageSize`, at most 100. Neither number is documented.
    func listOAuthIdpConfigs(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let query = call.exchange.request.queryForm
        let size = min(100, max(1, query["pageSize"].flatMap { Int($0) } ?? 20))
        let place = OAuthIdpConfig.place(in: call.pool)
        let configs = call.read { tables in
            tables.rows(
                OAuthIdpConfig.order, prefix: place, after: place + (query["pageToken"] ?? ""), limit: size + 1)
        }.map(\.row)
        let page = configs.prefix(size)
        var body = JSONObject()
        if !page.isEmpty { body["oauthIdpConfigs"] = .array(page.map { .object($0.document(in: call)) }) }
        if configs.count > size { body["nextPageToken"] = page.last.map { .string($0.id) } }
        return FirebaseAnswer(body: body)
    }
}
