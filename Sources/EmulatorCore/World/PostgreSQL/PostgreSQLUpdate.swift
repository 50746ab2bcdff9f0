import PostgreSQL

typealias PostgreSQLUpdates = Batches<PostgreSQLUpdate>

/// A change of a world that somebody waits for.
class PostgreSQLUpdate: BatchItem, @unchecked Sendable {
    /// Why it hasn't happened.
    var failure: StoreFailure?
    /// Whether whoever wants it has looked for what others did: then a change of nothing needs no look.
    let isRefreshed = StoreCall.current != nil
    /// Where the world turned out to be owned: the position of what is to be written before anybody is told of it.
    var position = 0

    /// Whether it can be done together with others.
    var isClosure: Bool { false }

    /// Runs the closure. `false` when it throws.
    func run(_ tables: MemoryTables) -> Bool { true }
}

final class ClosureUpdate<Value: Sendable, Failure: Error>: PostgreSQLUpdate, @unchecked Sendable {
    /// Taken away before the caller goes on, whose it is.
    var body: ((inout Transaction) throws(Failure) -> Value)?
    var outcome: Result<Value, Failure>?

    init(_ body: @escaping (inout Transaction) throws(Failure) -> Value) { self.body = body }

    override var isClosure: Bool { true }

    override func run(_ tables: MemoryTables) -> Bool {
        guard let body else { return false }
        var transaction = Transaction(tables: tables)
        do throws(Failure) {
            outcome = .success(try body(&transaction))
            return true
        } catch {
            outcome = .failure(error)
            return false
        }
    }
}

/// Takes or lets go of the world, while nothing else is done with it.
final class OwnershipUpdate: PostgreSQLUpdate, @unchecked Sendable {
    let change: () throws(StoreFailure) -> Void

    init(_ change: @escaping () throws(StoreFailure) -> Void) { self.change = change }
}

final class ResetUpdate: PostgreSQLUpdate, @unchecked Sendable {
    let seed: Seed
    /// Taken away before the caller goes on, whose they are.
    var putting: ((inout Transaction) -> Void)?
    var also: (() -> Void)?

    init(_ seed: Seed, _ putting: @escaping (inout Transaction) -> Void, _ also: @escaping () -> Void) {
        (self.seed, self.putting, self.also) = (seed, putting, also)
    }
}

/// A change that is ready to be written.
struct SharedWrite {
    let id: Int64
    /// The world's version before and after it.
    let before: Int64
    let version: Int64
    let change: SharedChange
    let written: SharedChange.Written
    /// Where the world begins afresh.
    var reset: (update: ResetUpdate, tables: MemoryTables, shared: SharedTables)?

    init(_ id: Int64, _ before: Int64, _ change: SharedChange, _ written: SharedChange.Written) {
        (self.id, self.before, self.change, self.written) = (id, before, change, written)
        version = before + 1 + Int64(change.count) / PostgreSQLSchema.placesOfVersion
    }

    /// What is sent where the world's row is locked.
    func calls(_ writer: Int64) -> [PostgreSQLCall] {
        let set = reset == nil ? PostgreSQLSchema.setVersion : PostgreSQLSchema.setBeginning
        return rows(writer) + [set(.integer(id), .integer(version)), PostgreSQLSchema.commit()]
    }

    /// What is sent where it isn't: a transaction of its own, without BEGIN and COMMIT.
    func callsAtOnce(_ writer: Int64) -> [PostgreSQLCall] {
        [
            PostgreSQLSchema.compareAndSetVersion(.integer(id), .integer(before), .integer(version), .integer(writer))
        ] + rows(writer)
    }

    private func rows(_ writer: Int64) -> [PostgreSQLCall] {
        var calls = [
            PostgreSQLSchema.addChange(
                .integer(id), .integer(version), .integer(before), .integer(writer), .bytes(written.change.bytes))
        ]
        if reset != nil { calls.append(PostgreSQLSchema.removeRows(.integer(id))) }
        calls += written.rows.map { PostgreSQLSchema.put($0, of: id) }
        calls += written.values.map { name, value in PostgreSQLSchema.put(name, value, of: id) }
        return calls
    }
}
