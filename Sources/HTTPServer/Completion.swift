import Synchronization

/// Accepts a delayed answer, once, from any thread; further calls do nothing. It also reports that the client has gone
/// before the answer.
package final class Completion: Sendable {
    private struct State {
        var isAbandoned = false
        var actions: [@Sendable () -> Void] = []
        var deliver: (@Sendable (Response) -> Void)?
    }

    private let state: Mutex<State>

    /// Makes a completion that passes its answer to `deliver`.
    package init(_ deliver: @escaping @Sendable (Response) -> Void) { state = Mutex(State(deliver: deliver)) }

    package func callAsFunction(_ response: Response) {
        let deliver = state.withLock { state in
            defer {
                state.deliver = nil
                state.actions = []
            }
            return state.deliver
        }
        deliver?(response)
    }

    /// Calls `action` once if the client goes before the answer is there, or at once if it has already gone. The action
    /// should end the wait and complete with some answer, which is recorded but not sent.
    package func whenAbandoned(_ action: @escaping @Sendable () -> Void) {
        let isAbandoned = state.withLock { state in
            if !state.isAbandoned, state.deliver != nil { state.actions.append(action) }
            return state.isAbandoned
        }
        if isAbandoned { action() }
    }

    /// Returns a completion that changes its answer by `change` and passes it on to this one. It is abandoned when this
    /// one is.
    package func through(_ change: @escaping @Sendable (Response) -> Response) -> Completion {
        then { [self] in self(change($0)) }
    }

    /// Returns a completion that passes its answer to `deliver`. It is abandoned when this one is.
    package func then(_ deliver: @escaping @Sendable (Response) -> Void) -> Completion {
        let inner = Completion(deliver)
        whenAbandoned { [weak inner] in inner?.abandon() }
        return inner
    }

    /// Records that the client has gone, and calls the actions of `whenAbandoned`.
    package func abandon() {
        let actions = state.withLock { state in
            defer { state.actions = [] }
            state.isAbandoned = true
            return state.actions
        }
        for action in actions { action() }
    }
}
