import JSON
import EmulatorCore
import Time

// projects/P/accounts:batchGet, :batchCreate, :batchDelete
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/projects.accounts/batchCreate
//
// Quirks: hashes are taken as they come and never checked, so an imported password doesn't sign in. A user must be
// disabled before a batch deletes it, unless force is given.

extension FirebaseProvider {
    func batchGet(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let query = call.exchange.request.queryForm
        let limit = min(1000, max(1, query["maxResults"].flatMap { Int($0) } ?? 20))
        let after = query["nextPageToken"] ?? ""
        // In the order of their IDs, as in production, so that the last ID of a page says where the next one begins. A full
        // page has a token, also when nobody comes after it.
        let page = call.read { $0.users(of: call.pool, after: after, limit: limit) }
        var body = JSONObject([("kind", "identitytoolkit#DownloadAccountResponse")])
        body["users"] = .array(page.map { $0.document })
        if page.count == limit { body["nextPageToken"] = page.last.map { .string($0.localId) } }
        return FirebaseAnswer(body: body)
    }

    func batchDelete(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let ids = try call.texts("localIds")
        guard (1...1000).contains(ids.count) else {
            throw FirebaseError("LOCAL_ID_LIST_EXCEEDS_LIMIT", because: "localIds must hold 1 to 1,000 IDs")
        }
        let isForced = try call.flag("force") ?? false
        let refused = call.update { tables in
            var refused: [(place: Int, id: String)] = []
            for (place, id) in ids.enumerated() {
                guard let user = tables.user(id, in: call.pool) else { continue }
                if isForced || user.disabled { tables.delete(user) } else { refused.append((place: place, id: id)) }
            }
            return refused
        }
        let errors = refused.map { refusal -> JSONValue in
            [
                "index": .integer(Int64(refusal.place)), "localId": .string(refusal.id),
                "message": "NOT_DISABLED : Disable the account before batch deletion.",
            ]
        }
        return FirebaseAnswer(body: JSONObject(errors.isEmpty ? [] : [("errors", .array(errors))]))
    }

    func batchCreate(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let list = try call.list("users")
        guard !list.isEmpty else { throw FirebaseError("MISSING_USER_ACCOUNT", because: "users is missing or empty") }
        // https://firebase.google.com/docs/auth/admin/import-users: at most 1,000. The refusal isn't documented.
        guard list.count <= 1_000 else {
            throw .invalidArgument("users holds \(list.count) accounts; at most 1,000 are imported at once")
        }
        try call.checkRoom(for: list.count)
        var errors: [JSONValue] = []
        for (place, item) in list.enumerated() {
            do throws(FirebaseError) {
                let user = try imported(item, call)
                call.update { $0.put(user) }
            } catch {
                errors.append(["index": .integer(Int64(place)), "message": .string(error.message)])
            }
        }
        var body = JSONObject([("kind", "identitytoolkit#UploadAccountResponse")])
        if !errors.isEmpty { body["error"] = .array(errors) }
        return FirebaseAnswer(body: body)
    }

    private func imported(_ item: FirebaseCall, _ call: FirebaseCall) throws(FirebaseError) -> User {
        guard let localId = try item.text("localId") else {
            throw FirebaseError("localId is missing", because: "each user needs a localId")
        }
        let now = call.exchange.world.now
        var user = User(
            localId: localId, in: call.pool, now: try item.instant("createdAt") { Instant(milliseconds: $0) } ?? now)
        user.tenantId = call.tenant
        user.email = try item.text("email")?.lowercased()
        if let email = user.email, !TextRule.email.holds(email) {
            throw FirebaseError("email is invalid", because: "\(Diagnosis.quote(email)) isn't an e-mail address")
        }
        user.emailVerified = try item.flag("emailVerified") ?? false
        user.displayName = try item.text("displayName")
        user.photoUrl = try item.text("photoUrl")
        user.phoneNumber = try item.text("phoneNumber")
        user.disabled = try item.flag("disabled") ?? false
        user.customClaims = CustomClaims(try AdminChange.claims(item.given("customAttributes")) ?? JSONObject())
        if let last = try item.instant("lastLoginAt", { Instant(milliseconds: $0) }) { user.lastLoginAt = last }
        if let since = try item.instant("validSince", { Instant(seconds: $0) }) { user.validSince = since }
        if let raw = try item.text("rawPassword") {
            user.password = Password(raw, salt: Array(localId.utf8), now: now)
        } else if let hash = try item.text("passwordHash") {
            user.importedHash = User.ImportedHash(hash: hash, salt: try item.text("salt"))
        }
        for info in try item.list("providerUserInfo") {
            guard let provider = try info.text("providerId"), let rawId = try info.text("rawId"),
                !["password", "phone"].contains(provider)
            else { continue }
            user.links.append(
                User.Link(
                    providerId: provider, rawId: rawId, displayName: try info.text("displayName"),
                    photoUrl: try info.text("photoUrl"), email: try info.text("email"),
                    screenName: try info.text("screenName")))
        }
        return user
    }
}
