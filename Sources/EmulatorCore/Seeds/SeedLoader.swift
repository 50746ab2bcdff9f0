import Platform
import JOSE
import JSON

extension Seed {
    /// Reads, validates and merges files in order. Throws every issue of every file at once.
    package init(_ sources: [SeedSource], format: SeedFormat) throws(Issues) {
        self = try Seed.load(sources, format)
        // The text and its JSON were several times as large as what is kept of them.
        if people.count > Seed.manyPeople { understudy_return_free_memory() }
    }

    private static let manyPeople = 1_000

    private static func load(_ sources: [SeedSource], _ format: SeedFormat) throws(Issues) -> Seed {
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
        return Seed(reading: merged, keys: keys, format: format)
    }
}
