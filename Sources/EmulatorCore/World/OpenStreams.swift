import Dispatch
import HTTPServer
import Synchronization

/// The open event streams of a test world, and the requests that wait for an event in the world. All of them end when
/// the world is removed. A client that then repeats its request gets a new world of the same name.
package final class OpenStreams: Sendable {
    private struct Entry {
        weak var stream: EventStream?
    }

    private struct State {
        var entries: [Entry] = []
        /// When this many event streams are kept, the closed ones are removed before another stream is added.
        var limit = 16
        /// The functions that end the waiting requests, by the number of the request.
        var waiting: [Int: @Sendable () -> Void] = [:]
        var last = 0
        var isEnded = false
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

    /// Calls `end` when the test world is removed, or at once if it was removed already. Returns a number with which
    /// `forget` cancels the call.
    package func whenEnded(_ end: @escaping @Sendable () -> Void) -> Int {
        let (number, isEnded) = state.withLock { state in
            state.last += 1
            if !state.isEnded { state.waiting[state.last] = end }
            return (state.last, state.isEnded)
        }
        if isEnded { end() }
        return number
    }

    package func forget(_ number: Int) { _ = state.withLock { $0.waiting.removeValue(forKey: number) } }

    func endAll() {
        let (entries, waiting) = state.withLock { state in
            defer { (state.entries, state.waiting, state.isEnded) = ([], [:], true) }
            return (state.entries, state.waiting)
        }
        for entry in entries { entry.stream?.end() }
        for end in waiting.values { end() }
    }
}
