import EmulatorCore
import HTTPServer
import JOSE
import JSON

// The choice of the users that a call is about. SDKs send `tenantId` with a sign-in, and later only the ID token, which
// names the tenant, too.

/// The ID token in a request's body, decoded but not yet verified.
struct DecodedIDToken: Sendable {
    let text: String
    let token: JWS

    /// Decodes the ID token in a request's body. Returns `nil` if the body has no ID token that can be read. The API
    /// method later reports what is wrong with the token.
    init?(_ body: JSONObject) {
        guard let text = body["idToken"]?.string, let token = try? JWS(parsing: text) else { return nil }
        self.text = text
        self.token = token
    }

    /// The ID of the tenant that the ID token's claims name.
    var tenantID: String? { token.claims["firebase"]?["tenant"]?.string }

    func isOf(_ project: Project) -> Bool { token.claims["aud"]?.string == project.id }
}

extension FirebaseProvider {
    /// Returns the ID of the tenant that a request names: in its path, in its body or query, or in its ID token.
    ///
    /// - Throws: `TENANT_ID_MISMATCH` if these name different tenants.
    static func tenantID(
        of exchange: Exchange, _ body: JSONObject, _ idToken: DecodedIDToken?, _ project: Project
    ) throws(FirebaseError) -> String? {
        // The part behind a colon is the action on the tenant.
        var named = exchange.parameters["tenant"].map { String($0.prefix { $0 != ":" }) }
        let isInEmulatorMode = exchange.isInEmulatorMode
        // A user who is created below a tenant is created there, whatever the body names:
        // `tenant/admin-accounts#create-in-a-body-tenant-b`.
        let isCreation = named != nil && exchange.address.path.hasSuffix("/accounts")
        if let value = body["tenantId"], !value.isNull, isInEmulatorMode || !isCreation {
            // For protobuf, a number counts as a text (`tenant/selection#sign-in-number-tenant`).
            guard let id = value.string ?? (isInEmulatorMode ? nil : value.integer.map(String.init)) else {
                throw .wrongType("tenant_id", "TYPE_STRING", value)
            }
            named = try agreed(named, id, "the body")
        }
        if exchange.request.method == "GET", let id = exchange.request.queryForm["tenantId"] {
            named = try agreed(named, id, "the query")
        }
        if let idToken, idToken.isOf(project), let id = idToken.tenantID {
            // Recorded as `tenant/selection#lookup-tenant-b`. The official emulator answers only the code.
            named = try agreed(
                named, id, "idToken",
                detail: isInEmulatorMode ? nil : "Specified tenant ID mismatches with the ID token.")
        }
        return named
    }

    private static func agreed(
        _ named: String?, _ id: String, _ place: String, detail: String? = nil
    ) throws(FirebaseError) -> String? {
        guard !id.isEmpty else { return named }
        guard let named, named != id else { return id }
        throw FirebaseError(
            "TENANT_ID_MISMATCH", detail,
            because:
                "\(place) is for tenant \(Diagnosis.quote(id)), but the request is for tenant \(Diagnosis.quote(named))"
        )
    }

    /// Returns a `FirebaseCall` for an HTTP request about the users of a project, or of its tenant `id`. It contains
    /// the request's body and the settings that apply to these users.
    ///
    /// - Throws: `TENANT_DISABLED` if sign-in is switched off for the tenant and `takesDisabled` is false (recording of
    ///   production: `tenant/settings#auth-off-sign-in`). In emulator mode the error is `PROJECT_DISABLED`.
    func scoped(
        _ exchange: Exchange, _ project: Project, tenant id: String?, isAdmin: Bool = false,
        takesDisabled: Bool = false, _ body: JSONObject = JSONObject(), idToken: DecodedIDToken? = nil
    ) throws -> FirebaseCall {
        if project.hasContents { try exchange.world.populate(project) }
        let settings = exchange.world.read { $0.find(ProjectSettings.self, project.id) }
        let project = settings?.apply(to: project) ?? project
        guard let id, !id.isEmpty else {
            try exchange.admit(project)
            return FirebaseCall(exchange, project: project, isAdmin: isAdmin, body: body, idToken: idToken)
        }
        let tenant = try tenant(id, of: project, in: exchange)
        let isInEmulatorMode = exchange.isInEmulatorMode
        guard takesDisabled || !tenant.isDisabled else {
            throw FirebaseError(
                isInEmulatorMode ? "PROJECT_DISABLED" : "TENANT_DISABLED",
                because: "sign-in is disabled for the tenant \(Diagnosis.quote(id)) (disableAuth)")
        }
        return FirebaseCall(
            exchange, project: project.within(tenant, inEmulatorMode: isInEmulatorMode), tenant: id, isAdmin: isAdmin,
            body: body, idToken: idToken)
    }

    /// Returns the project's tenant with this ID. If the tenant is unknown and the project accepts unknown tenants, the
    /// tenant is made.
    ///
    /// - Throws: `INVALID_TENANT_ID`, `TENANT_DELETED` (recordings of production:
    ///   `tenant/selection#admin-lookup-unknown-tenant`, `tenant/deletion#lookup-after-delete`).
    func tenant(_ id: String, of project: Project, in exchange: Exchange) throws -> Tenant {
        let pool = UserPool(project: project.id, tenant: id)
        let (known, isDeleted) = exchange.world.read { tables in
            (tables.find(Tenant.self, pool), tables.find(DeletedTenant.self, pool) != nil)
        }
        if let known { return known }
        if isDeleted, !exchange.isInEmulatorMode {
            throw FirebaseError("TENANT_DELETED", because: "the tenant \(Diagnosis.quote(id)) was deleted")
        }
        guard projects.acceptsUnknownTenant(id, of: project, at: exchange.address) else {
            throw FirebaseError(
                "INVALID_TENANT_ID",
                because: "the project has no tenant \(Diagnosis.quote(id)): add it to the seed, or create it")
        }
        try exchange.recordTenantTakenOnTrust(id, of: project)
        try exchange.admit(project, tenant: id)
        return try exchange.world.update { tables in
            if let tenant = tables.find(Tenant.self, pool) { return tenant }
            let tenant = Tenant(unconfigured: id, of: project.id)
            tables.put(tenant)
            return tenant
        }
    }
}

extension FirebaseCall {
    /// Checks that the project or tenant allows people to sign in by this method.
    ///
    /// - Throws: An error with the code `code` if the method isn't allowed.
    func require(_ method: String, or code: String) throws(FirebaseError) {
        guard !allows(method) else { return }
        guard let tenant else {
            throw FirebaseError(
                code, because: "the project's sign-in provider \"\(method)\" isn't enabled: enable it in the seed")
        }
        let settings = [
            "password": "allowPasswordSignup", "anonymous": "enableAnonymousUser", "emailLink": "enableEmailLinkSignin",
        ]
        throw FirebaseError(
            code,
            because:
                "the sign-in method is disabled: \(settings[method] ?? method) of the tenant \(Diagnosis.quote(tenant)) isn't true"
        )
    }

    /// Whether the project or tenant allows a sign-in method. A project allows sign-in links in mails only if it also
    /// allows passwords. If there is no setting for sign-in links, emulator mode allows them, because the Firebase
    /// emulator has no such setting. Without the setting, production refuses them, as in the recording
    /// `tenant/actions#link-no-tenant`.
    private func allows(_ method: String) -> Bool {
        guard method == "emailLink" else { return project.isEnabled(method) == true }
        let isAllowed = project.providers.emailLink ?? isInEmulatorMode
        return isAllowed && (tenant != nil || project.providers.password == true)
    }

    /// Checks that the call is about a project's own users, and not about those of a tenant.
    ///
    /// - Throws: `UNSUPPORTED_TENANT_OPERATION` if it is about a tenant.
    func requireNoTenant(_ endpoint: String) throws(FirebaseError) {
        guard let tenant else { return }
        throw FirebaseError(
            "UNSUPPORTED_TENANT_OPERATION",
            because:
                "\(endpoint) is only for the project's own users, not for those of the tenant \(Diagnosis.quote(tenant))"
        )
    }
}
