import HTTPServer
import JSON
import EmulatorCore
import Time

// GET and POST /_understudy/v1/clock

extension ControlAPI {
    private static let signedDuration = TextRule(
        about: "a duration such as \"6m\", or \"-6m\" to go back", pattern: "^-?[0-9]+(ms|s|m|h|d)$"
    ) { TimeSpan($0) != nil }

    private static let clockBody = Shape.object([
        .optional("reset", .boolean, "Back to the machine's time, running."),
        .optional("set", .text(.timestamp), "A moment to go to."),
        .optional("advance", .text(signedDuration), "How far to move."),
        .optional("freeze", .boolean, "Whether time stands still."),
    ])

    func clock(_ exchange: Exchange) -> Response {
        let (now, isFrozen) = exchange.world.update { ($0.clock.now, $0.clock.isFrozen) }
        return ControlAnswer.ok([
            "now": .string(now.text), "milliseconds": .integer(now.milliseconds),
            "frozen": .bool(isFrozen),
        ])
    }

    /// Several orders in one call are carried out as: reset, set, advance, freeze.
    func setClock(_ exchange: Exchange) -> Response {
        let body: JSONValue
        do { body = try exchange.body(ControlAPI.clockBody) } catch { return error.response }
        guard let orders = body.object, !orders.members.isEmpty else {
            let message = "give one of advance, set, freeze and reset"
            return ControlAnswer.error(400, "invalidBody", message, path: "$")
        }
        let isPossible = exchange.world.update { state in
            var clock = state.clock
            if orders["reset"]?.bool == true { clock.reset() }
            if let time = orders["set"]?.string.flatMap({ Instant($0) }) { clock.set(time) }
            if let span = orders["advance"]?.string.flatMap({ TimeSpan($0) }) {
                guard clock.advance(by: span) else { return false }
            }
            if let freeze = orders["freeze"]?.bool { clock.freeze(freeze) }
            state.clock = clock
            return true
        }
        guard isPossible else {
            return ControlAnswer.error(
                400, "invalidBody", "the world's time would leave the years 1970 to 9999", path: "$.advance")
        }
        return clock(exchange)
    }
}
