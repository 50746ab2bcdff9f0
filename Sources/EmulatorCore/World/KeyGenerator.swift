import Dispatch
import JOSE
import Synchronization

/// Makes keys in the background, one at a time, so that no request's own thread is busy with one: of each algorithm that is
/// in use it keeps three for worlds to begin with, and one spare for the next rotation.
package final class KeyGenerator: Sendable {
    package struct NamedKey: Sendable {
        package let id: String
        /// What it signs with.
        package let algorithm: Algorithm
        package let key: Key
    }

    private enum Kind {
        case initial
        case unpublished
        case fresh
    }

    private struct Stock {
        var initial: [NamedKey] = []
        var spares: [NamedKey] = []
        var unpublished: NamedKey?
        var waitingForInitial: [@Sendable () -> Void] = []
        var waitingForUnpublished: [@Sendable () -> Void] = []
        /// Whoever came first is served first.
        var waitingForFresh: [@Sendable (NamedKey?) -> Void] = []

        /// What is to be made next.
        var due: Kind? {
            if initial.count < KeyGenerator.initialCount { return .initial }
            if unpublished == nil, !waitingForUnpublished.isEmpty { return .unpublished }
            return spares.isEmpty || !waitingForFresh.isEmpty ? .fresh : nil
        }

        /// Puts a key where it belongs, and returns what is to be called.
        mutating func add(_ key: NamedKey, as kind: Kind) -> [@Sendable () -> Void] {
            switch kind {
            case .initial:
                initial.append(key)
                guard initial.count == KeyGenerator.initialCount else { return [] }
                defer { waitingForInitial = [] }
                return waitingForInitial
            case .unpublished:
                unpublished = key
                defer { waitingForUnpublished = [] }
                return waitingForUnpublished
            case .fresh:
                guard !waitingForFresh.isEmpty else {
                    spares.append(key)
                    return []
                }
                let first = waitingForFresh.removeFirst()
                return [{ first(key) }]
            }
        }

        /// No key can be made: whoever can be refused waits no longer.
        mutating func giveUp() -> [@Sendable () -> Void] {
            let fresh = waitingForFresh
            defer {
                waitingForUnpublished = []
                waitingForFresh = []
            }
            return waitingForUnpublished + [{ fresh.forEach { $0(nil) } }]
        }
    }

    fileprivate static let initialCount = 3
    /// As many rotations of an algorithm's keys may wait for a key, unless another limit is given.
    package static let waitingLimit = 64
    private let waitingLimit: Int
    private let state = Mutex(State())

    private struct State {
        /// Of an algorithm that nobody uses there is none.
        var stocks: [Algorithm: Stock] = [:]
        var isWorking = false

        subscript(algorithm: Algorithm) -> Stock {
            get { stocks[algorithm] ?? Stock() }
            set { stocks[algorithm] = newValue }
            _modify { yield &stocks[algorithm, default: Stock()] }
        }

        /// What is to be made next: what somebody waits for, or may soon, of every algorithm before any spare.
        var due: (algorithm: Algorithm, kind: Kind)? {
            var spare: (Algorithm, Kind)?
            for algorithm in Algorithm.published {
                guard let stock = stocks[algorithm], let due = stock.due else { continue }
                if due != .fresh || !stock.waitingForFresh.isEmpty { return (algorithm, due) }
                if spare == nil { spare = (algorithm, due) }
            }
            return spare
        }
    }

    package init(waitingLimit: Int = KeyGenerator.waitingLimit) { self.waitingLimit = waitingLimit }

    /// The three keys that a world without keys of its own begins with; `nil` while they are being made.
    func initial(_ algorithm: Algorithm) -> [NamedKey]? {
        state.withLock { state in
            guard let keys = state.stocks[algorithm]?.initial, keys.count == KeyGenerator.initialCount else {
                return nil
            }
            return keys
        }
    }

    /// Begins to make the initial keys, unless that has happened.
    func prepare(_ algorithm: Algorithm) {
        state.withLock { state in if state.stocks[algorithm] == nil { state.stocks[algorithm] = Stock() } }
        work()
    }

    /// Calls back once the initial keys are there: at once, if they are.
    func whenReady(_ algorithm: Algorithm, _ done: @escaping @Sendable () -> Void) {
        let isReady = state.withLock { state in
            guard state[algorithm].initial.count < KeyGenerator.initialCount else { return true }
            state[algorithm].waitingForInitial.append(done)
            return false
        }
        if isReady { done() } else { work() }
    }

    /// A key that is never published, for tokens that nobody should trust; `nil` until it was first waited for.
    func unpublished(_ algorithm: Algorithm) -> NamedKey? { state.withLock { $0.stocks[algorithm]?.unpublished } }

    /// Calls back once the unpublished key is there: at once, if it is.
    func whenUnpublishedIsReady(_ algorithm: Algorithm, _ done: @escaping @Sendable () -> Void) {
        let isReady = state.withLock { state in
            guard state[algorithm].unpublished == nil else { return true }
            state[algorithm].waitingForUnpublished.append(done)
            return false
        }
        if isReady { done() } else { work() }
    }

    /// Calls back with a key that nothing has used: at once if a spare is at hand, else when one has been made. `nil` when
    /// none can be made, or too many wait for one.
    func fresh(_ algorithm: Algorithm, _ done: @escaping @Sendable (NamedKey?) -> Void) {
        let (spare, waits) = state.withLock { state -> (NamedKey?, Bool) in
            if let spare = state[algorithm].spares.popLast() { return (spare, false) }
            guard state[algorithm].waitingForFresh.count < waitingLimit else { return (nil, false) }
            state[algorithm].waitingForFresh.append(done)
            return (nil, true)
        }
        if !waits { done(spare) }
        work()
    }

    private func work() {
        let due = state.withLock { state -> (algorithm: Algorithm, kind: Kind)? in
            guard !state.isWorking, let due = state.due else { return nil }
            state.isWorking = true
            return due
        }
        guard let due else { return }
        DispatchQueue.global(qos: .utility).async { [self] in
            let key = try? KeyGenerator.make(due.algorithm)
            let (ready, goesOn) = state.withLock { state -> ([@Sendable () -> Void], Bool) in
                state.isWorking = false
                guard let key else { return (state[due.algorithm].giveUp(), false) }
                let ready = state[due.algorithm].add(key, as: due.kind)
                return (ready, state.due != nil)
            }
            // Before those who waited go on: what they do may take a while.
            if goesOn { work() }
            ready.forEach { $0() }
        }
    }

    private static func make(_ algorithm: Algorithm) throws(KeyError) -> NamedKey {
        var random = Randomness(seed: nil)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        return NamedKey(
            id: random.text(10, from: alphabet), algorithm: algorithm, key: try Key.generate(for: algorithm))
    }
}
