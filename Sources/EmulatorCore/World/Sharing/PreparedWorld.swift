import HTTPServer
import Platform
import Synchronization
import Time
import Worlds

/// The progress of a test world's initial scenarios (prepared situations). If several daemons share the world, one of
/// them runs the scenarios, and the others wait until it has finished.
struct PreparedWorld: WorldValue {
    static let name = "scenarios.prepared"

    var isDone = false
    /// The ID of the daemon that runs the test world's initial scenarios; `nil` before a daemon has begun to run them.
    fileprivate var replica: Int?
    /// The heartbeat of the daemon that runs a test world's initial scenarios: a counter that goes up while the daemon
    /// runs them.
    fileprivate var beat = 0

    init() {}
}

extension World {
    /// Whether the initial scenarios (prepared situations) of this test world have been run.
    var isPrepared: Bool {
        let isDone = read { $0.value(PreparedWorld.self).isDone }
        // The world may have been reset, at this daemon or at another one.
        if !isDone { preparation.beginAgain() }
        return isDone
    }
}

/// Decides which of the daemons (replicas) that share a test world runs its initial scenarios.
struct SharedPreparation {
    enum Turn: Equatable {
        case done
        case mine
        /// The daemon has to wait, because another daemon is running the test world's initial scenarios.
        case wait
    }

    /// The seconds between two heartbeats of the daemon that runs the initial scenarios of a test world.
    private static let interval = 1
    /// The seconds without a heartbeat after which another daemon runs the initial scenarios of the test world.
    private static let patience = 10

    private let world: World
    private let replica: Int
    /// The last heartbeat that was seen of another daemon, with the time when it was first seen, in seconds of the
    /// machine's monotonic clock.
    private var seen: (replica: Int, beat: Int, at: Int)?

    init(_ world: World, by replica: Int) {
        self.world = world
        self.replica = replica
    }

    /// Returns `mine` if this daemon has to run the test world's initial scenarios, `wait` while another daemon runs
    /// them, and `done` after that. If the other daemon's heartbeat has stopped, this daemon has to run them. `now` is
    /// in seconds of the machine's monotonic clock.
    mutating func next(at now: Int = MachineClock.uptime) throws(StoreFailure) -> Turn {
        let silent = seen.flatMap { now - $0.at >= SharedPreparation.patience ? $0 : nil }
        let replica = replica
        let found = try world.update { tables -> (turn: Turn, other: (replica: Int, beat: Int)?) in
            let prepared = tables[PreparedWorld.self]
            guard !prepared.isDone else { return (.done, nil) }
            if let other = prepared.replica, other != replica,
                silent?.replica != other || silent?.beat != prepared.beat
            {
                return (.wait, (other, prepared.beat))
            }
            tables[PreparedWorld.self].replica = replica
            tables[PreparedWorld.self].beat = prepared.beat + 1
            return (.mine, nil)
        }
        if let other = found.other, seen?.replica != other.replica || seen?.beat != other.beat {
            seen = (other.replica, other.beat, now)
        }
        return found.turn
    }

    /// Notes in the store that the test world's initial scenarios have been run. Returns `false`, and notes nothing, if
    /// the world was reset meanwhile, unless `evenIfReset` is true. If the store fails, the next request runs the
    /// scenarios again.
    func finish(evenIfReset: Bool = false) throws(StoreFailure) -> Bool {
        try world.update { tables in
            let owner = tables[PreparedWorld.self].replica
            guard owner == replica || evenIfReset && owner == nil else { return false }
            tables[PreparedWorld.self].isDone = true
            return true
        }
    }

    /// Starts this daemon's heartbeat. It is needed while the daemon runs the test world's initial scenarios, and goes
    /// on until `stop` is called on the result.
    func begin() -> Pulse {
        let pulse = Pulse(world, replica)
        pulse.next()
        return pulse
    }

    final class Pulse: Sendable {
        private let world: World
        private let replica: Int
        private let hasStopped = Atomic<Bool>(false)

        fileprivate init(_ world: World, _ replica: Int) {
            self.world = world
            self.replica = replica
        }

        func stop() { hasStopped.store(true, ordering: .relaxed) }

        fileprivate func next() {
            Timer.after(.seconds(SharedPreparation.interval)) { [self] in
                // Committing may wait.
                WorkThreads.shared.run { [self] in beat() }
            }
        }

        private func beat() {
            guard !hasStopped.load(ordering: .relaxed) else { return }
            do throws(StoreFailure) {
                try world.update { tables in
                    if tables[PreparedWorld.self].replica == replica { tables[PreparedWorld.self].beat += 1 }
                }
            } catch {
                world.budget.notices.warnOncePerMinute(.stores, error.diagnosis.line)
            }
            next()
        }
    }
}
