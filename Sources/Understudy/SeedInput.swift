import EmulatorCore
import JSON

/// Where a seed comes from.
public enum SeedInput: Sendable {
    /// The seed that is built in: three people, two teams, test keys.
    case builtIn
    /// A JSON file, or a directory whose `*.json` are read in name order.
    case path(String)
    /// JSON text. Files that it names are looked for in `directory`.
    case json(String, directory: String = ".")

    /// A seed that names the Firebase project of requests that name none, and nothing else. The project need not be seeded:
    /// it then has the Emulator Suite's defaults.
    public static func firebaseProject(_ id: String) -> SeedInput {
        .json(Providers.seed(defaultProject: id).text)
    }

    /// Checks seed files and returns what is wrong in them, one line each: file, JSON path, what is wrong. Empty when all is well.
    public static func faults(in seeds: [SeedInput]) -> [String] {
        do {
            _ = try load(seeds)
            return []
        } catch let error as StartError {
            return error.description.split(separator: "\n").map(String.init)
        } catch {
            return ["\(error)"]
        }
    }

    /// The JSON Schema (2020-12) of a seed file.
    public static var schema: String { Providers.seedFormat.jsonSchema.indented() + "\n" }

    /// The reference of a seed file, as a page of Markdown.
    public static var reference: String { Providers.seedFormat.reference }

    package static func load(_ inputs: [SeedInput]) throws -> Seed {
        do throws(Issues) {
            var sources: [SeedSource] = []
            for input in inputs { sources += try input.sources() }
            return try checked(sources)
        } catch {
            throw StartError(description: error.description)
        }
    }

    /// Merges files in order, and checks the whole.
    package static func checked(_ sources: [SeedSource]) throws(Issues) -> Seed {
        let seed = try Seed(sources, format: Providers.seedFormat)
        guard !seed.writtenFaults.isEmpty || !seed.writtenOutcomes.isEmpty else { return seed }
        // Only the providers know what can go wrong where.
        let catalog = Composition.catalog(for: seed)
        let misfits =
            seed.writtenFaults.flatMap { catalog.issues(in: $0, seed) }
            + seed.writtenOutcomes.flatMap { catalog.issues(inOutcome: $0, seed) }
        guard misfits.isEmpty else { throw Issues(misfits) }
        return seed
    }

    private func sources() throws(Issues) -> [SeedSource] {
        switch self {
        case .builtIn: return [try BuiltInSeed.source]
        case .path(let path): return try SeedSource.files(at: path)
        case .json(let text, let directory): return [SeedSource(name: "seed", text: text, directory: directory)]
        }
    }
}
