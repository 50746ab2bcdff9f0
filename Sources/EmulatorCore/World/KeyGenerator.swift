import Dispatch
import JOSE
import Synchronization

/// Makes keys in the background, one at a time, so that no request's own thread is busy with one: one of each algorithm that is in
/// use, with which worlds begin, two more where keys take turns, and one for each rotation.
package final class KeyGenerator: Sendable {
    package struct NamedKey: Sendable {
        package let id: String
        /// What it signs with.
        package let algorithm: Algorithm
        package let key: Key
    }

    private enum Kind {
        case initial
        /// What takes turns with the initial key.
        case further
        case unpublished
        case fresh

        /// How many there are of each algorithm.
        var count: Int { self == .further ? 2 : 1 }

        /// How texts that are shared name them; `nil` where nobody else has to know.
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
        /// The keys of each kind that are all there, or are being made; none of `fresh`.
        var keys: [Kind: [NamedKey]] = [:]
        /// Whether some owner's keys take turns.
        var takesTurns = false
        var waitingForInitial: [(turns: Bool, done: @Sendable (StoreFailure?) -> Void)] = []
        var waitingForUnpublished: [@Sendable () -> Void] = []
        /// Whoever came first is served first.
        var waitingForFresh: [@Sendable (NamedKey?) -> Void] = []

        func has(_ kind: Kind) -> Bool { (keys[kind]?.count ?? 0) >= kind.count }

        /// The keys with which a world begins, all three where they take turns.
        func initial(turns: Bool) -> [NamedKey]? {
            guard has(.initial), !turns || has(.further) else { return nil }
            return (keys[.initial] ?? []) + (turns ? keys[.further] ?? [] : [])
        }

        /// What is to be made next.
        var due: Kind? {
            if !has(.initial) { return .initial }
            if takesTurns, !has(.further) { return .further }
            if !has(.unpublished), !waitingForUnpublished.isEmpty { return .unpublished }
            return waitingForFresh.isEmpty ? nil : .fresh
        }

        /// Puts a key where it belongs, and returns what is to be called.
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

        /// The keys that worlds begin with can't be kept now: whoever needs them is refused.
        mutating func refuse(_ failure: StoreFailure) -> [@Sendable () -> Void] {
            let waiting = waitingForInitial
            waitingForInitial = []
            return waiting.map { waiting in { waiting.done(failure) } } + giveUp()
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

        /// The key that is made next.
        var due: (algorithm: Algorithm, kind: Kind)? {
            for algorithm in Algorithm.published {
                if let due = stocks[algorithm]?.due { return (algorithm, due) }
            }
            return nil
        }
    }

    private let texts: (any SharedTexts)?
    private let warn: @Sendable (String) -> Void

    /// `texts` has the keys that others have made before, in an earlier process or in another replica, and gets those that are made
    /// here. `warn` is told why it can't be reached.
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

    /// The keys that a world without keys of its own begins with: one, or with `turns` three that take turns. `nil` while they are
    /// being made.
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

    /// Calls back once the initial keys are there: at once, if they are. Or with what keeps them from being kept for others.
    func whenReady(_ algorithm: Algorithm, turns: Bool, _ done: @escaping @Sendable (StoreFailure?) -> Void) {
        let isReady = state.withLock { state in
            guard state[algorithm].initial(turns: turns) == nil else { return true }
            if turns { state[algorithm].takesTurns = true }
            state[algorithm].waitingForInitial.append((turns, done))
            return false
        }
        if isReady { done(nil) } else { work() }
    }

    /// A key that is never published, for tokens that nobody should trust; `nil` until it was first waited for.
    func unpublished(_ algorithm: Algorithm) -> NamedKey? {
        state.withLock { $0.stocks[algorithm]?.keys[.unpublished]?.first }
    }

    /// The same, or the one that another replica made. Asks the store, and may wait.
    func knownUnpublished(_ algorithm: Algorithm) throws(StoreFailure) -> NamedKey? {
        if let key = unpublished(algorithm) { return key }
        guard let texts, let key = try texts.keys(Kind.unpublished.name(algorithm) ?? "")?.first else { return nil }
        state.withLock { $0.stocks[algorithm]?.keys[.unpublished] = [key] }
        return key
    }

    /// Calls back once the unpublished key is there: at once, if it is.
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

    /// Puts keys where they belong, none if they can't be made, and goes on.
    private func add(_ keys: [NamedKey], as kind: Kind, _ algorithm: Algorithm) {
        let (ready, goesOn) = state.withLock { state -> ([@Sendable () -> Void], Bool) in
            state.isWorking = false
            guard !keys.isEmpty else { return (state[algorithm].giveUp(), false) }
            let ready = keys.flatMap { state[algorithm].add($0, as: kind) }
            return (ready, state.due != nil)
        }
        // Before those who waited go on: what they do may take a while.
        if goesOn { work() }
        ready.forEach { $0() }
    }

    /// Keys that others wouldn't know aren't used: those with which worlds begin are made later, before any other, and whoever can be
    /// refused is, rather than wait for as long as others can't be told.
    private func tryAgain(_ kind: Kind, _ algorithm: Algorithm, _ failure: StoreFailure) {
        guard kind == .initial || kind == .further else { return add([], as: kind, algorithm) }
        let refused = state.withLock { state in Array(state.stocks.keys).flatMap { state[$0].refuse(failure) } }
        refused.forEach { $0() }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + 1) { [self] in
            state.withLock { $0.isWorking = false }
            work()
        }
    }

    /// The next key of this kind, or those that others have made; none if it can't be made.
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
