import EmulatorCore
import JOSE

/// Users of a pool whose ID, address or phone number begins with a text, or all of them in the order of their IDs; some at a
/// time. It reads indexes only, so it costs the same however many users there are.
struct UserSearch: Sendable {
    private static let fields: [User.Field] = [.localId, .email, .providerEmail, .phoneNumber]

    let pool: UserPool
    let text: String

    struct Found: Sendable {
        let users: [User]
        /// Where the next page begins.
        let next: String?
    }

    /// What the texts of the index begin with at which a field's matches stand.
    private func prefix(_ field: User.Field) -> String {
        let isAddress = field == .email || field == .providerEmail
        return User.place(field, pool, beginningWith: isAddress ? text.lowercased() : text)
    }

    /// `cursor` is the place of the last user of the page before: a text of the index.
    func page(after cursor: String?, limit: Int, in world: World) -> Found {
        let place = cursor.flatMap { Base64URL.decode($0) }.map { String(decoding: $0, as: UTF8.self) }
        let start = UserSearch.fields.firstIndex { place?.hasPrefix("\($0.rawValue)\0") ?? false } ?? 0
        // Without a text, everybody is found by the ID.
        let fields = text.isEmpty ? UserSearch.fields.prefix(1) : UserSearch.fields[start...]
        return world.read { tables in
            var found: [(text: String, row: User)] = []
            for field in fields {
                // A user may be found by several fields: then the first one counts.
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

    /// Whether the search finds the user at this text of the index first.
    private func isFirst(_ place: String, of user: User) -> Bool {
        let texts = User.order.texts(user)
        for field in UserSearch.fields {
            let prefix = prefix(field)
            if let first = texts.filter({ $0.hasPrefix(prefix) }).min() { return first == place }
        }
        return true
    }
}
