import EmulatorCore
import JOSE

/// A search for the users of a pool whose ID, address or phone number begins with a text, or for all users in the order
/// of their IDs, in pages. It only reads indexes, so it costs the same however many users there are.
struct UserSearch: Sendable {
    private static let fields: [User.Field] = [.localId, .email, .providerEmail, .phoneNumber]

    let pool: UserPool
    let text: String

    struct Found: Sendable {
        let users: [User]
        /// The cursor of the next page.
        let next: String?
    }

    /// Returns the prefix of the index texts that match in a field.
    private func prefix(_ field: User.Field) -> String {
        let isAddress = field == .email || field == .providerEmail
        return User.place(field, pool, beginningWith: isAddress ? text.lowercased() : text)
    }

    /// Returns a page. `cursor` is the index text of the last user of the page before.
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

    /// Whether this index text is the first at which the search finds the user.
    private func isFirst(_ place: String, of user: User) -> Bool {
        let texts = User.order.texts(user)
        for field in UserSearch.fields {
            let prefix = prefix(field)
            if let first = texts.filter({ $0.hasPrefix(prefix) }).min() { return first == place }
        }
        return true
    }
}
