import JOSE
import Platform
import PostgreSQL
import Synchronization
import Time

/// Keeps test worlds in a PostgreSQL database, for any number of daemons. Each daemon has, in memory, a copy of the
/// worlds that it serves, from which it answers queries. When the daemon looks up a request's world, it first asks the
/// database for the changes that other daemons have made. If the request's host name is below `localhost`, this happens
/// two or three times.
package final class PostgreSQLArchive: Archive {
    package let pool: PostgreSQLPool
    /// A random number that marks the changes in the database that this daemon has made. No two daemons have the same
    /// number.
    let writer: Int64
    private let membership: Mutex<Membership>
    /// Whether the database schema is dropped when the archive of test worlds is closed.
    private let isTemporary: Bool
    private let isClosed = Atomic<Bool>(false)

    /// The unique number of this daemon among all daemons that share the database, and the list of these daemons.
    private struct Membership {
        var number: Int
        var replicas: [StoreHealth.Replica] = []
    }

    package let isShared = true

    /// Connects to the PostgreSQL database of test worlds, and makes the tables that don't exist yet.
    ///
    /// - Parameter url: The database's URL, which libpq can read. If it ends with `#temporary`, all tables are in a
    ///   schema of their own, which is dropped when the archive is closed.
    /// - Parameter tables: SQL statements that make additional tables, which the archive itself doesn't use.
    package init(_ url: String, with tables: [String] = []) throws(PostgreSQLStartFailure) {
        CertificateDigests.prepare()
        let suffix = "#temporary"
        isTemporary = url.hasSuffix(suffix)
        var random = Randomness(seed: nil)
        writer = random.bytes(8).reduce(0) { $0 << 8 | Int64($1) }
        let schema = isTemporary ? "understudy_\(Hex.encode(random.bytes(8)))" : nil
        let address: PostgreSQLAddress
        do throws(PostgreSQLError) {
            address = try PostgreSQLAddress(isTemporary ? String(url.dropLast(suffix.count)) : url)
        } catch {
            throw PostgreSQLStartFailure(error.message)
        }
        pool = PostgreSQLPool(address, schema: schema)
        membership = Mutex(Membership(number: 0))
        do throws(StoreFailure) {
            try PostgreSQLLayout(pool, tables: PostgreSQLSchema.tables + tables).prepare()
            try join()
        } catch { throw PostgreSQLStartFailure("\(address.title): \(error.detail)") }
        startUpkeep()
    }

    deinit { close() }

    package var directory: (any WorldDirectory)? { self }

    package var replica: Int { membership.withLock { $0.number } }

    package var health: StoreHealth {
        var health = StoreHealth(kind: "postgresql")
        if let (failure, since) = pool.failure { (health.failure, health.failingSince) = (failure, since) }
        health.replicas = membership.withLock { $0.replicas }
        return health
    }

    package func tryAgain() {
        guard let (failure, _) = pool.failure else { return }
        guard failure.kind == .full else {
            _ = try? text("seed")
            return
        }
        if (try? writeMuch()) != nil { pool.markNotFull() }
    }

    /// Writes 64 kB of random text, which can't be compressed, to find out whether the database server's disk is still
    /// full.
    private func writeMuch() throws(StoreFailure) {
        var random = Randomness(seed: nil)
        let text = Base64URL.encode(random.bytes(49_152))
        _ = try pool.use { connection throws(PostgreSQLError) in
            try connection.run(
                [PostgreSQLSchema.putText(.text("tried"), .text(text))], until: .now + PostgreSQLPool.answerLimit)
        }
    }

    /// Stores the digest of the seed and the imported data in the database. If another daemon has stored a digest
    /// already, checks that it is the same.
    package func begin(withSeed digest: String) throws(PostgreSQLStartFailure) {
        let known: String
        do throws(StoreFailure) { known = try text("seed", orKeep: digest) } catch {
            throw PostgreSQLStartFailure("\(pool.address.title): \(error.detail)")
        }
        guard known != digest else { return }
        throw PostgreSQLStartFailure(
            "\(pool.address.title): the test worlds in the database were made from a seed and imported data with the "
                + "digest \(known), but this daemon's seed and imported data have the digest \(digest): start all "
                + "daemons with the same seed and imported data, or start this daemon in another schema "
                + "(?options=-csearch_path%3DNAME)")
    }

    /// Removes this daemon from the list of daemons that share the database, and closes its connections. Call this
    /// after the HTTP server has stopped.
    package func close() {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        var calls = [PostgreSQLSchema.removeReplica(.integer(Int64(replica)), .integer(writer))]
        if isTemporary, let schema = pool.schema {
            calls.append(PostgreSQLSchema.statement("drop", #"DROP SCHEMA "\#(schema)" CASCADE"#)())
        }
        _ = try? pool.use { connection throws(PostgreSQLError) in
            try connection.run(calls, until: .now + PostgreSQLPool.answerLimit)
        }
        pool.close()
    }

    // MARK: - Replicas

    /// Gives this daemon the least number that no other daemon sharing the database has.
    private func join() throws(StoreFailure) {
        let name = "\(PostgreSQLArchive.hostName):\(getpid())"
        let number = try pool.use { connection throws(PostgreSQLError) in
            let deadline = ContinuousClock.now + PostgreSQLPool.answerLimit
            let results = try connection.run(
                [
                    PostgreSQLSchema.begin(), PostgreSQLSchema.lockReplicas(), PostgreSQLSchema.forgetReplicas(),
                    PostgreSQLSchema.numbers(),
                ], until: deadline)
            let taken = Set((0..<results[3].count).map { Int(results[3].integer($0, 0)) })
            guard let free = (1...4095).first(where: { !taken.contains($0) }) else {
                throw PostgreSQLError(.refused, "there are 4095 daemons already")
            }
            try connection.run(
                [
                    PostgreSQLSchema.addReplica(.integer(Int64(free)), .text(name), .integer(writer)),
                    PostgreSQLSchema.commit(),
                ], until: deadline)
            return free
        }
        let own = StoreHealth.Replica(number: number, name: name)
        membership.withLock { $0 = Membership(number: number, replicas: [own]) }
    }

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "daemon" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The seconds between two calls of `upkeep`, which records that this daemon is alive.
    private static let upkeepPause: UInt32 = 10

    private func startUpkeep() {
        _ = WorkThread.start { [weak self] in
            while true {
                for _ in 0..<PostgreSQLArchive.upkeepPause {
                    sleep(1)
                    guard let self, !self.isClosed.load(ordering: .acquiring) else { return }
                }
                guard let self else { return }
                try? self.upkeep()
            }
        }
    }

    /// Records in the database that this daemon is alive, and reads the list of the daemons. If another daemon may have
    /// this daemon's number, this daemon gets a new one. The daemon with the lowest number also removes old changes of
    /// test worlds.
    func upkeep() throws(StoreFailure) {
        let (number, writer) = (replica, writer)
        let results = try pool.use { connection throws(PostgreSQLError) in
            try connection.run(
                [
                    PostgreSQLSchema.seen(.integer(Int64(number)), .integer(writer)), PostgreSQLSchema.replicas(),
                ], until: .now + PostgreSQLPool.answerLimit)
        }
        // This daemon hadn't noted itself for so long that another may have its number.
        guard results[0].changed == 1 else { return try join() }
        let replicas = (0..<results[1].count).map { row in
            StoreHealth.Replica(number: Int(results[1].integer(row, 0)), name: results[1].text(row, 1))
        }
        membership.withLock { $0.replicas = replicas }
        // One of the replicas does it for all.
        guard replicas.first?.number == number else { return }
        _ = try pool.use { connection throws(PostgreSQLError) in
            try connection.run([PostgreSQLSchema.trim()], until: .now + PostgreSQLPool.answerLimit)
        }
    }
}

/// The reason why the database of test worlds can't be used, in a line without a password.
package struct PostgreSQLStartFailure: Error, CustomStringConvertible, Sendable {
    package let description: String

    init(_ description: String) { self.description = description }
}
