/// A store of the recordings of worlds that several daemons share.
///
/// Exchanges get rising numbers, across all worlds and daemons; a reader who sees an exchange sees all with lower
/// numbers. Of each world, at least the last `Recording.countLimit` exchanges or `Recording.sizeLimit` bytes are kept,
/// and of all worlds together `--recording-limit`. The oldest are removed when a tenth more is there.
///
/// Its calls may wait for a few seconds at most, and then fail.
package protocol RecordingKeeper: Sendable {
    /// Appends an exchange, unless it is there already. `limit` is the number of bytes that all recordings together may
    /// have. Returns how many they have, and how many exchanges were dropped because of the limit; `nil` if the
    /// exchange was there.
    func append(_ exchange: AppendedExchange, limit: Int) throws(StoreFailure) -> (bytes: Int, dropped: Int)?

    /// Returns exchanges of worlds after the given numbers: as many as fit an answer, the lowest numbers first. Worlds
    /// without exchanges aren't in `worlds`.
    func read(_ worlds: [(name: String, after: Int)]) throws(StoreFailure) -> RecordingNews

    /// Returns the summaries of all worlds with exchanges.
    func summaries() throws(StoreFailure) -> [RecordingSummary]

    /// Empties the recordings of worlds. With `keepingRefusals`, their refusals stay among those of gone worlds: the
    /// last ones, within the limits of one world.
    func clear(_ worlds: [String], keepingRefusals: Bool) throws(StoreFailure)

    /// Returns the numbers of the refusals by gone worlds, the lowest first, and those of these exchanges that aren't
    /// in `known`.
    func refusedByGoneWorlds(
        known: Set<Int>
    ) throws(StoreFailure) -> (numbers: [Int], exchanges: [KeptExchange])

    func forgetGoneWorlds() throws(StoreFailure)
}

/// An exchange to append.
package struct AppendedExchange: Sendable {
    /// The ID, which no other exchange has, whichever daemon answered it.
    package let id: String
    package let world: String
    /// The number of bytes of memory, which counts for the limits.
    package let size: Int
    package let isRefused: Bool
    /// The exchange as `RecordedExchange.encoded`.
    package let bytes: [UInt8]
}

/// An exchange in the store.
package struct KeptExchange: Sendable {
    package let number: Int
    package let world: String
    package let bytes: [UInt8]
}

/// The numbers of a world's recording.
package struct RecordingSummary: Sendable {
    package let world: String
    /// The lowest number that is kept, or the last one when none is.
    package let first: Int
    /// The number of exchanges that are kept.
    package let count: Int
    /// The number of exchanges dropped because of others since the recording was last empty.
    package let dropped: Int
}

package struct RecordingNews: Sendable {
    package let worlds: [RecordingSummary]
    package let exchanges: [KeptExchange]
    /// Whether there are more exchanges of these worlds.
    package let hasMore: Bool
}
