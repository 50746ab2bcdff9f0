import Foundation
import Understudy
import UnderstudyClient
import UnderstudyTesting

extension DaemonSource {
    /// The daemon at `UNDERSTUDY_URL`; where there is none, one in this process, with the built-in seed, at a free port. It is started when
    /// the first test needs it, and serves all of them until the process ends.
    public static let process: DaemonSource = {
        let own = DaemonSource.process { try RunningServer.start() }
        return DaemonSource {
            let url = ProcessInfo.processInfo.environment["UNDERSTUDY_URL"] ?? ""
            return try url.isEmpty ? own.daemon() : UnderstudyClient.Understudy()
        }
    }()

    /// A daemon in this process, as `start` starts it when the first test needs it. Keep the value: each one starts a daemon of its own,
    /// which runs as long as the value is there.
    ///
    ///     let shop = DaemonSource.process { try RunningServer.start(seeds: [.path("Tests/seed.json")]) }
    ///
    /// - Parameters:
    ///   - controlToken: the control token with which `start` starts it.
    ///   - start: starts the daemon.
    public static func process(
        controlToken: String? = nil, _ start: @escaping @Sendable () throws -> RunningServer
    ) -> DaemonSource {
        let server = StartedOnce(start)
        return DaemonSource { UnderstudyClient.Understudy(url: try server.get().url, controlToken: controlToken) }
    }
}

/// A server that is started when it is first asked for. Where that fails, the next one who asks tries again.
private final class StartedOnce: @unchecked Sendable {
    private let lock = NSLock()
    private let start: @Sendable () throws -> RunningServer
    /// Only under the lock.
    private var server: RunningServer?

    init(_ start: @escaping @Sendable () throws -> RunningServer) { self.start = start }

    func get() throws -> RunningServer {
        try lock.withLock {
            if let server { return server }
            let started = try start()
            server = started
            return started
        }
    }
}
