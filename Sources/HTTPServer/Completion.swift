import Synchronization

/// Takes the answer that comes later, and knows when nobody waits for it any more. To be called once with the answer, from
/// any thread; further calls do nothing.
package final class Completion: Sendable {
    private struct State {
        var isAbandoned = false
        var actions: [@Sendable () -> Void] = []
        var deliver: (@Sendable (Response) -> Void)?
    }

    private let state: Mutex<State>

    /// Hands the answer to `deliver`.
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

    /// Called once if the client goes before the answer is there; at once, if it has gone already. Whoever waits for
    /// something then should stop waiting and give an answer, which is recorded but goes nowhere.
    package func whenAbandoned(_ action: @escaping @Sendable () -> Void) {
        let isAbandoned = state.withLock { state in
            if !state.isAbandoned, state.deliver != nil { state.actions.append(action) }
            return state.isAbandoned
        }
        if isAbandoned { action() }
    }

    /// One whose answer goes through `change` to this one's taker, and that is abandoned with it.
    package func through(_ change: @escaping @Sendable (Response) -> Response) -> Completion {
        then { [self] in self(change($0)) }
    }

    /// One that hands its answer to `deliver`, and is abandoned with this one.
    package func then(_ deliver: @escaping @Sendable (Response) -> Void) -> Completion {
        let inner = Completion(deliver)
        whenAbandoned { [weak inner] in inner?.abandon() }
        return inner
    }

    /// The client has gone.
    package func abandon() {
        let actions = state.withLock { state in
            defer { state.actions = [] }
            state.isAbandoned = true
            return state.actions
        }
        for action in actions { action() }
    }
}
