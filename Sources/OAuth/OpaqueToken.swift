import JOSE
import Time

/// The name under which a code or token is kept: its 16 random bytes.
package typealias TokenName = UInt128

extension Randomness {
    /// A name that nothing has had before, but for chance.
    package mutating func tokenName() -> TokenName {
        bytes(16).reduce(0) { $0 << 8 | TokenName($1) }
    }
}

/// Entries that are let go some time after they were made: codes, access tokens.
package struct ExpiringTable<Name: Hashable & Sendable, Value: Sendable>: Sendable {
    package struct Entry: Sendable {
        package var value: Value
        /// When it stops being good.
        package let expires: Instant
    }

    private var entries: [Name: Entry] = [:]
    /// In the order in which they were made, which is the order in which they expire.
    private var order: [(name: Name, drop: Instant)] = []
    private var first = 0
    /// How long an expired entry is still remembered, so that a refusal can say that it expired.
    private let memory: TimeSpan

    /// There are never more entries: then the oldest go, whether or not they have expired.
    private let limit: Int

    /// A million sign-ins fit, unless another limit is given.
    package init(rememberingExpired memory: TimeSpan = .zero, limit: Int = 1 << 20) {
        self.memory = memory
        self.limit = limit
    }

    package var count: Int { entries.count }

    package mutating func insert(_ value: Value, as name: Name, expires: Instant, now: Instant) {
        purge(now: now)
        entries[name] = Entry(value: value, expires: expires)
        order.append((name: name, drop: expires + memory))
        if order.count - first > limit {
            entries[order[first].name] = nil
            first += 1
        }
    }

    package subscript(name: Name) -> Entry? {
        get { entries[name] }
        set { entries[name] = newValue }
    }

    package mutating func removeAll(where isUnwanted: (Value) -> Bool) {
        entries = entries.filter { !isUnwanted($0.value.value) }
    }

    package mutating func update(_ change: (inout Value) -> Void) {
        for name in entries.keys {
            if var entry = entries[name] {
                change(&entry.value)
                entries[name] = entry
            }
        }
    }

    /// Lets go of what expired long enough ago. Costs as much as there is to let go of.
    package mutating func purge(now: Instant) {
        while first < order.count, order[first].drop <= now {
            entries[order[first].name] = nil
            first += 1
        }
        if first > 1024, first * 2 > order.count {
            order = Array(order[first...])
            first = 0
        }
        // A dictionary never shrinks by itself.
        if entries.capacity > 4096, entries.count * 8 < entries.capacity {
            entries = Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.value) })
        }
    }
}
