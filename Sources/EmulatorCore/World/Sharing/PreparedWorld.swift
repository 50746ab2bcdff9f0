import HTTPServer
import Platform
import Synchronization
import Time
import Worlds

/// Whether the scenarios with which a shared world begins have been played. One replica plays them, and the others wait
/// for it.
struct PreparedWorld: WorldValue {
    static let name = "scenarios.prepared"

    var isDone = false
    /// The replica that plays the scenarios, if one has begun.
    fileprivate var replica: Int?
    /// A heartbeat of that replica: it counts up while the scenarios are played.
    fileprivate var beat = 0

    init() {}
}

extension World {
    /// Whether the scenarios with which the world begins have been played.
    var isPrepared: Bool {
        guard state.isShared else { return preparation.isDone }
        let isDone = read { $0.value(PreparedWorld.self).isDone }
        // Another replica may have reset the world.
        if !isDone { preparation.beginAgain() }
        return isDone
    }
}

/// One replica's part in preparing a shared world.
struct SharedPreparation {
    enum Turn: Equatable {
        case done
        case mine
        /// Wait, because another replica is playing the scenarios.
        case wait
    }

    /// The seconds between two heartbeats of a replica, and the seconds for which others wait for one.
    private static let interval = 1
    private static let patience = 10

    private let world: World
    private let replica: Int
    /// The last heartbeat of the other replica, and when it was seen, in seconds of the machine's monotonic clock.
    private var seen: (replica: Int, beat: Int, at: Int)?

    init(_ world: World, by replica: Int) {
        self.world = world
        self.replica = replica
    }

    /// Returns whether this replica or another one plays the scenarios. If a replica has stopped its heartbeat, this
    /// one takes over. `now` is in seconds of the machine's monotonic clock.
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

    /// Notes that the scenarios have been played. If that can't be committed, another request plays them again.
    func finish() throws(StoreFailure) {
        try world.update { tables in
            // The world may have been reset meanwhile.
            if tables[PreparedWorld.self].replica == replica { tables[PreparedWorld.self].isDone = true }
        }
    }

    /// Begins the heartbeat, which goes on until `stop` is called on the result.
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
