import JOSE
import JSON
import Platform
import Synchronization
import Text

extension Seed {
    /// Reads, validates and merges seed files, in their order. Throws all mistakes in all files at once.
    package init(_ sources: [SeedSource], format: SeedFormat) throws(Issues) {
        self = try Seed.load(sources, format)
        // The text and its JSON took several times the memory of what is kept of them.
        if people.count > Seed.manyPeople { understudy_return_free_memory() }
    }

    /// The whole seed in the form of a single seed file, with PEM texts of keys in place of file names. It is made anew
    /// each time, because keeping it would take several times the seed's memory.
    package var document: JSONValue {
        let files = sources.compactMap { source -> LocatedJSON? in
            guard let value = try? JSONValue(parsing: source.bytes, limits: .file) else { return nil }
            var keyFiles = KeyFiles(source: source, reader: nil, readsKeys: false)
            return keyFiles.resolved(LocatedJSON(value, file: source.name))
        }
        guard let first = files.first else { return [:] }
        return files.dropFirst().reduce(first) { format.schema.merge($0, $1) }.value
    }

    /// The approximate number of JSON objects in the seed's files. All opening braces are counted, even those in texts.
    var objectCount: Int {
        sources.reduce(0) { sum, source in source.bytes.reduce(sum) { $0 + ($1 == UInt8(ascii: "{") ? 1 : 0) } }
    }

    private static let manyPeople = 1_000

    private static func load(_ given: [SeedSource], _ format: SeedFormat) throws(Issues) -> Seed {
        let sources = given.map { $0.keepingFiles() }
        let isChecked = sources.allSatisfy(\.isChecked)
        var issues: [Issue] = []
        var files: [LocatedJSON] = []
        var keys: [String: Key] = [:]
        let reader = try? KeyReader()
        for source in sources {
            do {
                let json = LocatedJSON(try JSONValue(parsing: source.bytes, limits: .file), file: source.name)
                if !source.isChecked { issues += format.schema.issues(in: json) }
                var keyFiles = KeyFiles(source: source, reader: reader)
                files.append(keyFiles.resolved(json))
                issues += keyFiles.issues
                keys.merge(keyFiles.keys) { first, _ in first }
            } catch {
                issues.append(Issue(file: source.name, path: "$", message: "not JSON: \(error)"))
            }
        }
        let first = files.first ?? LocatedJSON([:], file: sources.first?.name ?? "seed")
        let merged = files.dropFirst().reduce(first) { format.schema.merge($0, $1) }
        if !isChecked {
            var references = SeedReferences(merged, keys: keys, format: format)
            references.check()
            issues += references.issues
        }
        guard issues.isEmpty else { throw Issues(issues) }
        var seed = Seed(reading: merged, keys: keys, format: format)
        seed.sources = sources
        return seed
    }
}

/// A seed file before it is parsed: its name for error messages, its bytes, and a function that reads other files in
/// the same directory.
package struct SeedSource: Sendable {
    package let name: String
    package let bytes: [UInt8]
    package let readBeside: @Sendable (String) throws -> [UInt8]
    /// Whether the seed was checked earlier, for example when it was built into the program, so that it needn't be
    /// checked again.
    let isChecked: Bool
    /// Whether the seed may refer to other files, such as key files.
    let namesFiles: Bool

    package init(
        name: String, bytes: [UInt8], isChecked: Bool = false,
        readBeside: @escaping @Sendable (String) throws -> [UInt8]
    ) {
        self.name = name
        self.bytes = bytes
        self.isChecked = isChecked
        self.readBeside = readBeside
        namesFiles = true
    }

    /// Makes a seed file from bytes that don't come from a file, such as the body of a request. Such a seed can't refer
    /// to files, since it could name any file that the daemon can read.
    package init(name: String, sent bytes: [UInt8], isChecked: Bool = false) {
        self.name = name
        self.bytes = bytes
        self.isChecked = isChecked
        readBeside = { _ in throw NoFiles() }
        namesFiles = false
    }

    /// Returns a copy of the seed file that keeps the contents of the files to which it refers. Each of these files is
    /// read only once.
    func keepingFiles() -> SeedSource {
        guard namesFiles else { return self }
        let kept = KeptFiles()
        return SeedSource(name: name, bytes: bytes, isChecked: isChecked) { [readBeside] path in
            try kept.file(path) { try readBeside(path) }
        }
    }

    private struct NoFiles: Error {}

    private final class KeptFiles: Sendable {
        private let files = Mutex<[String: [UInt8]]>([:])

        func file(_ path: String, read: () throws -> [UInt8]) throws -> [UInt8] {
            if let bytes = files.withLock({ $0[path] }) { return bytes }
            let bytes = try read()
            files.withLock { $0[path] = bytes }
            return bytes
        }
    }

    /// Returns the seed files at `path`, which is a file, or a directory whose `*.json` files are taken in the order of
    /// their names, except `schema.json`.
    package static func files(at path: String) throws(Issues) -> [SeedSource] {
        var paths = [path]
        let isDirectory: Bool
        do { isDirectory = try File.isDirectory(path) } catch {
            throw Issues(file: path, error.isMissing ? "no such file" : "the file can't be read: \(error.reason)")
        }
        if isDirectory {
            let names: [String]
            do { names = try File.names(in: path) } catch {
                throw Issues(file: path, "the directory can't be read: \(error.reason)")
            }
            // The committed JSON Schema is in the same directory, but isn't a seed.
            paths = names.filter { $0.hasSuffix(".json") && $0 != "schema.json" }.map { "\(path)/\($0)" }
            if paths.isEmpty { throw Issues(file: path, "the directory has no *.json file") }
        }
        var sources: [SeedSource] = []
        for path in paths {
            let text: String
            do { text = try File.text(at: path) } catch {
                throw Issues(file: path, "the file can't be read: \(error.reason)")
            }
            let directory = path.lastIndex(ofASCII: "/").map { String(path[..<$0]) } ?? "."
            sources.append(SeedSource(name: path, text: text, directory: directory))
        }
        return sources
    }

    /// Makes a seed file from a text. Relative paths of other files in the text begin at `directory`.
    package init(name: String, text: String, directory: String) {
        self.init(name: name, bytes: Array(text.utf8)) { name in
            try File.read(name.hasPrefix("/") ? name : "\(directory)/\(name)")
        }
    }
}
