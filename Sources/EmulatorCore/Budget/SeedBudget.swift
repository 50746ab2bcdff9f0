import Synchronization

/// Limits the number and the memory of the seeds that worlds have of their own.
package final class SeedBudget: Sendable {
    package static let limit = 1_000
    /// The bytes of memory for the seeds of all worlds, as ``weight(bytes:endpoints:)`` estimates it.
    package static let byteLimit = 1 << 30

    private let taken = Mutex((count: 0, bytes: 0))

    package init() {}

    package var usage: (count: Int, bytes: Int) { taken.withLock { $0 } }

    /// Returns an estimate of the bytes of memory that a seed takes, from measurements: Firebase projects take the most
    /// for each byte of JSON. Each endpoint takes some more, and each OpenID issuer has endpoints of its own.
    static func weight(bytes: Int, endpoints: Int) -> Int { bytes * 64 + endpoints * 2_048 }

    /// Reserves memory for a seed of so many bytes of JSON. Returns `nil` when there isn't enough.
    package func take(_ bytes: Int, playing played: PlayedSeed) -> Lease? {
        let bytes = SeedBudget.weight(bytes: bytes, endpoints: played.endpoints.count)
        let isTaken = taken.withLock { taken in
            guard taken.count < SeedBudget.limit, bytes <= SeedBudget.byteLimit - taken.bytes else { return false }
            taken.count += 1
            taken.bytes += bytes
            return true
        }
        return isTaken ? Lease(bytes, of: self) : nil
    }

    /// A reservation of memory, held until the last reference to the lease is gone.
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
