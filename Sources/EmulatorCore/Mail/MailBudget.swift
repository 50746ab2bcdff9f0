import Synchronization

/// Counts the bytes that the inboxes of all worlds hold together.
package final class MailBudget: Sendable {
    /// Bytes.
    package let limit: Int
    private let held = Atomic<Int>(0)

    package init(limit: Int = 128 << 20) { self.limit = limit }

    package var bytes: Int { held.load(ordering: .relaxed) }

    /// How many bytes an inbox may have that gets a message now.
    fileprivate var limitOfInbox: Int { bytes > limit ? MailBudget.leastOfInbox : Inbox.sizeLimit }

    /// What an inbox keeps even where all of them together hold too much.
    private static let leastOfInbox = 64 << 10

    /// One world's part of it.
    final class Part: Sendable {
        private let budget: MailBudget
        private let held = Atomic<Int>(0)

        init(of budget: MailBudget) { self.budget = budget }

        deinit { set(0) }

        var limit: Int { budget.limitOfInbox }

        /// What the inbox itself holds makes room.
        func hasRoom(for bytes: Int) -> Bool {
            let others = budget.bytes - held.load(ordering: .relaxed)
            return bytes <= Inbox.sizeLimit / 128 || others <= 2 * budget.limit - min(bytes, budget.limit)
        }

        /// What the world's inbox holds now. Where two say so at once, the next one corrects it.
        func set(_ bytes: Int) {
            let before = held.exchange(bytes, ordering: .relaxed)
            budget.held.wrappingAdd(bytes - before, ordering: .relaxed)
        }
    }
}
