import Platform
import HTTPServer
import JSON
import EmulatorCore

// The call GET /_understudy/v1/health: what is running, how much memory and how many connections it uses, and what it
// had to drop

extension ControlAPI {
    static let healthPath = "\(root)/health"

    /// The call that tells balancers whether the daemon is ready for requests: 200, or 503 while its store can't be
    /// used or it is about to stop. Only callers who may control the daemon get the rest.
    var healthCalls: [Endpoint] {
        let schema = ControlAPI.healthSchema
        return [
            .control(
                "GET", "health",
                "Tells whether the daemon is ready. Whoever may control it is told what it holds, too; counters count since its start.",
                answers: [
                    .json("It is ready.", schema),
                    .json(503, "Its store can't be used, or it is about to stop.", schema),
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
                "this daemon was told to end and answers for a moment longer (--drain): ask another replica")
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

    /// Returns the kind of the store, its state and its replicas.
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

    /// The connections of each server. `open`, `held` and `bodyBytes` are present values; the others are counted since
    /// the start, or since the certificate was renewed.
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
                        "refused": .integer(Int64(clamping: counters.refused)),
                        "evicted": .integer(Int64(clamping: counters.evicted)),
                        "expired": .integer(Int64(clamping: counters.expired)),
                        "abandoned": .integer(Int64(clamping: counters.abandoned)),
                    ]
                    return (server.name, document)
                } + (mail.map { [$0] } ?? [])))
    }

    /// The memory in bytes. `dropped` is counted since the start.
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

    /// The resident bytes of the process; `nil` if the system doesn't tell.
    private static var residentBytes: Int64? {
        let bytes = understudy_resident_bytes()
        return bytes < 0 ? nil : bytes
    }
}
