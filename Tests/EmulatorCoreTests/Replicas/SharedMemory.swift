import Synchronization

@testable import EmulatorCore

/// What daemons without a database share in these tests.
typealias SharedMemory = MemoryArchive.Memory

extension MemoryArchive.Memory {
    /// All replicas fail from now on; `nil` when they don't any more.
    func fail(_ failure: StoreFailure?) { state.withLock { $0.failure = failure } }

    var refreshes: Int { state.withLock { $0.refreshes } }

    func archive(replica: Int) -> MemoryArchive { MemoryArchive(sharing: self, replica: replica) }
}
