import Synchronization

/// The last exchanges of a world, in the order in which they were answered.
package final class Recording: Sendable {
    package static let countLimit = 1_000
    /// Bytes.
    package static let sizeLimit = 16 << 20

    package typealias Listener = @Sendable (RecordedExchange) -> Void

    private struct State {
        var exchanges: [RecordedExchange] = []
        /// Where they begin; what stands before has been let go.
        var first = 0
        var size = 0
        var listeners: [Int: Listener] = [:]
        var lastListener = 0
    }

    private let state = Mutex(State())

    /// Adds an exchange, lets the oldest go where there are too many, and tells whoever listens.
    func add(_ exchange: RecordedExchange) {
        let size = exchange.size
        let listeners = state.withLock { state -> [Listener] in
            state.exchanges.append(exchange)
            state.size += size
            while state.exchanges.count - state.first > Recording.countLimit
                || (state.size > Recording.sizeLimit && state.exchanges.count - state.first > 1)
            {
                state.size -= state.exchanges[state.first].size
                state.first += 1
            }
            if state.first > 256 {
                state.exchanges.removeFirst(state.first)
                state.first = 0
            }
            return state.listeners.isEmpty ? [] : Array(state.listeners.values)
        }
        for listener in listeners { listener(exchange) }
    }

    package var exchanges: [RecordedExchange] { state.withLock { Array($0.exchanges[$0.first...]) } }

    package func clear() {
        state.withLock { state in
            state.exchanges = []
            state.first = 0
            state.size = 0
        }
    }

    /// Calls `listener` for every exchange from now on. Returns those that there are already, so that none is missed, and
    /// a number for `stopListening`.
    package func listen(_ listener: @escaping Listener) -> (already: [RecordedExchange], number: Int) {
        state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = listener
            return (Array(state.exchanges[state.first...]), state.lastListener)
        }
    }

    package func stopListening(_ number: Int) {
        state.withLock { $0.listeners[number] = nil }
    }
}
