import EmulatorCore
import Logging
import Time

extension RunningServer {
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
        /// Whether only HTTPS is served: then ``port`` isn't listened on.
        public var isTLSOnly = false
        /// The port for an HTTP proxy that leads the provider hosts to this server; 0 takes a free one, `nil` has none.
        /// With a proxy, TLS is served, too.
        public var proxyPort: UInt16?
        /// Whether the proxy connects to other hosts, over the network.
        public var proxyPassesThrough = false
        /// A mail server to which all mail of all worlds is handed on: `HOST:PORT`, or `USER:PASSWORD@HOST:PORT`. `nil` hands
        /// none on.
        public var smtpForward: String?
        /// The port for mail by SMTP; 0 takes a free one, `nil` has none. With TLS, it offers STARTTLS.
        public var smtpPort: UInt16?
        /// Ports of their own for worlds' mail, by their names, as ``worldPorts``. They go with ``smtpPort``.
        public var worldMailPorts: [(world: String, port: UInt16)] = []
        /// The authority that issues the certificate. It must exist before TLS is asked for.
        public var authority = LocalAuthority()
        /// The certificate's lifetime, and how often the server checks whether to renew it; for tests.
        package var certificateLifetime: TimeSpan?
        package var certificateInterval: Duration?
        /// Makes the keys of a server whose worlds are kept in memory; `nil` makes a generator for this server. Servers of one
        /// process that share it need not wait for keys.
        package var keyGenerator: KeyGenerator?
        /// The world of requests that name none. It stays, as ``RunningServer/export(to:)`` writes it.
        public var defaultWorld = "default"
        /// Where worlds are kept: `memory`, or `sqlite:` and the path of a file, with which they outlive the server. When it is
        /// `nil`, the environment's `UNDERSTUDY_STORE` says it; without that, it is memory.
        public var store: String?
        /// Ports of their own for worlds, by their names; 0 takes a free one. Every request to such a port is for that world.
        /// They stay open until the server stops.
        public var worldPorts: [(world: String, port: UInt16)] = []
        /// Host names, beside loopback names and IP addresses, at which the control API answers.
        public var controlHosts: [String] = []
        /// What callers of the control API show, as `Authorization: Bearer TOKEN`, and what the inspector's pages ask a browser for:
        /// 16 to 256 letters, digits and `-._~+/=`. `nil` takes anybody. Endpoints of providers never want it.
        public var controlToken: String?
        /// Scenarios that every world begins with: names of built-in ones, or paths of files, with values of their parameters
        /// after commas, such as `slow-provider,delay=2s`.
        public var scenarios: [String] = []
        /// A directory that `firebase emulators:export` wrote: every world begins with its users, in the default project.
        public var importDirectory: String?
        /// Whether the recording shows secrets as `masked-` and their length.
        public var masksSecrets = false
        /// Bytes that the recordings of all worlds may take together; beyond it, the oldest exchanges go. At least 1 MB.
        public var recordingLimit = 64_000_000
        /// Whether what a world has refused outlives it, for whoever asks for the recording of all worlds.
        package var keepsRefusalsOfGoneWorlds = false
        /// Threads that serve connections; one a core when `nil`.
        public var workers: Int?
        /// Tells `health` how many lines of the log couldn't be written; `nil` when the maker of the logger doesn't count
        /// them.
        package var droppedLogLines: (@Sendable () -> Int)?
        /// Refusals are logged at `info` with their diagnosis, all else at `debug`. No secret is logged.
        public var logger: Logger

        /// Logs nothing unless a logger is given.
        public init(logger: Logger? = nil) {
            self.logger = logger ?? Logger(label: "understudy") { _ in SwiftLogNoOpLogHandler() }
        }
    }
}
