import Synchronization

/// The preparation of a new world: the scenarios that the daemon was started with are played before any other request
/// is served.
final class Preparation: Sendable {
    private enum State {
        case due
        case running(waiting: [@Sendable () -> Void])
        case done
    }

    private let state = Mutex(State.due)

    /// Notes that the world is new again.
    func begin() { state.withLock { $0 = .due } }

    /// Notes that the world is new again, unless its scenarios are being played.
    func beginAgain() {
        state.withLock { state in
            if case .done = state { state = .due }
        }
    }

    enum Turn {
        case mine
        case wait
        case go
    }

    /// Returns `mine` to the first caller, who plays the scenarios and then calls `finish`. Returns `wait` while that
    /// runs, and calls `then` after it.
    func take(then: @escaping @Sendable () -> Void) -> Turn {
        state.withLock { state in
            switch state {
            case .due:
                state = .running(waiting: [])
                return .mine
            case .running(let waiting):
                state = .running(waiting: waiting + [then])
                return .wait
            case .done: return .go
            }
        }
    }

    var isDone: Bool {
        state.withLock { state in
            guard case .done = state else { return false }
            return true
        }
    }

    func finish() {
        let waiting = state.withLock { state -> [@Sendable () -> Void] in
            defer { state = .done }
            guard case .running(let waiting) = state else { return [] }
            return waiting
        }
        waiting.forEach { $0() }
    }
}
