import JSON
import EmulatorCore
import Time

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
        var body = JSONObject([("kind", "identitytoolkit#DownloadAccountResponse")])
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
            throw FirebaseError("LOCAL_ID_LIST_EXCEEDS_LIMIT", because: "localIds must hold 1 to 1,000 IDs")
        }
        let isForced = try call.flag("force") ?? false
        let refused = try call.update { tables in
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
}
