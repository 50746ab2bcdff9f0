import Foundation

/// A flag that any thread can raise, for example when a test has failed.
final class Flag: Sendable {
    private let lock = NSLock()
    private nonisolated(unsafe) var isSet = false

    var isRaised: Bool { lock.withLock { isSet } }

    func raise() { lock.withLock { isSet = true } }
}
