import EmulatorCore
import JSON

/// A source of a seed (the test data of a server): `.builtIn`, `.path("Tests/seed.json")` or `.json("{…}")`.
public enum SeedInput: Sendable {
    /// The built-in seed (test data): three users, two developer teams, test keys.
    case builtIn
    /// The path of a JSON file with a seed (test data), or of a directory whose `*.json` files are read, sorted by
    /// name.
    case path(String)
    /// A seed (test data) as JSON text. Relative paths of files in the text start at `directory`.
    case json(String, directory: String = ".")

    /// Returns a seed (test data) that only sets the default Firebase project, for requests that don't name one. A
    /// project that is in no seed has the defaults of Firebase's Emulator Suite.
    public static func firebaseProject(_ id: String) -> SeedInput {
        .json(Providers.seed(defaultProject: id).text)
    }

    /// Returns a seed (test data) that only sets the address of the Functions emulator of Firebase's Emulator Suite, as
    /// host and port.
    public static func firebaseFunctionsEmulator(_ address: String) -> SeedInput {
        .json(Providers.seed(functionsEmulator: address).text)
    }

    /// Returns a seed (test data) that only sets a date: the providers behave as they did on that day.
    static func json(asOf day: String) -> SeedInput {
        .json(JSONValue.object(JSONObject([("asOf", .string(day))])).text)
    }

    /// Checks seeds (test data) and returns their errors, a line each: file, JSON path, description. The list is empty
    /// if there are no errors.
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

    /// The JSON Schema (2020-12) of seed files, which contain a server's test data.
    public static var schema: String { Providers.seedFormat.jsonSchema.indented() + "\n" }

    /// The reference of seed files (a server's test data), as a page of Markdown.
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

    /// Returns a function that checks the seeds (initial data) that test worlds get while a daemon with these options
    /// runs.
    static func check(_ options: RunningServer.Options) -> @Sendable ([SeedSource]) throws(Issues) -> Seed {
        { sources throws(Issues) in
            var seed = try checked(sources)
            seed.daemonDay = options.day
            return seed
        }
    }

    /// Merges seeds (test data) in sequence, and checks the result.
    package static func checked(_ sources: [SeedSource]) throws(Issues) -> Seed {
        let seed = try Seed(sources, format: Providers.seedFormat)
        guard !seed.writtenFaults.isEmpty || !seed.writtenOutcomes.isEmpty else { return seed }
        // Only the providers know which faults an endpoint can have.
        let misfits = Composition.catalog(for: seed).issues(inOrdersOf: seed)
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

/// The built-in seed (test data): `seed-data/default.json` and the keys that it names, embedded so that the binary
/// needs no other files.
enum BuiltInSeed {
    static var source: SeedSource {
        get throws(Issues) {
            guard let seed = EmbeddedFiles.bytes(at: "default.json") else {
                throw Issues(file: "default.json", "it isn't built in")
            }
            return SeedSource(name: "built-in default.json", bytes: seed, isChecked: true) { name in
                guard let bytes = EmbeddedFiles.bytes(at: name) else { throw Missing() }
                return bytes
            }
        }
    }

    private struct Missing: Error {}
}

extension EmbeddedFiles {
    /// Returns the embedded file at `path` below the directory `seed-data`, or `nil` if there is none.
    static func bytes(at path: String) -> [UInt8]? {
        all.first { $0.path == path }?.text.withUTF8Buffer { Array($0) }
    }
}
