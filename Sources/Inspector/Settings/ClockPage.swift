import EmulatorCore
import HTTPServer
import JSON
import Time
import Worlds

// The page `/_understudy/clock`: the time in the world, and how to move it.

extension Inspector {
    /// The endpoints for the inspector's pages about the clock, the test worlds, their seeds, and the set-up of
    /// clients.
    var settingsEndpoints: [Endpoint] {
        [
            page("GET", "clock") { try clockPage($0) }, form("clock") { try await setClock($0, $1) },
            page("GET", "setup") { try await setUpPage($0) }, page("GET", "setup/:guide") { try await guidePage($0) },
        ] + worldEndpoints
    }

    private static let steps: [(span: String, label: String, about: String?)] = [
        ("1m", "+1 minute", nil), ("11m", "+11 minutes", "authorization codes expire"),
        ("1h", "+1 hour", nil), ("1d", "+1 day", nil), ("30d", "+30 days", nil),
        ("190d", "+190 days", "client secrets expire"),
    ]

    private func clockPage(
        _ exchange: Exchange, _ form: Form = Form(fields: []), refusal: CallRefusal? = nil
    ) throws -> Response {
        let clock = exchange.world.read { $0.value(WorldClock.self) }
        let (now, machine) = (clock.now, MachineClock.now)
        let moves = Inspector.steps.map { step in
            self.form(
                to: "clock", exchange, [:], .hidden("do", "advance"), .hidden("span", step.span),
                .of("button.quiet", .text(step.label), step.about.map { .of("span.clock-about", .text($0)) }))
        }
        let (state, change) = clock.isFrozen ? ("It stands still", "Let it run") : ("It is running", "Freeze it")
        return try page(
            exchange, .clock, title: "Clock", refusal: refusal, scripts: ["clock", "follow"],
            lead: [
                .of(
                    "span#clock-state", ["data-follow": true],
                    clock.isFrozen ? .badge("frozen", "warn") : .badge("running", "good"))
            ],
            [
                .of(
                    "div.cards#clock-faces", ["data-follow": true],
                    face("In this world", now, isRunning: !clock.isFrozen, "clock-world"),
                    face("On the machine", machine, isRunning: true, "")),
                .of("p.clock-distance#clock-distance", ["data-follow": true], .text(distance(now, machine))),
                .of(
                    "p.soft",
                    "Codes, tokens and sessions of this test world expire by the world's clock. Each world has its own clock."
                ), .of("h2", "Move it"), .of("div.row.clock-moves", .group(moves)),
                .of(
                    "div.cards",
                    mover(
                        exchange, "By any span", "advance", "Move it",
                        .field(
                            "Span", hint: "such as 90s, 6m, 2h, 30d; -1h moves the clock back by an hour",
                            .input("span", form["span"] ?? ""))),
                    mover(
                        exchange, "To a moment", "set", "Set it",
                        .field(
                            "Date and time", hint: "UTC",
                            .input("time", form["time"] ?? "", type: "datetime-local", ["step": "1"]))),
                    .card(
                        state,
                        .small(
                            "A frozen clock moves only when you or a test moves it, so that two runs of a test give the same tokens."
                        ),
                        .of(
                            "div.row",
                            action(exchange, "clock", change, "quiet", ["do": clock.isFrozen ? "run" : "freeze"]),
                            action(exchange, "clock", "Return to the machine's time", "quiet", ["do": "reset"])))),
            ])
    }

    private func mover(_ exchange: Exchange, _ title: String, _ order: String, _ button: String, _ field: HTML) -> HTML
    {
        .card(title, form(to: "clock", exchange, [:], .hidden("do", order), field, .of("p", .button(button))))
    }

    /// Returns a clock face as HTML. A script makes it tick.
    private func face(_ label: String, _ time: Instant, isRunning: Bool, _ kind: String) -> HTML {
        let text = time.text
        return .card(
            label, as: "section.card.clock-face.\(kind)",
            .of(
                "p",
                .of(
                    "time",
                    ["datetime": text, "data-clock": "\(time.milliseconds)", "data-running": isRunning],
                    .of("span.clock-date", .text(String(text.prefix(10)))), " ",
                    .of("span.clock-time", "\(text.dropFirst(11).prefix(8))")), .soft(" UTC")))
    }

    private func distance(_ now: Instant, _ machine: Instant) -> String {
        let span = now - machine
        // Reading two clocks takes some time.
        guard abs(span.milliseconds) >= 1_000 else { return "The test world's clock shows the machine's time." }
        let words = Inspector.words((abs(span.milliseconds) + 500) / 1_000)
        return "The test world's clock is \(words) \(span.milliseconds > 0 ? "ahead of" : "behind") the machine."
    }

    /// Describes a number of seconds in words, in its two largest units.
    static func words(_ seconds: Int64) -> String {
        var rest = seconds
        var words: [String] = []
        for (unit, length) in [("year", 31_536_000), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)]
            as [(String, Int64)]
        {
            let count = rest / length
            rest %= length
            if count > 0 { words.append("\(count) \(unit)\(count == 1 ? "" : "s")") }
        }
        return words.isEmpty ? "0 seconds" : words.prefix(2).joined(separator: " and ")
    }

    private func setClock(_ exchange: Exchange, _ form: Form) async throws -> Response {
        let order: JSONValue =
            switch form["do"] {
            case "set": ["set": .string(Inspector.instant(form["time"] ?? ""))]
            case "freeze": ["freeze": true]
            case "run": ["freeze": false]
            case "reset": ["reset": true]
            default: ["advance": .string((form["span"] ?? "").filter { !$0.isWhitespace })]
            }
        return try await trying {
            _ = try await call("POST", "clock", order, in: exchange)
            let now = exchange.world.now.text
            return try changed(
                exchange, show: "clock", saying: "The clock was changed to \(now).")
        } refused: {
            try clockPage(exchange, form, refusal: $0)
        }
    }

    /// Returns the time from a browser's date field, such as `2030-01-01T00:00` (with or without seconds), in the
    /// control API's format, such as `2030-01-01T00:00:00Z`.
    private static func instant(_ text: String) -> String {
        text.utf8.count == 16 ? text + ":00Z" : text.utf8.count == 19 ? text + "Z" : text
    }
}
