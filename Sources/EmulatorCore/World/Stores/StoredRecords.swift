import JOSE
import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The types of rows and values that a world can hold, by the names under which archives keep them: the core's and the
/// providers'.
package struct StoredTypes: Sendable {
    package let rows: [String: any Row.Type]
    package let values: [String: any WorldValue.Type]
    /// The names that several different types have.
    package let ambiguous: Set<String>

    /// `rows` are the types of the daemon itself.
    init(
        _ providers: [any Provider.Type], rows otherRows: [any Row.Type] = []
    ) {
        var rows: [String: any Row.Type] = [:]
        var values: [String: any WorldValue.Type] = [:]
        var ambiguous: Set<String> = []
        for type in StoredTypes.coreRows + otherRows + providers.flatMap({ $0.facts.rows }) {
            if let known = rows.updateValue(type, forKey: type.tableName), known != type {
                ambiguous.insert(type.tableName)
            }
        }
        for type in StoredTypes.coreValues + providers.flatMap({ $0.facts.values }) {
            if let known = values.updateValue(type, forKey: type.name), known != type { ambiguous.insert(type.name) }
        }
        self.rows = rows
        self.values = values
        self.ambiguous = ambiguous
    }

    private static let coreRows: [any Row.Type] = [Account.self, InboxMessage.self, StoredKeys.self]
    private static let coreValues: [any WorldValue.Type] = [
        FaultQueue.self, Inbox.self, OutcomeQueue.self, PlayedScenarios.self, PreparedWorld.self, RandomSource.self,
        StoredSeed.self, WorldClock.self,
    ]
}

extension Row {
    package static var tableName: String { table.name }
}

extension Inbox {
    package static let name = "mail.inbox"
}

/// Encodes rows and values as JSON, and decodes them.
package struct StoredCoder: Sendable {
    private let decoder: JSONDecoder
    private let encoder = JSONEncoder()

    /// `profiles` are the types of accounts' profiles: `SeedFormat.profiles`.
    package init(profiles: [any AccountProfile.Type]) {
        decoder = JSONDecoder()
        if let key = CodingUserInfoKey.accountProfiles { decoder.userInfo[key] = profiles }
        if let key = CodingUserInfoKey.jsonAsText { (decoder.userInfo[key], encoder.userInfo[key]) = (true, true) }
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    }

    package func encode(_ value: some Encodable) throws(StoreFailure) -> String {
        do { return String(decoding: try encoder.encode(value), as: UTF8.self) } catch {
            throw StoreFailure(.undeclared, "\(type(of: value)) can't be written: \(StoredCoder.reason(error))")
        }
    }

    package func decode<Value: Decodable>(_ type: Value.Type, from text: String) throws(StoreFailure) -> Value {
        do { return try decoder.decode(type, from: Data(text.utf8)) } catch {
            throw StoreFailure(.unreadable, "\(type) can't be read: \(StoredCoder.reason(error))")
        }
    }

    /// Returns a value as archives keep it.
    func archived<V: WorldValue>(_ value: V) throws(StoreFailure) -> ArchivedValue {
        ArchivedValue(name: V.name, value: try encode(value))
    }

    /// Returns the path at which decoding failed. It doesn't repeat the value, which may be a secret.
    private static func reason(_ error: any Error) -> String {
        let context: DecodingError.Context
        switch error as? DecodingError {
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .keyNotFound(_, let found),
            .dataCorrupted(let found):
            context = found
        default: return "\(type(of: error))"
        }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return path.isEmpty ? "not what is expected" : "not what is expected at \(path)"
    }
}

/// The seed that a world got while the daemon ran, as archives keep it.
struct StoredSeed: WorldValue {
    static let name = "seed"

    /// The whole seed as the text of one file; `nil` for the daemon's.
    private(set) var document: String?
    /// The seed with whose rows the world began, before it was extended; `nil` for the daemon's.
    private(set) var rows: String?
    /// A digest of both; `nil` where `document` is.
    private(set) var digest: String?

    init(_ seed: Seed) {}

    /// `rows` is the seed with which the world began; `nil` for the daemon's.
    init(of seed: Seed, rows: Seed?) {
        let document = seed.document.text
        self.init(document, rows: rows.map { $0.document.text })
    }

    private init(_ document: String, rows: String?) {
        self.document = document
        self.rows = rows
        let digests = [document, rows ?? ""].map { Hex.encode(Array(Digest.sha256($0))) }
        digest = String(Hex.encode(Array(Digest.sha256(digests.joined()))).prefix(32))
    }

    /// Returns a copy with the extended seed.
    func extended(to seed: Seed) -> StoredSeed { StoredSeed(seed.document.text, rows: rows) }

    /// Reads the seed, and the one with whose rows the world began, which is `nil` for the daemon's. Returns `nil` if
    /// the world has the daemon's seed.
    ///
    /// - Throws: The mistakes in it.
    func read(
        _ seeds: RuntimeSeeds, world: String
    ) throws(Issues) -> (seed: Seed, rows: Seed?, size: Int)? {
        guard let document else { return nil }
        let seed = try seeds.check([source(document, of: world)])
        guard let rows else { return (seed, nil, document.utf8.count) }
        let begun = rows == document ? seed : try seeds.check([source(rows, of: world)])
        return (seed, begun, document.utf8.count)
    }

    private func source(_ text: String, of world: String) -> SeedSource {
        SeedSource(name: "the seed of the world \(world)", sent: Array(text.utf8), isChecked: true)
    }
}

extension WorldRegistry {
    /// Loads all worlds that the archive has, once, before any request is served. Shared worlds are loaded on first use
    /// instead.
    ///
    /// - Throws: `Issues` if a world's seed has mistakes, or a `StoreFailure`.
    package func resume(_ seeds: RuntimeSeeds) throws {
        guard !isShared else { return share(seeds) }
        for name in try archive?.worlds() ?? [] {
            guard let world = try world(name), world.own == nil else { continue }
            let stored = world.read { $0.value(StoredSeed.self) }
            guard let (seed, rows, size) = try stored.read(seeds, world: name) else { continue }
            let played = seeds.play(seed)
            guard let lease = budget.seeds.take(size, playing: played) else { continue }
            try world.state.store.resume(seed, rows: rows ?? world.seed)
            let own = OwnSeed(played, lease, stored.digest)
            _ = replace(world, with: World(world, resuming: own, or: seed, generator: generator))
        }
    }
}

/// A key that signs, as archives keep it.
package struct StoredKey: Codable, Sendable {
    let id: String
    /// The algorithm's name in JWTs.
    let algorithm: String
    /// The private key in PKCS#8, as PEM.
    let pem: String

    /// Encodes a key. Returns `nil` for a key that OpenSSL can't write.
    init?(_ named: KeyGenerator.NamedKey) {
        guard let pem = try? named.key.pem() else { return nil }
        id = named.id
        algorithm = named.algorithm.rawValue
        self.pem = pem
    }

    /// The decoded key; `nil` when it can't be read.
    var named: KeyGenerator.NamedKey? { (try? KeyReader()).flatMap { named(by: $0) } }

    /// Returns the decoded key. A reader that has read keys before is much quicker.
    func named(by reader: KeyReader) -> KeyGenerator.NamedKey? {
        guard let algorithm = Algorithm(rawValue: algorithm),
            let key = try? Key(pem: Array(pem.utf8), reader: reader)
        else { return nil }
        return KeyGenerator.NamedKey(id: id, algorithm: algorithm, key: key)
    }
}

/// The rotated keys of an owner for one algorithm. Only worlds in an archive have such rows.
struct StoredKeys: Row {
    static let table = Table<StoredKeys>("keys")

    /// The names of the owner and of the algorithm.
    let key: String
    let published: [StoredKey]
    let before: [StoredKey]

    /// Returns whether all of these keys are keys of their algorithms.
    func isReadable(by reader: KeyReader) -> Bool {
        !published.isEmpty && (published + before).allSatisfy { $0.named(by: reader) != nil }
    }

    /// Returns whether these are the same keys, by their IDs.
    func names(_ published: [KeyGenerator.NamedKey], before: [KeyGenerator.NamedKey]) -> Bool {
        self.published.lazy.map(\.id).elementsEqual(published.lazy.map(\.id))
            && self.before.lazy.map(\.id).elementsEqual(before.lazy.map(\.id))
    }
}

/// Keys stored as shared texts: an array of `StoredKey` as JSON.
extension SharedTexts {
    /// Returns the keys with this name; `nil` if none were stored.
    func keys(_ name: String) throws(StoreFailure) -> [KeyGenerator.NamedKey]? {
        guard let text = try text(name) else { return nil }
        return try read(text)
    }

    /// Stores keys unless others are stored already, and returns those that are.
    func keys(
        _ name: String, orKeep keys: [KeyGenerator.NamedKey]
    ) throws(StoreFailure) -> [KeyGenerator.NamedKey] {
        let stored = keys.compactMap { StoredKey($0) }
        guard stored.count == keys.count else { throw StoreFailure(.undeclared, "a key can't be written") }
        let text = try StoredCoder(profiles: []).encode(stored)
        let kept = try self.text(name, orKeep: text)
        return kept == text ? keys : try read(kept)
    }

    private func read(_ text: String) throws(StoreFailure) -> [KeyGenerator.NamedKey] {
        let stored = try StoredCoder(profiles: []).decode([StoredKey].self, from: text)
        let keys = stored.compactMap(\.named)
        guard keys.count == stored.count else { throw StoreFailure(.unreadable, "a key can't be read") }
        return keys
    }
}
