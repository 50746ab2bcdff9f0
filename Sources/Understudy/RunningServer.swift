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
    /// The token that the control API expects; `nil` if there is none.
    package let controlToken: String?
    private let dispatcher: Dispatcher
    private let gauges: ProcessGauges
    private let masksSecrets: Bool
    private let ports: [WorldPorts]
    /// The ports of ``Options/worldPorts``, in the same order.
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

    /// Stops the server and closes its store, after the last reading from worlds. For processes that end before the
    /// last reference is released. Further calls do nothing.
    package func end() {
        stop()
        guard !isClosed.exchange(true, ordering: .sequentiallyConsistent) else { return }
        worlds.removeAll()
    }

    /// The HTTP port, or the HTTPS port if HTTP isn't served.
    public var port: Int { Int(plain?.port ?? secure?.port ?? 0) }

    /// The HTTPS port; `nil` without TLS.
    public var tlsPort: Int? { (secure?.port).map(Int.init) }

    /// The server's address: `http://`, or `https://` if HTTP isn't served, with host and port but without a slash at
    /// the end.
    public var url: String { "\(plain == nil ? "https" : "http")://\(authority):\(port)" }

    /// The proxy's address: `http://` with host and port; `nil` without a proxy.
    public var proxyURL: String? { proxy.map { "http://\(authority):\($0.port)" } }

    /// The HTTPS address: `https://` with host and port; `nil` without TLS.
    public var tlsURL: String? { tlsPort.map { "https://\(authority):\($0)" } }

    /// The worlds of ``Options/worldPorts``, each with its address: `http://` with host and port, in the same order.
    public var worldURLs: [(world: String, url: String)] {
        worldPorts.map { (world: $0.world, url: "http://\(authority):\($0.port)") }
    }

    /// The SMTP port; `nil` if there is none.
    public var smtpPort: Int? { mail.port.map(Int.init) }

    /// Host and port of SMTP, such as `127.0.0.1:1025`; `nil` if there is none.
    public var smtpAddress: String? { smtpPort.map { "\(authority):\($0)" } }

    /// The worlds of ``Options/worldMailPorts``, each with host and port, in the same order.
    public var worldMailAddresses: [(world: String, address: String)] {
        mail.worldPorts.map { (world: $0.world, address: "\(authority):\($0.port)") }
    }

    private var authority: String { host.contains(":") ? "[\(host)]" : host }

    /// The number of requests so far, including those to the control API.
    package var requestCount: Int { dispatcher.requestCount }

    /// Returns whether the host is played.
    package func plays(_ host: String) -> Bool { dispatcher.plays(host) }

    /// Returns what answers a request at a played host; `nil` if nothing is served there.
    package func endpoint(_ method: String, _ host: String, _ path: String) -> (provider: String?, authorizes: Bool)? {
        dispatcher.endpoint(method, host, path)
    }

    /// The IDs of the people of the seed.
    package var accounts: [String] { worlds.main.seed.people.rows.map(\.id) }

    /// Returns a report on all worlds so far.
    package func report() -> RunReport { RunReport(worlds, masksSecrets: masksSecrets, version: Version.current) }

    /// Returns the last refused requests of all worlds, the oldest first, each with its diagnosis: `POST
    /// appleid.apple.com/auth/token: …`.
    public func lastRefusals(_ count: Int) -> [String] { report().lastRefusals(count) }

    /// Writes the users and settings of the default project in the default world, as `firebase emulators:export` does:
    /// either everything or nothing. Other files in the directory stay.
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
        guard isWritten else { throw StartError(description: "\(directory): there is no project to export") }
    }

    /// Returns the environment variables by which a client finds a protected resource, such as `corp`'s at `/mcp/corp`.
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

    /// Makes load balancers send requests elsewhere: from now on `health` answers 503, and each answer is the last on
    /// its connection. Requests are still served until ``stop()``.
    package func announceEnd() {
        gauges.announceEnd()
        plain?.announceEnd()
        secure?.announceEnd()
    }

    /// Stops accepting connections, and finishes the requests in flight within two seconds. Further calls do nothing.
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
    /// The options of a server. Every one has a default that suits tests.
    ///
    ///     var options = RunningServer.Options()
    ///     options.tlsPort = 0
    ///     let server = try RunningServer.start(options: options)
    public struct Options: Sendable {
        /// An IP address, or `localhost`. The default opens both loopback addresses.
        public var host = "127.0.0.1"
        /// The port for HTTP; 0 chooses a free one.
        public var port: UInt16 = 0
        /// Descriptors of sockets that are already listening, for HTTP. They replace ``host`` and ``port``.
        public var listeningSockets: [Int32] = []
        /// The port for HTTPS, which gives the same answers as HTTP; 0 chooses a free one, `nil` opens none.
        public var tlsPort: UInt16?
        /// Whether only HTTPS is served, so that ``port`` isn't opened.
        public var isTLSOnly = false
        /// The port for an HTTP proxy that sends requests to the provider hosts to this server; 0 chooses a free one,
        /// `nil` opens none. With a proxy, TLS is served too.
        public var proxyPort: UInt16?
        /// Whether the proxy connects to other hosts, over the real network.
        public var proxyPassesThrough = false
        /// The SMTP port for incoming mail; 0 chooses a free one, `nil` opens none. With TLS, it offers STARTTLS.
        public var smtpPort: UInt16?
        /// SMTP ports for single worlds, by name, like ``worldPorts``. They need ``smtpPort``.
        public var worldMailPorts: [(world: String, port: UInt16)] = []
        /// The authority that issues the certificate. It must exist if TLS is used.
        public var authority = LocalAuthority()
        /// The certificate's lifetime, and the interval between checks for its renewal; for tests.
        package var certificateLifetime: TimeSpan?
        package var certificateInterval: Duration?
        /// The generator of keys for worlds in memory; `nil` makes one for this server. Servers of one process that
        /// share a generator needn't wait for keys.
        package var keyGenerator: KeyGenerator?
        /// The world for requests that don't name one. It is kept until the end, because ``RunningServer/export(to:)``
        /// writes it.
        public var defaultWorld = "default"
        /// The store of the worlds: `memory`; or `sqlite:` and the path of a file, in which worlds outlive the server;
        /// or the URL of a PostgreSQL database. `nil` uses the environment's `UNDERSTUDY_STORE`, or else memory.
        public var store: String?
        /// Ports for single worlds, by name; 0 chooses a free one. Every request to such a port belongs to that world.
        /// They stay open until the server stops.
        public var worldPorts: [(world: String, port: UInt16)] = []
        /// Further host names of the control API, beside loopback names and IP addresses.
        public var controlHosts: [String] = []
        /// The token that callers of the control API must send as `Authorization: Bearer TOKEN`, and that the
        /// inspector's pages ask for: 16 to 256 letters, digits and `-._~+/=`. With `nil`, no token is needed. The
        /// providers' endpoints never need it.
        public var controlToken: String?
        /// Scenarios with which every world begins: names of built-in ones or paths of files, with values of their
        /// parameters after commas, such as `slow-provider,delay=2s`.
        public var scenarios: [String] = []
        /// The day whose behaviour the providers have: a day such as `2026-04-01`, or `next` for what they have announced.
        /// `nil` plays the seed's day, or today's behaviour.
        public var asOf: String?
        /// A directory written by `firebase emulators:export`. Every world begins with its users, in the default
        /// project.
        public var importDirectory: String?
        /// Whether secrets in the recording are replaced by `masked-` and their length.
        public var masksSecrets = false
        /// The most bytes of all worlds' recordings together, at least 1 MB. When they are full, the oldest exchanges
        /// are removed.
        public var recordingLimit = 64_000_000
        /// Whether the refusals in a world are kept when the world is removed, for readers of the recording of all
        /// worlds.
        package var keepsRefusalsOfGoneWorlds = false
        /// The number of threads that serve connections; `nil` means one a core.
        public var workers: Int?
        /// Returns the number of lost log lines, for `health`; `nil` if they aren't counted.
        package var droppedLogLines: (@Sendable () -> Int)?
        /// The logger. Refusals are logged at `info` with their diagnosis, everything else at `debug`. No secret is
        /// logged.
        public var logger: Logger

        /// Makes options with defaults. Without a logger, nothing is logged.
        public init(logger: Logger? = nil) {
            self.logger = logger ?? Logger(label: "understudy") { _ in SwiftLogNoOpLogHandler() }
        }

        /// The day that worlds play whose seed doesn't say.
        var day: Day { asOf.flatMap { Day($0) } ?? .today }
    }
}

/// The reason why a server couldn't start or export: a line for each error in the seeds, or a single line.
public struct StartError: Error, CustomStringConvertible, Sendable {
    /// The lines, ready to be shown to the user.
    public let description: String
}
