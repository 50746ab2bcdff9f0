import Synchronization

/// The preparation of a new world. The daemon plays the scenarios that it was started with (prepared test situations)
/// before it serves any other request in the world.
final class Preparation: Sendable {
    private enum State {
        case due
        case running(waiting: [@Sendable () -> Void])
        case done
    }

    private let state = Mutex(State.due)

    /// Notes that the world is new again, so that its scenarios must be played.
    func begin() { state.withLock { $0 = .due } }

    /// Notes that the world is new again, so that its scenarios must be played, unless they are being played already.
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

    /// Returns `mine` to the first caller, who plays the world's scenarios and then calls `finish`. Until `finish` is
    /// called, other callers get `wait`, and their closures `then` are called by `finish`. Later callers get `go`.
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
