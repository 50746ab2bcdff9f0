import Dispatch
import JOSE
import Platform
import Synchronization
import Worlds

/// Makes signing keys in the background, one at a time, so that no request's thread has to make one. Test worlds
/// without keys in their seed (initial data) all begin with the same keys: one for each algorithm, or three if the keys
/// take turns in signing. Each rotation of signing keys gets a new key.
package final class KeyGenerator: Sendable {
    package struct NamedKey: Sendable {
        package let id: String
        /// The algorithm with which this signing key signs tokens.
        package let algorithm: Algorithm
        package let key: Key
    }

    private enum Kind {
        case initial
        /// The second and the third key of a token issuer that signs with three keys in turn. The first key is of the
        /// kind `initial`.
        case further
        case unpublished
        case fresh

        var count: Int { self == .further ? 2 : 1 }

        /// Returns the name under which the store has the keys of this kind; `nil` for the keys of key rotations, each
        /// of which belongs to a single test world.
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
        /// The keys of one algorithm, in a list for each kind. A list is incomplete while its keys are being made. Keys
        /// of the kind `fresh` are in no list: each goes at once to the caller that waits for it.
        var keys: [Kind: [NamedKey]] = [:]
        /// Whether the keys of at least one token issuer take turns in signing.
        var takesTurns = false
        var waitingForInitial: [(turns: Bool, done: @Sendable (StoreFailure?) -> Void)] = []
        var waitingForUnpublished: [@Sendable () -> Void] = []
        /// The callers that wait for a fresh key, by the names of their test worlds, in the order of their calls.
        var waitingForFresh: [String: Queue<@Sendable (NamedKey?) -> Void>] = [:]
        /// The names of the test worlds that wait for fresh keys. The first one gets the next key, and then goes to the
        /// end if it waits for more.
        var waitingWorlds = Queue<String>()

        func has(_ kind: Kind) -> Bool { (keys[kind]?.count ?? 0) >= kind.count }

        /// Returns the keys with which new test worlds begin: a single key, or three keys that take turns in signing if
        /// `turns` is true. Returns `nil` while the keys are being made.
        func initial(turns: Bool) -> [NamedKey]? {
            guard has(.initial), !turns || has(.further) else { return nil }
            return (keys[.initial] ?? []) + (turns ? keys[.further] ?? [] : [])
        }

        /// The kind of the key that is to be made next for an algorithm; `nil` when no key is needed.
        var due: Kind? {
            if !has(.initial) { return .initial }
            if takesTurns, !has(.further) { return .further }
            if !has(.unpublished), !waitingForUnpublished.isEmpty { return .unpublished }
            return waitingForFresh.isEmpty ? nil : .fresh
        }

        /// Takes in a new key, and returns the callbacks of the callers that have waited for it.
        mutating func add(_ key: NamedKey, as kind: Kind) -> [@Sendable () -> Void] {
            guard kind != .fresh else {
                guard let world = waitingWorlds.popFirst(), let done = waitingForFresh[world]?.popFirst() else {
                    return []
                }
                if waitingForFresh[world]?.isEmpty == false {
                    waitingWorlds.append(world)
                } else {
                    waitingForFresh[world] = nil
                }
                return [{ done(key) }]
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

        /// Removes all callers that wait for keys, and returns closures that call them back. Callers that wait for a
        /// test world's first keys are called with `failure`, all others without a key.
        mutating func refuse(_ failure: StoreFailure) -> [@Sendable () -> Void] {
            let waiting = waitingForInitial
            waitingForInitial = []
            return waiting.map { waiting in { waiting.done(failure) } } + giveUp()
        }

        /// Removes the callers that wait for a fresh key or an unpublished key. Returns closures that call them back
        /// without a key.
        mutating func giveUp() -> [@Sendable () -> Void] {
            var fresh: [@Sendable (NamedKey?) -> Void] = []
            for world in waitingWorlds.popAll() { fresh += waitingForFresh[world]?.popAll() ?? [] }
            defer {
                waitingForUnpublished = []
                waitingForFresh = [:]
            }
            return waitingForUnpublished + fresh.map { done in { done(nil) } }
        }
    }

    /// By default, at most this many key rotations of one test world can wait for new keys of the same algorithm.
    package static let waitingLimit = 64
    private let waitingLimit: Int
    private let state = Mutex(State())

    private struct State {
        var stocks: [Algorithm: Stock] = [:]
        var isWorking = false
        /// The index, in `Algorithm.published`, of the algorithm that is asked first for its next fresh key.
        private var turn = 0

        subscript(algorithm: Algorithm) -> Stock {
            get { stocks[algorithm] ?? Stock() }
            set { stocks[algorithm] = newValue }
            _modify { yield &stocks[algorithm, default: Stock()] }
        }

        /// The algorithm and the kind of the key that is to be made next; `nil` when no key is needed.
        /// Keys with which test worlds begin come first. The algorithms take turns in getting fresh keys.
        var due: (algorithm: Algorithm, kind: Kind)? {
            let all = Algorithm.published
            let due = (all[turn...] + all[..<turn]).compactMap { algorithm in
                stocks[algorithm]?.due.map { (algorithm: algorithm, kind: $0) }
            }
            return due.first { $0.kind != .fresh } ?? due.first
        }

        mutating func endTurn(of algorithm: Algorithm) {
            turn = ((Algorithm.published.firstIndex(of: algorithm) ?? 0) + 1) % Algorithm.published.count
        }
    }

    private let texts: (any SharedTexts)?
    private let warn: @Sendable (String) -> Void

    /// Makes a generator of signing keys.
    ///
    /// - Parameters:
    ///   - texts: The store through which several daemons, and later processes, share keys. The generator reads keys
    ///     from the store, and adds the keys that it makes, except those of key rotations.
    ///   - warn: A closure that is called with a message when new keys can't be shared through the store.
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

    /// Returns the keys with which a test world begins if its seed (initial data) has no keys: a single key, or three
    /// keys that take turns in signing if `turns` is true. Returns `nil` while the keys are being made.
    func initial(_ algorithm: Algorithm, turns: Bool) -> [NamedKey]? {
        state.withLock { $0.stocks[algorithm]?.initial(turns: turns) }
    }

    /// Begins to make the keys with which test worlds begin, unless these keys are ready or being made already.
    func prepare(_ algorithm: Algorithm, turns: Bool) {
        state.withLock { state in
            var stock = state[algorithm]
            stock.takesTurns = stock.takesTurns || turns
            state[algorithm] = stock
        }
        work()
    }

    /// Calls `done` once the keys with which test worlds begin are ready; immediately if they are ready already. Calls
    /// `done` with a failure if the keys can't be read from the store or stored there.
    func whenReady(_ algorithm: Algorithm, turns: Bool, _ done: @escaping @Sendable (StoreFailure?) -> Void) {
        let isReady = state.withLock { state in
            guard state[algorithm].initial(turns: turns) == nil else { return true }
            if turns { state[algorithm].takesTurns = true }
            state[algorithm].waitingForInitial.append((turns, done))
            return false
        }
        if isReady { done(nil) } else { work() }
    }

    /// Returns a key for tokens that nobody should trust; `nil` if no such key has been made. The key is never
    /// published. It is made when a caller waits for it by `whenUnpublishedIsReady`.
    func unpublished(_ algorithm: Algorithm) -> NamedKey? {
        state.withLock { $0.stocks[algorithm]?.keys[.unpublished]?.first }
    }

    /// Returns the key for tokens that nobody should trust, which is never published; `nil` when it hasn't been made
    /// yet. This may wait for the store, because another daemon that shares the store may have made the key.
    func knownUnpublished(_ algorithm: Algorithm) throws(StoreFailure) -> NamedKey? {
        if let key = unpublished(algorithm) { return key }
        guard let texts, let key = try texts.keys(Kind.unpublished.name(algorithm) ?? "")?.first else { return nil }
        state.withLock { $0.stocks[algorithm]?.keys[.unpublished] = [key] }
        return key
    }

    /// Calls `done` when there is a key for tokens that nobody should trust, immediately if there is one already. Such
    /// a key is never published. Also calls `done` if the key can't be made.
    func whenUnpublishedIsReady(_ algorithm: Algorithm, _ done: @escaping @Sendable () -> Void) {
        let isReady = state.withLock { state in
            guard !state[algorithm].has(.unpublished) else { return true }
            state[algorithm].waitingForUnpublished.append(done)
            return false
        }
        if isReady { done() } else { work() }
    }

    /// Makes a new key for the test world of this name, and calls `done` with it. Worlds get their keys in turn. Calls
    /// `done` with `nil` when no key can be made, or too many callers of the same world wait for one.
    func fresh(_ algorithm: Algorithm, for world: String, _ done: @escaping @Sendable (NamedKey?) -> Void) {
        let waits = state.withLock { state in
            let count = state[algorithm].waitingForFresh[world]?.count ?? 0
            guard count < waitingLimit else { return false }
            if count == 0 { state[algorithm].waitingWorlds.append(world) }
            state[algorithm].waitingForFresh[world, default: Queue()].append(done)
            return true
        }
        if waits { work() } else { done(nil) }
    }

    private func work() {
        let due = state.withLock { state -> (algorithm: Algorithm, kind: Kind)? in
            guard !state.isWorking, let due = state.due else { return nil }
            state.isWorking = true
            state.endTurn(of: due.algorithm)
            return due
        }
        guard let due else { return }
        DispatchQueue.global(qos: .utility).async { [self] in
            do throws(StoreFailure) { add(try made(due.kind, due.algorithm), as: due.kind, due.algorithm) } catch {
                warn("signing keys can't be shared through the store: \(error.diagnosis.line)")
                tryAgain(due.kind, due.algorithm, error)
            }
        }
    }

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

    /// Handles a failure to read keys from the store, or to add new keys to it. Callers that wait for keys get none.
    /// Keys with which test worlds begin are made again a second later. A key for tokens that nobody should trust is
    /// made again when a caller asks for it.
    private func tryAgain(_ kind: Kind, _ algorithm: Algorithm, _ failure: StoreFailure) {
        guard kind == .initial || kind == .further else { return add([], as: kind, algorithm) }
        let refused = state.withLock { state in Array(state.stocks.keys).flatMap { state[$0].refuse(failure) } }
        refused.forEach { $0() }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + 1) { [self] in
            state.withLock { $0.isWorking = false }
            work()
        }
    }

    /// Makes the next key of this kind, or returns the keys that another daemon has made already. Returns an empty list
    /// if no key can be made.
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
