import JOSE
import JSON
import EmulatorCore

// v2 projects/P/config, projects/P/tenants; emulator/v1/projects/P/config
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects/getConfig
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects.tenants

extension FirebaseProvider {
    // MARK: - Settings

    func config(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let project = call.project
        let providers = project.providers
        let signIn: JSONValue = [
            "email": ["enabled": .bool(providers.password?.enabled ?? false), "passwordRequired": false],
            "anonymous": ["enabled": .bool(providers.anonymous?.enabled ?? false)],
            "phoneNumber": ["enabled": .bool(providers.phone?.enabled ?? false)],
            "allowDuplicateEmails": .bool(!project.oneAccountPerEmail),
        ]
        let domains = project.returnDomains
        return FirebaseAnswer(
            body: JSONObject([
                ("name", .string("projects/\(project.id)/config")), ("signIn", signIn),
                ("authorizedDomains", .array(domains.map { .string($0) })),
                ("mfa", FirebaseProvider.document(project.mfa)),
                ("emailPrivacyConfig", ["enableImprovedEmailPrivacy": .bool(project.hidesEmails)]),
            ]))
    }

    private static func document(_ mfa: FirebaseSeed.MFA) -> JSONValue {
        var body = JSONObject([("state", .string(mfa.state))])
        if mfa.providers.contains("phone") { body["enabledProviders"] = ["PHONE_SMS"] }
        if mfa.providers.contains("totp") {
            body["providerConfigs"] = [
                ["state": "ENABLED", "totpProviderConfig": ["adjacentIntervals": .integer(TOTP.adjacentIntervals)]]
            ]
        }
        return .object(body)
    }

    func updateConfig(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let duplicates = try call.nested("signIn")?.flag("allowDuplicateEmails")
        let privacy = try call.nested("emailPrivacyConfig")?.flag("enableImprovedEmailPrivacy")
        var mfa: FirebaseSeed.MFA?
        if let given = try call.nested("mfa") {
            let isTOTP = try given.list("providerConfigs").contains {
                $0.has("totpProviderConfig") && $0.value("state") == "ENABLED"
            }
            let isPhone = try given.texts("enabledProviders").contains("PHONE_SMS")
            mfa = FirebaseSeed.MFA(
                state: given.value("state") ?? "DISABLED",
                providers: (isPhone ? ["phone"] : []) + (isTOTP ? ["totp"] : []))
        }
        let change = mfa
        let settings = call.exchange.world.update { state -> ProjectSettings in
            var settings = state[FirebaseState.self].settings[call.project.id] ?? ProjectSettings()
            if let duplicates { settings.oneAccountPerEmail = !duplicates }
            if let privacy { settings.hidesEmails = privacy }
            if let change { settings.mfa = change }
            state[FirebaseState.self].settings[call.project.id] = settings
            return settings
        }
        return try config(
            FirebaseCall(
                call.exchange, project: settings.apply(to: call.project), isAdmin: true, body: JSONObject()))
    }

    /// The Emulator Suite's shorter form.
    func emulatorConfig(_ call: FirebaseCall) -> FirebaseAnswer {
        FirebaseAnswer(
            body: JSONObject([
                ("signIn", ["allowDuplicateEmails": .bool(!call.project.oneAccountPerEmail)]),
                ("emailPrivacyConfig", ["enableImprovedEmailPrivacy": .bool(call.project.hidesEmails)]),
            ]))
    }

    // MARK: - Tenants

    private func change(_ tenant: inout Tenant, _ call: FirebaseCall) throws(FirebaseError) {
        if let name = try call.text("displayName") { tenant.displayName = name }
        if let flag = try call.flag("allowPasswordSignup") { tenant.allowsPasswords = flag }
        if let flag = try call.flag("enableEmailLinkSignin") { tenant.allowsEmailLinks = flag }
        if let flag = try call.flag("enableAnonymousUser") { tenant.allowsAnonymous = flag }
        if let flag = try call.flag("disableAuth") { tenant.isDisabled = flag }
    }

    private func save(_ tenant: Tenant, _ call: FirebaseCall) {
        let key = FirebaseState.Key(project: call.project.id, tenant: tenant.id)
        var tenant = tenant
        tenant.isImplicit = false
        let saved = tenant
        call.exchange.world.update { $0[FirebaseState.self].tenants[key] = saved }
    }

    func createTenant(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let suffix = call.update { _, context in
            context.random.text(5, from: Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8))
        }
        let name = try call.text("displayName") ?? "tenant"
        let stem = name.lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        var tenant = Tenant(id: "\(stem)-\(suffix)")
        try change(&tenant, call)
        try call.exchange.admit(call.project, tenant: tenant.id)
        save(tenant, call)
        return FirebaseAnswer(body: tenant.document(call.project).object ?? JSONObject())
    }

    func tenant(_ id: String, of project: Project, in exchange: Exchange) -> Tenant? {
        let key = FirebaseState.Key(project: project.id, tenant: id)
        return exchange.world.update { state in
            if let tenant = state[FirebaseState.self].tenants[key] { return tenant }
            // As in the official emulator, a tenant of a demo project comes into being when it is named.
            guard project.id.hasPrefix("demo-"), id.utf8.count <= 64, TextRule.identifier.holds(id),
                state[FirebaseState.self].tenants.count < FirebaseState.unseededLimit
            else { return nil }
            let tenant = Tenant(
                id: id, displayName: id, allowsPasswords: true, allowsEmailLinks: true, allowsAnonymous: true,
                isImplicit: true)
            state[FirebaseState.self].tenants[key] = tenant
            return tenant
        }
    }

    private func named(_ call: FirebaseCall) throws(FirebaseError) -> Tenant {
        let id = call.exchange.parameters["tenant"] ?? ""
        guard let tenant = tenant(id, of: call.project, in: call.exchange) else {
            throw FirebaseError("TENANT_NOT_FOUND", because: "the project has no tenant \(Diagnosis.quote(id))")
        }
        return tenant
    }

    func getTenant(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        FirebaseAnswer(body: try named(call).document(call.project).object ?? JSONObject())
    }

    func patchTenant(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        var tenant = try named(call)
        try change(&tenant, call)
        save(tenant, call)
        return FirebaseAnswer(body: tenant.document(call.project).object ?? JSONObject())
    }

    func deleteTenant(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let tenant = try named(call)
        let key = FirebaseState.Key(project: call.project.id, tenant: tenant.id)
        call.exchange.world.update { state in
            state[FirebaseState.self].remove(key)
        }
        return FirebaseAnswer(body: JSONObject())
    }

    func listTenants(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let tenants = call.exchange.world.update { state in
            state[FirebaseState.self].tenants.filter { $0.key.project == call.project.id }.values.sorted {
                $0.id < $1.id
            }
        }
        let query = call.exchange.request.queryForm
        let size = min(1000, max(1, query["pageSize"].flatMap { Int($0) } ?? 20))
        let rest = tenants.filter { $0.id > (query["pageToken"] ?? "") }
        var body = JSONObject([("tenants", .array(rest.prefix(size).map { $0.document(call.project) }))])
        if rest.count > size { body["nextPageToken"] = .string(rest[size - 1].id) }
        return FirebaseAnswer(body: body)
    }
}
