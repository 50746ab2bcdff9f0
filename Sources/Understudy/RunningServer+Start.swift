import Control
import Platform
import EmulatorCore
import HTTPServer
import Mail
import Proxy
import Recordings
import Worlds

extension RunningServer {
    /// Starts a stand-in identity provider whose test data are these seeds, merged in sequence.
    ///
    ///     let server = try RunningServer.start(seeds: [.builtIn, .path("Tests/seed.json")])
    ///
    /// - Throws: ``StartError`` with every error in the seeds, or with another reason why the server can't start.
    public static func start(seeds: [SeedInput] = [.builtIn], options: Options = Options()) throws -> RunningServer {
        for name in [options.defaultWorld] + (options.worldPorts + options.worldMailPorts).map(\.world)
        where !WorldName.isValid(name) {
            throw StartError(description: "\"\(name)\" can't be a world: \(WorldName.rule)")
        }
        var seed = try SeedInput.load(seeds + (options.asOf.map { [.json(asOf: $0)] } ?? []))
        seed.daemonDay = options.day
        if let directory = options.importDirectory {
            seed = try Providers.importing(directory, to: seed, logger: options.logger)
        }
        let archive = try StoreChoice.chosen(options.store).open(seed)
        let budget = ProcessBudget(
            recordingLimit: max(1_000_000, options.recordingLimit),
            keepingRefusals: options.keepsRefusalsOfGoneWorlds,
            recordings: (archive as? PostgreSQLArchive).map { PostgreSQLRecordings($0.pool) },
            logger: options.logger)
        let shared = archive == nil ? options.keyGenerator : nil
        let generator =
            shared
            ?? KeyGenerator(texts: archive) { [notices = budget.notices] in notices.warnOncePerMinute(.stores, $0) }
        let worlds: WorldRegistry
        do throws(StoreFailure) {
            worlds = try WorldRegistry(
                seed: seed, generator: generator, budget: budget, unnamed: options.defaultWorld, archive: archive)
        } catch {
            throw StartError(description: error.diagnosis.line)
        }
        let ports = WorldPorts()
        let mailPorts = WorldPorts(.smtp)
        let gauges = ProcessGauges(droppedLogLines: options.droppedLogLines)
        let dispatcher = try Composition.dispatcher(
            seed, worlds, options, gauges, ports: ports, mailPorts: mailPorts)
        // Later worlds begin with the same scenarios, so a scenario that can't be played is an error now.
        do {
            if let failure = try dispatcher.prepareDefaultWorld() { throw StartError(description: failure) }
        } catch let failure as StoreFailure {
            throw StartError(description: failure.diagnosis.line)
        }
        var serverOptions = Server.Options()
        serverOptions.host = options.host
        serverOptions.port = options.port
        serverOptions.listening = options.listeningSockets
        serverOptions.bodyLimitBytesOf = { ControlAPI.bodyLimit($0, $1) }
        serverOptions.refusal = { dispatcher.refusal($0, $1, of: $2) }
        serverOptions.warn = { options.logger.warning("\($0)") }
        serverOptions.log = { options.logger.debug("libmicrohttpd: \($0)") }
        if let workers = options.workers { serverOptions.workers = workers }
        do {
            let plain = options.isTLSOnly ? nil : try Server(serverOptions) { dispatcher.handle($0) }
            if let plain {
                gauges.add("http") { [weak plain] in plain?.counters }
                gauges.recordListening("http", port: plain.port)
                ports.begin(main: plain.port) { [weak plain] port, world throws(ListenError) in
                    guard let plain else { throw ListenError(description: "the server has stopped") }
                    return try plain.listen(on: port, label: world)
                }
            }
            let opened = try options.worldPorts.map { wanted in
                (world: wanted.world, port: Int(try ports.open(wanted.port, forEver: wanted.world)))
            }
            let needsTLS = options.isTLSOnly || options.proxyPort != nil
            let secure = try (options.tlsPort ?? (needsTLS ? 0 : nil)).map { port in
                try startTLS(port, options, serverOptions, hosts: PlayedHosts.certified(for: seed), dispatcher)
            }
            if let secure {
                gauges.add("https") { [weak secure] in secure?.counters }
                gauges.recordListening("https", port: secure.port)
            }
            var proxy: ProxyServer?
            if let port = options.proxyPort, let secure {
                let started = try startProxy(port, options, plain: plain, secure: secure) { dispatcher.plays($0) }
                gauges.recordListening("proxy", port: started.port)
                proxy = started
            }
            let mail = try MailServer(options, MailService(dispatcher), secure: secure, ports: mailPorts)
            if let port = mail.port { gauges.recordListening("smtp", port: port) }
            gauges.addMail { [weak mail] in mail?.connections }
            worlds.budget.mailRoutes.submission = mail.service
            return RunningServer(
                plain: plain, secure: secure, proxy: proxy, mail: mail, options: options,
                worlds: worlds, dispatcher: dispatcher, gauges: gauges, ports: [ports, mailPorts], worldPorts: opened)
        } catch {
            throw StartError(description: "\(error)")
        }
    }

    private static func startTLS(
        _ port: UInt16, _ options: Options, _ serverOptions: Server.Options, hosts: [String], _ dispatcher: Dispatcher
    ) throws -> SecureServer {
        var serverOptions = serverOptions
        serverOptions.port = port
        serverOptions.listening = []
        var secureOptions = SecureServer.Options(
            server: serverOptions, authority: options.authority, hosts: hosts, logger: options.logger)
        if let lifetime = options.certificateLifetime { secureOptions.lifetime = lifetime }
        if let interval = options.certificateInterval { secureOptions.interval = interval }
        return try SecureServer(secureOptions) { dispatcher.handle($0) }
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
        proxyOptions.world = { header in
            guard let user = BasicCredentials.read(header: String(header.drop { $0 == " " }))?.user else {
                return .refused(
                    "Proxy-Authorization isn't Basic: give a test world's name as the proxy user, http://NAME@HOST:PORT"
                )
            }
            if user.isEmpty { return .unnamed }
            return WorldName.isValid(user)
                ? .named(user) : .refused("the proxy user isn't a valid name of a test world: \(WorldName.rule)")
        }
        proxyOptions.handOver = { [weak plain, weak secure] descriptor, isSecure, world in
            if isSecure, let secure { return secure.adopt(descriptor, label: world) }
            if !isSecure, let plain { return plain.adopt(descriptor, label: world) }
            Platform.close(descriptor)
            return false
        }
        proxyOptions.warn = { options.logger.warning("\($0)") }
        proxyOptions.log = { options.logger.info("proxy: \($0)") }
        return try ProxyServer(proxyOptions)
    }
}
