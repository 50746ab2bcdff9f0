import ArgumentParser
import EmulatorCore
import Platform
import Understudy

struct SnapshotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot",
        abstract: "Save a test world as JSON, or load a saved world, also into another kind of store.",
        discussion:
            "The file contains all secrets of the world: codes, tokens, keys. Only its owner may read the file.",
        subcommands: [Save.self, Load.self])

    /// The options with which a snapshot command chooses a test world, and either a running daemon or a store.
    struct Place: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "The test world. (default: the default world, which answers requests that name no world)",
                valueName: "name"))
        var world: String?

        @Option(help: "The daemon's address. (default: UNDERSTUDY_URL, or \(DaemonClient.defaultURL))")
        var url: String?

        @Option(
            help: ArgumentHelp(
                "Instead of --url: the store of a stopped daemon, as given to serve's --store. Needs --seed.",
                valueName: "store"))
        var store: String?

        @Option(
            name: .customLong("seed"),
            help: ArgumentHelp(
                "With --store: the daemon's seed files, as given to serve's --seed. May be repeated.",
                valueName: "path"),
            completion: .file())
        var seeds: [String] = []

        @Option(
            name: .customLong("import"),
            help: ArgumentHelp(
                "With --store: the directory of exported Firebase users, if the daemon was started with --import.",
                valueName: "path"),
            completion: .file())
        var importDirectory: String?

        func validate() throws {
            guard url == nil || store == nil else { throw ValidationError("--url and --store: give one of them.") }
            guard seeds.isEmpty || store != nil else { throw ValidationError("--seed goes with --store.") }
            guard importDirectory == nil || store != nil else { throw ValidationError("--import goes with --store.") }
            guard let world, !WorldName.isValid(world) else { return }
            throw ValidationError("--world: \"\(world)\" can't be a test world's name: \(WorldName.rule).")
        }

        /// Calls `body` with a client of the daemon. With the option `--store`, a daemon is started on the given store
        /// for this call, and ended afterwards.
        func use(_ body: (DaemonClient) throws -> Void) throws {
            do {
                guard let store else {
                    let url = url ?? Environment.value("URL") ?? DaemonClient.defaultURL
                    return try body(DaemonClient(url: url, world: world, token: DaemonOptions.knownControlToken()))
                }
                var options = RunningServer.Options()
                options.store = store
                options.importDirectory = importDirectory ?? Environment.value("IMPORT")
                let paths = seeds.isEmpty ? Environment.list("SEED") : seeds
                let server = try RunningServer.start(
                    seeds: paths.isEmpty ? [.builtIn] : paths.map { .path($0) }, options: options)
                defer { server.end() }
                try body(DaemonClient(url: server.url, world: world, token: nil))
            } catch let error as StartError {
                Terminal.complain("understudy: \(error)")
                throw ExitCode(1)
            } catch let failure as File.Failure {
                Terminal.complain("understudy: \(failure)")
                throw ExitCode(1)
            }
        }
    }

    struct Save: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "save", abstract: "Save a test world to a file, except for its recorded requests.")

        @OptionGroup var place: Place

        @Argument(help: "The file to write, readable only by its owner; - is standard output.", completion: .file())
        var file: String

        func validate() throws {
            if let store = place.store, let reason = RunningServer.reasonAgainstSaving(from: store) {
                throw ValidationError("--store: \(reason).")
            }
        }

        func run() throws {
            try place.use { daemon in
                // Asking for the snapshot of an unknown world would create the world.
                if let world = place.world, try !daemon.worlds().contains(world) {
                    Terminal.complain("understudy: there is no test world \"\(world)\"")
                    throw ExitCode(1)
                }
                let snapshot = try daemon.call("GET", "snapshot")
                guard file == "-" else { return try File.write(snapshot, to: file, mode: 0o600) }
                Terminal.write(snapshot)
            }
        }
    }

    struct Load: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "load", abstract: "Replace the contents of a test world with a saved world.")

        @OptionGroup var place: Place

        @Argument(help: "The file that \"snapshot save\" wrote; - is standard input.", completion: .file())
        var file: String

        func run() throws {
            try place.use { daemon in
                let limit = WorldSnapshot.sizeLimit
                let snapshot = file == "-" ? try File.standardInput(limit: limit) : try File.read(file, limit: limit)
                try daemon.call("PUT", "snapshot", body: snapshot, from: file == "-" ? "standard input" : file)
            }
        }
    }
}
