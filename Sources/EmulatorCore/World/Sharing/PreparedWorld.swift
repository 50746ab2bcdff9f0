import HTTPServer
import Platform
import Synchronization
import Time
import Worlds

/// Whether the scenarios with which a world begins have been played, for a world that several daemons (replicas) share.
/// One replica plays them, and the others wait until it has finished.
struct PreparedWorld: WorldValue {
    static let name = "scenarios.prepared"

    var isDone = false
    /// The number of the replica that plays the world's scenarios; `nil` until one has begun.
    fileprivate var replica: Int?
    /// The heartbeat of the replica that plays a new world's scenarios: a counter that goes up as long as the replica
    /// runs.
    fileprivate var beat = 0

    init() {}
}

extension World {
    /// Whether the scenarios with which this world begins have been played.
    var isPrepared: Bool {
        guard state.isShared else { return preparation.isDone }
        let isDone = read { $0.value(PreparedWorld.self).isDone }
        // Another replica may have reset the world.
        if !isDone { preparation.beginAgain() }
        return isDone
    }
}

/// The work of one of several daemons (replicas) that prepare a world that they share.
struct SharedPreparation {
    enum Turn: Equatable {
        case done
        case mine
        /// The replica has to wait, because another replica is playing the world's scenarios.
        case wait
    }

    /// The seconds between two heartbeats of the replica that plays a world's scenarios.
    private static let interval = 1
    /// The seconds without a heartbeat after which another replica plays the world's scenarios.
    private static let patience = 10

    private let world: World
    private let replica: Int
    /// The last heartbeat that was seen of another replica, with the time when it was seen, in seconds of the machine's
    /// monotonic clock.
    private var seen: (replica: Int, beat: Int, at: Int)?

    init(_ world: World, by replica: Int) {
        self.world = world
        self.replica = replica
    }

    /// Returns whether this replica (one of several daemons) or another one plays the world's scenarios. If the other
    /// replica's heartbeat has stopped, this one takes over. `now` is in seconds of the machine's monotonic clock.
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

    /// Notes in the store that the world's scenarios have been played. If the store fails, the next request plays them
    /// again.
    func finish() throws(StoreFailure) {
        try world.update { tables in
            // The world may have been reset meanwhile.
            if tables[PreparedWorld.self].replica == replica { tables[PreparedWorld.self].isDone = true }
        }
    }

    /// Begins this replica's heartbeat while it plays the world's scenarios. The heartbeat goes on until `stop` is
    /// called on the result.
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
                world.budget.notices.tell(.stores, error.diagnosis.line)
            }
            next()
        }
    }
}
