import EmulatorCore
import JSON
import Time
import Worlds

// The methods projects/P/accounts:batchGet, :batchDelete and downloadAccount:
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/projects.accounts/batchDelete
//
// Quirks: a user must be disabled before a batch deletes it, unless force is given.

extension FirebaseProvider {
    func batchGet(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let query = call.exchange.request.queryForm
        // Version 3 has them in the body.
        let (size, token) = (try call.integer("maxResults"), try call.text("nextPageToken"))
        let least: Int64 = call.isInEmulatorMode ? 1 : 0
        let limit = Int(min(1000, max(least, query["maxResults"].flatMap { Int64($0) } ?? size ?? 20)))
        let after = query["nextPageToken"] ?? token ?? ""
        // Users are ordered by their IDs, as in production, so the last ID of a page says where the next one begins. A
        // full page has a token even if no user follows.
        let page = call.read { $0.users(of: call.pool, after: after, limit: limit) }
        var body = JSONObject(["kind": "identitytoolkit#DownloadAccountResponse"])
        if !page.isEmpty || call.isInEmulatorMode {
            body["users"] = .array(
                page.map {
                    $0.document(call.isInEmulatorMode ? .shown : .encoded, inEmulatorMode: call.isInEmulatorMode)
                })
        }
        if page.count == limit, limit > 0 { body["nextPageToken"] = page.last.map { .string($0.localId) } }
        return FirebaseAnswer(body: body)
    }

    func batchDelete(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let ids = try call.texts("localIds")
        guard (1...1000).contains(ids.count) else {
            throw FirebaseError("LOCAL_ID_LIST_EXCEEDS_LIMIT", because: "localIds must contain 1 to 1,000 IDs")
        }
        let isForced = try call.flag("force") ?? false
        let (refused, deleted) = try call.update { tables in
            var (refused, deleted): ([(place: Int, id: String)], [User]) = ([], [])
            for (place, id) in ids.enumerated() {
                guard let user = tables.user(id, in: call.pool) else { continue }
                guard isForced || user.disabled else {
                    refused.append((place: place, id: id))
                    continue
                }
                tables.delete(user)
                deleted.append(user)
            }
            return (refused, deleted)
        }
        if call.isInEmulatorMode { for user in deleted { call.postEvent(.delete, about: user) } }
        let errors = refused.map { refusal -> JSONValue in
            [
                "index": .integer(Int64(refusal.place)), "localId": .string(refusal.id),
                "message": "NOT_DISABLED : Disable the account before batch deletion.",
            ]
        }
        return FirebaseAnswer(body: JSONObject(errors.isEmpty ? [] : [("errors", .array(errors))]))
    }
}

// The method projects/P/accounts:query:
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/projects.accounts/query
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/SqlExpression
//
// Quirks: of several expressions only the first counts, and of its fields the first of email, phoneNumber and userId.
// Users with equal sort values come in the order of their IDs, whatever the direction. A negative offset is answered as
// a failure of the service itself.

/// A call of the API method `accounts:query`, by which an administrator searches for users.
private struct AccountQuery: Sendable {
    enum Field: String, CaseIterable, Sendable {
        // The cases are in the order of their numbers, which begin with 1.
        case userId = "USER_ID"
        case name = "NAME"
        case createdAt = "CREATED_AT"
        case lastLoginAt = "LAST_LOGIN_AT"
        case email = "USER_EMAIL"
    }

    enum Condition: Sendable {
        case everybody
        case email(String)
        case phoneNumber(String)
        case userId(String)
    }

    /// The greatest number of users in one answer of the user search.
    static let limit: Int64 = 500
    /// The greatest offset of a user search. It is more than the number of users that a test world can have.
    private static let largestOffset: Int64 = 1_000_000

    let condition: Condition
    let field: Field
    let isAscending: Bool
    let offset: Int
    let limit: Int

    init(_ call: FirebaseCall) throws(FirebaseError) {
        let expression = try call.list("expression").first
        condition =
            if let email = try expression?.text("email") {
                .email(email)
            } else if let number = try expression?.text("phoneNumber") {
                .phoneNumber(number)
            } else if let id = try expression?.text("userId") {
                .userId(id)
            } else {
                .everybody
            }
        field =
            try AccountQuery.choice(
                call, "sortBy", Field.allCases, unset: "SORT_BY_FIELD_UNSPECIFIED", "SortByField") ?? .userId
        isAscending =
            try AccountQuery.choice(call, "order", Order.allCases, unset: "ORDER_UNSPECIFIED", "Order") != .descending
        offset = Int(min(try AccountQuery.count(call, "offset") ?? 0, AccountQuery.largestOffset))
        let wanted = try AccountQuery.count(call, "limit")
        // The official emulator's test suite doesn't say how a limit of zero is answered.
        limit = Int(min(wanted ?? AccountQuery.limit, AccountQuery.limit))
    }

    private enum Order: String, CaseIterable {
        case ascending = "ASC"
        case descending = "DESC"
    }

    private static func choice<Value: RawRepresentable<String>>(
        _ call: FirebaseCall, _ name: String, _ values: [Value], unset: String, _ type: String
    ) throws(FirebaseError) -> Value? {
        guard let text = call.value(name), text != unset, text != "0" else { return nil }
        if let value = Value(rawValue: text) { return value }
        guard let number = Int(text), (1...values.count).contains(number) else {
            throw .wrongType(
                call.place(name),
                "type.googleapis.com/google.cloud.identitytoolkit.v1.QueryUserInfoRequest.\(type)", .string(text))
        }
        return values[number - 1]
    }

    private static func count(_ call: FirebaseCall, _ name: String) throws(FirebaseError) -> Int64? {
        let number = try call.integer(name)
        guard let number, number < 0 else { return number }
        throw .internalError(because: "\(name) must be 0 or more, not \(number)")
    }

    // MARK: - Answering

    func count(_ tables: borrowing Snapshot, in pool: UserPool) -> Int {
        if case .everybody = condition { return tables.count(User.byPool, pool) }
        return matches(tables, in: pool).count
    }

    /// Returns the users that the search asks for. They are sorted after the test world's lock is released, because
    /// sorting many users takes long.
    func users(_ call: FirebaseCall) -> [User] {
        if case .everybody = condition, field == .userId, isAscending {
            let users = call.read { $0.users(of: call.pool, after: "", limit: offset + limit) }
            return Array(users.dropFirst(offset))
        }
        let users = call.read { matches($0, in: call.pool) }
        let sorted = users.sorted(by: precedes)
        return Array(sorted.dropFirst(offset).prefix(limit))
    }

    private func matches(_ tables: borrowing Snapshot, in pool: UserPool) -> [User] {
        switch condition {
        case .everybody: tables.rows(User.byPool, pool)
        case .email(let email): tables.users(.email, email.lowercased(), in: pool)
        case .phoneNumber(let number): tables.users(.phoneNumber, number, in: pool)
        case .userId(let id): tables.user(id, in: pool).map { [$0] } ?? []
        }
    }

    private func precedes(_ one: User, _ other: User) -> Bool {
        func comes<Value: Comparable>(_ value: Value, _ next: Value) -> Bool {
            guard value != next else { return one.localId < other.localId }
            return isAscending == (value < next)
        }
        return switch field {
        case .userId: comes(one.localId, other.localId)
        case .name: comes(one.displayName ?? "", other.displayName ?? "")
        case .createdAt: comes(one.createdAt, other.createdAt)
        case .lastLoginAt: comes(one.lastLoginAt ?? .first, other.lastLoginAt ?? .first)
        case .email: comes(one.email ?? "", other.email ?? "")
        }
    }
}

extension FirebaseProvider {
    func query(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let query = try AccountQuery(call)
        guard try call.flag("returnUserInfo") ?? true else {
            let count = call.read { query.count($0, in: call.pool) }
            return FirebaseAnswer(["recordsCount": String(count)])
        }
        let users = query.users(call)
        var body = JSONObject(["recordsCount": String(users.count)])
        if !users.isEmpty || call.isInEmulatorMode {
            body["userInfo"] = .array(users.map { $0.document(in: call) })
        }
        return FirebaseAnswer(body: body)
    }
}
