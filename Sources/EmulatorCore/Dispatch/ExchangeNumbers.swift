import Synchronization
import Time

/// The numbers in the IDs of exchanges.
///
/// A daemon that shares its worlds with nobody counts from 1. Replicas take numbers that rise with the time at all of them, and that none
/// of them takes twice, not after it has started again either: tenths of milliseconds since 2026, followed by the replica's number in
/// four digits. One that needs more than ten thousand a second takes those of the near future.
final class ExchangeNumbers: Sendable {
    /// 2026-01-01, in microseconds since 1970.
    private static let beginning: Int64 = 1_767_225_600_000_000
    private static let replicas = 10_000

    private let replica: Int
    private let last: Atomic<Int>

    /// `replica` is 0 where worlds aren't shared, and below 10,000.
    init(replica: Int) {
        self.replica = replica
        last = Atomic(0)
    }

    var next: Int {
        guard replica > 0 else { return last.wrappingAdd(1, ordering: .relaxed).newValue }
        let now = Int(clamping: max(0, MachineClock.microseconds - ExchangeNumbers.beginning) / 100)
        var known = last.load(ordering: .relaxed)
        while true {
            let next = max(known &+ 1, now)
            let (exchanged, original) = last.weakCompareExchange(
                expected: known, desired: next, ordering: .relaxed)
            if exchanged { return next &* ExchangeNumbers.replicas &+ replica }
            known = original
        }
    }
}
