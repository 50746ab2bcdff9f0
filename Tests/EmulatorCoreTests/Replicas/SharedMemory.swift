import Synchronization
@testable import Worlds

@testable import EmulatorCore

/// The archive that daemons without a database share in these tests.
typealias SharedMemory = MemoryArchive.Memory

extension MemoryArchive.Memory {
    /// Makes all replicas fail, or work again with `nil`.
    func fail(_ failure: StoreFailure?) { state.withLock { $0.failure = failure } }

    var refreshes: Int { state.withLock { $0.refreshes } }

    func archive(replica: Int) -> MemoryArchive { MemoryArchive(sharing: self, replica: replica) }
}
