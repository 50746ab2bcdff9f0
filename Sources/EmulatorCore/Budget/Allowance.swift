import Synchronization

/// Limits the number of things that exist at once. Each counts while its lease exists.
package final class Allowance: Sendable {
    package let limit: Int
    private let taken = Atomic<Int>(0)
    private let refusals = Atomic<Int>(0)

    package init(limit: Int) { self.limit = limit }

    package var count: Int { taken.load(ordering: .relaxed) }
    /// The number of refused requests for a lease.
    package var refused: Int { refusals.load(ordering: .relaxed) }

    /// Returns a lease; `nil` when the limit is reached.
    package func take() -> Lease? {
        guard taken.wrappingAdd(1, ordering: .relaxed).newValue <= limit else {
            taken.wrappingSubtract(1, ordering: .relaxed)
            refusals.wrappingAdd(1, ordering: .relaxed)
            return nil
        }
        return Lease(of: self)
    }

    /// Counts a refusal for another reason than the limit.
    package func noteRefusal() { refusals.wrappingAdd(1, ordering: .relaxed) }

    /// A place under the limit, taken until the last reference to the lease is gone.
    package final class Lease: Sendable {
        private let allowance: Allowance

        fileprivate init(of allowance: Allowance) { self.allowance = allowance }

        deinit { allowance.taken.wrappingSubtract(1, ordering: .relaxed) }
    }
}
