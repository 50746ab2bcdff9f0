/// Keeps the recordings of worlds that several daemons, the replicas, share. Each replica has one of its own.
///
/// Exchanges get numbers, each a higher one than all before it, whatever its world and whoever appends it; whoever sees an
/// exchange sees all with lower numbers. Of a world the last `Recording.countLimit` and `Recording.sizeLimit` bytes are kept at
/// least, of all worlds together `--recording-limit`; a tenth more may be, until the oldest are removed.
///
/// Its calls may wait, but for a few seconds at most, and then fail.
package protocol RecordingKeeper: Sendable {
    /// Appends all exchanges of a batch, or none; not again, when this replica has appended a batch of that number before.
    func append(_ batch: RecordingBatch, _ presence: WriterPresence) throws(StoreFailure) -> RecordingStatus

    /// Says that this replica is there, and asks what others want of it.
    func attend(_ presence: WriterPresence) throws(StoreFailure) -> RecordingStatus

    /// Asks the other replicas to append whatever they have answered before this call. `nil` when there are none.
    func requestFlush() throws(StoreFailure) -> FlushRequest?

    /// Which others that are there haven't done so.
    func lacking(_ request: Int) throws(StoreFailure) -> Set<Int>

    /// What is kept of worlds after the given numbers: as much as fits an answer, the lowest numbers first. Worlds of which
    /// nothing is kept don't occur in `worlds`.
    func read(_ worlds: [(name: String, after: Int)]) throws(StoreFailure) -> RecordingNews

    /// Every world of which something is kept.
    func summaries() throws(StoreFailure) -> [RecordingSummary]

    /// Empties the recordings of worlds; where `keepingRefusals`, what they refused stays among what worlds that are gone have
    /// refused, the last of it, within a world's limits.
    func clear(_ worlds: [String], keepingRefusals: Bool) throws(StoreFailure)

    /// The numbers of what worlds have refused that are gone, the lowest first, and the exchanges among them that aren't in
    /// `known`.
    func refusedByGoneWorlds(
        known: Set<Int>
    ) throws(StoreFailure) -> (numbers: [Int], exchanges: [KeptExchange])

    func forgetGoneWorlds() throws(StoreFailure)

    /// This replica ends: nobody has to wait for it any more.
    func leave()
}

/// Exchanges that are appended together, in the order in which they were answered.
package struct RecordingBatch: Sendable {
    package struct Entry: Sendable {
        package let world: String
        /// Bytes of memory, which count for the limits.
        package let size: Int
        package let isRefused: Bool
        /// `RecordedExchange.encoded`.
        package let bytes: [UInt8]
    }

    /// Counts up from 1 while the replica runs.
    package let number: Int
    package let entries: [Entry]
}

/// What a replica's writer says of itself.
package struct WriterPresence: Sendable {
    /// Everything that was answered before this request to flush came is appended, with this batch.
    package let flushed: Int
    /// Bytes that all recordings together may have.
    package let limit: Int
}

package struct RecordingStatus: Sendable {
    /// The last request to flush.
    package let wanted: Int
    /// Whether there are other replicas.
    package let hasOthers: Bool
    /// Bytes of all recordings, and how many exchanges were dropped to keep to the limit of all.
    package let size: Int
    package let dropped: Int

    package init(wanted: Int, hasOthers: Bool, size: Int, dropped: Int) {
        self.wanted = wanted
        self.hasOthers = hasOthers
        self.size = size
        self.dropped = dropped
    }
}

package struct FlushRequest: Sendable {
    /// Counts up over all replicas.
    package let number: Int
    /// The other replicas that are there, by numbers that are theirs as long as they run.
    package let others: Set<Int>

    package init(number: Int, others: Set<Int>) {
        self.number = number
        self.others = others
    }
}

/// An exchange as it is kept.
package struct KeptExchange: Sendable {
    package let number: Int
    package let world: String
    package let bytes: [UInt8]

    package init(number: Int, world: String, bytes: [UInt8]) {
        self.number = number
        self.world = world
        self.bytes = bytes
    }
}

/// What a world's recording holds.
package struct RecordingSummary: Sendable {
    package let world: String
    /// The lowest number that is kept, or was kept last.
    package let first: Int
    /// How many exchanges are kept.
    package let count: Int
    /// How many had to make room since the recording was last empty.
    package let dropped: Int

    package init(world: String, first: Int, count: Int, dropped: Int) {
        self.world = world
        self.first = first
        self.count = count
        self.dropped = dropped
    }
}

package struct RecordingNews: Sendable {
    package let worlds: [RecordingSummary]
    package let exchanges: [KeptExchange]
    /// Whether there is more of these worlds.
    package let hasMore: Bool

    package init(worlds: [RecordingSummary], exchanges: [KeptExchange], hasMore: Bool) {
        self.worlds = worlds
        self.exchanges = exchanges
        self.hasMore = hasMore
    }
}
