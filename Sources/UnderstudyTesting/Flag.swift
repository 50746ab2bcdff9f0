import Foundation

/// Whether a test has failed. Issues may come from any thread.
final class FailureFlag: Sendable {
    private let lock = NSLock()
    private nonisolated(unsafe) var isSet = false

    var isRaised: Bool { lock.withLock { isSet } }

    func raise() { lock.withLock { isSet = true } }
}
