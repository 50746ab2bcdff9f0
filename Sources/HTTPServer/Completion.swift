import Synchronization

/// Takes a delayed answer, and tells when nobody waits for it any more. It is called once with the answer, from any thread; further
/// calls do nothing.
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

    /// `action` is called once if the client goes before the answer is there; at once, if it has gone already. Whoever waits for
    /// something should then stop waiting and give an answer. It is recorded, but not sent.
    package func whenAbandoned(_ action: @escaping @Sendable () -> Void) {
        let isAbandoned = state.withLock { state in
            if !state.isAbandoned, state.deliver != nil { state.actions.append(action) }
            return state.isAbandoned
        }
        if isAbandoned { action() }
    }

    /// A completion that changes its answer by `change` and hands it on to this one. It is abandoned when this one is.
    package func through(_ change: @escaping @Sendable (Response) -> Response) -> Completion {
        then { [self] in self(change($0)) }
    }

    /// A completion that hands its answer to `deliver`. It is abandoned when this one is.
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
