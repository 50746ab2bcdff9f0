import EmulatorCore
import JOSE
import JSON
import OAuth
import Time

// The methods v2 and admin/v2 projects/P/config, and emulator/v1/projects/P/config:
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects/getConfig
//
// Quirks: members that are false or empty aren't returned, except for a few; an update's answer has no templates.
// Recorded in September 2026: https://github.com/t-k/fireemu, conformance/auth-config-sdk-production.json, programs
// config/read, providers and other-fields.

extension FirebaseProvider {
    func config(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        FirebaseAnswer(body: call.isInEmulatorMode ? emulatedConfig(call) : productionConfig(call))
    }

    /// Returns a project's configuration in emulator mode. For a project outside the seed, `signIn` has only
    /// `allowDuplicateEmails`.
    private func emulatedConfig(_ call: FirebaseCall) -> JSONObject {
        let project = call.project
        var signIn = JSONObject([("allowDuplicateEmails", .bool(!project.oneAccountPerEmail))])
        if project.isSeeded {
            for member in signInMethods(project, inEmulatorMode: true).members { signIn[member.key] = member.value }
        }
        var body = JSONObject([
            ("name", .string("\(call.resourceName)/config")), ("signIn", .object(signIn)),
            ("notification", project.notification.document(of: project)),
            ("authorizedDomains", .array(project.returnDomains.map { .string($0) })),
            ("mfa", .object(project.mfaConfig.document(listsNone: false))),
            ("emailPrivacyConfig", ["enableImprovedEmailPrivacy": .bool(project.hidesEmails)]),
            ("blockingFunctions", .object(project.blockingFunctions.document(inEmulatorMode: true))),
        ])
        body.merge(project.otherSettings.members)
        return body
    }

    private func productionConfig(_ call: FirebaseCall) -> JSONObject {
        let project = call.project
        var signIn = signInMethods(project, inEmulatorMode: false)
        if !project.oneAccountPerEmail { signIn["allowDuplicateEmails"] = true }
        signIn["hashConfig"] = project.hashConfig
        let unspecified: JSONValue = "RECAPTCHA_PROVIDER_ENFORCEMENT_STATE_UNSPECIFIED"
        var body = JSONObject([
            ("name", .string("\(call.resourceName)/config")), ("signIn", .object(signIn)),
            (
                "notification",
                project.notification.document(
                    of: project, isWhole: true, withTemplates: call.exchange.request.method == "GET")
            ), ("quota", [:]), ("monitoring", ["requestLogging": [:]]),
            ("multiTenant", project.allowsTenants ? ["allowTenants": true] : [:]),
            ("authorizedDomains", .array(project.returnDomains.map { .string($0) })), ("subtype", "IDENTITY_PLATFORM"),
            (
                "client",
                [
                    "apiKey": .string(project.apiKeys.first ?? project.id), "permissions": [:],
                    "firebaseSubdomain": .string(project.id),
                ]
            ), ("mfa", .object(project.mfaConfig.document(listsNone: false))),
            ("blockingFunctions", .object(project.blockingFunctions.document(inEmulatorMode: false))),
            (
                "recaptchaConfig",
                [
                    "emailPasswordEnforcementState": unspecified, "phoneEnforcementState": unspecified,
                    "useSmsBotScore": false, "useSmsTollFraudProtection": false,
                ]
            ), ("smsRegionConfig", ["allowByDefault": [:]]),
            ("emailPrivacyConfig", project.hidesEmails ? ["enableImprovedEmailPrivacy": true] : [:]),
            ("mobileLinksConfig", ["domain": "HOSTING_DOMAIN"]), ("defaultHostingSite", .string(project.id)),
        ])
        for (name, value) in project.otherSettings.members.members {
            guard name == "client" || name == "recaptchaConfig", case .object(var object)? = body[name],
                let own = value.object
            else {
                body[name] = value
                continue
            }
            object.merge(own)
            body[name] = .object(object)
        }
        return body
    }

    /// Returns `email`, `phoneNumber` and `anonymous` of the configuration's `signIn`: the sign-in methods of a
    /// project.
    private func signInMethods(_ project: Project, inEmulatorMode isInEmulatorMode: Bool) -> JSONObject {
        let providers = project.providers
        func object(_ members: (String, Bool)...) -> JSONObject {
            JSONObject(members.filter { $0.1 || isInEmulatorMode }.map { ($0.0, .bool($0.1)) })
        }
        let needsPassword = !(providers.emailLink ?? isInEmulatorMode)
        let email = object(("enabled", providers.password ?? false), ("passwordRequired", needsPassword))
        var phone = object(("enabled", providers.phone?.isEnabled ?? false))
        let numbers = (providers.phone?.testNumbers ?? [:]).sorted { $0.key < $1.key }
        if !numbers.isEmpty {
            phone["testPhoneNumbers"] = .object(JSONObject(numbers.map { ($0.key, .string($0.value)) }))
        }
        let anonymous = object(("enabled", providers.anonymous ?? false))
        return JSONObject([
            ("email", .object(email)), ("phoneNumber", .object(phone)), ("anonymous", .object(anonymous)),
        ])
    }

    /// Changes a project's configuration. A request without `updateMask` sets the fields in its body. It also resets
    /// `signIn.allowDuplicateEmails`, `emailPrivacyConfig` and (in emulator mode) `blockingFunctions` if the body lacks
    /// them, as in the Firebase emulator. What production does without `updateMask` isn't documented.
    func updateConfig(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let settings = try change(call, UpdateMask(call.exchange))
        return try config(
            FirebaseCall(
                call.exchange, project: settings.apply(to: call.project), isAdmin: true, body: JSONObject()))
    }

    /// The fields of a project's configuration that are stored as JSON.
    private static let otherFields = [
        "autodeleteAnonymousUsers", "quota", "monitoring", "client", "recaptchaConfig", "smsRegionConfig",
        "passwordPolicyConfig", "mobileLinksConfig",
    ]

    /// Sets those fields of a project's configuration that the update mask names. If `mask` is `nil`, the function sets
    /// all fields in the request's body except `blockingFunctions`.
    func change(_ call: FirebaseCall, _ mask: UpdateMask?) throws -> ProjectSettings {
        let signIn = try call.nested("signIn")
        let duplicates = try signIn?.flag("allowDuplicateEmails")
        let setsDuplicates = mask?.names("signIn.allowDuplicateEmails") ?? (duplicates != nil)
        let privacy = try call.nested("emailPrivacyConfig")?.flag("enableImprovedEmailPrivacy")
        let setsPrivacy = mask?.names("emailPrivacyConfig.enableImprovedEmailPrivacy") ?? (privacy != nil)
        let domains = try changedDomains(call, mask)
        let tenants = try call.nested("multiTenant")?.flag("allowTenants")
        let setsTenants =
            mask.flatMap { $0.isFullUpdate ? nil : $0.names("multiTenant.allowTenants") } ?? (tenants != nil)
        // Without a mask, all fields of the body are set.
        let paths = mask.map { $0.isFullUpdate ? UpdateMask(named: call.fields.names) : $0 }
        return try call.update { tables -> ProjectSettings in
            var settings =
                tables.find(ProjectSettings.self, call.project.id) ?? ProjectSettings(project: call.project.id)
            // Changes by other requests since this one was received are kept.
            let project = settings.apply(to: call.project)
            if setsDuplicates { settings.oneAccountPerEmail = !(duplicates ?? false) }
            if setsPrivacy { settings.hidesEmails = privacy ?? false }
            if let mfa = try changedMFA(of: project, call, mask) { settings.mfa = mfa }
            if let functions = try changedFunctions(of: project, call, mask, at: tables.now) {
                settings.blockingFunctions = functions
            }
            if let notification = try changedNotification(of: project, call, mask) {
                settings.notification = notification
            }
            var methods = project.signInSettings
            try methods.change(signIn, mask)
            settings.signIn = methods
            if let domains { settings.domains = domains }
            if setsTenants { settings.allowsTenants = tenants ?? false }
            var others = project.otherSettings
            try others.change(
                call, of: "config", paths ?? UpdateMask(named: call.fields.names),
                fields: FirebaseProvider.otherFields, now: tables.now.textOfTimestamp)
            settings.others = others
            tables.put(settings)
            try tables.checkRoomForSettings(in: call.exchange.world)
            return settings
        }
    }

    /// Returns the authorized domains that the request sets; `nil` if it doesn't change `authorizedDomains`.
    private func changedDomains(_ call: FirebaseCall, _ mask: UpdateMask?) throws(FirebaseError) -> [String]? {
        let isMeant = mask.map { !$0.isFullUpdate && $0.names("authorizedDomains") } ?? false
        guard isMeant || call.has("authorizedDomains") && (mask?.isFullUpdate ?? true) else { return nil }
        let domains = try call.texts("authorizedDomains")
        // Production's limits aren't documented.
        guard domains.count <= 1_000, domains.allSatisfy({ (1...253).contains($0.utf8.count) }),
            domains.reduce(0, { $0 + $1.utf8.count }) <= 32 << 10
        else {
            throw .invalidArgument(
                "authorizedDomains holds up to 1,000 domains of up to 253 bytes, and 32,768 bytes in all")
        }
        return domains
    }

    /// Returns the mail settings that the request sets; `nil` if it doesn't change `notification`.
    private func changedNotification(
        of project: Project, _ call: FirebaseCall, _ mask: UpdateMask?
    ) throws(FirebaseError) -> NotificationSettings? {
        let given = try call.nested("notification")
        guard given != nil || mask.map({ !$0.isFullUpdate && $0.touches("notification") }) ?? false else { return nil }
        return try project.notification.changed(by: given, mask)
    }

    /// Returns the blocking functions that the request sets; `nil` if it doesn't change `blockingFunctions`. An update
    /// without `updateMask` replaces all functions if its body has `blockingFunctions`. If the body lacks them, the
    /// update removes all functions in emulator mode, and changes none in production.
    private func changedFunctions(
        of project: Project, _ call: FirebaseCall, _ mask: UpdateMask?, at now: Instant
    ) throws(FirebaseError) -> BlockingFunctions? {
        let given = try call.nested("blockingFunctions")
        guard let mask, mask.touches("blockingFunctions"),
            given != nil || call.isInEmulatorMode || !mask.isFullUpdate
        else { return nil }
        // The address of a function decides where the daemon posts to, and whose answers an app sees.
        guard call.exchange.showsControlToken || !call.exchange.isFromForeignPage else {
            throw FirebaseError(
                "Pages of other machines can't change blockingFunctions.", status: 403, named: "PERMISSION_DENIED",
                because:
                    "a web page from another machine sent blockingFunctions: send it from a test, or from a web page "
                    + "from this machine")
        }
        guard call.exchange.mayChooseAddresses else {
            throw FirebaseError(
                "This client can't change blockingFunctions.", status: 403, named: "PERMISSION_DENIED",
                because:
                    "only clients on the server's machine, or clients with the control token, may set the URLs that "
                    + "the server calls: send Authorization: Bearer with the control token, or set blockingFunctions in the seed"
            )
        }
        return try project.blockingFunctions.changed(by: given, at: now) { mask.names($0) }
    }

    /// Returns the multi-factor settings that the request sets; `nil` if it doesn't change `mfa`.
    private func changedMFA(
        of project: Project, _ call: FirebaseCall, _ mask: UpdateMask?
    ) throws(FirebaseError) -> MFAConfig? {
        let given = try call.nested("mfa")
        let mask = mask ?? UpdateMask("")
        guard mask.touches("mfa"), given != nil || !mask.isFullUpdate else { return nil }
        var config = project.mfaConfig
        try config.change(given, mask, at: "mfa", message: "config.mfa")
        return config
    }

    /// Returns a project's configuration in the short form that only the Emulator Suite has.
    static func emulatorConfig(of project: Project) -> JSONObject {
        JSONObject([
            ("signIn", ["allowDuplicateEmails": .bool(!project.oneAccountPerEmail)]),
            ("emailPrivacyConfig", ["enableImprovedEmailPrivacy": .bool(project.hidesEmails)]),
        ])
    }
}
