import EmulatorCore
import JSON
import Time

// The methods v2 projects/P/tenants:
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects.tenants
//
// Quirks: a new tenant allows only what the request allows, and a PATCH without updateMask sets every field; those that
// the body lacks get their defaults. Fields that affect no sign-in here are stored and returned all the same.
// Production's answers were recorded in September 2026: https://github.com/t-k/fireemu,
// conformance/auth-tenant-blocking-production.json, program tenant/manage.

extension FirebaseProvider {
    private func tenant(_ call: FirebaseCall) throws -> Tenant {
        try requireTenants(call)
        do {
            return try tenant(call.exchange.parameters["tenant"] ?? "", of: call.project, in: call.exchange)
        } catch let error as FirebaseError {
            guard ["INVALID_TENANT_ID", "TENANT_DELETED"].contains(error.code) else { throw error }
            throw FirebaseError.tenantNotFound(error.diagnosis)
        }
    }

    /// Checks that the project allows tenants. The error is from a recording of production (`tenant/switch-off`). In
    /// the Firebase emulator, every project allows tenants.
    private func requireTenants(_ call: FirebaseCall) throws(FirebaseError) {
        guard !call.isInEmulatorMode, !call.project.allowsTenants else { return }
        throw FirebaseError(
            "INVALID_PROJECT_ID",
            because: "tenants aren't allowed: multiTenant.allowTenants of the project's configuration is false")
    }

    private func answer(_ tenant: Tenant, _ call: FirebaseCall) -> FirebaseAnswer {
        FirebaseAnswer(body: tenant.document(in: call))
    }

    func createTenant(_ call: FirebaseCall) throws -> FirebaseAnswer {
        try requireTenants(call)
        var tenant = Tenant(
            project: call.project.id, id: try newTenantID(call, named: try call.text("displayName") ?? ""))
        try tenant.change(call, UpdateMask(""), now: call.exchange.world.now)
        try call.exchange.admit(call.project, tenant: tenant.id)
        let made = tenant
        try call.update { tables in
            tables.put(made)
            try tables.checkRoomForSettings(in: call.exchange.world)
        }
        return answer(made, call)
    }

    /// Makes the ID of a new tenant: its display name, a hyphen and five random characters, as in production. Only
    /// ASCII letters, digits and hyphens of the name are taken.
    private func newTenantID(_ call: FirebaseCall, named name: String) throws -> String {
        let stem = name.prefix(40).filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        return try call.update { tables in
            while true {
                let suffix = tables.random.text(5, from: Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8))
                let id = "\(stem.isEmpty ? "tenant" : stem)-\(suffix)"
                if tables.find(Tenant.self, UserPool(project: call.project.id, tenant: id)) == nil { return id }
            }
        }
    }

    func getTenant(_ call: FirebaseCall) throws -> FirebaseAnswer {
        var answer = answer(try tenant(call), call)
        if !call.isInEmulatorMode { answer.body["hashConfig"] = call.project.hashConfig }
        return answer
    }

    func patchTenant(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let known = try tenant(call)
        let changed = try call.update { tables -> Tenant in
            guard var tenant = tables.find(Tenant.self, known.key) else {
                throw FirebaseError.tenantNotFound(Diagnosis("another request has deleted the tenant"))
            }
            try tenant.change(call, UpdateMask(call.exchange), now: tables.now)
            tables.put(tenant)
            try tables.checkRoomForSettings(in: call.exchange.world)
            return tenant
        }
        return answer(changed, call)
    }

    func deleteTenant(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let key = try tenant(call).key
        guard try call.exchange.world.remove(key) else {
            throw FirebaseError.tenantNotFound(Diagnosis("another request has already deleted the tenant"))
        }
        return FirebaseAnswer.empty
    }

    /// Lists a project's tenants in the order of their IDs, compared by bytes. The last ID of a page is the token of
    /// the next page. A full page has a token even if no tenant follows. An invalid `pageSize` is ignored.
    func listTenants(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        try requireTenants(call)
        let query = call.exchange.request.queryForm
        let size = query["pageSize"].flatMap { Int($0) }.flatMap { $0 > 0 ? min(1000, $0) : nil } ?? 20
        let place = Tenant.place(of: call.project.id)
        let page = call.read { tables in
            tables.rows(Tenant.order, prefix: place, after: place + (query["pageToken"] ?? ""), limit: size)
        }.map(\.row)
        let documents = page.map { JSONValue.object($0.document(in: call)) }
        var body = JSONObject()
        if !documents.isEmpty || call.isInEmulatorMode { body["tenants"] = .array(documents) }
        if page.count == size { body["nextPageToken"] = page.last.map { .string($0.id) } }
        return FirebaseAnswer(body: body)
    }
}

extension Tenant {
    /// The fields of a tenant that are stored as JSON.
    private static let otherFields = [
        "inheritance", "recaptchaConfig", "smsRegionConfig", "monitoring", "passwordPolicyConfig", "client",
        "mobileLinksConfig",
    ]
    /// The names of all fields of a tenant in the API. A request can't set `name`, `hashConfig` and `tenantId`. The
    /// field `autodeleteAnonymousUsers` is accepted and ignored.
    /// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects.tenants#Tenant>
    private static let fields =
        otherFields + flags.map(\.name) + [
            "displayName", "emailPrivacyConfig", "testPhoneNumbers", "mfaConfig", "autodeleteAnonymousUsers", "name",
            "hashConfig", "tenantId",
        ]

    fileprivate mutating func change(_ call: FirebaseCall, _ mask: UpdateMask, now: Instant) throws(FirebaseError) {
        if !call.isInEmulatorMode, let name = call.fields.names.first(where: { !Tenant.fields.contains($0) }) {
            throw .unknownName(name, at: "tenant")
        }
        if mask.names("displayName") {
            displayName = try call.text("displayName")
            if let displayName { try check(displayName, call) }
        }
        guard displayName != nil || call.isInEmulatorMode else {
            throw FirebaseError(
                "MISSING_DISPLAY_NAME", "Missing tenant with valid display_name.", because: "displayName is missing")
        }
        for (name, flag) in Tenant.flags where mask.names(name) { self[keyPath: flag] = try call.flag(name) ?? false }
        if mask.names("emailPrivacyConfig.enableImprovedEmailPrivacy") {
            hidesEmails = try call.nested("emailPrivacyConfig")?.flag("enableImprovedEmailPrivacy")
        }
        if mask.names("testPhoneNumbers") { testNumbers = try TestNumbers.read(call.map("testPhoneNumbers")) }
        try mfa.change(call.nested("mfaConfig"), mask, at: "mfaConfig", message: "tenant.mfa_config")
        try others.change(call, of: "tenant", mask, fields: Tenant.otherFields, now: now.textOfTimestamp)
        isImplicit = false
    }

    /// Checks the display name of a tenant. The Firebase emulator accepts any name.
    /// <https://cloud.google.com/identity-platform/docs/multi-tenancy-managing-tenants>
    private func check(_ name: String, _ call: FirebaseCall) throws(FirebaseError) {
        let isLong = (4...20).contains(name.utf8.count)
        let isPlain = name.utf8.first.map { Tenant.isLetter($0) } ?? false
        let others = name.utf8.allSatisfy { Tenant.isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
        guard !call.isInEmulatorMode, !(isLong && isPlain && others) else { return }
        throw FirebaseError(
            "INVALID_DISPLAY_NAME",
            "display_name should start with a letter and only consist of letters, digits and hyphens with 4-20 characters.",
            diagnosis: Diagnosis(
                received: "displayName \(Diagnosis.quote(name))",
                expected: "4 to 20 letters, digits and hyphens, of which the first is a letter", "choose another name"))
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}

/// The phone numbers that a project or tenant has for tests. Each has a fixed one-time code.
enum TestNumbers {
    /// The greatest number of phone numbers for tests in a project or tenant:
    /// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects.tenants#Tenant>
    private static let largest = 10

    static func read(_ pairs: [(key: String, value: JSONValue)]) throws(FirebaseError) -> [String: String] {
        guard pairs.count <= largest else {
            throw .invalidArgument("testPhoneNumbers has \(pairs.count) numbers; at most \(largest) are taken")
        }
        var numbers: [String: String] = [:]
        for (number, code) in pairs {
            guard TextRule.phoneNumber.holds(number), let code = code.string, (1...16).contains(code.utf8.count) else {
                // Production's message isn't documented.
                throw FirebaseError(
                    "INVALID_TESTING_PHONE_NUMBER",
                    because:
                        "testPhoneNumbers has an invalid member, \(Diagnosis.quote(number)): map phone numbers in E.164 format to codes of 1 to 16 bytes"
                )
            }
            numbers[number] = code
        }
        return numbers
    }
}

extension FirebaseError {
    /// Returns the error for an unknown tenant in the API for managing tenants. The error is from a recording of
    /// production (`tenant/manage#get-unknown`).
    fileprivate static func tenantNotFound(_ diagnosis: Diagnosis) -> FirebaseError {
        FirebaseError("TENANT_NOT_FOUND", status: 404, named: "NOT_FOUND", diagnosis: diagnosis)
    }

    /// Returns the error for an unknown member in a request's body. The error is from a recording of production
    /// (`tenant/manage#create-unknown-field`).
    fileprivate static func unknownName(_ name: String, at field: String) -> FirebaseError {
        let name = BoundedText.shortened(name, to: 200)
        var error = invalidField(
            field, "Invalid JSON payload received. Unknown name \"\(name)\" at '\(field)': Cannot find field.",
            because: "the request body has an unknown field, \(Diagnosis.quote(name))")
        error.listsError = true
        return error
    }
}
