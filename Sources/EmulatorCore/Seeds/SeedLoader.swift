import Platform
import JOSE
import JSON

extension Seed {
    /// Reads, validates and merges files in order. Throws every issue of every file at once.
    package init(_ sources: [SeedSource], format: SeedFormat) throws(Issues) {
        self = try Seed.load(sources, format)
        // The text and its JSON took several times the memory of what is kept of them.
        if people.count > Seed.manyPeople { understudy_return_free_memory() }
    }

    /// The whole seed as one file would have it, with the texts of keys in place of their files' names. It is made anew
    /// each time, because it would take several times the memory of what is kept.
    package var document: JSONValue {
        let files = sources.compactMap { source -> LocatedJSON? in
            guard let value = try? JSONValue(parsing: source.bytes, limits: .file) else { return nil }
            var keyFiles = KeyFiles(source: source, reader: nil, readsKeys: false)
            return keyFiles.resolved(LocatedJSON(value, file: source.name))
        }
        guard let first = files.first else { return [:] }
        return files.dropFirst().reduce(first) { format.schema.merge($0, $1) }.value
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
