/// Entries that stay until they are removed, but no more than a limit: then the oldest go. For what requests make without
/// end, such as refresh tokens.
package struct BoundedTable<Name: Hashable & Sendable, Value: Sendable>: Sendable {
    private var entries: [Name: Value] = [:]
    /// In the order in which they were made. Names that were removed may still stand in it.
    private var order: [Name] = []
    private var first = 0
    private let limit: Int

    /// A million sign-ins fit.
    package init(limit: Int = 1 << 20) { self.limit = limit }

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }

    package subscript(name: Name) -> Value? {
        get { entries[name] }
        _modify {
            let wasThere = entries[name] != nil
            defer { if !wasThere, entries[name] != nil { added(name) } }
            yield &entries[name]
        }
    }

    @discardableResult
    package mutating func removeValue(forKey name: Name) -> Value? { entries.removeValue(forKey: name) }

    package mutating func removeAll() {
        entries = [:]
        order = []
        first = 0
    }

    package mutating func removeAll(where isUnwanted: (Value) -> Bool) {
        entries = entries.filter { !isUnwanted($0.value) }
    }

    private mutating func added(_ name: Name) {
        order.append(name)
        while entries.count > limit, first < order.count {
            entries[order[first]] = nil
            first += 1
        }
        guard order.count - first > 2 * entries.count + 1024 || first > limit else { return }
        // Without the names that are gone, and each once.
        var seen: Set<Name> = []
        let kept = order[first...].reversed().filter { entries[$0] != nil && seen.insert($0).inserted }
        order = kept.reversed()
        first = 0
    }
}
