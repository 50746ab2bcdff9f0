import Dispatch

/// The lock around a file of SQLite's.
///
/// Whoever waits for it sleeps at once. Swift's `Mutex` tries many times before, which costs more than the sleep: what others do under
/// this lock takes tens of microseconds.
final class FileLock: Sendable {
    private let turn = DispatchSemaphore(value: 1)
    /// Only used by whoever has the turn.
    nonisolated(unsafe) private let file: SQLiteFile

    init(_ file: SQLiteFile) { self.file = file }

    func withLock<Result, Failure: Error>(_ body: (SQLiteFile) throws(Failure) -> Result) throws(Failure) -> Result {
        turn.wait()
        defer { turn.signal() }
        return try body(file)
    }

    /// The same for whoever has the turn already.
    func whileHeld<Result, Failure: Error>(_ body: (SQLiteFile) throws(Failure) -> Result) throws(Failure) -> Result {
        try body(file)
    }
}
