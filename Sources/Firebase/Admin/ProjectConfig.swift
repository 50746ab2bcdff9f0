import EmulatorCore
import JSON

// v2 projects/P/config; emulator/v1/projects/P/config
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects/getConfig

extension FirebaseProvider {
    func config(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let project = call.project
        let providers = project.providers
        let signIn: JSONValue = [
            "email": ["enabled": .bool(providers.password ?? false), "passwordRequired": false],
            "anonymous": ["enabled": .bool(providers.anonymous ?? false)],
            "phoneNumber": ["enabled": .bool(providers.phone?.isEnabled ?? false)],
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

    private static func document(_ mfa: MFA) -> JSONValue {
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
        var mfa: MFA?
        if let given = try call.nested("mfa") {
            let isTOTP = try given.list("providerConfigs").contains {
                $0.has("totpProviderConfig") && $0.value("state") == "ENABLED"
            }
            let isPhone = try given.texts("enabledProviders").contains("PHONE_SMS")
            mfa = MFA(
                state: given.value("state") ?? "DISABLED",
                providers: (isPhone ? ["phone"] : []) + (isTOTP ? ["totp"] : []))
        }
        let change = mfa
        let settings = call.update { tables in
            var settings =
                tables.find(ProjectSettings.self, call.project.id) ?? ProjectSettings(project: call.project.id)
            if let duplicates { settings.oneAccountPerEmail = !duplicates }
            if let privacy { settings.hidesEmails = privacy }
            if let change { settings.mfa = change }
            tables.put(settings)
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
}
