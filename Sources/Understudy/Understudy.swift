import Apple
import Control
import Facebook
import Firebase
import GitHub
import Google
import HTTPServer
import Logging
import Proxy
import EmulatorCore
import Time

/// A stand-in identity provider for tests: start it in process, or run the `understudy` command.
///
///     let server = try Understudy.start()
///     defer { server.stop() }
///     // point the code under test at server.url
public enum Understudy {
    /// The version of this package, as `health` reports it.
    public static let version = "0.1.0"

    /// Where a seed comes from.
    public enum SeedInput: Sendable {
        /// The seed that is built in: three people, two teams, test keys.
        case builtIn
        /// A JSON file, or a directory whose `*.json` are read in name order.
        case path(String)
        /// JSON text. Files that it names are looked for in `directory`.
        case json(String, directory: String = ".")
    }

    /// How the server runs. Every property has a default that suits tests.
    public struct Options: Sendable {
        /// An IP address or `localhost`. The default serves both loopback addresses.
        public var host = "127.0.0.1"
        /// 0 takes a free port.
        public var port: UInt16 = 0
        /// Descriptors of sockets that listen already, for HTTP: ``host`` and ``port`` then mean nothing.
        public var listeningSockets: [Int32] = []
        /// The port for HTTPS, beside HTTP and with the same answers; 0 takes a free one, `nil` has none.
        public var tlsPort: UInt16?
        /// HTTPS only: ``port`` isn't listened on.
        public var isTLSOnly = false
        /// The port for an HTTP proxy that leads played hosts here; needs TLS, which it brings along. 0 takes a free one,
        /// `nil` has none.
        public var proxyPort: UInt16?
        /// Whether the proxy lets other hosts through, to the network.
        public var proxyPassesThrough = false
        /// Who vouches for the certificate; there must be one before TLS is asked for.
        public var authority = LocalAuthority()
        /// The certificate's lifetime, and how often it is looked whether to renew it; for tests.
        package var certificateLifetime: TimeSpan?
        package var certificateInterval: Duration?
        /// Host names, beside loopback names and IP addresses, at which the control API answers.
        public var controlHosts: [String] = []
        /// Scenarios that every world begins with: names of built-in ones, or paths of files.
        public var scenarios: [String] = []
        /// Whether the recording shows secrets as `masked-` and their length.
        public var masksSecrets = false
        /// Bytes that the recordings of all worlds may take together; beyond it, the oldest exchanges go. At least 1 MB.
        public var recordingLimit = 64_000_000
        /// Threads that serve connections; one a core when `nil`.
        public var workers: Int?
        /// How many lines of the log couldn't be written, for `health`; `nil` when whoever made the logger doesn't count them.
        package var droppedLogLines: (@Sendable () -> Int)?
        /// Refusals are logged at `info` with their diagnosis, all else at `debug`. No secret is logged.
        public var logger: Logger

        /// Logs nothing unless a logger is given.
        public init(logger: Logger? = nil) {
            self.logger = logger ?? Logger(label: "understudy") { _ in SwiftLogNoOpLogHandler() }
        }
    }

    /// Starts a server on `seeds`, merged in order.
    ///
    /// - Throws: ``StartError`` with every fault of the seeds, or with why it can't listen.
    public static func start(seeds: [SeedInput] = [.builtIn], options: Options = Options()) throws -> RunningServer {
        let seed = try loadSeed(seeds)
        let worlds = WorldRegistry(
            seed: seed, generator: KeyGenerator(),
            budget: ProcessBudget(recordingLimit: max(1_000_000, options.recordingLimit), logger: options.logger))
        let gauges = ProcessGauges(droppedLogLines: options.droppedLogLines)
        let dispatcher = try dispatcher(seed, worlds, options, gauges)
        var serverOptions = Server.Options()
        serverOptions.host = options.host
        serverOptions.port = options.port
        serverOptions.listening = options.listeningSockets
        serverOptions.refusalHeaders = { dispatcher.refusalHeaders(reason: $0) }
        serverOptions.warn = { options.logger.warning("\($0)") }
        serverOptions.log = { options.logger.debug("libmicrohttpd: \($0)") }
        if let workers = options.workers { serverOptions.workers = workers }
        do {
            let plain = options.isTLSOnly ? nil : try Server(serverOptions) { dispatcher.handle($0) }
            if let plain { gauges.add("http") { [weak plain] in plain?.counters } }
            let needsTLS = options.isTLSOnly || options.proxyPort != nil
            guard let tlsPort = options.tlsPort ?? (needsTLS ? 0 : nil) else {
                return RunningServer(plain: plain, secure: nil, host: options.host, worlds: worlds)
            }
            serverOptions.port = tlsPort
            serverOptions.listening = []
            var secureOptions = SecureServer.Options(
                server: serverOptions, authority: options.authority, hosts: certifiedNames(for: seed),
                logger: options.logger)
            if let lifetime = options.certificateLifetime { secureOptions.lifetime = lifetime }
            if let interval = options.certificateInterval { secureOptions.interval = interval }
            let secure = try SecureServer(secureOptions) { dispatcher.handle($0) }
            gauges.add("https") { [weak secure] in secure?.counters }
            let proxy = try options.proxyPort.map { port in
                try startProxy(port, options, plain: plain, secure: secure) { dispatcher.plays($0) }
            }
            return RunningServer(plain: plain, secure: secure, proxy: proxy, host: options.host, worlds: worlds)
        } catch {
            throw StartError(description: "\(error)")
        }
    }

    /// Everything but the sockets: what answers the requests to a daemon that starts with `seed`.
    package static func dispatcher(
        _ seed: Seed, _ worlds: WorldRegistry, _ options: Options, _ gauges: ProcessGauges = ProcessGauges()
    ) throws -> Dispatcher {
        let providers = providers(for: seed)
        let chosen = try scenarios(options.scenarios)
        let scenarios = Lazy {
            let others = BuiltInScenarios.all.filter { scenario in !chosen.contains { $0.name == scenario.name } }
            return (others + chosen).sorted { $0.name < $1.name }
        }
        let status = StatusPage(
            providers: providers, version: version, chosen: chosen, scenarios: scenarios,
            masksSecrets: options.masksSecrets)
        let pages = [
            Operation("GET", [], "/", nil) { status.response($0) },
            // Browsers ask for it by themselves; it is nobody's failure.
            Operation("GET", [], "/favicon.ico", nil) { _ in Response(status: 204) },
        ]
        let control = ControlAPI(
            providers: providers, worlds: worlds, version: version, hosts: options.controlHosts,
            scenarios: scenarios, masksSecrets: options.masksSecrets, gauges: gauges)
        return Dispatcher(
            providers: providers, own: pages + control.operations, controlRefusal: { control.refusal(of: $0) },
            worlds: worlds, scenarios: chosen, logger: options.logger)
    }

    private static func startProxy(
        _ port: UInt16, _ options: Options, plain: Server?, secure: SecureServer,
        plays: @escaping @Sendable (String) -> Bool
    ) throws -> ProxyServer {
        var proxyOptions = ProxyServer.Options()
        proxyOptions.host = options.host
        proxyOptions.port = port
        let isEverywhere = ["localhost", "0.0.0.0", "::"].contains(options.host)
        proxyOptions.upstream = isEverywhere ? "127.0.0.1" : options.host
        proxyOptions.httpPort = plain?.port
        proxyOptions.tlsPort = secure.port
        proxyOptions.plays = plays
        proxyOptions.passesThrough = options.proxyPassesThrough
        proxyOptions.warn = { options.logger.warning("\($0)") }
        proxyOptions.log = { options.logger.info("proxy: \($0)") }
        return try ProxyServer(proxyOptions)
    }

    /// Checks seed files and returns their faults, one line each: file, JSON path, what is wrong. Empty when all is well.
    public static func faults(in seeds: [SeedInput]) -> [String] {
        do {
            _ = try loadSeed(seeds)
            return []
        } catch let error as StartError {
            return error.description.split(separator: "\n").map(String.init)
        } catch {
            return ["\(error)"]
        }
    }

    /// The JSON Schema (2020-12) of a seed file.
    public static var seedSchema: String { Shape.schemaDocument.indented() + "\n" }

    /// The scenarios that are built in, as a page of Markdown.
    public static var scenarioDocumentation: String { BuiltInScenarios.documentation }

    package static func loadSeed(_ inputs: [SeedInput]) throws -> Seed {
        do throws(SeedFaults) {
            var sources: [SeedSource] = []
            for input in inputs { sources += try input.sources() }
            let seed = try Seed(sources)
            guard !seed.faultNodes.isEmpty else { return seed }
            // Only the providers know what can go wrong where.
            let catalog = catalog(for: seed)
            let misfits = seed.faultNodes.flatMap { catalog.faults(in: $0) }
            guard misfits.isEmpty else { throw SeedFaults(faults: misfits) }
            return seed
        } catch {
            throw StartError(description: error.description)
        }
    }

    /// Where something can be ordered to go wrong.
    package static func catalog(for seed: Seed) -> OperationCatalog {
        OperationCatalog(providers: providers(for: seed))
    }

    static func providers(for seed: Seed) -> [any Provider] {
        [
            AppleProvider(seed: seed), GitHubProvider(seed: seed), GoogleProvider(seed: seed),
            FacebookProvider(seed: seed), FirebaseProvider(seed: seed),
        ]
    }

    private static func scenarios(_ names: [String]) throws -> [Scenario] {
        do throws(SeedFaults) {
            var scenarios: [Scenario] = []
            for name in names { scenarios.append(try BuiltInScenarios.find(name)) }
            return scenarios
        } catch {
            throw StartError(description: error.description)
        }
    }
}

extension Understudy.SeedInput {
    func sources() throws(SeedFaults) -> [SeedSource] {
        switch self {
        case .builtIn: return [BuiltInSeed.source]
        case .path(let path): return try SeedSource.files(at: path)
        case .json(let text, let directory): return [SeedSource(name: "seed", text: text, directory: directory)]
        }
    }
}

/// Why a server didn't start: one line for each fault of the seeds, or one line in all.
public struct StartError: Error, CustomStringConvertible, Sendable {
    /// The lines, ready to be shown to a person.
    public let description: String
}

/// A server that runs until ``stop()`` or until it is let go.
public final class RunningServer: Sendable {
    private let plain: Server?
    private let secure: SecureServer?
    private let proxy: ProxyServer?
    private let host: String
    private let worlds: WorldRegistry

    init(
        plain: Server?, secure: SecureServer?, proxy: ProxyServer? = nil, host: String, worlds: WorldRegistry
    ) {
        self.proxy = proxy
        self.plain = plain
        self.secure = secure
        self.host = host
        self.worlds = worlds
    }

    /// The port that is listened on: HTTP's, or with TLS alone HTTPS's.
    public var port: Int { Int(plain?.port ?? secure?.port ?? 0) }

    /// HTTPS's port; `nil` without TLS.
    public var tlsPort: Int? { (secure?.port).map(Int.init) }

    /// `http://` (with TLS alone `https://`) with host and port, without a slash at the end.
    public var url: String { "\(plain == nil ? "https" : "http")://\(authority):\(port)" }

    /// `http://` with host and port of the proxy; `nil` without one.
    public var proxyURL: String? { proxy.map { "http://\(authority):\($0.port)" } }

    /// `https://` with host and port; `nil` without TLS.
    public var tlsURL: String? { tlsPort.map { "https://\(authority):\($0)" } }

    private var authority: String { host.contains(":") ? "[\(host)]" : host }

    /// The last requests that were refused, in all worlds, the oldest first: `POST appleid.apple.com/auth/token: ` and the
    /// diagnosis.
    public func lastRefusals(_ count: Int) -> [String] {
        let all = worlds.all.flatMap { $0.world.recording.exchanges }.filter { $0.diagnosis != nil }
        return all.sorted { $0.began < $1.began }.suffix(count).map { exchange in
            "\(exchange.request.method) \(exchange.host ?? "")\(exchange.path): \(exchange.diagnosis ?? "")"
        }
    }

    /// Stops accepting, finishes what is in flight, at most two seconds. Calling it again does nothing.
    public func stop() {
        proxy?.stop()
        WorkThread.doAll([{ [plain] in plain?.stop() }, { [secure] in secure?.stop() }])
    }
}
