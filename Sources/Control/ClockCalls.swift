import HTTPServer
import JSON
import EmulatorCore
import Time

// The calls GET and POST /_understudy/v1/clock

extension ControlAPI {
    var clockCalls: [Endpoint] {
        let shown = CallAnswer.json("The world's time.", ControlAPI.clockSchema)
        return [
            .control("GET", "clock", "Tells the world's time.", answers: [shown]) { try clock($0) },
            .control(
                "POST", "clock",
                "Changes or freezes the world's clock. Several changes are applied in the order reset, set, advance, freeze.",
                reads: .body(ClockOrder.self), answers: [shown]
            ) { try setClock($0, $1) },
        ]
    }

    private static let clockSchema = Schema.members(
        "Clock",
        [
            .required("now", .time, "The time, to the second."),
            .required("milliseconds", .count, "The time in milliseconds since 1970."),
            .required("frozen", .boolean, "Whether time is frozen."),
        ])

    private struct ClockOrder: SchemaObject {
        static let schemaName: String? = "ClockOrder"

        let resets: Bool
        let time: Instant?
        let advance: TimeSpan?
        let freeze: Bool?
        let isEmpty: Bool

        init(_ fields: inout Fields) {
            isEmpty = fields.written.isEmpty
            resets = fields.optional("reset", .boolean, "Return to the machine's real time.") ?? false
            time = fields.optional("set", .timestamp, "The time to set.")
            advance = fields.optional(
                "advance", .duration(ClockOrder.signedDuration), "How far to move time: \"6m\" or \"-1h\".")
            freeze = fields.optional("freeze", .boolean, "Whether time stands still.")
        }

        private static let signedDuration = TextRule(
            about: "a duration: \"6m\" moves time on, \"-6m\" back", pattern: "^-?[0-9]+(ms|s|m|h|d)$"
        ) { TimeSpan($0) != nil }
    }

    private func clock(_ exchange: Exchange) throws -> Response {
        let (now, isFrozen) = try exchange.world.update { ($0.clock.now, $0.clock.isFrozen) }
        return ControlAnswer.ok([
            "now": .string(now.text), "milliseconds": .integer(now.milliseconds),
            "frozen": .bool(isFrozen),
        ])
    }

    private func setClock(_ exchange: Exchange, _ order: ClockOrder) throws -> Response {
        guard !order.isEmpty else {
            let message = "the body must have advance, set, freeze or reset"
            return ControlAnswer.error(400, "invalidBody", message, path: "$")
        }
        let isPossible = try exchange.world.update { state in
            var clock = state.clock
            if order.resets { clock.reset() }
            // The clock is frozen first, so that no millisecond passes after the time is set.
            if order.freeze == true { clock.freeze(true) }
            if let time = order.time { clock.set(time) }
            if let span = order.advance, !clock.advance(by: span) { return false }
            if order.freeze == false { clock.freeze(false) }
            state.clock = clock
            return true
        }
        guard isPossible else {
            return ControlAnswer.error(
                400, "invalidBody", "the new time would be outside the years 1970 to 9999", path: "$.advance")
        }
        return try clock(exchange)
    }
}
