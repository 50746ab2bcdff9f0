import EmulatorCore
import HTTPServer
import JSON
import Platform
import Synchronization
import Worlds

// The call GET /_understudy/v1/health: what is running, how much memory and how many connections it uses, and what it
// had to drop

extension ControlAPI {
    static let healthPath = "\(root)/health"

    /// The endpoint that tells load balancers whether the daemon is ready: it answers 200, or 503 while the daemon's
    /// store can't be used or the daemon is about to stop. Only callers who may control the daemon get the details.
    var healthCalls: [Endpoint] {
        let schema = ControlAPI.healthSchema
        return [
            .control(
                "GET", "health",
                "Tells whether the daemon is ready; authorized callers also get its state and its counters since the start.",
                answers: [
                    .json("The daemon is ready.", schema),
                    .json(503, "The store can't be used, or the daemon is about to stop.", schema),
                ]
            ) { health($0) }
        ]
    }

    private func health(_ exchange: Exchange) -> Response {
        worlds.archive?.tryAgain()
        let store = worlds.health
        var problem: Diagnosis?
        var status = "ok"
        if gauges.isEnding {
            status = "ending"
            problem = Diagnosis(
                "this daemon is shutting down, and answers only for a moment longer (--drain): use another daemon")
        } else if let failure = store.failure {
            status = "failing"
            problem = failure.diagnosis
        }
        var health = JSONObject([("status", .string(status)), ("version", .string(version))])
        if isAllowed(exchange) { describe(store, in: &health) }
        let answer = ControlAnswer.ok(.object(health), status: problem == nil ? 200 : 503)
        return problem.map { answer.diagnosed($0) } ?? answer
    }

    private func describe(_ store: StoreHealth, in health: inout JSONObject) {
        health["worlds"] = .integer(Int64(worlds.count))
        health["store"] = ControlAPI.document(store, replica: worlds.archive?.replica ?? 0)
        health["ports"] = .object(JSONObject(gauges.listening.map { ($0.name, .integer(Int64($0.port))) }))
        health["memory"] = memory
        health["connections"] = connections
        health["droppedLogLines"] = gauges.droppedLogLines.map { .integer(Int64($0())) }
    }

    private static func document(_ store: StoreHealth, replica: Int) -> JSONValue {
        var document = JSONObject([
            ("kind", .string(store.kind)), ("reachable", .bool(store.failure == nil)),
        ])
        document["failure"] = store.failure.map { .string($0.diagnosis.line) }
        document["failingSince"] = store.failingSince.map { .string($0.text) }
        guard !store.replicas.isEmpty else { return .object(document) }
        document["replica"] = .integer(Int64(replica))
        document["replicas"] = .array(
            store.replicas.map { ["number": .integer(Int64($0.number)), "name": .string($0.name)] })
        return .object(document)
    }

    /// The connections of each server for `GET health`. `open`, `held`, `bodyBytes` and `answerBytes` are present
    /// values. `refused`, `evicted`, `expired` and `abandoned` are counters. Those of HTTPS begin again after a renewal
    /// of the certificate.
    private var connections: JSONValue {
        let mail = gauges.mailConnections.map { mail -> (String, JSONValue) in
            ("smtp", ["open": .integer(Int64(mail.open)), "limit": .integer(Int64(mail.limit))])
        }
        return .object(
            JSONObject(
                gauges.connections.map { server -> (String, JSONValue) in
                    let counters = server.counters
                    let document: JSONValue = [
                        "open": .integer(Int64(counters.open)), "held": .integer(Int64(counters.held)),
                        "bodyBytes": .integer(Int64(counters.bodyBytes)),
                        "answerBytes": .integer(Int64(counters.answerBytes)),
                        "refused": .integer(Int64(clamping: counters.refused)),
                        "evicted": .integer(Int64(clamping: counters.evicted)),
                        "expired": .integer(Int64(clamping: counters.expired)),
                        "abandoned": .integer(Int64(clamping: counters.abandoned)),
                    ]
                    return (server.name, document)
                } + (mail.map { [$0] } ?? [])))
    }

    /// The daemon's memory for `GET health`: sizes in bytes, and numbers of objects in memory. `dropped`, `refused`,
    /// `idle` and `untouched` are counters.
    private var memory: JSONValue {
        let budget = worlds.budget
        let recordings = budget.recordings.usage
        let counts = worlds.counts
        var memory = JSONObject()
        memory["resident"] = ControlAPI.residentBytes.map { .integer($0) }
        memory["recording"] = [
            "bytes": .integer(Int64(recordings.bytes)), "limit": .integer(Int64(budget.recordings.limit)),
            "dropped": .integer(Int64(recordings.dropped)),
        ]
        memory["worlds"] = [
            "count": .integer(Int64(worlds.count)), "limit": .integer(Int64(WorldRegistry.limit)),
            "idle": .integer(Int64(counts.idle)), "untouched": .integer(Int64(counts.untouched)),
            "dropped": .integer(Int64(counts.changed)), "refused": .integer(Int64(counts.refused)),
        ]
        memory["projects"] = ControlAPI.document(budget.projects)
        memory["streams"] = [
            "count": .integer(Int64(budget.listeners.count)), "limit": .integer(Int64(budget.listeners.limit)),
            "refused": .integer(Int64(budget.listeners.refused)), "bytes": .integer(Int64(budget.streams.bytes)),
            "byteLimit": .integer(Int64(budget.streams.limit)), "dropped": .integer(Int64(budget.streams.dropped)),
        ]
        return .object(memory)
    }

    private static func document(_ allowance: Allowance) -> JSONValue {
        [
            "count": .integer(Int64(allowance.count)), "limit": .integer(Int64(allowance.limit)),
            "refused": .integer(Int64(allowance.refused)),
        ]
    }

    /// The resident memory of the daemon's process in bytes; `nil` if the operating system doesn't report it.
    private static var residentBytes: Int64? {
        let bytes = understudy_resident_bytes()
        return bytes < 0 ? nil : bytes
    }
}

extension ControlAPI {
    /// The schema of `GET health`. Sizes are in bytes; a caller without the control token gets only `status` and
    /// `version`.
    static let healthSchema = Schema.members(
        "Health",
        [
            .required("status", .choice(["ok", "failing", "ending"]), "Whether the daemon is ready for requests."),
            .required("version", .string, "The daemon's version."),
            .optional("worlds", .count, "The number of worlds."),
            .optional("store", storeSchema, "Where worlds are stored."),
            .optional("ports", .map(of: .count), "The ports on which the daemon listens, by protocol."),
            .optional("memory", memorySchema, "Memory use; what was dropped to limit it."),
            .optional("connections", .map(of: connectionsSchema), "Connection counts by protocol."),
            .optional(
                "droppedLogLines", .count, "The number of log lines that were dropped because they weren't read."),
        ])

    private static let storeSchema = Schema.members([
        .required("kind", .string, "The kind of store."),
        .required("reachable", .boolean, "Whether the store can be used."),
        .optional("failure", .string, "Why the store failed."),
        .optional("failingSince", .time, "When the store began to fail."),
        .optional("replica", .count, "This daemon's number among the daemons that share the store."),
        .optional(
            "replicas",
            .sequence(
                of: .members([
                    .required("number", .count, "The replica's number."),
                    .required("name", .string, "The replica's name."),
                ])), "The daemons that share the store."),
    ])

    private static let connectionsSchema = Schema.members([
        .required("open", .count, "The present number."), .optional("limit", .count, "The greatest number."),
        .optional(
            "held", .count,
            "Connections that await a response; this call's may be among them."),
        .optional("bodyBytes", .count, "Request body bytes in memory."),
        .optional("answerBytes", .count, "Bytes of the responses that clients are reading."),
        .optional("refused", .count, "The number of connections that were refused because there were too many."),
        .optional("evicted", .count, "Connections that were closed to make room for new connections."),
        .optional("expired", .count, "The number of connections that were closed because of a time limit."),
        .optional("abandoned", .count, "The number of connections whose client disconnected before the answer."),
    ])

    private static let allowanceSchema = Schema.members([
        .required("count", .count, "The present number."), .required("limit", .count, "The greatest number."),
        .required("refused", .count, "The number of refusals."),
    ])

    private static let memorySchema = Schema.members([
        .optional("resident", .count, "The process's resident memory in bytes, if known."),
        .required(
            "recording",
            .members([
                .required("bytes", .count, "Bytes of recorded requests."),
                .required("limit", .count, "The byte limit for all recorded requests."),
                .required("dropped", .count, "Dropped recorded requests."),
            ]), "The recordings."),
        .required(
            "worlds",
            .members([
                .required("count", .count, "The present number."), .required("limit", .count, "The greatest number."),
                .required("idle", .count, "The number of worlds that were dropped after an hour without use."),
                .required("untouched", .count, "Number of unchanged worlds dropped to make room for others."),
                .required("dropped", .count, "Number of changed worlds dropped to make room for others."),
                .required("refused", .count, "Number of worlds not created, for there were too many."),
            ]), "The worlds."),
        .required("projects", allowanceSchema, "Counts: Firebase projects in no seed."),
        .required(
            "streams",
            .members([
                .required("count", .count, "The number of open event streams and waiting requests."),
                .required("limit", .count, "The greatest number."),
                .required("refused", .count, "The number of refusals."),
                .required("bytes", .count, "Unread bytes of all event streams."),
                .required("byteLimit", .count, "The limit for all unread bytes."),
                .required("dropped", .count, "Event streams that were closed because they weren't read."),
            ]), "Event streams."),
    ])
}

/// Counters of the daemon's servers and its log, for `GET health`.
package final class ProcessGauges: Sendable {
    package typealias Connections = @Sendable () -> ServerCounters?

    /// Wraps the closure that counts the mail server's connections, because a closure must not be the value of a
    /// `Mutex`: Swift would wrap it into one more closure at each access, and calling it would become slower and
    /// slower.
    private struct MailServer {
        let connections: @Sendable () -> (open: Int, limit: Int)?
    }

    private let servers = Mutex<[(name: String, counters: Connections)]>([])
    private let mail = Mutex<MailServer?>(nil)
    private let ports = Mutex<[(name: String, port: UInt16)]>([])
    /// Returns the number of log lines that were dropped since the daemon's start; `nil` if this program doesn't write
    /// the log.
    let droppedLogLines: (@Sendable () -> Int)?
    /// Whether the daemon is about to stop.
    private let ending = Atomic<Bool>(false)

    package init(droppedLogLines: (@Sendable () -> Int)? = nil) { self.droppedLogLines = droppedLogLines }

    package var isEnding: Bool { ending.load(ordering: .relaxed) }

    /// Makes `GET health` tell load balancers from now on that the daemon is about to stop.
    package func announceEnd() { ending.store(true, ordering: .relaxed) }

    /// Makes `GET health` show the counters of a server under this name: `http` or `https`.
    package func add(_ name: String, _ counters: @escaping Connections) {
        servers.withLock { $0.append((name: name, counters: counters)) }
    }

    /// Makes `GET health` show the SMTP server's connections. `connections` returns the number of open connections and
    /// their limit.
    package func addMail(_ connections: @escaping @Sendable () -> (open: Int, limit: Int)?) {
        mail.withLock { $0 = MailServer(connections: connections) }
    }

    var mailConnections: (open: Int, limit: Int)? { mail.withLock { $0 }?.connections() }

    /// Records a port on which the daemon listens, for the protocol `name`: `http`, `https`, `proxy` or `smtp`.
    package func recordListening(_ name: String, port: UInt16) {
        ports.withLock { $0.append((name: name, port: port)) }
    }

    /// The ports on which the daemon listens, by protocol, without the ports that belong to a single test world.
    package var listening: [(name: String, port: UInt16)] { ports.withLock { $0 } }

    var connections: [(name: String, counters: ServerCounters)] {
        servers.withLock { $0 }.compactMap { server in
            server.counters().map { (name: server.name, counters: $0) }
        }
    }
}
