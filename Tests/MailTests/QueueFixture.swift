import EmulatorCore
import Foundation
import Logging
import SMTPClient
import SMTPServer
import Synchronization
import TestSupport
import Testing
import Understudy

@testable import Mail

/// A world whose mail is handed on to a server of the test.
final class QueueFixture: Sendable {
    let receiver: TestMailServer
    let budget: ProcessBudget
    let worlds: WorldRegistry
    let queue: MailQueue
    let log = Log()
    private let server: Mutex<SMTPServer?>
    private let port: UInt16
    private let host: String
    var address: String { "\(host):\(port)" }

    init(
        isServing: Bool = true, receiver: TestMailServer = TestMailServer(),
        _ change: (inout MailQueue.Options) -> Void = { _ in }
    ) throws {
        self.receiver = receiver
        let host = Loopback.ownAddress()
        self.host = host
        let server = try receiver.serve(host: host)
        port = server.port
        self.server = Mutex(server)
        let log = log
        budget = ProcessBudget(logger: Logger(label: "test") { _ in log })
        worlds = WorldRegistry(
            seed: try Seed([], format: Providers.seedFormat), generator: .ofTests, budget: budget)
        var options = MailQueue.Options(to: try #require(MailServerAddress("\(host):\(server.port)")))
        options.pauses = [.milliseconds(20), .milliseconds(40)]
        options.farewell = .milliseconds(300)
        change(&options)
        queue = MailQueue(options, notices: budget.notices)
        budget.mailRoutes.forwarding = queue
        if !isServing { try stopServing() }
    }

    deinit {
        queue.stop()
        server.withLock { $0?.stop() }
    }

    var world: World { worlds.main }

    /// The port refuses connections from now on.
    func stopServing() throws {
        server.withLock { $0?.stop() }
        try wait { Loopback.refuses(address) }
    }

    func serve() throws {
        let server = try receiver.serve(host: host, port: port)
        self.server.withLock { $0 = server }
    }

    @discardableResult
    func deliver(_ subject: String = "Hi", to recipient: String = "ada@example.test", in other: World? = nil) -> String
    {
        let message = SentMessage(
            .mail, from: Mailbox("app@example.test"), to: Mailbox(recipient), subject: subject, text: "Hello",
            request: nil)
        return (other ?? world).deliver(message).id
    }

    func state(_ id: String) -> HandedOn.State? { queue.handedOn(id, in: world)?.state }

    func wait(_ isDone: () -> Bool) throws {
        if !eventually(isDone) { throw TimeIsOver() }
    }

    struct TimeIsOver: Error {}

    /// What was logged.
    final class Log: LogHandler, @unchecked Sendable {
        // Only `metadata` and `logLevel` could be changed, and nobody does.
        private let lines = Mutex<[String]>([])
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }

        var all: [String] { lines.withLock { $0 } }

        func log(event: LogEvent) { lines.withLock { $0.append("\(event.level) \(event.message)") } }
    }
}

enum Loopback {
    private static let count = Atomic<Int>(0)

    /// An address that no other test has: a port that nobody listens on for a while is nobody else's then.
    static func ownAddress() -> String {
        #if os(Linux)
            "127.77.\(getpid() % 250 + 1).\(count.wrappingAdd(1, ordering: .relaxed).newValue % 250 + 1)"
        #else
            // There is no other.
            "127.0.0.1"
        #endif
    }

    /// Whether nobody listens there.
    static func refuses(_ text: String) -> Bool {
        guard let address = MailServerAddress(text) else { return false }
        var patience = SMTPConnection.Patience()
        patience.command = .milliseconds(200)
        do throws(SMTPFailure) {
            try SMTPConnection.open(to: address, patience: patience).quit()
            return false
        } catch {
            return error.description.contains("refused")
        }
    }
}

/// Counts up, on whichever thread.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    /// Which call it is, from 1.
    func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
    var value: Int { count.load(ordering: .relaxed) }
}
