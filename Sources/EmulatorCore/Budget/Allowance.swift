import Synchronization

/// How many of something there may be at once. Each is counted for as long as its lease is held.
package final class Allowance: Sendable {
    package let limit: Int
    private let taken = Atomic<Int>(0)
    private let refusals = Atomic<Int>(0)

    package init(limit: Int) { self.limit = limit }

    package var count: Int { taken.load(ordering: .relaxed) }
    /// How many were asked for when there was none left.
    package var refused: Int { refusals.load(ordering: .relaxed) }

    /// One more; `nil` when there is none left.
    package func take() -> Lease? {
        guard taken.wrappingAdd(1, ordering: .relaxed).newValue <= limit else {
            taken.wrappingSubtract(1, ordering: .relaxed)
            refusals.wrappingAdd(1, ordering: .relaxed)
            return nil
        }
        return Lease(of: self)
    }

    /// Gives its place back when it is let go.
    package final class Lease: Sendable {
        private let allowance: Allowance

        fileprivate init(of allowance: Allowance) { self.allowance = allowance }

        deinit { allowance.taken.wrappingSubtract(1, ordering: .relaxed) }
    }
}
