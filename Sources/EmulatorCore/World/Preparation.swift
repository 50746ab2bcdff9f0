import Synchronization

/// The preparation of a new test world: the daemon runs its initial scenarios (prepared situations) before it serves
/// any other request in the world.
final class Preparation: Sendable {
    private enum State {
        case due
        case running(waiting: [@Sendable () -> Void])
        case done
    }

    private let state = Mutex(State.due)

    /// Notes that the test world's initial scenarios must be run again, because the world was reset. Does nothing if
    /// they are being run.
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

    /// Returns `mine` to the first caller. This caller must run the test world's initial scenarios and then call
    /// `finish`. Returns `wait` while the scenarios run; `finish` calls the closure `then` of each caller that got
    /// `wait`. Returns `go` after `finish`.
    func requestTurn(then: @escaping @Sendable () -> Void) -> Turn {
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

    func finish() {
        let waiting = state.withLock { state -> [@Sendable () -> Void] in
            defer { state = .done }
            guard case .running(let waiting) = state else { return [] }
            return waiting
        }
        waiting.forEach { $0() }
    }
}
