import Synchronization
import Time

/// The numbers in the IDs of exchanges.
///
/// A daemon with its worlds in memory counts from 1. If worlds outlive it, their codes and tokens name requests of
/// earlier daemons and of other replicas, so numbers must be unique among all: tenths of milliseconds since 2026,
/// followed by the replica's number in four digits. A daemon that needs more than ten thousand a second takes numbers
/// of the near future.
final class ExchangeNumbers: Sendable {
    /// The time 2026-01-01, in microseconds since 1970.
    private static let beginning: Int64 = 1_767_225_600_000_000
    private static let replicas = 10_000

    private let replica: Int
    private let riseWithTime: Bool
    private let last: Atomic<Int>

    /// `replica` is 0 for worlds that aren't shared, and below 10,000.
    init(replica: Int, outlivesProcess: Bool) {
        self.replica = replica
        riseWithTime = outlivesProcess
        last = Atomic(0)
    }

    convenience init(of archive: (any Archive)?) {
        self.init(replica: archive?.replica ?? 0, outlivesProcess: archive != nil)
    }

    var next: Int {
        guard riseWithTime else { return last.wrappingAdd(1, ordering: .relaxed).newValue }
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
