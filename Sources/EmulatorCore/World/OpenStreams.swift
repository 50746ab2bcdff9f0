import HTTPServer
import Synchronization

/// The event streams of a world. They end with the world: their clients reconnect, and get the events of the new world
/// of that name.
package final class OpenStreams: Sendable {
    private struct Entry {
        weak var stream: EventStream?
    }

    private struct State {
        var entries: [Entry] = []
        /// The number of entries above which those of closed streams are removed.
        var limit = 16
    }

    private let state = Mutex(State())

    init() {}

    package func add(_ stream: EventStream) {
        state.withLock { state in
            if state.entries.count >= state.limit {
                state.entries.removeAll { $0.stream == nil }
                state.limit = max(16, state.entries.count * 2)
            }
            state.entries.append(Entry(stream: stream))
        }
    }

    func endAll() {
        let entries = state.withLock { state in
            defer { state.entries = [] }
            return state.entries
        }
        for entry in entries { entry.stream?.end() }
    }
}
