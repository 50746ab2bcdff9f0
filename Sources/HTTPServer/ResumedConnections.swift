import CConnections
import CMicrohttpd
import Synchronization

/// Suspended connections whose answers are there, and that libmicrohttpd is told of together: told one by one, its workers would be
/// woken for each.
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
        let pointers = batch.pointers.withLock { $0 }
        understudy_gather_wakes()
        for pointer in pointers { MHD_resume_connection(pointer.connection) }
        understudy_send_wakes()
    }

    /// The connection stays suspended until `body` has ended, so that it isn't closed before.
    func add(_ connection: OpaquePointer?) { pointers.withLock { $0.append(Pointer(connection: connection)) } }
}
