import EmulatorCore
import JSON

// An administrator's methods for users: projects/P/accounts, :lookup, :update, :delete
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/projects.accounts
//
// Quirks: an administrator needs no recent sign-in. Custom claims are sent as a JSON text of at most 1,000 characters.

extension FirebaseProvider {
    func createAsAdmin(_ call: FirebaseCall) throws -> FirebaseAnswer {
        try call.checkRoom()
        let wanted = try call.text("localId")
        guard wanted == nil || !call.has("idToken") else {
            throw FirebaseError(
                "UNEXPECTED_PARAMETER", "User ID", because: "idToken says already whose account it is")
        }
        let change = try AdminChange(call)
        let user = try call.update { tables -> User in
            if let wanted, tables.user(wanted, in: call.pool) != nil {
                throw FirebaseError("DUPLICATE_LOCAL_ID", because: "a user has the ID \"\(wanted)\" already")
            }
            try tables.checkRoom(in: call.exchange.world)
            var user = User(localId: wanted ?? User.randomID(&tables.random), in: call.pool, now: tables.now)
            user.set(disabled: false)
            try change.apply(to: &user, &tables)
            tables.put(user)
            return user
        }
        var body = JSONObject([
            ("kind", "identitytoolkit#SignupNewUserResponse"), ("localId", .string(user.localId)),
        ])
        body["email"] = .string(user.email ?? "")
        if call.isInEmulatorMode { body["displayName"] = user.displayName.map { .string($0) } }
        return FirebaseAnswer(body: body)
    }

    func lookupAsAdmin(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let ids = try call.texts("localId")
        let emails = try call.texts("email")
        let numbers = try call.texts("phoneNumber")
        var identities: [User.Identity] = []
        for item in try call.list("federatedUserId") {
            identities.append(
                User.Identity(
                    pool: call.pool, providerId: try item.text("providerId") ?? "",
                    rawId: try item.text("rawId") ?? ""))
        }
        let initialEmails = try call.texts("initialEmail")
        // The limit of 100 users is checked by the Admin SDKs, not by the service:
        // https://firebase.google.com/docs/auth/admin/manage-users#bulk_retrieve_user_data
        let isEmpty = ids.isEmpty && emails.isEmpty && numbers.isEmpty && identities.isEmpty && initialEmails.isEmpty
        guard !isEmpty || call.isInEmulatorMode else {
            throw FirebaseError(
                "MISSING_ID_TOKEN",
                because: "neither idToken nor localId, email, phoneNumber or federatedUserId is there")
        }
        let wanted = identities
        let users = call.read { tables in
            var (users, seen): ([User], Set<String>) = ([], [])
            func add(_ user: User?) {
                if let user, seen.insert(user.localId).inserted { users.append(user) }
            }
            for id in ids { add(tables.user(id, in: call.pool)) }
            // Each address is looked up once, because many users may share it.
            var asked: Set<String> = []
            for email in emails where asked.insert(email.lowercased()).inserted {
                for user in tables.users(email: email, in: call.pool) { add(user) }
            }
            for number in numbers { add(tables.user(phoneNumber: number, in: call.pool)) }
            for identity in wanted { add(tables.user(identity)) }
            return users
        }
        var body = JSONObject([("kind", "identitytoolkit#GetAccountInfoResponse")])
        if !users.isEmpty { body["users"] = .array(users.map { $0.document(in: call) }) }
        return FirebaseAnswer(body: body)
    }

    func updateAsAdmin(_ call: FirebaseCall) throws -> FirebaseAnswer {
        try AdminChange.checkSchema(call)
        guard let localId = try call.text("localId") else {
            throw FirebaseError("MISSING_LOCAL_ID", because: "localId is missing")
        }
        // A policy of the project's own is asked first. Recorded as `policy/enforce-custom#admin-update-weak` and
        // `policy/default/routes#admin-update-weak`.
        if call.project.otherSettings["passwordPolicyConfig"] != nil, let password = try call.text("password") {
            try call.project.passwordPolicy.check(password)
        }
        guard call.read({ $0.user(localId, in: call.pool) != nil }) else { throw FirebaseError.noUser(localId) }
        let change = try AdminChange(call)
        let user = try call.update { tables -> User in
            guard var user = tables.user(localId, in: call.pool) else { throw FirebaseError.noUser(localId) }
            try change.apply(to: &user, &tables)
            tables.put(user)
            return user
        }
        return FirebaseAnswer(body: user.changed)
    }

    /// Ends a user's sessions: `signOutUser` of version 3.
    func signOut(_ call: FirebaseCall) throws -> FirebaseAnswer {
        guard let localId = try call.text("localId") else {
            throw FirebaseError("MISSING_LOCAL_ID", because: "localId is missing")
        }
        try call.update { tables in
            guard var user = tables.user(localId, in: call.pool) else { throw FirebaseError.noUser(localId) }
            user.validSince = tables.now.wholeSecond
            tables.put(user)
            tables.remove(Session.byUser, user.key)
        }
        return FirebaseAnswer(body: JSONObject([("localId", .string(localId))]))
    }

    func deleteAsAdmin(_ call: FirebaseCall) throws -> FirebaseAnswer {
        guard let localId = try call.text("localId") else {
            throw FirebaseError("MISSING_LOCAL_ID", because: "localId is missing")
        }
        try call.update { tables in
            guard let user = tables.user(localId, in: call.pool) else { throw FirebaseError.noUser(localId) }
            tables.delete(user)
        }
        return FirebaseAnswer(body: JSONObject([("kind", "identitytoolkit#DeleteAccountResponse")]))
    }
}

extension FirebaseError {
    fileprivate static func noUser(_ localId: String) -> FirebaseError {
        FirebaseError("USER_NOT_FOUND", because: "no user has the ID \(Diagnosis.quote(localId))")
    }
}
