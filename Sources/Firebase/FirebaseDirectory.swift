import EmulatorCore
import JOSE
import JSON
import Time

/// The users of a project or tenant, as the inspector (the daemon's web pages) shows and changes them. Most of the
/// inspector's changes use the API's methods for administrators, but aren't recorded as requests, because no app has
/// sent any.
struct FirebaseDirectory: UserDirectory {
    let provider: FirebaseProvider
    let exchange: Exchange
    let project: Project
    let pool: UserPool

    var fields: Schema { FirebaseUserFields.schema }
    let keyField = "localId"

    /// Returns the ID of a set of users in the inspector: `firebase:PROJECT` or `firebase:PROJECT:TENANT`. Project and
    /// tenant IDs contain no colon.
    static func id(of pool: UserPool) -> String {
        (["firebase", pool.project] + (pool.tenant.map { [$0] } ?? [])).joined(separator: ":")
    }

    var summary: UserDirectorySummary { FirebaseDirectory.summary(of: pool, in: exchange.world) }

    static func summary(of pool: UserPool, in world: World) -> UserDirectorySummary {
        UserDirectorySummary(
            id: id(of: pool), title: pool.tenant ?? pool.project,
            kind: pool.tenant == nil ? "Firebase project" : "tenant of \(pool.project)",
            users: world.read { $0.count(User.byPool, pool) },
            within: pool.tenant == nil ? nil : id(of: UserPool(project: pool.project, tenant: nil)))
    }

    func parts(after cursor: String?, limit: Int) -> UserDirectoryPage {
        guard pool.tenant == nil else { return UserDirectoryPage() }
        let place = Tenant.place(of: project.id)
        let tenants = exchange.world.read { tables in
            tables.rows(Tenant.order, prefix: place, after: place + (cursor ?? ""), limit: limit + 1)
        }.map(\.row)
        return UserDirectoryPage(
            tenants.prefix(limit).map { FirebaseDirectory.summary(of: $0.key, in: exchange.world) },
            next: tenants.count > limit ? tenants[limit - 1].id : nil)
    }

    func users(search: String, after cursor: String?, limit: Int) -> UserPage {
        let found = UserSearch(pool: pool, text: search).page(after: cursor, limit: limit, in: exchange.world)
        return UserPage(found.users.map(\.line), next: found.next)
    }

    func user(_ id: String) -> InspectedUser? {
        let limit = InspectedSection.limit
        let found = exchange.world.read { tables -> (User, [Session], Int)? in
            guard let user = tables.user(id, in: pool) else { return nil }
            let sessions = tables.newest(Session.byUser, user.key, limit: limit)
            return (user, sessions, tables.count(Session.byUser, user.key) - sessions.count)
        }
        return found.map { inspected($0, sessions: $1, moreSessions: $2) }
    }

    // MARK: - Changes

    func add(_ user: JSONObject) async throws -> String {
        let answer = try await run(user) { (call) throws in try provider.createAsAdmin(call) }
        return answer["localId"]?.string ?? ""
    }

    func change(_ id: String, _ patch: JSONObject) async throws {
        _ = try await run(patch, on: id) { (call) throws in try provider.updateAsAdmin(call) }
    }

    func delete(_ id: String) async throws {
        _ = try await run(on: id) { (call) throws in try provider.deleteAsAdmin(call) }
    }

    /// Runs an API method with the rights of an administrator. It works even in a tenant whose sign-in is disabled.
    func run(
        _ fields: JSONObject = JSONObject(), on id: String? = nil,
        _ method: (FirebaseCall) async throws -> FirebaseAnswer
    ) async throws -> JSONObject {
        do {
            var body = FirebaseUserFields.message(fields)
            if let id { body["localId"] = .string(id) }
            let call = try provider.scoped(
                exchange, project, tenant: pool.tenant, isAdmin: true, takesDisabled: true, body)
            return try await method(call).body
        } catch let error as FirebaseError {
            throw FirebaseUserFields.refusal(error)
        }
    }
}

extension FirebaseProvider {
    /// Returns a page of Firebase projects for the inspector: the seed's projects in the seed's order, then the default
    /// project if the seed doesn't list it, then the projects that requests have created.
    package func userDirectories(after cursor: String?, limit: Int, in exchange: Exchange) throws -> UserDirectoryPage {
        let world = exchange.world
        let seeded = world.seed[FirebaseSection.self].projects.map(\.id)
        let unseededDefault = projects.defaultProject.flatMap { $0.isSeeded ? nil : $0.id }
        let first = seeded + (unseededDefault.map { [$0] } ?? [])
        var page = UserDirectoryPage()
        var place = cursor.map { Int($0) ?? first.count } ?? 0
        while place >= 0, place < first.count, page.directories.count < limit {
            if let directory = try userDirectory("firebase:\(first[place])", in: exchange) {
                page.directories.append(directory.summary)
            }
            place += 1
        }
        if place >= 0, place < first.count {
            page.next = String(place)
            return page
        }
        let after = cursor.flatMap { Int($0) == nil ? UserPool(project: String($0.dropFirst()), tenant: nil) : nil }
        var last = after
        while page.directories.count < limit {
            let rows = world.read { $0.rows(UnseededPool.self, after: last, limit: limit) }.map(\.pool)
            for pool in rows {
                last = pool
                guard pool.tenant == nil, pool.project != unseededDefault else { continue }
                page.directories.append(FirebaseDirectory.summary(of: pool, in: world))
                if page.directories.count == limit { break }
            }
            if rows.isEmpty { return page }
        }
        // No project's ID has a tilde, so a number is never one.
        page.next = last.map { "~\($0.project)" }
        return page
    }

    package func userDirectory(_ id: String, in exchange: Exchange) throws -> (any UserDirectory)? {
        let parts = id.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard (2...3).contains(parts.count), parts[0] == name else { return nil }
        let pool = UserPool(project: parts[1], tenant: parts.count == 3 ? parts[2] : nil)
        guard let project = projects.existing(parts[1], in: exchange.world) else { return nil }
        if project.hasContents { try exchange.world.populate(project) }
        guard pool.tenant == nil || exchange.world.read({ $0.find(Tenant.self, pool) != nil }) else { return nil }
        return FirebaseDirectory(provider: self, exchange: exchange, project: project, pool: pool)
    }

    package func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)? {
        try exchange.world.update { $0.pop(Session.self, text) }.map { ("refresh token", $0.user.pool.project) }
    }
}

// The contents and actions of a user's page.

extension User {
    var line: InspectedUser.Line {
        InspectedUser.Line(
            id: localId, title: displayName ?? email ?? phoneNumber ?? localId, email: email,
            isEmailVerified: emailVerified, phoneNumber: phoneNumber, isDisabled: disabled,
            methods: methods, lastSignIn: lastLoginAt)
    }

    /// The names of the ways in which the user can sign in, such as `password` or an identity provider's ID.
    private var methods: [String] {
        let all =
            signInMethods + (phoneNumber == nil ? [] : ["phone"]) + (passkeys.isEmpty ? [] : ["passkey"])
            + (isCustom ? ["custom"] : [])
        return all.isEmpty ? ["anonymous"] : all
    }

    fileprivate var facts: [InspectedFact] {
        func code(_ label: String, _ text: String?) -> InspectedFact? { text.map { InspectedFact(label, .code($0)) } }
        func time(_ label: String, _ at: Instant?) -> InspectedFact? { at.map { InspectedFact(label, .time($0)) } }
        let claims = customClaims.object
        return [
            code("User ID", localId), code("Address", email),
            email == nil ? nil : InspectedFact("Address verified", emailVerified),
            code("First address", initialEmail == email ? nil : initialEmail),
            displayName.map { InspectedFact("Name", $0) }, code("Phone number", phoneNumber),
            code("Picture", photoUrl), time("Made", createdAt), time("Last sign-in", lastLoginAt),
            time("Last refresh", lastRefreshAt), time("Sessions end that began before", validSince),
            code("Custom claims", claims.isEmpty ? nil : JSONValue.object(claims).text),
        ].compactMap { $0 }
    }
}

extension FirebaseDirectory {
    func inspected(_ user: User, sessions: [Session], moreSessions: Int) -> InspectedUser {
        InspectedUser(
            user.line, facts: user.facts,
            sections: [
                InspectedSection("Ways to sign in", about: "None: an anonymous user.", ways(of: user)),
                InspectedSection("Second factors", about: "None.", user.factors.map { item($0, of: user) }),
                InspectedSection("Passkeys", about: "None.", user.passkeys.map { item($0, of: user) }),
                InspectedSection("Sessions", about: "None.", sessions.map { item($0, of: user) }, more: moreSessions),
            ], values: FirebaseUserFields.values(of: user), actions: actions(on: user, hasSessions: !sessions.isEmpty))
    }

    // MARK: - Sections

    private func ways(of user: User) -> [InspectedItem] {
        func way(
            _ id: String, kind: String? = nil, _ facts: [InspectedFact], label: String = "Remove"
        ) -> InspectedItem {
            var item = InspectedItem(id, kind: kind)
            (item.facts, item.actions) = (facts, [unlink(id, label, user)])
            return item
        }
        var items = user.links.map { link in
            let others = [("Address", link.email), ("Name", link.displayName), ("User name", link.screenName)]
            return way(
                link.providerId, kind: "identity at a provider",
                [InspectedFact("rawId", .subject(link.rawId))]
                    + others.compactMap { label, text in text.map { InspectedFact(label, .code($0)) } },
                label: "Unlink")
        }
        if let password = user.password {
            items.append(way("password", [InspectedFact("Set", .time(password.updatedAt))]))
        }
        if user.hasEmailLink { items.append(way("emailLink", kind: "links sent by e-mail", [])) }
        if let number = user.phoneNumber { items.append(way("phone", [InspectedFact("Phone number", .code(number))])) }
        return items
    }

    private func item(_ factor: SecondFactor, of user: User) -> InspectedItem {
        var item = InspectedItem(
            factor.displayName ?? factor.id, kind: factor.claim == "totp" ? "authenticator app" : "text message")
        item.facts = [InspectedFact("ID", .code(factor.id)), InspectedFact("Enrolled", .time(factor.enrolledAt))]
        if case .phone(let number) = factor.kind { item.facts.append(InspectedFact("Number", .code(number))) }
        let key = user.key
        item.actions = [
            InspectedAction("factor \(factor.id)", "Remove", isDestructive: true) { () throws in
                let isDone = try exchange.world.update { tables in
                    tables.change(User.self, key) { user in
                        user.factors.removeAll { $0.id == factor.id }
                        user.hasWithdrawnFactors = true
                    }
                }
                guard isDone else { throw InspectedRefusal(404, "The user is gone.") }
                return "The second factor is removed."
            }
        ]
        return item
    }

    private func item(_ passkey: Passkey, of user: User) -> InspectedItem {
        var item = InspectedItem(passkey.name.isEmpty ? passkey.id : passkey.name, kind: "passkey")
        item.facts = [InspectedFact("ID", .code(passkey.id)), InspectedFact("Signatures", String(passkey.signCount))]
        item.actions = [
            InspectedAction("passkey \(passkey.id)", "Remove", isDestructive: true) { () throws in
                try await change(user.localId, JSONObject(["deletePasskey": [passkey.id]]))
                return "The passkey is removed."
            }
        ]
        return item
    }

    private func item(_ session: Session, of user: User) -> InspectedItem {
        var item = InspectedItem(session.provider, kind: "session")
        item.facts = [InspectedFact("Since", .time(session.authTime))]
        if let factor = session.secondFactor { item.facts.append(InspectedFact("Second factor", factor.claim)) }
        item.tokens = [
            InspectedToken(
                "refresh token", session.refreshToken, scopes: [], expires: nil,
                works: !user.disabled && !user.hasEnded(sessionOf: session.authTime))
        ]
        return item
    }

    // MARK: - Actions

    private func unlink(_ provider: String, _ label: String, _ user: User) -> InspectedAction {
        InspectedAction("unlink \(provider)", label, isDestructive: true) { () throws in
            try await change(user.localId, JSONObject(["deleteProvider": [provider]]))
            return "The user can't sign in with \(provider) any more."
        }
    }

    private func actions(on user: User, hasSessions: Bool) -> [InspectedAction] {
        var actions = [setDisabled(!user.disabled, user)]
        if user.email != nil, !user.disabled {
            actions.append(mail("PASSWORD_RESET", "Send a password reset", user))
            if !user.emailVerified { actions.append(mail("VERIFY_EMAIL", "Send an address verification", user)) }
        }
        if hasSessions {
            let signOut = InspectedAction("signOut", "Revoke all sessions", isDestructive: true) {
                () throws in
                _ = try await run(on: user.localId) { (call) throws in try self.provider.signOut(call) }
                return "All sessions are revoked: their refresh tokens are refused."
            }
            actions.append(signOut)
        }
        return actions
    }

    private func setDisabled(_ disabled: Bool, _ user: User) -> InspectedAction {
        InspectedAction("disabled \(disabled)", disabled ? "Disable" : "Enable", isDestructive: disabled) {
            () throws in
            try await change(user.localId, JSONObject(["disabled": disabled]))
            return disabled ? "The user is disabled: sign-ins are refused." : "The user may sign in again."
        }
    }

    private func mail(_ kind: String, _ label: String, _ user: User) -> InspectedAction {
        InspectedAction("mail \(kind)", label) { () throws in
            let message = JSONObject(["requestType": kind, "email": user.email ?? ""])
            _ = try await run(message) { (call) async throws in
                try await self.provider.sendOobCode(call)
            }
            return "The message is in the inbox."
        }
    }
}

/// The fields of the inspector's form for a Firebase user. They have the same names as in seeds.
struct FirebaseUserFields: SchemaObject {
    init(_ fields: inout Fields) {
        _ = fields.optional("localId", .text(.nonEmpty), "The user ID; random by default.")
        _ = fields.optional("email", .text(.email), "The address.")
        _ = fields("emailVerified", .boolean, default: false, "Whether the address is verified.")
        _ = fields.optional("password", .text(.nonEmpty), "A new password: at least six characters.")
        _ = fields.optional("displayName", .text(.any), "The name.")
        _ = fields.optional("photoUrl", .text(.any), "The picture's address.")
        _ = fields.optional("phoneNumber", .text(.phoneNumber), "The phone number, in E.164.")
        _ = fields("disabled", .boolean, default: false, "Whether the user may not sign in.")
        _ = fields.map("customClaims", of: .any, "Claims that ID tokens carry beside the usual ones.")
    }

    static func values(of user: User) -> JSONObject {
        JSONObject([
            "localId": user.localId, "email": user.email, "emailVerified": user.emailVerified,
            "displayName": user.displayName, "photoUrl": user.photoUrl, "phoneNumber": user.phoneNumber,
            "disabled": user.disabled,
            "customClaims": !user.customClaims.object.isEmpty ? user.customClaims.object : nil,
        ])
    }

    /// Returns the fields of the inspector's form as the body of an API request. For a field that is `null`, the
    /// request deletes the user's value, or sets it to false. The password can't be deleted so.
    static func message(_ fields: JSONObject) -> JSONObject {
        var body = JSONObject()
        var (attributes, providers): ([JSONValue], [JSONValue]) = ([], [])
        for (name, value) in fields.members {
            switch (name, value) {
            case ("email", .null): attributes.append("EMAIL")
            case ("phoneNumber", .null): providers.append("phone")
            case ("displayName", .null): attributes.append("DISPLAY_NAME")
            case ("photoUrl", .null): attributes.append("PHOTO_URL")
            case ("customClaims", .null): body["customAttributes"] = "{}"
            case ("customClaims", _): body["customAttributes"] = .string(value.text)
            case ("disabled", _): body["disableUser"] = .bool(value.bool ?? false)
            case ("emailVerified", .null): body[name] = false
            case ("deleteProvider", _): providers += value.array ?? []
            default: body[name] = value
            }
        }
        if !attributes.isEmpty { body["deleteAttribute"] = .array(attributes) }
        if !providers.isEmpty { body["deleteProvider"] = .array(providers) }
        return body
    }

    /// The fields of the inspector's form to which the API's error codes refer.
    private static let faulty = [
        "EMAIL_EXISTS": "email", "INVALID_EMAIL": "email", "PHONE_NUMBER_EXISTS": "phoneNumber",
        "INVALID_PHONE_NUMBER": "phoneNumber", "WEAK_PASSWORD": "password", "CLAIMS_TOO_LARGE": "customClaims",
        "INVALID_CLAIMS": "customClaims", "FORBIDDEN_CLAIM": "customClaims", "DUPLICATE_LOCAL_ID": "localId",
    ]

    static func refusal(_ error: FirebaseError) -> InspectedRefusal {
        let status = error.code == "USER_NOT_FOUND" ? 404 : error.status
        return InspectedRefusal(
            status, "\(error.code): \(error.diagnosis.line)", path: faulty[error.code].map { "$.\($0)" })
    }
}

/// A search for those users of a project or tenant whose ID, e-mail address or phone number begins with a text. E-mail
/// addresses at identity providers count, too. With an empty text, the search finds all users, sorted by ID. It reads
/// only indexes, so that it is fast even if there are many users.
struct UserSearch: Sendable {
    private static let fields: [User.Field] = [.localId, .email, .providerEmail, .phoneNumber]

    let pool: UserPool
    let text: String

    struct Found: Sendable {
        let users: [User]
        /// The cursor of the next page of found users; `nil` on the last page.
        let next: String?
    }

    private func prefix(_ field: User.Field) -> String {
        let isAddress = field == .email || field == .providerEmail
        return User.place(field, pool, beginningWith: isAddress ? text.lowercased() : text)
    }

    /// Returns a page of found users. `cursor` is the sort key of the last user on the previous page, in base64url.
    func page(after cursor: String?, limit: Int, in world: World) -> Found {
        let place = cursor.flatMap { Base64URL.decode($0) }.map { String(decoding: $0, as: UTF8.self) }
        let start = UserSearch.fields.firstIndex { place?.hasPrefix("\($0.rawValue)\0") ?? false } ?? 0
        // Without a text, all users are found by their IDs.
        let fields = text.isEmpty ? UserSearch.fields.prefix(1) : UserSearch.fields[start...]
        return world.read { tables in
            var found: [(text: String, row: User)] = []
            for field in fields {
                // A user may match in several fields: then the first one counts.
                var last = field == UserSearch.fields[start] ? place : nil
                while found.count <= limit {
                    let entries = tables.rows(User.order, prefix: prefix(field), after: last, limit: limit + 1)
                    found += entries.filter { isFirst($0.text, of: $0.row) }
                    last = entries.last?.text
                    if entries.count <= limit { break }
                }
            }
            let shown = found.prefix(limit)
            let next = found.count > limit ? shown.last.map { Base64URL.encode(Array($0.text.utf8)) } : nil
            return Found(users: shown.map(\.row), next: next)
        }
    }

    /// Returns whether the sort key `place` is the first of the user's keys that match the search. The search finds a
    /// user once for each matching key, and lists the user only at the first of these keys.
    private func isFirst(_ place: String, of user: User) -> Bool {
        let texts = User.order.texts(user)
        for field in UserSearch.fields {
            let prefix = prefix(field)
            if let first = texts.filter({ $0.hasPrefix(prefix) }).min() { return first == place }
        }
        return true
    }
}
