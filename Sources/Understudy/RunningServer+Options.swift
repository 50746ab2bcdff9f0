import EmulatorCore
import Logging
import Time

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
