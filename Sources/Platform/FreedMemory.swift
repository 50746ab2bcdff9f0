import CPlatform
import Dispatch
import Synchronization

/// Returns freed memory to the operating system. Otherwise the C library keeps it, and a daemon that has deleted much
/// data would stay as large as it once was.
package enum FreedMemory {
    private static let isGivenBack = Atomic<Bool>(false)
    private static let isDue = Atomic<Bool>(false)

    /// The least resident memory, in bytes, for which returning freed memory to the system is worth while. Searching
    /// free memory takes some milliseconds for each 100 MB.
    private static let least: Int64 = 48_000_000
    private static let delay = DispatchTimeInterval.seconds(2)

    /// Enables `giveBackSoon`, which returns freed memory to the system. Only Understudy's own program calls this: in
    /// the process of a test, the memory isn't Understudy's to manage.
    package static func giveBackFromNowOn() { isGivenBack.store(true, ordering: .relaxed) }

    /// Returns freed memory to the system after about two seconds, if `giveBackFromNowOn` has been called and the
    /// process is large. Call it when much memory has been freed, or is about to be. Frequent calls cost little.
    package static func giveBackSoon() {
        guard isGivenBack.load(ordering: .relaxed), !isDue.exchange(true, ordering: .relaxed) else { return }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay) {
            isDue.store(false, ordering: .relaxed)
            if understudy_resident_bytes() >= least { understudy_return_free_memory() }
        }
    }
}
