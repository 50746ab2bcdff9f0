import Control
import EmulatorCore
import HTTPServer
import JSON
import Mail
import Proxy
import Platform
import Synchronization

/// A stand-in identity provider for tests, in this process. It runs until ``stop()``, or until the last reference to it
/// is gone.
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
    /// What callers of the control API show; `nil` where it takes anybody.
    package let controlToken: String?
    private let dispatcher: Dispatcher
    private let gauges: ProcessGauges
    private let masksSecrets: Bool
    private let ports: [WorldPorts]
    /// The ports of ``Options/worldPorts``, in that order.
    private let worldPorts: [(world: String, port: Int)]
    private let mailQueue: MailQueue?
    private let isClosed = Atomic<Bool>(false)

    init(
        plain: Server?, secure: SecureServer?, proxy: ProxyServer?, mail: MailServer, mailQueue: MailQueue?,
        options: Options, worlds: WorldRegistry, dispatcher: Dispatcher, gauges: ProcessGauges,
        ports: [WorldPorts], worldPorts: [(world: String, port: Int)]
    ) {
        self.dispatcher = dispatcher
        self.gauges = gauges
        masksSecrets = options.masksSecrets
        controlToken = options.controlToken
        self.ports = ports
        self.mailQueue = mailQueue
        self.worldPorts = worldPorts
        self.proxy = proxy
        self.mail = mail
        self.plain = plain
        self.secure = secure
        host = options.host
        self.worlds = worlds
    }

    deinit { end() }

    /// Stops, and leaves the store: what is to be read of worlds has been read. For processes that end before the last reference
    /// goes. Further calls do nothing.
    package func end() {
        stop()
        guard !isClosed.exchange(true, ordering: .sequentiallyConsistent) else { return }
        worlds.removeAll()
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

    /// The worlds of ``Options/worldPorts`` with `http://`, host and port of each, in that order.
    public var worldURLs: [(world: String, url: String)] {
        worldPorts.map { (world: $0.world, url: "http://\(authority):\($0.port)") }
    }

    /// The port for mail by SMTP; `nil` without one.
    public var smtpPort: Int? { mail.port.map(Int.init) }

    /// Host and port for mail by SMTP, such as `127.0.0.1:1025`; `nil` without one.
    public var smtpAddress: String? { smtpPort.map { "\(authority):\($0)" } }

    /// The worlds of ``Options/worldMailPorts`` with host and port of each, in that order.
    public var worldMailAddresses: [(world: String, address: String)] {
        mail.worldPorts.map { (world: $0.world, address: "\(authority):\($0.port)") }
    }

    private var authority: String { host.contains(":") ? "[\(host)]" : host }

    /// How many requests have come, those to the control API included.
    package var requestCount: Int { dispatcher.requestCount }

    /// What happened in all worlds so far.
    package func report() -> RunReport { RunReport(worlds, masksSecrets: masksSecrets, version: Version.current) }

    /// The last requests that were refused, in all worlds, the oldest first: `POST appleid.apple.com/auth/token: ` and the
    /// diagnosis.
    public func lastRefusals(_ count: Int) -> [String] { report().lastRefusals(count) }

    /// Writes the default project's users and settings of the default world, as `firebase emulators:export` does: wholly, or
    /// not at all. What is in the directory beside them stays.
    ///
    /// - Throws: ``StartError`` that says what can't be written, and why.
    public func export(to directory: String) throws {
        var isWritten = false
        do throws(File.Failure) {
            for provider in Providers.playing(worlds.main.seed) {
                if try provider.export(worlds.main, to: directory) { isWritten = true }
            }
        } catch {
            throw StartError(description: error.description)
        }
        guard isWritten else { throw StartError(description: "\(directory): there is no project to export") }
    }

    /// Environment variables by which a client finds a protected resource, such as `corp`'s at `/mcp/corp`.
    ///
    /// - Throws: ``StartError`` where the seed has no such resource.
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

    /// Has balancers send requests elsewhere: `health` answers 503 from now on, and each answer is the last on its connection.
    /// All else is as before, until ``stop()``.
    package func announceEnd() {
        gauges.announceEnd()
        plain?.announceEnd()
        secure?.announceEnd()
    }

    /// Stops accepting and finishes the requests in flight, for at most two seconds. Further calls do nothing.
    public func stop() {
        proxy?.stop()
        for ports in ports { ports.end() }
        WorkThread.doAll([
            { [plain] in plain?.stop() }, { [secure] in secure?.stop() },
            // What comes in until the end is handed on.
            { [mail, mailQueue] in
                mail.stop()
                mailQueue?.stop()
            },
        ])
    }
}
