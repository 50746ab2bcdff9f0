/// The seeds that a world had before changes of its seed that aren't written yet: it has them again when such a change fails.
struct EarlierSeeds {
    private var entries: [(position: Int, seed: Seed, rows: Seed)] = []

    /// The seed is changed at this position of the queue. `isSettled` says of a position whether it isn't on its way any more.
    mutating func add(_ seed: Seed, rows: Seed, before position: Int, isSettled: (Int) -> Bool) {
        entries.removeAll { isSettled($0.position) }
        entries.append((position: position, seed: seed, rows: rows))
    }

    /// Nothing that is on its way will be written: the seeds that hold then, where they are others.
    mutating func restored(isSettled: (Int) -> Bool) -> (seed: Seed, rows: Seed)? {
        defer { entries = [] }
        return entries.first { !isSettled($0.position) }.map { (seed: $0.seed, rows: $0.rows) }
    }
}
