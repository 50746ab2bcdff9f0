import Foundation
import Understudy
import UnderstudyClient
import UnderstudyTesting

extension DaemonSource {
    /// The daemon of Understudy at `UNDERSTUDY_URL` or, if that isn't set, a daemon in this process with the built-in
    /// seed (test data) at a free port. The daemon in this process starts with the first test and serves all tests
    /// until the process ends.
    public static let process: DaemonSource = {
        let own = DaemonSource.process { try RunningServer.start() }
        return DaemonSource {
            let url = ProcessInfo.processInfo.environment["UNDERSTUDY_URL"] ?? ""
            return try url.isEmpty ? own.daemon() : UnderstudyClient.Understudy()
        }
    }()

    /// Makes a source of a daemon that runs in this process. The closure `start` starts the daemon when the first test
    /// needs it. Keep the source: each source starts a new daemon, which runs as long as the source exists.
    ///
    ///     let shop = DaemonSource.process { try RunningServer.start(seeds: [.path("Tests/seed.json")]) }
    ///
    /// - Parameters:
    ///   - controlToken: the control token of the daemon that `start` starts.
    ///   - start: the closure that starts the daemon.
    public static func process(
        controlToken: String? = nil, _ start: @escaping @Sendable () throws -> RunningServer
    ) -> DaemonSource {
        let server = StartedOnce(start)
        return DaemonSource { UnderstudyClient.Understudy(url: try server.get().url, controlToken: controlToken) }
    }
}

/// A server that is started by the first caller. If the start fails, the next caller tries again.
private final class StartedOnce: @unchecked Sendable {
    private let lock = NSLock()
    private let start: @Sendable () throws -> RunningServer
    /// The running daemon; `nil` until it has started. Accessed under the lock only.
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
