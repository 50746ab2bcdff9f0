import Dispatch
import JOSE
import Synchronization

/// Makes RSA keys in the background, so that nobody waits for one: it keeps three for worlds to begin with, and one
/// spare for the next rotation.
package final class KeyForge: Sendable {
    package struct NamedKey: Sendable {
        package let id: String
        package let key: Key
    }

    private struct Stock {
        var initial: [NamedKey] = []
        var spares: [NamedKey] = []
        var isWorking = false
        var waiting: [@Sendable () -> Void] = []
    }

    private static let initialCount = 3
    private let stock = Mutex(Stock())
    private let foreign = Mutex<NamedKey?>(nil)

    package init() {}

    /// The three keys that a world without keys of its own begins with; `nil` while they are being made.
    var initial: [NamedKey]? {
        stock.withLock { $0.initial.count == KeyForge.initialCount ? $0.initial : nil }
    }

    /// Begins to make the initial keys, unless that has happened.
    func prepare() { work() }

    /// Calls back once the initial keys are there: at once, if they are.
    func whenReady(_ done: @escaping @Sendable () -> Void) {
        let isReady = stock.withLock { stock in
            guard stock.initial.count < KeyForge.initialCount else { return true }
            stock.waiting.append(done)
            return false
        }
        if isReady { done() } else { work() }
    }

    /// A key that is never published, for tokens that nobody should trust. Made when it is first asked for.
    func stranger() throws(KeyError) -> NamedKey {
        if let known = foreign.withLock({ $0 }) { return known }
        let made = try KeyForge.make()
        foreign.withLock { $0 = $0 ?? made }
        return made
    }

    /// A key that nothing has used, made now if no spare is at hand.
    func fresh() throws(KeyError) -> NamedKey {
        let spare = stock.withLock { $0.spares.popLast() }
        defer { work() }
        if let spare { return spare }
        return try KeyForge.make()
    }

    private func work() {
        let begins = stock.withLock { stock in
            guard !stock.isWorking, stock.initial.count < KeyForge.initialCount || stock.spares.isEmpty else {
                return false
            }
            stock.isWorking = true
            return true
        }
        guard begins else { return }
        DispatchQueue.global(qos: .utility).async { [self] in
            let key = try? KeyForge.make()
            let (ready, goOn) = stock.withLock { stock -> ([@Sendable () -> Void], Bool) in
                stock.isWorking = false
                guard let key else { return ([], false) }
                if stock.initial.count < KeyForge.initialCount {
                    stock.initial.append(key)
                } else {
                    stock.spares.append(key)
                }
                guard stock.initial.count == KeyForge.initialCount else { return ([], true) }
                defer { stock.waiting = [] }
                return (stock.waiting, stock.spares.isEmpty)
            }
            ready.forEach { $0() }
            if goOn { work() }
        }
    }

    private static func make() throws(KeyError) -> NamedKey {
        var random = Randomness(seed: nil)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        return NamedKey(id: random.text(10, from: alphabet), key: try Key.generateRSA())
    }
}
