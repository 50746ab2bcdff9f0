import Platform
import HTTPServer
import JSON
import EmulatorCore

// GET /_understudy/v1/health: what is running, how much memory and how many connections it uses, and what it had to drop

extension ControlAPI {
    func health(_ exchange: Exchange) -> Response {
        var health = JSONObject([
            ("status", "ok"), ("version", .string(version)), ("worlds", .integer(Int64(worlds.count))),
            ("ports", .object(JSONObject(gauges.listening.map { ($0.name, .integer(Int64($0.port))) }))),
            ("memory", memory), ("connections", connections),
        ])
        health["droppedLogLines"] = gauges.droppedLogLines.map { .integer(Int64($0())) }
        return ControlAnswer.ok(.object(health))
    }

    /// For each server. `open`, `held` and `bodyBytes` are what there is now; the rest counts since the start, or since the
    /// certificate was renewed.
    private var connections: JSONValue {
        .object(
            JSONObject(
                gauges.connections.map { server in
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
                }))
    }

    /// Sizes are in bytes. `dropped` counts since the start.
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

    /// `nil` where the system doesn't say.
    private static var residentBytes: Int64? {
        let bytes = understudy_resident_bytes()
        return bytes < 0 ? nil : bytes
    }
}
