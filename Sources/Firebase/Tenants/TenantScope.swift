import EmulatorCore
import HTTPServer
import JOSE
import JSON

// Whose users a call is about. SDKs send `tenantId` with a sign-in, and later only the ID token, which names the tenant, too.

/// An ID token of a request, decoded and not verified yet.
struct DecodedIDToken: Sendable {
    let text: String
    let token: JWS

    /// `nil` where the body has none or none that can be read: the method says what is wrong with it.
    init?(_ body: JSONObject) {
        guard let text = body["idToken"]?.string, let token = try? JWS(parsing: text) else { return nil }
        self.text = text
        self.token = token
    }

    /// The tenant that it says it is of.
    var tenantID: String? { token.claims["firebase"]?["tenant"]?.string }

    func isOf(_ project: Project) -> Bool { token.claims["aud"]?.string == project.id }
}

extension FirebaseProvider {
    /// The tenant that a call names, by its path, its body or query, or by its ID token.
    ///
    /// - Throws: `TENANT_ID_MISMATCH` when two of these name different ones.
    static func tenantID(
        of exchange: Exchange, _ body: JSONObject, _ idToken: DecodedIDToken?, _ project: Project
    ) throws(FirebaseError) -> String? {
        // Behind a colon stands what is to be done with the tenant.
        var named = exchange.parameters["tenant"].map { String($0.prefix { $0 != ":" }) }
        if let value = body["tenantId"], !value.isNull {
            guard let id = value.string else { throw .wrongType("tenant_id", "TYPE_STRING", value) }
            named = try agreed(named, id, "the body")
        }
        if exchange.request.method == "GET", let id = exchange.request.queryForm["tenantId"] {
            named = try agreed(named, id, "the query")
        }
        if let idToken, idToken.isOf(project), let id = idToken.tenantID { named = try agreed(named, id, "idToken") }
        return named
    }

    private static func agreed(_ named: String?, _ id: String, _ place: String) throws(FirebaseError) -> String? {
        guard !id.isEmpty else { return named }
        guard let named, named != id else { return id }
        throw FirebaseError(
            "TENANT_ID_MISMATCH",
            because: "\(place) is of tenant \(Diagnosis.quote(id)), the request is for \(Diagnosis.quote(named))")
    }

    /// A call that is about the users of a project or of one of its tenants, whose settings hold then.
    ///
    /// - Throws: `PROJECT_DISABLED` for a tenant whose sign-in is switched off, unless `takesDisabled` is set.
    func scoped(
        _ exchange: Exchange, _ project: Project, tenant id: String?, isAdmin: Bool = false,
        takesDisabled: Bool = false, _ body: JSONObject = JSONObject(), idToken: DecodedIDToken? = nil
    ) throws(FirebaseError) -> FirebaseCall {
        if project.hasContents { exchange.world.populate(project) }
        let settings = exchange.world.read { $0.find(ProjectSettings.self, project.id) }
        let project = settings?.apply(to: project) ?? project
        guard let id, !id.isEmpty else {
            try exchange.admit(project)
            return FirebaseCall(exchange, project: project, isAdmin: isAdmin, body: body, idToken: idToken)
        }
        let tenant = try tenant(id, of: project, isAdmin: isAdmin, in: exchange)
        guard takesDisabled || !tenant.isDisabled else {
            throw FirebaseError(
                "PROJECT_DISABLED", because: "the tenant \(Diagnosis.quote(id)) has disableAuth: nobody may sign in")
        }
        return FirebaseCall(
            exchange, project: project.within(tenant), tenant: id, isAdmin: isAdmin, body: body, idToken: idToken)
    }

    /// - Throws: `TENANT_NOT_FOUND`, or to apps `INVALID_TENANT_ID`.
    func tenant(
        _ id: String, of project: Project, isAdmin: Bool, in exchange: Exchange
    ) throws(FirebaseError) -> Tenant {
        let pool = UserPool(project: project.id, tenant: id)
        if let tenant = exchange.world.read({ $0.find(Tenant.self, pool) }) { return tenant }
        guard projects.takesUnknownTenant(id, of: project, at: exchange.address) else {
            throw FirebaseError(
                isAdmin ? "TENANT_NOT_FOUND" : "INVALID_TENANT_ID",
                because: "the project has no tenant \(Diagnosis.quote(id)): seed it, or create it")
        }
        exchange.takeTenant(id, of: project)
        try exchange.admit(project, tenant: id)
        return exchange.world.update { tables in
            if let tenant = tables.find(Tenant.self, pool) { return tenant }
            let tenant = Tenant(unconfigured: id, of: project.id)
            tables.put(tenant)
            return tenant
        }
    }
}

extension FirebaseCall {
    /// - Throws: `code`, unless people may sign in this way.
    func require(_ method: String, or code: String) throws(FirebaseError) {
        guard project.isEnabled(method) != true else { return }
        guard let tenant else {
            let provider = method == "emailLink" ? "password" : method
            throw FirebaseError(
                code, because: "the project's provider \"\(provider)\" isn't there or isn't enabled in the seed")
        }
        let settings = [
            "password": "allowPasswordSignup", "anonymous": "enableAnonymousUser", "emailLink": "enableEmailLinkSignin",
        ]
        throw FirebaseError(
            code, because: "\(settings[method] ?? method) of the tenant \(Diagnosis.quote(tenant)) isn't true")
    }

    /// - Throws: `UNSUPPORTED_TENANT_OPERATION` for the users of a tenant.
    func requireNoTenant(_ operation: String) throws(FirebaseError) {
        guard let tenant else { return }
        throw FirebaseError(
            "UNSUPPORTED_TENANT_OPERATION",
            because: "\(operation) is for a project's own users only, and this is the tenant \(Diagnosis.quote(tenant))"
        )
    }
}
