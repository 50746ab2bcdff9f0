import CPlatform
import Dispatch
import Synchronization

/// Gives freed memory back to the system. The C library keeps it otherwise: a daemon whose worlds are reset would stay as large as
/// it once was.
package enum FreedMemory {
    private static let isGivenBack = Atomic<Bool>(false)
    private static let isDue = Atomic<Bool>(false)

    /// Bytes of resident memory below which nothing is done: looking through free memory takes some milliseconds for each 100 MB.
    private static let least: Int64 = 48_000_000
    private static let delay = DispatchTimeInterval.seconds(2)

    /// From now on, `giveBackSoon` has an effect. For a program of its own: in another's process, memory is not ours to look after.
    package static func giveBackFromNowOn() { isGivenBack.store(true, ordering: .relaxed) }

    /// Much was freed, or is about to be. Cheap, however often it is called: what is freed within two seconds is given back
    /// together.
    package static func giveBackSoon() {
        guard isGivenBack.load(ordering: .relaxed), !isDue.exchange(true, ordering: .relaxed) else { return }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay) {
            isDue.store(false, ordering: .relaxed)
            if understudy_resident_bytes() >= least { understudy_return_free_memory() }
        }
    }
}
