import ArgumentParser
import Logging
import Understudy

/// The options of `serve`, which `exec` also has.
struct DaemonOptions: ParsableArguments {
    @Option(
        name: .customLong("seed"),
        help: ArgumentHelp("A seed file, or a directory of them. May be repeated.", valueName: "path"),
        completion: .file())
    var seeds: [String] = []

    @Option(
        name: .customLong("scenario"),
        help: ArgumentHelp(
            "A scenario that every world begins with: a built-in one's name, or a file, and values of its parameters: NAME,host=api.github.com. May be repeated.",
            valueName: "name"))
    var scenarios: [String] = []

    @Option(
        help: ArgumentHelp(
            "Play the providers as of a day, such as 2026-04-01, or \"next\" for what they have announced. (default: the seed's, else today)",
            valueName: "day"))
    var asOf: String?

    @Option(
        help: ArgumentHelp(
            "The Firebase project of requests that name none. (default: the seed's, else GCLOUD_PROJECT, else the seed's first)",
            valueName: "id"))
    var project: String?

    @Option(
        name: .customLong("import"),
        help: ArgumentHelp(
            "A directory that \"firebase emulators:export\" wrote: worlds begin with its users.", valueName: "path"),
        completion: .file())
    var importDirectory: String?

    @Option(
        help: ArgumentHelp(
            "Write such a directory at the end. (default: without a path, that of --import)", valueName: "path"))
    var exportOnExit: String?

    @Option(help: "The IP address to listen on, or localhost. (default: 127.0.0.1 and ::1)")
    var host: String?

    @Option(help: "The port; 0 takes a free one. (default: 9099; with exec, 0)")
    var port: UInt16?

    @Option(help: "A port for HTTPS beside HTTP; 0 takes a free one. Needs \"understudy ca init\".")
    var tlsPort: UInt16?

    @Flag(help: "HTTPS only, on the TLS port.")
    var tlsOnly = false

    @Option(help: "A port for an HTTP proxy that leads provider hosts here; 0 takes a free one. Brings TLS along.")
    var proxyPort: UInt16?

    @Flag(help: "Let the proxy pass other hosts through, to the network.")
    var proxyPassthrough = false

    @Option(help: "A port for mail by SMTP; 0 takes a free one. (default: none; with exec, 0)")
    var smtpPort: UInt16?

    @Option(
        name: .customLong("smtp-world"),
        help: ArgumentHelp(
            "A port of its own for a world's mail, NAME=PORT; 0 takes a free one. Goes with --smtp-port. May be repeated.",
            valueName: "name"))
    var mailWorlds: [String] = []

    @Option(
        help: ArgumentHelp(
            "Where worlds are kept: memory, sqlite:PATH for a file with which they outlive the daemon, or postgresql://ADDRESS for a database that daemons share. (default: memory)",
            valueName: "store"))
    var store: String?

    @Option(help: ArgumentHelp("The folder of the certificate authority.", valueName: "path"), completion: .file())
    var caDirectory: String?

    @Option(
        name: .customLong("world"),
        help: ArgumentHelp(
            "A port of its own for a world, NAME=PORT; 0 takes a free one. With exec, NAME alone is the command's world, and with mcp the tools'. May be repeated.",
            valueName: "name"))
    var worlds: [String] = []

    @Option(
        name: .customLong("control-host"),
        help: ArgumentHelp("Another host name at which the control API answers. May be repeated.", valueName: "name"))
    var controlHosts: [String] = []

    @Option(
        help: ArgumentHelp(
            "What callers of the control API must show, as \"Authorization: Bearer TOKEN\", and the inspector asks for. In UNDERSTUDY_CONTROL_TOKEN other users of the machine can't see it. (default: none)",
            valueName: "token"))
    var controlToken: String?

    @Option(help: ArgumentHelp("A file that holds the control token.", valueName: "path"), completion: .file())
    var controlTokenFile: String?

    @Flag(help: "Mask codes, tokens and secrets in the recording.")
    var maskSecrets = false

    @Option(
        help: ArgumentHelp(
            "What the recordings of all worlds may take together, such as 64MB. (default: 64MB)", valueName: "size"),
        transform: ByteCount.parse)
    var recordingLimit: ByteCount?

    @Option(help: "trace, debug, info, notice, warning, error or critical. (default: info)")
    var logLevel: Logger.Level?

    @Option(help: "text or json. (default: text)")
    var logFormat: LogFormat?

    var usesProxy: Bool { proxyPort != nil || Environment.value("PROXY_PORT") != nil }

    /// The Firebase project named on the command line or in the environment; it overrides the seeds.
    var chosenProject: String? { project ?? Environment.value("PROJECT") }

    /// The seeds, or else the built-in one.
    var inputs: [SeedInput] {
        let paths = seeds.isEmpty ? Environment.list("SEED") : seeds
        let files: [SeedInput] = paths.isEmpty ? [.builtIn] : paths.map { .path($0) }
        // Firebase's own tools set GCLOUD_PROJECT. A seed's project overrides it, and our own option overrides both.
        let surrounding = Environment.variable("GCLOUD_PROJECT").map { [SeedInput.firebaseProject($0)] } ?? []
        let chosen = chosenProject.map { [SeedInput.firebaseProject($0)] } ?? []
        return surrounding + files + chosen
    }

    var authority: LocalAuthority { LocalAuthority(directory: caDirectory ?? Environment.value("CA_DIRECTORY")) }

    private func chosenDay() throws -> String? {
        guard let text = asOf ?? Environment.value("AS_OF") else { return nil }
        return try ChangesCommand.day(text, from: asOf == nil ? "UNDERSTUDY_AS_OF" : "--as-of").description
    }

    /// Starts the daemon. If it can't be started, the error says why in a line.
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
                "listening on \(options.host), which other machines can reach. Understudy signs anyone in as anyone: "
                + "it is for tests only, never for production."
                + (options.controlToken == nil
                    ? " Whoever reaches it may also change what it does and read its mail: --control-token keeps that to those who know the token."
                    : "")
            // With a JSON log, warnings are JSON too.
            if format == .json { options.logger.warning("\(warning)") } else { log.write("WARNING: \(warning)") }
        }
        return server
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
