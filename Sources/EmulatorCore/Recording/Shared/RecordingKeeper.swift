/// Keeps the recordings of worlds that several daemons share.
///
/// Exchanges get numbers, each a higher one than all before it, whatever its world and whoever appends it; whoever sees an
/// exchange sees all with lower numbers. Of a world the last `Recording.countLimit` and `Recording.sizeLimit` bytes are kept at
/// least, of all worlds together `--recording-limit`; a tenth more may be, until the oldest are removed.
///
/// Its calls may wait, but for a few seconds at most, and then fail.
package protocol RecordingKeeper: Sendable {
    /// Appends an exchange, unless it is there already. `limit` is how many bytes all recordings together may have. Returns how many
    /// they have, and how many exchanges were dropped to keep to the limit; `nil` where the exchange was there.
    func append(_ exchange: AppendedExchange, limit: Int) throws(StoreFailure) -> (bytes: Int, dropped: Int)?

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
}

/// An exchange that is to be kept.
package struct AppendedExchange: Sendable {
    /// Unlike that of any other exchange, whichever daemon answered it.
    package let id: String
    package let world: String
    /// Bytes of memory, which count for the limits.
    package let size: Int
    package let isRefused: Bool
    /// `RecordedExchange.encoded`.
    package let bytes: [UInt8]
}

/// An exchange as it is kept.
package struct KeptExchange: Sendable {
    package let number: Int
    package let world: String
    package let bytes: [UInt8]
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
}

package struct RecordingNews: Sendable {
    package let worlds: [RecordingSummary]
    package let exchanges: [KeptExchange]
    /// Whether there is more of these worlds.
    package let hasMore: Bool
}
