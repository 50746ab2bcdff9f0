import Foundation

/// Whether something has happened, such as a test's failure. It may happen on any thread.
final class Flag: Sendable {
    private let lock = NSLock()
    private nonisolated(unsafe) var isSet = false

    var isRaised: Bool { lock.withLock { isSet } }

    func raise() { lock.withLock { isSet = true } }
}
