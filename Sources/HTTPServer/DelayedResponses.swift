import Synchronization

/// The responses that are ready, but wait for the end of a delay. Their bodies together have a limit. If it is exceeded,
/// the delay of the response that has waited longest ends early.
final class DelayedResponses: Sendable {
    static let shared = DelayedResponses(limit: 256 << 20)

    private struct State {
        var bytes = 0
        var made = 0
        /// The waiting responses by their numbers, which rise: the size of each, and its timer once it is made.
        var waiting: [Int: (size: Int, timer: Timer?)] = [:]
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// Runs `send` after `duration`, or earlier if later responses need the room. `size` is the number of bytes of the
    /// response.
    func hold(_ size: Int, for duration: Duration, _ send: @escaping @Sendable () -> Void) -> Timer {
        let number = state.withLock { state in
            state.made += 1
            state.bytes += size
            state.waiting[state.made] = (size, nil)
            return state.made
        }
        let timer = Timer.after(duration) { [self] in
            state.withLock { state in state.bytes -= state.waiting.removeValue(forKey: number)?.size ?? 0 }
            send()
        }
        let excess = state.withLock { state -> [Timer] in
            state.waiting[number]?.timer = timer
            var (rest, excess) = (state.bytes, [Timer]())
            guard rest > limit else { return [] }
            for (_, oldest) in state.waiting.sorted(by: { $0.key < $1.key }) where rest > limit {
                guard let timer = oldest.timer else { continue }
                excess.append(timer)
                rest -= oldest.size
            }
            return excess
        }
        for timer in excess { timer.fireNow() }
        return timer
    }
}
