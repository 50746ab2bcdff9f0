import Synchronization

/// Limits how many of something there are at once. Each is counted while its lease exists.
package final class Allowance: Sendable {
    package let limit: Int
    private let taken = Atomic<Int>(0)
    private let refusals = Atomic<Int>(0)

    package init(limit: Int) { self.limit = limit }

    package var count: Int { taken.load(ordering: .relaxed) }
    /// How many requests for one were refused.
    package var refused: Int { refusals.load(ordering: .relaxed) }

    /// Takes one; `nil` when none is left.
    package func take() -> Lease? {
        guard taken.wrappingAdd(1, ordering: .relaxed).newValue <= limit else {
            taken.wrappingSubtract(1, ordering: .relaxed)
            refusals.wrappingAdd(1, ordering: .relaxed)
            return nil
        }
        return Lease(of: self)
    }

    /// One was refused for another reason than that none is left.
    package func noteRefusal() { refusals.wrappingAdd(1, ordering: .relaxed) }

    /// Gives the place back when the last reference to it is gone.
    package final class Lease: Sendable {
        private let allowance: Allowance

        fileprivate init(of allowance: Allowance) { self.allowance = allowance }

        deinit { allowance.taken.wrappingSubtract(1, ordering: .relaxed) }
    }
}
