import ArgumentParser
import EmulatorCore
import Logging
import Understudy

/// The command-line options of a daemon, for `understudy serve`, `understudy exec` and `understudy mcp`.
struct DaemonOptions: ParsableArguments {
    @Option(
        name: .customLong("seed"),
        help: ArgumentHelp("A seed file, or a directory of seed files. May be repeated.", valueName: "path"),
        completion: .file())
    var seeds: [String] = []

    @Option(
        name: .customLong("scenario"),
        help: ArgumentHelp(
            "A scenario that every test world starts with: the name of a built-in scenario, or a file. Values of its parameters follow after commas: NAME,host=api.github.com. May be repeated.",
            valueName: "name"))
    var scenarios: [String] = []

    @Option(
        help: ArgumentHelp(
            "Behave as the providers did on this day, such as 2026-04-01; \"next\" adds announced changes. (default: the day in the seed, else today)",
            valueName: "day"))
    var asOf: String?

    @Option(
        help: ArgumentHelp(
            "The Firebase project of requests that name no project. (default: the seed's default project, else GCLOUD_PROJECT, else the seed's first project)",
            valueName: "id"))
    var project: String?

    @Option(
        name: .customLong("import"),
        help: ArgumentHelp(
            "A directory that \"firebase emulators:export\" wrote: test worlds start with its users.", valueName: "path"
        ),
        completion: .file())
    var importDirectory: String?

    @Option(
        help: ArgumentHelp(
            "On exit, export the Firebase users to a directory for --import. (default without a path: the directory of --import)",
            valueName: "path"))
    var exportOnExit: String?

    @Option(help: "The IP address to listen on, or localhost. (default: 127.0.0.1 and ::1)")
    var host: String?

    @Option(help: "The port to listen on; 0 picks a free port. (default: 9099; with exec, 0)")
    var port: UInt16?

    @Option(
        help: ArgumentHelp(
            "Test clients with unusual responses that the specifications allow: \(DaemonOptions.surprises.joined(separator: ", ")). Without names, all occur. On exit, report which of these responses clients failed on.",
            valueName: "names"))
    var rehearse: String?

    @Option(help: "An additional port for HTTPS; 0 picks a free port. Needs \"understudy ca init\".")
    var tlsPort: UInt16?

    @Flag(help: "HTTPS only, on the TLS port.")
    var tlsOnly = false

    @Option(
        help:
            "A port for an HTTP proxy, which passes requests for provider hosts to the daemon; 0 picks a free port. Turns on TLS."
    )
    var proxyPort: UInt16?

    @Flag(help: "Let the proxy forward requests for other hosts to the network.")
    var proxyPassthrough = false

    @Option(help: "A port to receive mail by SMTP; 0 picks a free port. (default: no SMTP; with exec, 0)")
    var smtpPort: UInt16?

    @Option(
        name: .customLong("smtp-world"),
        help: ArgumentHelp(
            "A separate SMTP port for a test world's mail, NAME=PORT; 0 picks a free port. Requires --smtp-port. May be repeated.",
            valueName: "name"))
    var mailWorlds: [String] = []

    @Option(
        help: ArgumentHelp(
            "Where test worlds are stored: memory, sqlite:PATH for a file that survives restarts, or postgresql://ADDRESS for a database that several daemons share. (default: memory)",
            valueName: "store"))
    var store: String?

    @Option(help: ArgumentHelp("The folder of the certificate authority.", valueName: "path"), completion: .file())
    var caDirectory: String?

    @Option(
        name: .customLong("world"),
        help: ArgumentHelp(
            "NAME=PORT gives a test world a separate port; 0 picks a free port. For exec and mcp, NAME without a port chooses the test world for the command or the tools. May be repeated.",
            valueName: "name"))
    var worlds: [String] = []

    @Option(
        name: .customLong("control-host"),
        help: ArgumentHelp(
            "A host name at which the control API answers, besides loopback names and IP addresses. May be repeated.",
            valueName: "name"))
    var controlHosts: [String] = []

    @Option(
        help: ArgumentHelp(
            "The token that callers of the control API must send, as \"Authorization: Bearer TOKEN\", and that the inspector asks for. If UNDERSTUDY_CONTROL_TOKEN sets the token, other users of the machine can't see it. (default: none)",
            valueName: "token"))
    var controlToken: String?

    @Option(help: ArgumentHelp("A file that contains the control token.", valueName: "path"), completion: .file())
    var controlTokenFile: String?

    @Flag(help: "Mask codes, tokens and secrets in recorded requests.")
    var maskSecrets = false

    @Option(
        help: ArgumentHelp(
            "The memory limit for the recorded requests of all test worlds together, such as 64MB. (default: 64MB)",
            valueName: "size"),
        transform: ByteCount.parse)
    var recordingLimit: ByteCount?

    @Option(help: "The log level: trace, debug, info, notice, warning, error or critical. (default: info)")
    var logLevel: Logger.Level?

    @Option(help: "The log format: text or json. (default: text)")
    var logFormat: LogFormat?

    var usesProxy: Bool { proxyPort != nil || Environment.value("PROXY_PORT") != nil }

    /// The Firebase project named on the command line or in the environment. It takes precedence over the seeds.
    var chosenProject: String? { project ?? Environment.value("PROJECT") }

    private var seedPaths: [String] { seeds.isEmpty ? Environment.list("SEED") : seeds }

    var usesBuiltInSeed: Bool { seedPaths.isEmpty }

    /// The seed files that the user has chosen, or else the built-in seed, with the Firebase project and the Functions
    /// emulator that options and environment variables name.
    var inputs: [SeedInput] {
        let files: [SeedInput] = usesBuiltInSeed ? [.builtIn] : seedPaths.map { .path($0) }
        // Firebase's own tools set GCLOUD_PROJECT. A seed's project overrides it, and our own option overrides both.
        let surrounding = Environment.variable("GCLOUD_PROJECT").map { [SeedInput.firebaseProject($0)] } ?? []
        let functions = Environment.variable("FIREBASE_FUNCTIONS_EMULATOR_HOST").map {
            [SeedInput.firebaseFunctionsEmulator($0)]
        }
        let chosen = chosenProject.map { [SeedInput.firebaseProject($0)] } ?? []
        return surrounding + (functions ?? []) + files + chosen
    }

    var authority: LocalAuthority { LocalAuthority(directory: caDirectory ?? Environment.value("CA_DIRECTORY")) }

    /// The names of the surprises (unusual but legal responses) with which a rehearsal tests a client. The scenario
    /// `rehearse-NAME` turns on a single one.
    private static let surprises = [
        "member-order", "rotated-keys", "slow", "unavailable", "unknown-claims", "unknown-members",
    ]

    /// Returns the names of the scenarios that make responses unusual, as the option `--rehearse` asks. If the option
    /// names variations, such as `slow`, there is one scenario for each. If it names none, the scenario `rehearsal` has
    /// all variations. Without the option, there is no scenario.
    private func rehearsals() throws -> [String] {
        guard let wanted = rehearse ?? Environment.value("REHEARSE"), wanted != "false" else { return [] }
        if wanted == "true" { return ["rehearsal"] }
        return try wanted.split(separator: ",", omittingEmptySubsequences: false).map { name in
            guard DaemonOptions.surprises.contains(String(name)) else {
                let from = rehearse == nil ? "UNDERSTUDY_REHEARSE" : "--rehearse"
                throw ValidationError(
                    "\(from): unknown variation \"\(name)\": expected one of \(DaemonOptions.surprises.joined(separator: ", "))."
                )
            }
            return "rehearse-\(name)"
        }
    }

    /// Writes how the client has coped with the unusual responses of the option `--rehearse`, if the option was given.
    func reportRehearsal(of server: RunningServer, to output: LineWriter = .standardError) throws {
        guard try !rehearsals().isEmpty else { return }
        for line in server.report().rehearsal { output.write("understudy: \(line)") }
    }

    private func chosenDay() throws -> String? {
        guard let text = asOf ?? Environment.value("AS_OF") else { return nil }
        return try ChangesCommand.day(text, from: asOf == nil ? "UNDERSTUDY_AS_OF" : "--as-of").description
    }

    /// Starts the daemon. If that fails, the reason is printed to standard error, and an exit code is thrown. A wrong
    /// option is thrown as a `ValidationError`.
    func start(
        defaultPort: UInt16, defaultMailPort: UInt16? = nil, change: (inout RunningServer.Options) -> Void = { _ in }
    ) throws -> RunningServer {
        let level =
            try logLevel ?? Environment.value("LOG_LEVEL", as: Logger.Level.self, expected: "a log level") ?? .info
        let format =
            try logFormat ?? Environment.value("LOG_FORMAT", as: LogFormat.self, expected: "text or json") ?? .text
        let log = LineWriter.standardError
        var options = RunningServer.Options(logger: format.logger(level: level, to: log))
        options.droppedLogLines = { log.droppedLines }
        options.host = host ?? Environment.value("HOST") ?? options.host
        options.port =
            try port ?? Environment.port() ?? defaultPort
        options.controlHosts = try chosenControlHosts()
        options.controlToken = try chosenControlToken()
        options.tlsPort = try tlsPort ?? Environment.value("TLS_PORT", as: UInt16.self, expected: "a port, 0 to 65535")
        options.isTLSOnly =
            try tlsOnly || Environment.value("TLS_ONLY", as: Bool.self, expected: "true or false") ?? false
        options.proxyPort =
            try proxyPort ?? Environment.value("PROXY_PORT", as: UInt16.self, expected: "a port, 0 to 65535")
        options.proxyPassesThrough =
            try proxyPassthrough
            || Environment.value("PROXY_PASSTHROUGH", as: Bool.self, expected: "true or false") ?? false
        options.smtpPort =
            try smtpPort ?? Environment.value("SMTP_PORT", as: UInt16.self, expected: "a port, 0 to 65535")
            ?? defaultMailPort
        try expectLastingImport()
        options.importDirectory = try importedDirectory()
        options.store = store
        options.asOf = try chosenDay()
        try chooseWorlds(&options)
        options.authority = authority
        options.scenarios = scenarios.isEmpty ? Environment.list("SCENARIO") : scenarios
        options.scenarios += try rehearsals()
        options.masksSecrets =
            try maskSecrets || Environment.value("MASK_SECRETS", as: Bool.self, expected: "true or false") ?? false
        let limit =
            try recordingLimit
            ?? Environment.value("RECORDING_LIMIT", as: ByteCount.self, expected: ByteCount.expectation)
        if let limit { options.recordingLimit = limit.bytes }
        options.keepsRefusalsOfGoneWorlds = true
        change(&options)
        let server: RunningServer
        do {
            server = try RunningServer.start(seeds: inputs, options: options)
        } catch {
            Terminal.complain("understudy: \(error)")
            throw ExitCode(1)
        }
        if !["127.0.0.1", "::1", "localhost"].contains(options.host), !options.host.hasPrefix("127.") {
            let warning =
                "listening on \(options.host), which other machines can reach. Understudy lets anyone sign in as any "
                + "user: it is for tests only, never for production."
                + (options.controlToken == nil
                    ? " Anyone who can reach the daemon can also change its behaviour and read its mail: --control-token restricts that to callers with the token."
                    : "")
                + (options.proxyPassesThrough
                    ? " By --proxy-passthrough, other machines can also reach this machine's own ports." : "")
            // With a JSON log, warnings are JSON too.
            if format == .json { options.logger.warning("\(warning)") } else { log.write("WARNING: \(warning)") }
        }
        return server
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}

/// A value of the option `--world`. `NAME=PORT` opens a port for a test world, and `NAME` chooses the world for
/// requests that name no world.
struct WorldOption: Equatable {
    let name: String
    let port: UInt16?

    /// Parses the value of an option such as `--world`. `option` is the option's name, for error messages.
    init(_ text: String, option: String = "--world") throws {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        name = parts[0]
        port = parts.count > 1 ? UInt16(parts[1]) : nil
        guard WorldName.isValid(name) else {
            throw ValidationError(
                "\(option): \"\(name)\" can't be a test world's name: \(WorldName.rule); \"understudy world-name TEXT\" turns any text into a valid name."
            )
        }
        guard parts.count == 1 || port != nil else {
            throw ValidationError("\(option) \(name): \"\(parts[1])\" isn't a port, 0 to 65535.")
        }
    }
}

extension DaemonOptions {
    private var worldOptions: [WorldOption] {
        get throws { try (worlds.isEmpty ? Environment.list("WORLD") : worlds).map { try WorldOption($0) } }
    }

    /// Refuses an option `--world NAME` without a port. `understudy serve` needs the form `--world NAME=PORT`.
    func expectWorldPorts() throws {
        guard let option = try worldOptions.first(where: { $0.port == nil }) else { return }
        throw ValidationError(
            "--world \(option.name): give the world's port, too, as in --world \(option.name)=9101; 0 picks a free port."
        )
    }

    /// Returns the name of the test world for requests that name no world, or `nil` if no option chooses one.
    func ownWorld() throws -> String? { try worldOptions.first { $0.port == nil }?.name }

    /// Applies the options `--world` and `--smtp-world`: sets the test worlds' ports, and the world for requests that
    /// name no world.
    func chooseWorlds(_ options: inout RunningServer.Options) throws {
        let chosen = try worldOptions
        let own = chosen.filter { $0.port == nil }.map(\.name)
        guard own.count <= 1 else {
            throw ValidationError(
                "--world: the command can use one test world, not \(own.joined(separator: ", ")); write NAME=PORT to give a world a port of its own."
            )
        }
        if let name = own.first { options.defaultWorld = name }
        options.worldPorts = chosen.compactMap { option in option.port.map { (world: option.name, port: $0) } }
        try DaemonOptions.expectOnePort(options.worldPorts.map(\.world), option: "--world")
        try chooseMailWorlds(&options)
    }

    /// Applies the options for mail: sets the SMTP ports of test worlds.
    private func chooseMailWorlds(_ options: inout RunningServer.Options) throws {
        let name = "--smtp-world"
        let chosen = try (mailWorlds.isEmpty ? Environment.list("SMTP_WORLD") : mailWorlds).map {
            try WorldOption($0, option: name)
        }
        options.worldMailPorts = try chosen.map { option in
            guard let port = option.port else {
                throw ValidationError(
                    "\(option.name) has no port: give the world's SMTP port, as in --smtp-world NAME=1026; 0 picks a free port."
                )
            }
            return (world: option.name, port: port)
        }
        guard chosen.isEmpty || options.smtpPort != nil else {
            throw ValidationError("\(name) goes with --smtp-port.")
        }
        try DaemonOptions.expectOnePort(chosen.map(\.name), option: name)
    }

    private static func expectOnePort(_ names: [String], option: String) throws {
        guard let twice = names.first(where: { name in names.count { $0 == name } > 1 }) else { return }
        throw ValidationError(
            "\(option) \(twice): two ports are given for this test world, and a world can have only one.")
    }
}

extension DaemonOptions {
    /// Returns the additional host names at which the control API answers.
    func chosenControlHosts() throws -> [String] {
        let name = controlHosts.isEmpty ? "UNDERSTUDY_CONTROL_HOST" : "--control-host"
        let hosts = controlHosts.isEmpty ? Environment.list("CONTROL_HOST") : controlHosts
        for host in hosts where !HostName.isValid(host, isLocal: true) {
            throw ValidationError(
                "\(name): \"\(host)\" can't be a host name: expected a name such as \"idp.example\", without scheme, port and path."
            )
        }
        return hosts
    }

    /// Returns the token that callers of the control API must send, or `nil` if they need none. Error messages never
    /// contain it.
    func chosenControlToken() throws -> String? {
        guard controlToken == nil || controlTokenFile == nil else {
            throw ValidationError("--control-token and --control-token-file: give one of them.")
        }
        if let controlToken { return try DaemonOptions.checked(controlToken, from: "--control-token") }
        if let controlTokenFile { return try DaemonOptions.read(controlTokenFile, from: "--control-token-file") }
        return try DaemonOptions.knownControlToken()
    }

    /// Returns the control token from the environment, for starting a daemon or calling one.
    static func knownControlToken() throws -> String? {
        if let token = Environment.value("CONTROL_TOKEN") {
            return try DaemonOptions.checked(token, from: "UNDERSTUDY_CONTROL_TOKEN")
        }
        guard let path = Environment.value("CONTROL_TOKEN_FILE") else { return nil }
        return try DaemonOptions.read(path, from: "UNDERSTUDY_CONTROL_TOKEN_FILE")
    }

    /// Reads the control token from a file, as containers get secrets. Line breaks at its end are ignored.
    private static func read(_ path: String, from name: String) throws -> String {
        let text: String
        do throws(File.Failure) { text = try File.text(at: path, limit: 4_096) } catch {
            throw ValidationError("\(name): \(error).")
        }
        let end = text.lastIndex { !$0.isNewline }.map { text.index(after: $0) } ?? text.startIndex
        return try checked(String(text[..<end]), from: name)
    }

    private static func checked(_ token: String, from name: String) throws -> String {
        guard ControlToken(token) != nil else {
            throw ValidationError("\(name): expected a token of \(ControlToken.rule).")
        }
        return token
    }
}

// The options --import and --export-on-exit read and write the data of `firebase emulators:export`, as `firebase
// emulators:start` does:
// https://firebase.google.com/docs/emulator-suite/install_and_configure#export_and_import_emulator_data

extension DaemonOptions {
    private static let exportOption = "--export-on-exit"
    private static let rehearseOption = "--rehearse"

    /// Adds the value `true` to an option `--export-on-exit` or `--rehearse` that has no value.
    static func completed(_ arguments: [String]) -> [String] {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        return arguments.enumerated().map { place, argument in
            guard place < end, argument == exportOption || argument == rehearseOption else { return argument }
            guard place + 1 < end, !arguments[place + 1].hasPrefix("-") else { return "\(argument)=true" }
            // The next argument may be the option's value, or the command of `exec`.
            let names = arguments[place + 1].split(separator: ",").map(String.init)
            let isValue = argument == exportOption || names.contains { surprises.contains($0) }
            return isValue ? argument : "\(argument)=true"
        }
    }

    /// Returns the directory to which the Firebase users are exported when the daemon ends, or `nil` if they aren't
    /// exported.
    func exportDirectory() throws -> String? {
        guard let wanted = exportOnExit ?? Environment.value("EXPORT_ON_EXIT"), wanted != "false" else { return nil }
        guard wanted == "true" else { return wanted }
        guard let directory = namedImport else {
            throw ValidationError("--export-on-exit needs a directory: give one, or use --import.")
        }
        return directory
    }

    private var namedImport: String? { importDirectory ?? Environment.value("IMPORT") }

    /// Refuses to export users into the directory of `--import` if the store keeps the imported users after the
    /// daemon's end. Otherwise, the export would change the files from which these users were imported, and because of
    /// this change the daemon's next start would fail.
    func expectLastingImport() throws {
        let store = store ?? Environment.value("STORE") ?? "memory"
        guard let directory = namedImport, try exportDirectory() == directory,
            !["memory", "checked"].contains(store), !store.hasSuffix("#temporary")
        else { return }
        throw ValidationError(
            "--import and --export-on-exit can use the same directory only with --store memory. This store keeps the users itself, so the next start would be refused."
        )
    }

    /// Returns the directory from which users are imported; `nil` if no users are imported. If users are also exported
    /// to the directory, it may be missing or empty, and then no users are imported.
    func importedDirectory() throws -> String? {
        guard let directory = namedImport else { return nil }
        guard try exportDirectory() == directory else { return directory }
        do throws(File.Failure) {
            guard try File.names(in: directory).isEmpty else { return directory }
        } catch {
            guard error.isMissing else { return directory }
        }
        LineWriter.standardError.write("understudy: the import directory \(directory) is empty: no users are imported")
        return nil
    }

    /// Exports the Firebase users to `directory`, if it isn't `nil`. Returns `false` if they couldn't be written.
    static func export(
        _ server: RunningServer, to directory: String?, _ output: LineWriter = .standardError
    ) -> Bool {
        guard let directory else { return true }
        do {
            try server.export(to: directory)
            return true
        } catch {
            output.write("understudy: \(error)")
            return false
        }
    }
}

/// The options for files that `understudy exec` writes about a run, such as a HAR file.
struct EvidenceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "On exit, write all requests and responses, of all test worlds, to an HTTP archive (HAR).",
            valueName: "path"),
        completion: .file())
    var har: String?

    @Option(
        help: ArgumentHelp(
            "On exit, write a JUnit XML report: a failure for each refused request, with the reason.", valueName: "path"
        ),
        completion: .file())
    var junit: String?

    /// Writes the HAR file and the JUnit report of a run, if requested. Returns `false` if one couldn't be written.
    func write(_ server: RunningServer, of run: RunTime, _ complaints: LineWriter) -> Bool {
        let archive = har ?? Environment.value("HAR")
        let results = junit ?? Environment.value("JUNIT")
        guard archive != nil || results != nil else { return true }
        let report = server.report()
        var isWritten = true
        func write(_ path: String, _ bytes: @autoclosure () -> [UInt8]) {
            do throws(File.Failure) {
                try File.put(bytes(), at: path)
            } catch {
                complaints.write("understudy: \(error)")
                isWritten = false
            }
        }
        if let archive { write(archive, report.archive.serialized()) }
        if let results {
            write(results, Array(report.junit(host: run.host, began: run.began, seconds: run.seconds).utf8))
        }
        return isWritten
    }
}

/// A number of bytes as people write it in an option: `64MB`, `5000kB`, `1GB`, `1MiB`, or without a unit.
struct ByteCount: ExpressibleByArgument, Sendable {
    static let expectation = "a size from 1 MB to 1 TB, such as 64MB"
    private static let range = 1_000_000...1_000_000_000_000
    private static let units: [(suffix: String, bytes: Int)] = [
        ("kib", 1 << 10), ("mib", 1 << 20), ("gib", 1 << 30), ("kb", 1_000), ("mb", 1_000_000), ("gb", 1_000_000_000),
        ("b", 1), ("", 1),
    ]

    let bytes: Int

    /// Parses a number of bytes from an option's value. The error names the limits.
    static func parse(_ argument: String) throws -> ByteCount {
        guard let count = ByteCount(argument: argument) else { throw ValidationError("expected \(expectation)") }
        return count
    }

    init?(argument: String) {
        let text = argument.lowercased()
        guard let unit = ByteCount.units.first(where: { text.hasSuffix($0.suffix) }) else { return nil }
        let digits = text.dropLast(unit.suffix.count)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int(digits) else {
            return nil
        }
        let (bytes, overflow) = count.multipliedReportingOverflow(by: unit.bytes)
        guard !overflow, ByteCount.range.contains(bytes) else { return nil }
        self.bytes = bytes
    }
}
