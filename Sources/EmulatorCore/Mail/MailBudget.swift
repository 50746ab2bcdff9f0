import Synchronization

/// Counts the bytes of all worlds' inboxes.
package final class MailBudget: Sendable {
    /// The number of bytes that all inboxes may have together.
    package let limit: Int
    private let held = Atomic<Int>(0)

    package init(limit: Int = 128 << 20) { self.limit = limit }

    package var bytes: Int { held.load(ordering: .relaxed) }

    /// The number of bytes that an inbox may have when it gets a message now.
    fileprivate var limitOfInbox: Int { bytes > limit ? MailBudget.leastOfInbox : Inbox.sizeLimit }

    /// The number of bytes that an inbox keeps even if all together have too many.
    private static let leastOfInbox = 64 << 10

    /// The bytes of one world's inbox.
    final class Part: Sendable {
        private let budget: MailBudget
        private let held = Atomic<Int>(0)

        init(of budget: MailBudget) { self.budget = budget }

        deinit { set(0) }

        var limit: Int { budget.limitOfInbox }

        /// Returns whether so many bytes can be added; a small mail always can. The inbox's own messages don't count,
        /// since they can be dropped.
        func hasRoom(for bytes: Int) -> Bool {
            let others = budget.bytes - held.load(ordering: .relaxed)
            return bytes <= Inbox.sizeLimit / 128 || others <= 2 * budget.limit - min(bytes, budget.limit)
        }

        /// Sets the present size of the world's inbox. If two threads do so at once, the next one corrects it.
        func set(_ bytes: Int) {
            let before = held.exchange(bytes, ordering: .relaxed)
            budget.held.wrappingAdd(bytes - before, ordering: .relaxed)
        }
    }
}
