import Synchronization

/// Limits the seeds that worlds have of their own: how many, and how large they are together.
package final class SeedBudget: Sendable {
    package static let limit = 1_000
    /// Bytes of JSON. What is made of them takes several times as much.
    package static let byteLimit = 32 << 20

    private let taken = Mutex((count: 0, bytes: 0))

    package init() {}

    package var usage: (count: Int, bytes: Int) { taken.withLock { $0 } }

    /// Room for one of so many bytes; `nil` when there is none.
    package func take(_ bytes: Int) -> Lease? {
        let isTaken = taken.withLock { taken in
            guard taken.count < SeedBudget.limit, bytes <= SeedBudget.byteLimit - taken.bytes else { return false }
            taken.count += 1
            taken.bytes += bytes
            return true
        }
        return isTaken ? Lease(bytes, of: self) : nil
    }

    /// Gives the room back when the last reference to it is gone.
    package final class Lease: Sendable {
        private let bytes: Int
        private let budget: SeedBudget

        fileprivate init(_ bytes: Int, of budget: SeedBudget) {
            self.bytes = bytes
            self.budget = budget
        }

        deinit {
            budget.taken.withLock { taken in
                taken.count -= 1
                taken.bytes -= bytes
            }
        }
    }
}
