import Dispatch
import JOSE
import Synchronization
import Worlds

/// Makes keys in the background, one at a time, so that no request's own thread is busy with one. For each algorithm in
/// use, it makes the one with which worlds begin, two more if keys take turns, and one for each rotation.
package final class KeyGenerator: Sendable {
    package struct NamedKey: Sendable {
        package let id: String
        /// The algorithm with which the key signs.
        package let algorithm: Algorithm
        package let key: Key
    }

    private enum Kind {
        case initial
        /// The keys that take turns with the initial one.
        case further
        case unpublished
        case fresh

        /// The number of keys of this kind for each algorithm.
        var count: Int { self == .further ? 2 : 1 }

        /// Returns the name of these keys among the texts that replicas share; `nil` for keys that no other replica
        /// needs.
        func name(_ algorithm: Algorithm) -> String? {
            switch self {
            case .initial: "keys \(algorithm.rawValue)"
            case .further: "further keys \(algorithm.rawValue)"
            case .unpublished: "unpublished \(algorithm.rawValue)"
            case .fresh: nil
            }
        }
    }

    private struct Stock {
        /// The keys of each kind that are complete or being made. Keys of the kind `fresh` aren't kept here.
        var keys: [Kind: [NamedKey]] = [:]
        /// Whether any owner's keys take turns.
        var takesTurns = false
        var waitingForInitial: [(turns: Bool, done: @Sendable (StoreFailure?) -> Void)] = []
        var waitingForUnpublished: [@Sendable () -> Void] = []
        /// The callers that wait for a fresh key, in the order in which they are served.
        var waitingForFresh: [@Sendable (NamedKey?) -> Void] = []

        func has(_ kind: Kind) -> Bool { (keys[kind]?.count ?? 0) >= kind.count }

        /// Returns the keys with which a world begins, all three if `turns`; `nil` while they are being made.
        func initial(turns: Bool) -> [NamedKey]? {
            guard has(.initial), !turns || has(.further) else { return nil }
            return (keys[.initial] ?? []) + (turns ? keys[.further] ?? [] : [])
        }

        /// The kind of the key to make next.
        var due: Kind? {
            if !has(.initial) { return .initial }
            if takesTurns, !has(.further) { return .further }
            if !has(.unpublished), !waitingForUnpublished.isEmpty { return .unpublished }
            return waitingForFresh.isEmpty ? nil : .fresh
        }

        /// Adds a key, and returns the callbacks of those who waited for it.
        mutating func add(_ key: NamedKey, as kind: Kind) -> [@Sendable () -> Void] {
            guard kind != .fresh else {
                guard !waitingForFresh.isEmpty else { return [] }
                let first = waitingForFresh.removeFirst()
                return [{ first(key) }]
            }
            keys[kind, default: []].append(key)
            if kind == .unpublished {
                defer { waitingForUnpublished = [] }
                return waitingForUnpublished
            }
            let waiting = waitingForInitial
            waitingForInitial = waiting.filter { initial(turns: $0.turns) == nil }
            return waiting.filter { initial(turns: $0.turns) != nil }.map { waiting in { waiting.done(nil) } }
        }

        /// Returns callbacks that refuse everybody who waits for initial keys, because these can't be stored now.
        mutating func refuse(_ failure: StoreFailure) -> [@Sendable () -> Void] {
            let waiting = waitingForInitial
            waitingForInitial = []
            return waiting.map { waiting in { waiting.done(failure) } } + giveUp()
        }

        /// Returns callbacks that tell the waiting callers that no key can be made.
        mutating func giveUp() -> [@Sendable () -> Void] {
            let fresh = waitingForFresh
            defer {
                waitingForUnpublished = []
                waitingForFresh = []
            }
            return waitingForUnpublished + [{ fresh.forEach { $0(nil) } }]
        }
    }

    /// The number of rotations that may wait for a key of one algorithm, unless another limit is given.
    package static let waitingLimit = 64
    private let waitingLimit: Int
    private let state = Mutex(State())

    private struct State {
        /// The keys of each algorithm that is in use.
        var stocks: [Algorithm: Stock] = [:]
        var isWorking = false

        subscript(algorithm: Algorithm) -> Stock {
            get { stocks[algorithm] ?? Stock() }
            set { stocks[algorithm] = newValue }
            _modify { yield &stocks[algorithm, default: Stock()] }
        }

        /// The algorithm and the kind of the key to make next.
        var due: (algorithm: Algorithm, kind: Kind)? {
            for algorithm in Algorithm.published {
                if let due = stocks[algorithm]?.due { return (algorithm, due) }
            }
            return nil
        }
    }

    private let texts: (any SharedTexts)?
    private let warn: @Sendable (String) -> Void

    /// - Parameters:
    ///   - texts: The store of shared keys, which has those that an earlier process or another replica has made,
    ///     and gets those that are made here.
    ///   - warn: A closure that is called with the reason when `texts` can't be reached.
    package init(
        waitingLimit: Int = KeyGenerator.waitingLimit, texts: (any SharedTexts)? = nil,
        warn: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.waitingLimit = waitingLimit
        self.texts = texts
        self.warn = warn
        guard let texts else { return }
        for algorithm in Algorithm.published {
            for kind in [Kind.initial, .further] {
                guard let keys = try? texts.keys(kind.name(algorithm) ?? ""), keys.count == kind.count else { continue }
                state.withLock { $0[algorithm].keys[kind] = keys }
            }
        }
    }

    /// Returns the keys with which a world without keys of its own begins: one, or three that take turns if `turns`.
    /// `nil` while they are being made.
    func initial(_ algorithm: Algorithm, turns: Bool) -> [NamedKey]? {
        state.withLock { $0.stocks[algorithm]?.initial(turns: turns) }
    }

    /// Begins to make the initial keys, unless that has happened.
    func prepare(_ algorithm: Algorithm, turns: Bool) {
        state.withLock { state in
            var stock = state[algorithm]
            stock.takesTurns = stock.takesTurns || turns
            state[algorithm] = stock
        }
        work()
    }

    /// Calls back once the initial keys are there, at once if they are already; or with a failure if they can't be
    /// stored for other replicas.
    func whenReady(_ algorithm: Algorithm, turns: Bool, _ done: @escaping @Sendable (StoreFailure?) -> Void) {
        let isReady = state.withLock { state in
            guard state[algorithm].initial(turns: turns) == nil else { return true }
            if turns { state[algorithm].takesTurns = true }
            state[algorithm].waitingForInitial.append((turns, done))
            return false
        }
        if isReady { done(nil) } else { work() }
    }

    /// Returns a key that is never published, for tokens that nobody should trust; `nil` before somebody has first
    /// waited for it.
    func unpublished(_ algorithm: Algorithm) -> NamedKey? {
        state.withLock { $0.stocks[algorithm]?.keys[.unpublished]?.first }
    }

    /// Returns the unpublished key, or the one that another replica made. Asks the store, and may wait.
    func knownUnpublished(_ algorithm: Algorithm) throws(StoreFailure) -> NamedKey? {
        if let key = unpublished(algorithm) { return key }
        guard let texts, let key = try texts.keys(Kind.unpublished.name(algorithm) ?? "")?.first else { return nil }
        state.withLock { $0.stocks[algorithm]?.keys[.unpublished] = [key] }
        return key
    }

    /// Calls back once the unpublished key is there, at once if it is already.
    func whenUnpublishedIsReady(_ algorithm: Algorithm, _ done: @escaping @Sendable () -> Void) {
        let isReady = state.withLock { state in
            guard !state[algorithm].has(.unpublished) else { return true }
            state[algorithm].waitingForUnpublished.append(done)
            return false
        }
        if isReady { done() } else { work() }
    }

    /// Makes a key and calls back with it. Calls back with `nil` when none can be made, or too many wait for one.
    func fresh(_ algorithm: Algorithm, _ done: @escaping @Sendable (NamedKey?) -> Void) {
        let waits = state.withLock { state in
            guard state[algorithm].waitingForFresh.count < waitingLimit else { return false }
            state[algorithm].waitingForFresh.append(done)
            return true
        }
        if waits { work() } else { done(nil) }
    }

    private func work() {
        let due = state.withLock { state -> (algorithm: Algorithm, kind: Kind)? in
            guard !state.isWorking, let due = state.due else { return nil }
            state.isWorking = true
            return due
        }
        guard let due else { return }
        DispatchQueue.global(qos: .utility).async { [self] in
            do throws(StoreFailure) { add(try made(due.kind, due.algorithm), as: due.kind, due.algorithm) } catch {
                warn("keys can't be shared with others: \(error.diagnosis.line)")
                tryAgain(due.kind, due.algorithm, error)
            }
        }
    }

    /// Adds the keys that were made (none after a failure), and begins to make the next ones.
    private func add(_ keys: [NamedKey], as kind: Kind, _ algorithm: Algorithm) {
        let (ready, goesOn) = state.withLock { state -> ([@Sendable () -> Void], Bool) in
            state.isWorking = false
            guard !keys.isEmpty else { return (state[algorithm].giveUp(), false) }
            let ready = keys.flatMap { state[algorithm].add($0, as: kind) }
            return (ready, state.due != nil)
        }
        // The next key is begun before the callbacks, which may take a while.
        if goesOn { work() }
        ready.forEach { $0() }
    }

    /// Plans to make the initial keys later, before any other, because keys that other replicas don't know can't be
    /// used. Callers that can be refused are refused meanwhile, rather than wait.
    private func tryAgain(_ kind: Kind, _ algorithm: Algorithm, _ failure: StoreFailure) {
        guard kind == .initial || kind == .further else { return add([], as: kind, algorithm) }
        let refused = state.withLock { state in Array(state.stocks.keys).flatMap { state[$0].refuse(failure) } }
        refused.forEach { $0() }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + 1) { [self] in
            state.withLock { $0.isWorking = false }
            work()
        }
    }

    /// Makes the next key of this kind, or reads those that another replica has made; none if it can't be made.
    private func made(_ kind: Kind, _ algorithm: Algorithm) throws(StoreFailure) -> [NamedKey] {
        guard let texts, let name = kind.name(algorithm) else { return make(algorithm) }
        if let known = try texts.keys(name), known.count == kind.count {
            state.withLock { $0[algorithm].keys[kind] = [] }
            return known
        }
        let earlier = state.withLock { $0[algorithm].keys[kind] ?? [] }
        let made = make(algorithm)
        guard !made.isEmpty, earlier.count + 1 == kind.count else { return made }
        let kept = try texts.keys(name, orKeep: earlier + made)
        state.withLock { $0[algorithm].keys[kind] = [] }
        return kept
    }

    private func make(_ algorithm: Algorithm) -> [NamedKey] { (try? KeyGenerator.make(algorithm)).map { [$0] } ?? [] }

    private static func make(_ algorithm: Algorithm) throws(KeyError) -> NamedKey {
        var random = Randomness(seed: nil)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        return NamedKey(
            id: random.text(10, from: alphabet), algorithm: algorithm, key: try Key.generate(for: algorithm))
    }
}
