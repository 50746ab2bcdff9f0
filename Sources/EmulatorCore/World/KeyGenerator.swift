import Dispatch
import JOSE
import Synchronization

/// Makes RSA keys in the background, one at a time, so that no request's own thread is busy with one: it keeps three for
/// worlds to begin with, and one spare for the next rotation.
package final class KeyGenerator: Sendable {
    package struct NamedKey: Sendable {
        package let id: String
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
        var isWorking = false
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
    /// As many rotations may wait for a key, unless another limit is given.
    package static let waitingLimit = 64
    private let waitingLimit: Int
    private let stock = Mutex(Stock())

    package init(waitingLimit: Int = KeyGenerator.waitingLimit) { self.waitingLimit = waitingLimit }

    /// The three keys that a world without keys of its own begins with; `nil` while they are being made.
    var initial: [NamedKey]? {
        stock.withLock { $0.initial.count == KeyGenerator.initialCount ? $0.initial : nil }
    }

    /// Begins to make the initial keys, unless that has happened.
    func prepare() { work() }

    /// Calls back once the initial keys are there: at once, if they are.
    func whenReady(_ done: @escaping @Sendable () -> Void) {
        let isReady = stock.withLock { stock in
            guard stock.initial.count < KeyGenerator.initialCount else { return true }
            stock.waitingForInitial.append(done)
            return false
        }
        if isReady { done() } else { work() }
    }

    /// A key that is never published, for tokens that nobody should trust; `nil` until it was first waited for.
    var unpublished: NamedKey? { stock.withLock { $0.unpublished } }

    /// Calls back once the unpublished key is there: at once, if it is.
    func whenUnpublishedIsReady(_ done: @escaping @Sendable () -> Void) {
        let isReady = stock.withLock { stock in
            guard stock.unpublished == nil else { return true }
            stock.waitingForUnpublished.append(done)
            return false
        }
        if isReady { done() } else { work() }
    }

    /// Calls back with a key that nothing has used: at once if a spare is at hand, else when one has been made. `nil` when
    /// none can be made, or too many wait for one.
    func fresh(_ done: @escaping @Sendable (NamedKey?) -> Void) {
        let (spare, waits) = stock.withLock { stock -> (NamedKey?, Bool) in
            if let spare = stock.spares.popLast() { return (spare, false) }
            guard stock.waitingForFresh.count < waitingLimit else { return (nil, false) }
            stock.waitingForFresh.append(done)
            return (nil, true)
        }
        if !waits { done(spare) }
        work()
    }

    private func work() {
        let kind = stock.withLock { stock -> Kind? in
            guard !stock.isWorking, let due = stock.due else { return nil }
            stock.isWorking = true
            return due
        }
        guard let kind else { return }
        DispatchQueue.global(qos: .utility).async { [self] in
            let key = try? KeyGenerator.make()
            let (ready, goesOn) = stock.withLock { stock -> ([@Sendable () -> Void], Bool) in
                stock.isWorking = false
                guard let key else { return (stock.giveUp(), false) }
                let ready = stock.add(key, as: kind)
                return (ready, stock.due != nil)
            }
            // Before those who waited go on: what they do may take a while.
            if goesOn { work() }
            ready.forEach { $0() }
        }
    }

    private static func make() throws(KeyError) -> NamedKey {
        var random = Randomness(seed: nil)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        return NamedKey(id: random.text(10, from: alphabet), key: try Key.generateRSA())
    }
}
