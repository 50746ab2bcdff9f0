import Control
import EmulatorCore
import HTTPServer
import JSON
import Logging
import Mail
import Platform
import Proxy
import Synchronization
import Time
import Worlds

/// A stand-in identity provider in this process, for tests. It runs until ``stop()``, or until the last reference to it
/// is released.
///
///     let server = try RunningServer.start()
///     defer { server.stop() }
///     // point the code under test at server.url
public final class RunningServer: Sendable {
    private let plain: Server?
    private let secure: SecureServer?
    private let proxy: ProxyServer?
    private let mail: MailServer
    package let host: String
    package let worlds: WorldRegistry
    /// The token that callers of the control API must send; `nil` if no token is needed.
    package let controlToken: String?
    private let dispatcher: Dispatcher
    private let gauges: ProcessGauges
    private let masksSecrets: Bool
    private let ports: [WorldPorts]
    private let worldPorts: [(world: String, port: Int)]
    private let isClosed = Atomic<Bool>(false)

    init(
        plain: Server?, secure: SecureServer?, proxy: ProxyServer?, mail: MailServer,
        options: Options, worlds: WorldRegistry, dispatcher: Dispatcher, gauges: ProcessGauges,
        ports: [WorldPorts], worldPorts: [(world: String, port: Int)]
    ) {
        self.dispatcher = dispatcher
        self.gauges = gauges
        masksSecrets = options.masksSecrets
        controlToken = options.controlToken
        self.ports = ports
        self.worldPorts = worldPorts
        self.proxy = proxy
        self.mail = mail
        self.plain = plain
        self.secure = secure
        host = options.host
        self.worlds = worlds
    }

    deinit { end() }

    /// Stops the server and closes the store of its test worlds. Call it after the last use of a test world, in a
    /// process that ends before the server is released. Further calls do nothing.
    package func end() {
        stop()
        guard !isClosed.exchange(true, ordering: .sequentiallyConsistent) else { return }
        worlds.removeAll()
    }

    /// The server's HTTP port, or the HTTPS port if HTTP isn't served.
    public var port: Int { Int(plain?.port ?? secure?.port ?? 0) }

    /// The server's HTTPS port; `nil` without TLS.
    public var tlsPort: Int? { (secure?.port).map(Int.init) }

    /// The URL of the server: `http://`, or `https://` if HTTP isn't served, with host and port but without a slash at
    /// the end.
    public var url: String { "\(plain == nil ? "https" : "http")://\(authority):\(port)" }

    /// The address of the server's HTTP proxy: `http://` with host and port; `nil` without a proxy.
    public var proxyURL: String? { proxy.map { "http://\(authority):\($0.port)" } }

    /// The server's HTTPS address: `https://` with host and port; `nil` without TLS.
    public var tlsURL: String? { tlsPort.map { "https://\(authority):\($0)" } }

    /// The test worlds that have ports of their own by ``Options/worldPorts``, in the sequence of the option. Each has
    /// its address: `http://` with host and port.
    public var worldURLs: [(world: String, url: String)] {
        worldPorts.map { (world: $0.world, url: "http://\(authority):\($0.port)") }
    }

    /// The port of the server's SMTP service for incoming mail; `nil` if there is none.
    public var smtpPort: Int? { mail.port.map(Int.init) }

    /// Host and port of the server's SMTP service, such as `127.0.0.1:1025`; `nil` if there is none.
    public var smtpAddress: String? { smtpPort.map { "\(authority):\($0)" } }

    /// The test worlds that have SMTP ports of their own by ``Options/worldMailPorts``, in the sequence of the option.
    /// Each has its host and port.
    public var worldMailAddresses: [(world: String, address: String)] {
        mail.worldPorts.map { (world: $0.world, address: "\(authority):\($0.port)") }
    }

    private var authority: String { host.contains(":") ? "[\(host)]" : host }

    /// The number of requests that the server has received, including those to the control API.
    package var requestCount: Int { dispatcher.requestCount }

    /// Returns whether the server stands in for this host of a provider.
    package func plays(_ host: String) -> Bool { dispatcher.plays(host) }

    /// Returns which provider's endpoint answers a request to a provider's host, and whether the endpoint authorizes
    /// users; `nil` if no endpoint answers.
    package func endpoint(_ method: String, _ host: String, _ path: String) -> (provider: String?, authorizes: Bool)? {
        dispatcher.endpoint(method, host, path)
    }

    /// The date of the providers' behaviour that the default test world imitates, such as `2026-04-01`, or `next` for
    /// all announced changes; `nil` if no date was chosen.
    package var imitatedDay: String? { worlds.main.seed.asOf?.description }

    /// The account IDs of the users in the seed (the test data).
    package var accounts: [String] { worlds.main.seed.people.rows.map(\.id) }

    package func report() -> RunReport { RunReport(worlds, masksSecrets: masksSecrets, version: Version.current) }

    /// Returns the `count` most recent refused requests of all test worlds, the oldest first, each with the reason:
    /// `POST appleid.apple.com/auth/token: …`.
    public func lastRefusals(_ count: Int) -> [String] { report().lastRefusals(count) }

    /// Writes the users and settings of the default Firebase project in the default test world, as
    /// `firebase emulators:export` does. After an error, nothing has been written. Other files in the directory stay.
    ///
    /// - Throws: ``StartError``, which says what can't be written, and why.
    public func export(to directory: String) throws {
        var isWritten = false
        let world: World
        do throws(StoreFailure) { world = try worlds.existing(worlds.unnamed) ?? worlds.main } catch {
            throw StartError(description: error.diagnosis.line)
        }
        do {
            for case let provider as any ExportsData in Providers.playing(world.seed) {
                if try provider.export(world, to: directory) { isWritten = true }
            }
        } catch let failure as StoreFailure {
            throw StartError(description: failure.diagnosis.line)
        } catch {
            throw StartError(description: "\(error)")
        }
        guard isWritten else { throw StartError(description: "\(directory): there is no Firebase project to export") }
    }

    /// Returns the environment variables by which a client finds a protected resource of the seed, such as the one at
    /// `/mcp/corp`, whose ID is `corp`.
    ///
    /// - Throws: ``StartError`` if the seed has no such resource.
    package func variables(ofResource id: String) throws(StartError) -> [(name: String, value: String)] {
        let all = Providers.playing(worlds.main.seed).compactMap { $0 as? any ProtectsResources }
        if let provider = all.first(where: { $0.resourceIDs.contains(id) }) {
            return provider.variables(ofResource: id, daemon: url)
        }
        let ids = all.flatMap(\.resourceIDs)
        throw StartError(
            description: "--mcp: no issuer \(Diagnosis.quote(id)) is seeded\(Spelling.hint(id, among: ids))"
                + (Diagnosis.alternatives(Array(ids.prefix(10))).map { "; expected \($0)" } ?? ""))
    }

    /// Makes load balancers send requests to other servers: from now on `health` answers 503, and each answer is the
    /// last on its connection. Requests are still served until ``stop()``.
    package func announceEnd() {
        gauges.announceEnd()
        plain?.announceEnd()
        secure?.announceEnd()
    }

    /// Stops the server: accepts no more connections, and waits for the requests in flight, a second at most.
    /// Unfinished requests are answered with 503. Further calls do nothing.
    public func stop() {
        proxy?.stop()
        for ports in ports { ports.end() }
        WorkThread.doAll([
            { [plain] in plain?.stop() }, { [secure] in secure?.stop() },
            { [mail] in mail.stop() },
        ])
    }
}

extension RunningServer {
    /// The options of a stand-in identity provider. Every option has a default that suits tests.
    ///
    ///     var options = RunningServer.Options()
    ///     options.tlsPort = 0
    ///     let server = try RunningServer.start(options: options)
    public struct Options: Sendable {
        /// The host on which the server listens: an IP address, or `localhost`. The default opens both loopback
        /// addresses.
        public var host = "127.0.0.1"
        /// The server's port for HTTP; 0 chooses a free one.
        public var port: UInt16 = 0
        /// Descriptors of sockets that already listen, for HTTP. They replace ``host`` and ``port``.
        public var listeningSockets: [Int32] = []
        /// The server's port for HTTPS, which gives the same answers as HTTP; 0 chooses a free port, `nil` opens none.
        public var tlsPort: UInt16?
        /// Whether the server serves only HTTPS, so that ``port`` isn't opened.
        public var isTLSOnly = false
        /// The port for an HTTP proxy, which passes requests for the provider hosts to this server; 0 chooses a free
        /// port, `nil` opens none. With a proxy, TLS is served, too.
        public var proxyPort: UInt16?
        /// Whether the HTTP proxy also serves requests to hosts that aren't a provider's, by connecting to the real
        /// hosts.
        public var proxyPassesThrough = false
        /// The SMTP port for incoming mail; 0 chooses a free port, `nil` opens none. If the server has TLS, the port
        /// offers STARTTLS.
        public var smtpPort: UInt16?
        /// Further SMTP ports. Each is listed with the name of the only test world that gets the port's mail; port 0
        /// chooses a free port. These ports work only if ``smtpPort`` is set, too.
        public var worldMailPorts: [(world: String, port: UInt16)] = []
        /// The local certificate authority that issues the server's certificate. It must exist if TLS is used.
        public var authority = LocalAuthority()
        /// The lifetime of the server's certificate. Only tests set it.
        package var certificateLifetime: TimeSpan?
        /// The interval between checks whether the server's certificate must be renewed. Only tests set it.
        package var certificateInterval: Duration?
        /// The generator of signing keys for test worlds in memory; `nil` makes one for this server. Servers of one
        /// process that share a generator needn't wait for keys.
        package var keyGenerator: KeyGenerator?
        /// The test world for requests that don't name one. It is kept until the server stops, because
        /// ``RunningServer/export(to:)`` writes it.
        public var defaultWorld = "default"
        /// The store in which the server keeps its test worlds: `memory`, `sqlite:PATH` for a file, or the URL of a
        /// PostgreSQL database. In a file or database, worlds outlive the server. With `nil`, the environment variable
        /// `UNDERSTUDY_STORE` names the store; without the variable, it is memory.
        public var store: String?
        /// Further HTTP ports. Each is listed with the name of the test world that gets all requests to the port; port
        /// 0 chooses a free port. The ports stay open until the server stops.
        public var worldPorts: [(world: String, port: UInt16)] = []
        /// Further host names by which the control API can be called, in addition to loopback names and IP addresses.
        public var controlHosts: [String] = []
        /// The token that callers of the control API must send as `Authorization: Bearer TOKEN`, and for which the
        /// inspector's pages ask: 16 to 256 letters, digits and `-._~+/=`. With `nil`, no token is needed. The
        /// providers' endpoints never need this token.
        public var controlToken: String?
        /// Scenarios (ready-made situations) with which every test world begins: names of built-in ones or paths of
        /// files, with values of their parameters after commas, such as `slow-provider,delay=2s`.
        public var scenarios: [String] = []
        /// The stand-ins behave as the real providers did on this day, such as `2026-04-01`. With `next`, they behave
        /// as the real providers have announced. With `nil`, the day is the seed's, or else today.
        public var asOf: String?
        /// A directory written by `firebase emulators:export`. Every test world begins with the exported users, in the
        /// default Firebase project.
        public var importDirectory: String?
        /// Whether secrets in recorded requests and answers are replaced by `masked-` and their length.
        public var masksSecrets = false
        /// The most bytes that the recorded requests of all test worlds may have together: 1 MB or more. Above this
        /// size, the oldest requests are removed.
        public var recordingLimit = 64_000_000
        /// Whether a test world's refused requests stay in the recording of all worlds when the world is removed or
        /// reset.
        package var keepsRefusalsOfGoneWorlds = false
        /// The number of threads that serve connections; `nil` means one for each processor core.
        public var workers: Int?
        /// Returns the number of log lines that were lost, for the control API's `health`; `nil` if they aren't
        /// counted.
        package var droppedLogLines: (@Sendable () -> Int)?
        /// The logger of the server. Refused requests are logged at `info` with the reason, other requests at `debug`,
        /// and problems of the server at `warning` or `error`. No secret is logged.
        public var logger: Logger

        /// Makes the options of a stand-in identity provider, with defaults. Without a logger, nothing is logged.
        public init(logger: Logger? = nil) {
            self.logger = logger ?? Logger(label: "understudy") { _ in SwiftLogNoOpLogHandler() }
        }

        /// The date for test worlds whose seed names none. The stand-ins behave as the real providers did on that date.
        var day: Day { asOf.flatMap { Day($0) } ?? .today }
    }
}

/// The reason why a server couldn't start or export data. Errors in the seeds (the test data) have a line each.
public struct StartError: Error, CustomStringConvertible, Sendable {
    /// The lines that say why the server couldn't start or export data, ready to be shown to the user.
    public let description: String
}
