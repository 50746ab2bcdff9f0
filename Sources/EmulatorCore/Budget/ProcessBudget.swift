import HTTPServer
import JOSE
import Logging
import Recordings
import Synchronization
import Time
import Worlds

/// Limits of the daemon's whole process, such as the memory for recorded requests, and counts of what was dropped
/// because a limit was reached. All test worlds share these limits.
package final class ProcessBudget: Sendable {
    package let recordings: RecordingStore
    package let streams = StreamBudget()
    package let mail = MailBudget()
    package let readMails = ReadMails()
    package let mailRoutes = MailRoutes()
    /// The limit of open event streams, and of requests that wait for the next recorded request, together.
    package let listeners = Allowance(limit: 1_000)
    /// The limit of notifications to clients' servers, such as calls of webhooks, that wait for delivery in the
    /// background.
    package let messages = Allowance(limit: 10_000)
    /// The limit on the number and memory of the seeds (initial data) that single test worlds were given while the
    /// daemon runs.
    package let seeds = SeedBudget()
    /// The limit on the number of Firebase projects and tenants that aren't in a seed (initial data), in all test
    /// worlds together.
    package let projects = Allowance(limit: 20_000)
    /// The greatest number of users that the Firebase projects of one test world may have together.
    package let usersOfWorld: Int
    /// The greatest number of bytes that the Firebase users of one test world may have together, without those in its
    /// seed (initial data).
    package let userBytesOfWorld: Int
    /// The greatest number of bytes that the settings of all Firebase projects and tenants of one test world may have
    /// together, without those in its seed (initial data).
    package let settingsBytesOfWorld: Int
    package let notices: Notices

    /// Makes the limits of a daemon's process.
    ///
    /// - Parameters:
    ///   - recordingLimit: The greatest size of all recorded requests and responses together, in bytes.
    ///   - keepingRefusals: Whether recorded refusals are kept after their test world was removed or reset.
    ///   - recordings: The store of recordings, if several daemons share one.
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

/// A limit on the number of things of a kind, such as event streams, that exist at once. A thing counts as long as its
/// lease, an object from `acquire`, exists.
package final class Allowance: Sendable {
    package let limit: Int
    private let taken = Atomic<Int>(0)
    private let refusals = Atomic<Int>(0)

    package init(limit: Int) { self.limit = limit }

    package var count: Int { taken.load(ordering: .relaxed) }
    /// The number of refusals for any reason, such as a reached limit.
    package var refused: Int { refusals.load(ordering: .relaxed) }

    /// Takes one of the places of this limit. Returns a lease that holds the place until the last reference to the
    /// lease is released; `nil` when no place is free.
    package func acquire() -> Lease? {
        guard taken.wrappingAdd(1, ordering: .relaxed).newValue <= limit else {
            taken.wrappingSubtract(1, ordering: .relaxed)
            refusals.wrappingAdd(1, ordering: .relaxed)
            return nil
        }
        return Lease(of: self)
    }

    /// Counts a refusal that has another reason than a reached limit.
    package func countRefusal() { refusals.wrappingAdd(1, ordering: .relaxed) }

    /// The right to have one of a limited number of things, such as open event streams. It ends when the last reference
    /// to this object is released.
    package final class Lease: Sendable {
        private let allowance: Allowance

        fileprivate init(of allowance: Allowance) { self.allowance = allowance }

        deinit { allowance.taken.wrappingSubtract(1, ordering: .relaxed) }
    }
}

/// The limits on the number and the memory of the seeds (initial data) that single test worlds have in place of the
/// daemon's seed.
package final class SeedBudget: Sendable {
    package static let limit = 1_000
    /// The greatest memory in bytes, by the estimate of `weight`, that the seeds (initial data) of all test worlds may
    /// take together.
    package static let byteLimit = 1 << 30

    private let taken = Mutex((count: 0, bytes: 0))

    package init() {}

    package var usage: (count: Int, bytes: Int) { taken.withLock { $0 } }

    /// Returns an estimate of the memory in bytes that a test world's seed (initial data) takes. The factors were
    /// measured with the seed that takes most memory for its size: 12,000 small Firebase projects take 22 MB. Endpoints
    /// count, too, because each OpenID issuer has endpoints of its own.
    private static func weight(bytes: Int, objects: Int, endpoints: Int) -> Int {
        bytes * 64 + objects * 1_024 + endpoints * 2_048
    }

    /// Reserves memory for a seed (initial data) whose JSON has `bytes` bytes. Returns `nil` when too little memory is
    /// left, or when there are too many seeds.
    package func reserve(_ bytes: Int, playing played: PlayedSeed) -> Lease? {
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

    /// A reservation of memory for a seed (initial data), held until the last reference to this object is released.
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
