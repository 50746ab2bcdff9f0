import CMicrohttpd
import Synchronization

/// Suspended connections whose answers are there, and that libmicrohttpd is told of together: told one by one, its workers wake up
/// for each.
package final class ResumedConnections: Sendable {
    @TaskLocal static var current: ResumedConnections?

    private struct Pointer: @unchecked Sendable {
        let connection: OpaquePointer?
    }

    private let pointers = Mutex<[Pointer]>([])

    private init() {}

    /// Runs `body`, and sends the answers that it gives to suspended connections when it has ended.
    package static func together(_ body: () -> Void) {
        let batch = ResumedConnections()
        $current.withValue(batch, operation: body)
        for pointer in batch.pointers.withLock({ $0 }) { MHD_resume_connection(pointer.connection) }
    }

    /// The connection stays suspended until `body` has ended, so that it isn't closed before.
    func add(_ connection: OpaquePointer?) { pointers.withLock { $0.append(Pointer(connection: connection)) } }
}
