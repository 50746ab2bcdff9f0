import HTTPServer
import Synchronization

/// The event streams of a world. When the world goes, they end: their clients ask again, and get what the new world of that name
/// has to tell.
package final class OpenStreams: Sendable {
    private struct Entry {
        weak var stream: EventStream?
    }

    private struct State {
        var entries: [Entry] = []
        /// How many entries there may be before those of closed streams are taken out.
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
