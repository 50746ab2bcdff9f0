import Time

/// Users by a text that several may share, the oldest first.
struct UserIndex: Sendable {
    private struct Entry: Comparable, Sendable {
        let createdAt: Instant
        let localId: String

        init(_ user: User) {
            createdAt = user.createdAt
            localId = user.localId
        }

        static func < (left: Entry, right: Entry) -> Bool {
            (left.createdAt, left.localId) < (right.createdAt, right.localId)
        }
    }

    private var entries: [String: [Entry]] = [:]

    /// The local ID of the oldest user under `text`.
    func oldest(_ text: String) -> String? { entries[text]?.first?.localId }

    mutating func insert(_ user: User, under text: String) {
        let entry = Entry(user)
        var list = entries.removeValue(forKey: text) ?? []
        list.insert(entry, at: UserIndex.place(of: entry, in: list))
        entries[text] = list
    }

    mutating func remove(_ user: User, under text: String) {
        guard var list = entries.removeValue(forKey: text) else { return }
        let entry = Entry(user)
        let place = UserIndex.place(of: entry, in: list)
        if place < list.count, list[place] == entry { list.remove(at: place) }
        if !list.isEmpty { entries[text] = list }
    }

    mutating func removeAll() { entries = [:] }

    /// The first place whose entry isn't before `entry`, by halves.
    private static func place(of entry: Entry, in list: [Entry]) -> Int {
        var (low, high) = (0, list.count)
        while low < high {
            let middle = (low + high) / 2
            if list[middle] < entry { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
