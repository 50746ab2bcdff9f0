import EmulatorCore
import Platform
import Proxy
import Time
import Understudy

/// The daemon for the command that `understudy exec` runs, with the environment in which the command finds the daemon.
struct Surroundings {
    let server: RunningServer
    /// The environment variables that the command gets.
    let variables: [(name: String, value: String)]
    /// The directory with files that the command needs while it runs, such as trusted certificates. It doesn't contain
    /// the certificate authority's private key.
    private let folder: String?
    private var forwarder: PortForwarder?
    /// Sentences about restrictions of the command's environment, which are shown if the command fails.
    private(set) var shortcomings: [String] = []

    /// Starts the daemon for a command. The command reaches the daemon at the daemon's own address, through a proxy, or
    /// under the providers' real host names. `sharedPorts` are loopback ports of this machine that the command can
    /// reach even in an isolated network.
    init(
        _ options: DaemonOptions, intercepts: Bool, isolated: Bool, sharedPorts: [UInt16], watcher: Watcher?
    ) throws {
        guard intercepts || options.usesProxy else {
            server = try options.start(defaultPort: 0, defaultMailPort: 0)
            variables =
                Surroundings.own(server) + Surroundings.firebase(options, server)
                + Providers.variables(daemon: server.url)
            folder = nil
            return
        }
        let folder = try Surroundings.makeFolder()
        self.folder = folder
        watcher?.watch(file: folder)
        do {
            let authority = try Surroundings.authority(options)
            let certificate = try authority.certificate()
            let bundle = try TrustBundle(authority: certificate, in: folder)
            let file = "\(folder)/understudy-ca.pem"
            try File.write(certificate.utf8, to: file, mode: 0o644)
            let trust = bundle.variables + [(name: "UNDERSTUDY_CA_FILE", value: file)]
            guard intercepts else {
                server = try options.start(defaultPort: 0, defaultMailPort: 0) { $0.authority = authority }
                variables =
                    Surroundings.own(server) + Surroundings.firebase(options, server)
                    + Surroundings.proxy(server.proxyURL ?? "") + trust
                return
            }
            let hosts = try PlayedHosts.names(seeds: options.inputs)
            var store: BrowserStore?
            do throws(BrowserStore.Absence) {
                store = try BrowserStore(authority: file, in: folder)
            } catch {
                shortcomings.append(error.description)
            }
            let view = try Interception(
                hosts: hosts, bundle: bundle.path, directory: folder, isolated: isolated, store: store,
                shares: !sharedPorts.isEmpty)
            server = try options.start(defaultPort: 80, defaultMailPort: 0) { changed in
                changed.authority = authority
                changed.host = view.address
                changed.port = 80
                changed.tlsPort = 443
            }
            if view.isIsolated, sharedPorts.isEmpty {
                let reason = "the command runs in an isolated network, where it can reach only the daemon"
                LineWriter.standardError.write("understudy: \(view.portObstacle?.description ?? reason)")
            }
            if let outside = view.outside {
                forwarder = try PortForwarder(ports: sharedPorts, to: outside) { line in
                    LineWriter.standardError.write("understudy: \(line)")
                }
            }
            variables = Surroundings.own(server) + Surroundings.firebase(options, server) + trust
        } catch {
            File.remove(folder)
            throw error
        }
    }

    /// Returns the user's local certificate authority. If there is none, or if it isn't allowed to issue certificates
    /// for all hosts of the seeds, returns a temporary one.
    private static func authority(_ options: DaemonOptions) throws -> LocalAuthority {
        guard options.authority.exists else { return try .inMemory(seeds: options.inputs) }
        guard try options.authority.lacksHosts(of: options.inputs) else { return options.authority }
        // `LineWriter` would start a thread, and a process must enter namespaces with a single one.
        Terminal.complain(
            "understudy: the certificate authority in \(options.authority.directory) can't certify all hosts of the "
                + "seed. The program that understudy starts trusts a temporary authority instead. To create an "
                + "authority for all hosts, run: understudy ca init --force --seed PATH")
        return try .inMemory(seeds: options.inputs)
    }

    func discard() {
        forwarder?.stop()
        if let folder { File.remove(folder) }
    }

    private static func makeFolder() throws -> String {
        let place = Environment.variable("TMPDIR") ?? "/tmp"
        var template = Array("\(place)/understudy-exec-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw LocalAuthority.Failure(
                "can't create a folder for the command in \(place): \(String(cString: strerror(errno))): set TMPDIR to a writable folder"
            )
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: - Variables

    private static func own(_ server: RunningServer) -> [(name: String, value: String)] {
        [
            (name: "UNDERSTUDY_URL", value: server.url),
            (name: "UNDERSTUDY_CONTROL_URL", value: "\(server.url)/_understudy/v1"),
        ] + (server.controlToken.map { [(name: "UNDERSTUDY_CONTROL_TOKEN", value: $0)] } ?? [])
            + (server.proxyURL.map { [(name: "UNDERSTUDY_PROXY_URL", value: $0)] } ?? [])
            + (server.smtpPort.map { port in
                [(name: "UNDERSTUDY_SMTP_HOST", value: server.host), (name: "UNDERSTUDY_SMTP_PORT", value: "\(port)")]
            } ?? [])
    }

    /// Returns the environment variables by which Firebase's Admin SDKs find their project, as `firebase
    /// emulators:exec` sets them: <https://firebase.google.com/docs/emulator-suite/connect_auth#admin_sdks>. Google
    /// Cloud's libraries read `GOOGLE_CLOUD_PROJECT`:
    /// <https://cloud.google.com/docs/authentication/provide-credentials-adc>.
    private static func firebase(_ options: DaemonOptions, _ server: RunningServer) -> [(name: String, value: String)] {
        guard let project = options.chosenProject ?? seededProject(options, server) else { return [] }
        return ["GCLOUD_PROJECT", "GOOGLE_CLOUD_PROJECT"].map { (name: $0, value: project) }
    }

    /// Returns the Firebase project of the user's own seed, unless the environment names one.
    private static func seededProject(_ options: DaemonOptions, _ server: RunningServer) -> String? {
        guard !options.usesBuiltInSeed, Environment.variable("GCLOUD_PROJECT") == nil else { return nil }
        return Providers.firebaseProject(of: server.worlds.seed)
    }

    /// Returns the environment variables that name a proxy, in upper and lower case, because programs differ. Node.js
    /// uses these variables since the versions 22.21 and 24, but only if `NODE_USE_ENV_PROXY` is set:
    /// <https://nodejs.org/api/cli.html#node_use_env_proxy1>
    private static func proxy(_ url: String) -> [(name: String, value: String)] {
        ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].map { (name: $0, value: url) }
            + ["NO_PROXY", "no_proxy"].map { (name: $0, value: "localhost,127.0.0.1,::1") }
            + [(name: "NODE_USE_ENV_PROXY", value: "1")]
    }
}

enum MachineName {
    static var current: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// The time at which a run of `understudy exec` began, and the machine's name.
struct RunTime {
    let began = MachineClock.now
    private let start = ContinuousClock.now

    var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }

    var host: String { MachineName.current }
}
