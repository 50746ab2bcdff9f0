import HTTPServer
import JOSE
import Stage

// GET and POST /_understudy/v1/clock

extension ControlAPI {
    private static let signedDuration = TextRule(
        about: "a duration such as \"6m\", or \"-6m\" to go back", pattern: "^-?[0-9]+(ms|s|m|h|d)$"
    ) { Durations.milliseconds($0) != nil }

    private static let clockBody = Shape.object([
        .optional("reset", .boolean, "Back to the machine's time, running."),
        .optional("set", .text(.timestamp), "A moment to go to."),
        .optional("advance", .text(signedDuration), "How far to move."),
        .optional("freeze", .boolean, "Whether time stands still."),
    ])

    func clock(_ exchange: Exchange) -> Response {
        let (now, isFrozen) = exchange.world.withState { ($0.clock.milliseconds, $0.clock.isFrozen) }
        return ControlAnswer.ok([
            "now": .string(Timestamps.text(milliseconds: now)), "milliseconds": .integer(now),
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
        exchange.world.withState { state in
            if orders["reset"]?.bool == true { state.clock.reset() }
            if let time = orders["set"]?.string.flatMap(Timestamps.milliseconds) { state.clock.set(time) }
            if let duration = orders["advance"]?.string.flatMap(Durations.milliseconds) {
                state.clock.advance(by: duration)
            }
            if let freeze = orders["freeze"]?.bool { state.clock.freeze(freeze) }
        }
        return clock(exchange)
    }
}
