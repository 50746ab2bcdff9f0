import JSON
import Synchronization

/// Collects the answers to the messages of one array, and sends them together:
/// <https://www.jsonrpc.org/specification#batch>.
final class BatchAnswer: Sendable {
    private let state: Mutex<(missing: Int, answers: [JSONValue])>
    private let send: @Sendable (JSONValue) -> Void

    /// Collects the answers to this number of messages.
    init(_ count: Int, send: @escaping @Sendable (JSONValue) -> Void) {
        state = Mutex((missing: count, answers: []))
        self.send = send
    }

    /// Adds the answer to one of the messages; `nil` if it gets none. If no message gets one, nothing is sent.
    func add(_ answer: JSONValue?) {
        let whole = state.withLock { state -> [JSONValue]? in
            if let answer { state.answers.append(answer) }
            state.missing -= 1
            return state.missing == 0 ? state.answers : nil
        }
        if let whole, !whole.isEmpty { send(.array(whole)) }
    }
}
