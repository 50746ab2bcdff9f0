import HTTPServer
import JOSE
import Logging
import Recordings
import Synchronization
import Time
import Worlds

/// The limits of the whole process, for all worlds together, and counts of what was dropped because of them.
package final class ProcessBudget: Sendable {
    package let recordings: RecordingStore
    package let streams = StreamBudget()
    package let mail = MailBudget()
    package let readMails = ReadMails()
    package let mailRoutes = MailRoutes()
    /// The event streams and the requests that wait for exchanges.
    package let listeners = Allowance(limit: 1_000)
    /// The messages that nobody waits for and that aren't delivered yet.
    package let messages = Allowance(limit: 10_000)
    /// The seeds that worlds got while the daemon runs.
    package let seeds = SeedBudget()
    /// The Firebase projects of all worlds that aren't in a seed.
    package let projects = Allowance(limit: 20_000)
    /// The number of users that the Firebase projects of one world may have together.
    package let usersOfWorld: Int
    /// The greatest number of bytes of these users' texts.
    package let userBytesOfWorld: Int
    /// The greatest number of bytes of the settings of all Firebase projects and tenants of one world.
    package let settingsBytesOfWorld: Int
    package let notices: Notices

    /// - Parameters:
    ///   - recordingLimit: The limit of all recordings in bytes.
    ///   - keepingRefusals: Whether refusals are kept after their world has gone.
    ///   - recordings: The store of recordings that daemons share.
    package init(
        recordingLimit: Int = RecordingStore.standardLimit, keepingRefusals: Bool = false, usersOfWorld: Int = 500_000,
        userBytesOfWorld: Int = 512 << 20, settingsBytesOfWorld: Int = 64 << 20,
        recordings keeper: (any RecordingKeeper)? = nil, logger: Logger? = nil
    ) {
        self.usersOfWorld = usersOfWorld
        self.userBytesOfWorld = userBytesOfWorld
        self.settingsBytesOfWorld = settingsBytesOfWorld
        notices = Notices(logger ?? Logger(label: "understudy") { _ in SwiftLogNoOpLogHandler() })
        recordings = RecordingStore(
            limit: recordingLimit, keepingRefusals: keepingRefusals, keeper: keeper, notices: notices)
    }
}

/// Limits the number of things that exist at once. Each counts while its lease exists.
package final class Allowance: Sendable {
    package let limit: Int
    private let taken = Atomic<Int>(0)
    private let refusals = Atomic<Int>(0)

    package init(limit: Int) { self.limit = limit }

    package var count: Int { taken.load(ordering: .relaxed) }
    /// The number of refused requests for a lease.
    package var refused: Int { refusals.load(ordering: .relaxed) }

    /// Returns a lease; `nil` when the limit is reached.
    package func take() -> Lease? {
        guard taken.wrappingAdd(1, ordering: .relaxed).newValue <= limit else {
            taken.wrappingSubtract(1, ordering: .relaxed)
            refusals.wrappingAdd(1, ordering: .relaxed)
            return nil
        }
        return Lease(of: self)
    }

    /// Counts a refusal for another reason than the limit.
    package func noteRefusal() { refusals.wrappingAdd(1, ordering: .relaxed) }

    /// A place under the limit, taken until the last reference to the lease is gone.
    package final class Lease: Sendable {
        private let allowance: Allowance

        fileprivate init(of allowance: Allowance) { self.allowance = allowance }

        deinit { allowance.taken.wrappingSubtract(1, ordering: .relaxed) }
    }
}

/// Limits the number and the memory of the seeds that worlds have of their own.
package final class SeedBudget: Sendable {
    package static let limit = 1_000
    /// The bytes of memory for the seeds of all worlds, as `weight` estimates it.
    package static let byteLimit = 1 << 30

    private let taken = Mutex((count: 0, bytes: 0))

    package init() {}

    package var usage: (count: Int, bytes: Int) { taken.withLock { $0 } }

    /// Returns an estimate of the bytes of memory that a seed takes. The factors are measured: a seed with 12,000 small
    /// Firebase projects takes 22 MB, which is the most for its size. Each OpenID issuer has endpoints of its own, which
    /// take memory, too.
    private static func weight(bytes: Int, objects: Int, endpoints: Int) -> Int {
        bytes * 64 + objects * 1_024 + endpoints * 2_048
    }

    /// Reserves memory for a seed of so many bytes of JSON. Returns `nil` when there isn't enough.
    package func take(_ bytes: Int, playing played: PlayedSeed) -> Lease? {
        let bytes = SeedBudget.weight(
            bytes: bytes, objects: played.seed.objectCount, endpoints: played.endpoints.count)
        let isTaken = taken.withLock { taken in
            guard taken.count < SeedBudget.limit, bytes <= SeedBudget.byteLimit - taken.bytes else { return false }
            taken.count += 1
            taken.bytes += bytes
            return true
        }
        return isTaken ? Lease(bytes, of: self) : nil
    }

    /// A reservation of memory, held until the last reference to the lease is gone.
    package final class Lease: Sendable {
        private let bytes: Int
        private let budget: SeedBudget

        fileprivate init(_ bytes: Int, of budget: SeedBudget) {
            self.bytes = bytes
            self.budget = budget
        }

        deinit {
            budget.taken.withLock { taken in
                taken.count -= 1
                taken.bytes -= bytes
            }
        }
    }
}
