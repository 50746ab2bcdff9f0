import EmulatorCore
import JSON

// v2 projects/P/tenants
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects.tenants
//
// Quirks: a new tenant allows nothing that the request doesn't allow, and a PATCH without updateMask sets every field, those
// that the body lacks to their defaults. Of the resource, what decides a sign-in here is kept; the rest is ignored.

extension FirebaseProvider {
    /// The tenant that the address names.
    private func tenant(_ call: FirebaseCall) throws(FirebaseError) -> Tenant {
        try tenant(call.exchange.parameters["tenant"] ?? "", of: call.project, isAdmin: true, in: call.exchange)
    }

    private func answer(_ tenant: Tenant, _ call: FirebaseCall) -> FirebaseAnswer {
        FirebaseAnswer(body: tenant.document(inEmulatorMode: call.isInEmulatorMode))
    }

    func createTenant(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        var tenant = Tenant(project: call.project.id, id: newTenantID(call, named: try call.text("displayName") ?? ""))
        try tenant.change(call, UpdateMask(""))
        try call.exchange.admit(call.project, tenant: tenant.id)
        let made = tenant
        call.update { $0.put(made) }
        return answer(made, call)
    }

    /// As in production, the name and five characters behind it.
    private func newTenantID(_ call: FirebaseCall, named name: String) -> String {
        let stem = name.lowercased().prefix(40).filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        return call.update { tables in
            while true {
                let suffix = tables.random.text(5, from: Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8))
                let id = "\(stem.isEmpty ? "tenant" : stem)-\(suffix)"
                if tables.find(Tenant.self, UserPool(project: call.project.id, tenant: id)) == nil { return id }
            }
        }
    }

    func getTenant(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer { answer(try tenant(call), call) }

    func patchTenant(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let known = try tenant(call)
        let changed = try call.update { (tables) throws(FirebaseError) -> Tenant in
            guard var tenant = tables.find(Tenant.self, known.key) else {
                throw FirebaseError("TENANT_NOT_FOUND", because: "the tenant was deleted meanwhile")
            }
            try tenant.change(call, UpdateMask(call.exchange))
            tables.put(tenant)
            return tenant
        }
        return answer(changed, call)
    }

    func deleteTenant(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        call.exchange.world.remove(try tenant(call).key)
        return FirebaseAnswer(body: JSONObject())
    }

    /// In the order of their IDs, so that the last ID of a page says where the next one begins. A full page has a token, also
    /// when nothing comes after it.
    func listTenants(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let query = call.exchange.request.queryForm
        let size = min(1000, max(1, query["pageSize"].flatMap { Int($0) } ?? 20))
        let place = Tenant.place(of: call.project.id)
        let page = call.read { tables in
            tables.rows(Tenant.order, prefix: place, after: place + (query["pageToken"] ?? ""), limit: size)
        }.map(\.row)
        let documents = page.map { JSONValue.object($0.document(inEmulatorMode: call.isInEmulatorMode)) }
        var body = JSONObject([("tenants", .array(documents))])
        if page.count == size { body["nextPageToken"] = page.last.map { .string($0.id) } }
        return FirebaseAnswer(body: body)
    }
}

extension Tenant {
    /// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/projects.tenants#Tenant>
    private static let largestNumberOfTestNumbers = 10

    /// Sets the fields that the mask names.
    fileprivate mutating func change(_ call: FirebaseCall, _ mask: UpdateMask) throws(FirebaseError) {
        if mask.names("displayName") {
            displayName = try call.text("displayName")
            if let displayName { try check(displayName, call) }
        }
        if mask.names("allowPasswordSignup") { allowsPasswords = try call.flag("allowPasswordSignup") ?? false }
        if mask.names("enableEmailLinkSignin") { allowsEmailLinks = try call.flag("enableEmailLinkSignin") ?? false }
        if mask.names("enableAnonymousUser") { allowsAnonymous = try call.flag("enableAnonymousUser") ?? false }
        if mask.names("disableAuth") { isDisabled = try call.flag("disableAuth") ?? false }
        if mask.names("emailPrivacyConfig.enableImprovedEmailPrivacy") {
            hidesEmails = try call.nested("emailPrivacyConfig")?.flag("enableImprovedEmailPrivacy")
        }
        if mask.names("testPhoneNumbers") { testNumbers = try Tenant.testNumbers(call) }
        try mfa.change(call.nested("mfaConfig"), mask, at: "mfaConfig", message: "tenant.mfa_config")
        isImplicit = false
    }

    /// The words are the documentation's, and those of Admin SDKs; what production's message says isn't documented. The official
    /// emulator takes any name.
    /// <https://cloud.google.com/identity-platform/docs/multi-tenancy-managing-tenants>
    private func check(_ name: String, _ call: FirebaseCall) throws(FirebaseError) {
        let isLong = (4...20).contains(name.utf8.count)
        let isPlain = name.utf8.first.map { Tenant.isLetter($0) } ?? false
        let others = name.utf8.allSatisfy { Tenant.isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
        guard !call.isInEmulatorMode, !(isLong && isPlain && others) else { return }
        throw FirebaseError(
            "INVALID_DISPLAY_NAME",
            diagnosis: Diagnosis(
                received: "displayName \(Diagnosis.quote(name))",
                expected: "4 to 20 letters, digits and hyphens, of which the first is a letter", "choose another name"))
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    private static func testNumbers(_ call: FirebaseCall) throws(FirebaseError) -> [String: String] {
        let pairs = try call.map("testPhoneNumbers")
        guard pairs.count <= largestNumberOfTestNumbers else {
            throw .invalidArgument(
                "testPhoneNumbers has \(pairs.count) numbers; at most \(largestNumberOfTestNumbers) are taken")
        }
        var numbers: [String: String] = [:]
        for (number, code) in pairs {
            guard TextRule.phoneNumber.holds(number), let code = code.string, (1...16).contains(code.utf8.count) else {
                // What production says isn't documented.
                throw FirebaseError(
                    "INVALID_TESTING_PHONE_NUMBER",
                    because: "testPhoneNumbers: \(Diagnosis.quote(number)) isn't a number in E.164 with a code")
            }
            numbers[number] = code
        }
        return numbers
    }
}
