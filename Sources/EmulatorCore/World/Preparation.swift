import Synchronization

/// What has to happen in a new world before anybody else is served: the scenarios that the daemon was started with.
final class Preparation: Sendable {
    private enum State {
        case due
        case running(waiting: [@Sendable () -> Void])
        case done
    }

    private let state = Mutex(State.due)

    /// The world is new again.
    func begin() { state.withLock { $0 = .due } }

    /// The same, unless somebody is at it.
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

    /// `mine` for whoever comes first, who calls `finish` in the end; `wait` while that goes on, and `then` is called after
    /// it.
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
