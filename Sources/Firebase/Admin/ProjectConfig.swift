import EmulatorCore
import JSON
import OAuth

// v2 projects/P/config; emulator/v1/projects/P/config
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects/getConfig

extension FirebaseProvider {
    func config(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let project = call.project
        let providers = project.providers
        var signIn = JSONObject([("allowDuplicateEmails", .bool(!project.oneAccountPerEmail))])
        // Of a project that no seed has, the official emulator tells only what can be changed there.
        if project.isSeeded {
            signIn["email"] = ["enabled": .bool(providers.password ?? false), "passwordRequired": false]
            signIn["anonymous"] = ["enabled": .bool(providers.anonymous ?? false)]
            signIn["phoneNumber"] = ["enabled": .bool(providers.phone?.isEnabled ?? false)]
        }
        let domains = project.returnDomains
        return FirebaseAnswer(
            body: JSONObject([
                ("name", .string("\(call.resourceName)/config")), ("signIn", .object(signIn)),
                ("notification", project.notification.document(of: project)),
                ("authorizedDomains", .array(domains.map { .string($0) })),
                ("mfa", .object(project.mfaConfig.document(listsNone: false))),
                ("emailPrivacyConfig", ["enableImprovedEmailPrivacy": .bool(project.hidesEmails)]),
                ("blockingFunctions", .object(project.blockingFunctions.document)),
            ]))
    }

    /// Without a mask, the fields are set that the body has; `signIn` and `emailPrivacyConfig` begin afresh, as in the official
    /// emulator: what production does then isn't documented.
    func updateConfig(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let settings = try change(call, UpdateMask(call.exchange))
        return try config(
            FirebaseCall(
                call.exchange, project: settings.apply(to: call.project), isAdmin: true, body: JSONObject()))
    }

    /// Sets what the mask names; without a mask (`nil`) what the body has.
    func change(_ call: FirebaseCall, _ mask: UpdateMask?) throws(FirebaseError) -> ProjectSettings {
        let duplicates = try call.nested("signIn")?.flag("allowDuplicateEmails")
        let setsDuplicates = mask?.names("signIn.allowDuplicateEmails") ?? (duplicates != nil)
        let privacy = try call.nested("emailPrivacyConfig")?.flag("enableImprovedEmailPrivacy")
        let setsPrivacy = mask?.names("emailPrivacyConfig.enableImprovedEmailPrivacy") ?? (privacy != nil)
        let mfa = try changedMFA(call, mask)
        let functions = try changedFunctions(call, mask)
        let notification = try changedNotification(call, mask)
        return call.update { tables in
            var settings =
                tables.find(ProjectSettings.self, call.project.id) ?? ProjectSettings(project: call.project.id)
            if setsDuplicates { settings.oneAccountPerEmail = !(duplicates ?? false) }
            if setsPrivacy { settings.hidesEmails = privacy ?? false }
            if let mfa { settings.mfa = mfa }
            if let functions { settings.blockingFunctions = functions }
            if let notification { settings.notification = notification }
            tables.put(settings)
            return settings
        }
    }

    /// `nil` where nothing of `notification` is meant.
    private func changedNotification(
        _ call: FirebaseCall, _ mask: UpdateMask?
    ) throws(FirebaseError) -> NotificationSettings? {
        let given = try call.nested("notification")
        guard given != nil || mask.map({ !$0.isFullUpdate && $0.touches("notification") }) ?? false else { return nil }
        return try call.project.notification.changed(by: given, mask)
    }

    /// `nil` where nothing of `blockingFunctions` is meant. An update without a mask empties it in the official emulator.
    private func changedFunctions(
        _ call: FirebaseCall, _ mask: UpdateMask?
    ) throws(FirebaseError) -> BlockingFunctions? {
        let given = try call.nested("blockingFunctions")
        guard let mask, mask.touches("blockingFunctions"),
            given != nil || call.isInEmulatorMode || !mask.isFullUpdate
        else { return nil }
        // Where a function is decides what the daemon posts to, and whose answers an app sees.
        if let origin = call.exchange.request.header("Origin"), WebAddress(origin)?.isLoopback != true {
            var error = FirebaseError(
                "Pages of other machines can't change blockingFunctions.", status: 403,
                because: "Origin is \(Diagnosis.quote(origin)): send it from a test, or from a page of this machine")
            error.statusName = "PERMISSION_DENIED"
            throw error
        }
        guard call.exchange.mayChooseAddresses else {
            var error = FirebaseError(
                "This client can't change blockingFunctions.", status: 403,
                because:
                    "the daemon posts to functions, so their addresses come from clients on its machine or, where it has "
                    + "a control token, from clients that send it: send Authorization: Bearer with the token, or set "
                    + "blockingFunctions in the seed")
            error.statusName = "PERMISSION_DENIED"
            throw error
        }
        return try call.project.blockingFunctions.changed(by: given) { mask.names($0) }
    }

    /// `nil` where nothing of `mfa` is meant.
    private func changedMFA(_ call: FirebaseCall, _ mask: UpdateMask?) throws(FirebaseError) -> MFAConfig? {
        let given = try call.nested("mfa")
        let mask = mask ?? UpdateMask("")
        guard mask.touches("mfa"), given != nil || !mask.isFullUpdate else { return nil }
        var config = call.project.mfaConfig
        try config.change(given, mask, at: "mfa", message: "config.mfa")
        return config
    }

    /// The Emulator Suite's shorter form.
    static func emulatorConfig(of project: Project) -> JSONObject {
        JSONObject([
            ("signIn", ["allowDuplicateEmails": .bool(!project.oneAccountPerEmail)]),
            ("emailPrivacyConfig", ["enableImprovedEmailPrivacy": .bool(project.hidesEmails)]),
        ])
    }
}
