import JOSE
import JSON
import Worlds

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension WorldSnapshot {
    /// Reads the JSON of a snapshot that `World.snapshot` has written. Only tables and values that `format` declares
    /// are allowed.
    package init(reading bytes: [UInt8], _ format: SeedFormat) throws(SnapshotIssue) {
        if let excess = WorldSnapshot.limits.excess(in: bytes) {
            throw SnapshotIssue(path: "$", message: "the snapshot has \(excess)")
        }
        if let number = JSONNumbers.first(beyond: WorldSnapshot.numberLimit, in: bytes) {
            throw SnapshotIssue(
                path: "$",
                message:
                    "the snapshot has the number \(number.prefix(40)), which is too large for a test world's data")
        }
        // JSONDecoder also reads other encodings, which have zero bytes.
        guard !bytes.contains(0) else {
            throw SnapshotIssue(path: "$", message: "the snapshot isn't JSON in UTF-8")
        }
        guard !bytes.hasEndlessMarksInJSON else {
            throw SnapshotIssue(
                path: "$", message: "the snapshot has a text with more than 30 Unicode combining marks in a row")
        }
        let decoder = JSONDecoder()
        if let key = CodingUserInfoKey.accountProfiles { decoder.userInfo[key] = format.profiles }
        if let key = CodingUserInfoKey.jsonAsText { decoder.userInfo[key] = true }
        if let key = CodingUserInfoKey.storedTypes { decoder.userInfo[key] = format.stored }
        do {
            let document = try decoder.decode(SnapshotDocument.self, from: Data(bytes))
            self.init(seed: document.seed, keys: document.keys, values: document.values, tables: document.tables)
        } catch let issue as SnapshotIssue {
            throw issue
        } catch {
            throw SnapshotIssue(error)
        }
    }
}

extension CodingUserInfoKey {
    fileprivate static let storedTypes = CodingUserInfoKey(rawValue: "storedTypes")
}

private struct SnapshotDocument: Decodable {
    let seed: String
    let keys: [StoredKeys]
    var values: [any WorldValue] = []
    var tables: [WorldSnapshot.Table] = []

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        let key = CodingUserInfoKey.storedTypes
        let types = key.flatMap { decoder.userInfo[$0] as? StoredTypes } ?? StoredTypes(rows: [], values: [])
        let members = try decoder.container(keyedBy: Name.self)
        let format = try members.decode(Int.self, forKey: Name("snapshot"))
        let version = (try? members.decode(String.self, forKey: Name("version"))) ?? "an unknown version"
        guard format <= WorldSnapshot.format, format > 0 else {
            throw SnapshotIssue(
                path: "$.snapshot",
                message:
                    "the snapshot has format \(format), written by \(String(version.prefix(40))); this version reads "
                    + "format \(WorldSnapshot.format): use the version that wrote the snapshot")
        }
        seed = try members.decode(String.self, forKey: Name("seed"))
        keys = try members.decode([StoredKeys].self, forKey: Name("keys"))
        try SnapshotDocument.check(keys)
        let values = try members.nestedContainer(keyedBy: Name.self, forKey: Name("values"))
        for name in values.allKeys {
            guard let type = types.values[name.stringValue], !WorldSnapshot.keptOut.contains(name.stringValue) else {
                throw SnapshotDocument.unknown("$.values", name, version)
            }
            let value = try values.decode(type, forKey: name)
            if let excess = (value as? any BoundedValue)?.excess {
                throw SnapshotDocument.tooMuch("$.values", name, excess)
            }
            self.values.append(value)
        }
        let tables = try members.nestedContainer(keyedBy: Name.self, forKey: Name("tables"))
        for name in tables.allKeys {
            guard let type = types.rows[name.stringValue], type != StoredKeys.self else {
                throw SnapshotDocument.unknown("$.tables", name, version)
            }
            var rows = try tables.nestedUnkeyedContainer(forKey: name)
            let table = WorldSnapshot.Table(type: type, rows: try SnapshotDocument.rows(type, in: &rows))
            if let bounded = type as? any BoundedRow.Type, let excess = SnapshotDocument.excess(of: table, bounded) {
                throw SnapshotDocument.tooMuch("$.tables", name, excess)
            }
            self.tables.append(table)
        }
    }

    private static func check(_ keys: [StoredKeys]) throws {
        let reader = try KeyReader()
        var owners: Set<String> = []
        for (place, owned) in keys.enumerated() {
            guard owned.isReadable(by: reader) else {
                throw SnapshotIssue(path: "$.keys[\(place)]", message: "this signing key of the snapshot can't be read")
            }
            guard owners.insert(owned.key).inserted else {
                throw SnapshotIssue(
                    path: "$.keys[\(place)]",
                    message: "two elements of \"keys\" have the same \"key\": leave out one of them")
            }
        }
    }

    private static func rows<R: Row>(_ type: R.Type, in list: inout any UnkeyedDecodingContainer) throws -> [any Row] {
        var rows: [any Row] = []
        while !list.isAtEnd { rows.append(try list.decode(type)) }
        return rows
    }

    private static func excess<R: BoundedRow>(of table: WorldSnapshot.Table, _ type: R.Type) -> String? {
        R.excess(of: table.rows.compactMap { $0 as? R })
    }

    private static func tooMuch(_ path: String, _ name: Name, _ excess: String) -> SnapshotIssue {
        SnapshotIssue(path: "\(path)[\(Diagnosis.quote(name.stringValue))]", message: "the snapshot has \(excess)")
    }

    private static func unknown(_ path: String, _ name: Name, _ version: String) -> SnapshotIssue {
        SnapshotIssue(
            path: "\(path)[\(Diagnosis.quote(name.stringValue))]",
            message: "the snapshot has data that this version of understudy doesn't know; the snapshot was written by "
                + String(version.prefix(40)))
    }
}

extension SnapshotIssue {
    /// Makes an error about a snapshot from the error of its decoder. The message doesn't repeat the malformed value,
    /// which may be a secret.
    fileprivate init(_ error: any Error) {
        let context: DecodingError.Context
        var what = "this value of the snapshot isn't of the expected type or form"
        switch error as? DecodingError {
        case .typeMismatch(_, let found), .valueNotFound(_, let found): context = found
        case .keyNotFound(let key, let found):
            context = found
            what = "\(Diagnosis.quote(key.stringValue)) is missing"
        case .dataCorrupted(let found):
            context = found
            if found.codingPath.isEmpty { what = "the snapshot isn't JSON" }
        default:
            self.init(path: "$", message: "the snapshot can't be read")
            return
        }
        let path = context.codingPath.map { key in
            key.intValue.map { "[\($0)]" }
                ?? (SnapshotIssue.isPlain(key.stringValue)
                    ? ".\(key.stringValue)" : "[\(Diagnosis.quote(key.stringValue))]")
        }
        self.init(path: "$" + path.joined(), message: what)
    }

    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) }
    }
}
