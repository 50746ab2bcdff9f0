import Synchronization

/// Suspended connections whose answers are there, and that libmicrohttpd is told of together: told one by one, its workers would be
/// woken for each.
package final class ResumedConnections: Sendable {
    @TaskLocal static var current: ResumedConnections?

    /// A server's.
    private struct Part: @unchecked Sendable {
        let suspensions: Suspensions
        var connections: [OpaquePointer?]
    }

    private let parts = Mutex<[Part]>([])

    private init() {}

    /// Runs `body`, and sends the answers that it gives to suspended connections when it has ended.
    package static func together(_ body: () -> Void) {
        let batch = ResumedConnections()
        $current.withValue(batch, operation: body)
        for part in batch.parts.withLock({ $0 }) { part.suspensions.resume(part.connections) }
    }

    /// The connection stays suspended until `body` has ended, so that it isn't closed before.
    func add(_ connection: OpaquePointer?, of suspensions: Suspensions) {
        // Most have one server, few have more than two.
        let part = Part(suspensions: suspensions, connections: [connection])
        parts.withLock { parts in
            guard let place = parts.firstIndex(where: { $0.suspensions === suspensions }) else {
                return parts.append(part)
            }
            parts[place].connections += part.connections
        }
    }
}
