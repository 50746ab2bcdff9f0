import EmulatorCore
import HTTPServer
import JSON
import Time
import Worlds

// The page `/_understudy/clock`: the time in the world, and how to move it.

extension Inspector {
    func clockPage(
        _ exchange: Exchange, _ form: Form = Form(fields: []), status: Int = 200, refusal: CallRefusal? = nil
    ) throws -> Response {
        let clock = exchange.world.read { $0.value(WorldClock.self) }
        let (now, machine) = (clock.now, MachineClock.now)
        let answer = page(
            exchange, .clock, title: "Clock", status: status, scripts: ["clock", "follow"],
            lead: [
                .tag(
                    "span", [("id", "clock-state"), ("data-follow", nil)],
                    .tag(
                        "span", [("class", clock.isFrozen ? "badge warn" : "badge good")],
                        clock.isFrozen ? "frozen" : "running"))
            ],
            [
                try notice(exchange), refusalNote(refusal),
                .tag(
                    "div", [("class", "cards clock-faces"), ("id", "clock-faces"), ("data-follow", nil)],
                    face("In this world", now, isRunning: !clock.isFrozen, "clock-world"),
                    face("On the machine", machine, isRunning: true, nil)),
                .tag(
                    "p", [("class", "clock-distance"), ("id", "clock-distance"), ("data-follow", nil)],
                    distance(now, machine)),
                .tag(
                    "p", [("class", "soft")],
                    "Codes, tokens and sessions of this world expire by its clock. Other worlds have clocks of their own."
                ),
                .tag("h2", [], "Move it"), moves(exchange),
                .tag(
                    "div", [("class", "cards")], by(exchange, form), to(exchange, form),
                    state(exchange, isFrozen: clock.isFrozen)),
            ])
        return refused(answer, refusal)
    }

    /// Returns a clock. The script lets it tick; screen readers don't read it out.
    private func face(_ label: String, _ time: Instant, isRunning: Bool, _ kind: String?) -> HTML {
        var attributes: [(String, String?)] = [("datetime", time.text), ("data-clock", String(time.milliseconds))]
        if isRunning { attributes.append(("data-running", nil)) }
        let text = time.text
        return .tag(
            "section", [("class", "card clock-face \(kind ?? "")")], .tag("h2", [], label),
            .tag(
                "p", [],
                .tag(
                    "time", attributes, .tag("span", [("class", "clock-date")], String(text.prefix(10))), .text(" "),
                    .tag("span", [("class", "clock-time")], "\(text.dropFirst(11).prefix(8))")),
                .tag("span", [("class", "soft")], " UTC")))
    }

    private func distance(_ now: Instant, _ machine: Instant) -> String {
        let span = now - machine
        // Reading two clocks takes some time.
        guard abs(span.milliseconds) >= 1_000 else { return "It is the same time in the world as on the machine." }
        let words = Inspector.words((abs(span.milliseconds) + 500) / 1_000)
        return "The world is \(words) \(span.milliseconds > 0 ? "ahead of" : "behind") the machine."
    }

    /// Describes a span in its two largest units.
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

    private static let steps = [
        (span: "1m", label: "+1 minute", about: ""),
        (span: "11m", label: "+11 minutes", about: "authorization codes expire"),
        (span: "1h", label: "+1 hour", about: ""), (span: "1d", label: "+1 day", about: ""),
        (span: "30d", label: "+30 days", about: ""),
        (span: "190d", label: "+190 days", about: "client secrets expire"),
    ]

    private func moves(_ exchange: Exchange) -> HTML {
        .element(
            "div", attributes: [(name: "class", value: "row clock-moves")],
            children: Inspector.steps.map { step in
                form(
                    to: "clock", exchange, [],
                    [
                        .hidden("do", "advance"), .hidden("span", step.span),
                        .tag(
                            "button", [("class", "quiet")], .text(step.label),
                            step.about.isEmpty ? .group([]) : .tag("span", [("class", "clock-about")], step.about)),
                    ])
            })
    }

    private func by(_ exchange: Exchange, _ form: Form) -> HTML {
        .tag(
            "section", [("class", "card")], .tag("h3", [], "By any span"),
            self.form(
                to: "clock", exchange, [],
                [
                    .hidden("do", "advance"),
                    OrderField.line("Span", "span", form, hint: "such as 90s, 6m, 2h, 30d; -1h goes back"),
                    .tag("p", [], OrderField.button("Move it")),
                ]))
    }

    private func to(_ exchange: Exchange, _ form: Form) -> HTML {
        .tag(
            "section", [("class", "card")], .tag("h3", [], "To a moment"),
            self.form(
                to: "clock", exchange, [],
                [
                    .hidden("do", "set"),
                    OrderField.line(
                        "Date and time", "time", form, hint: "UTC", [("type", "datetime-local"), ("step", "1")]),
                    .tag("p", [], OrderField.button("Set it")),
                ]))
    }

    private func state(_ exchange: Exchange, isFrozen: Bool) -> HTML {
        .tag(
            "section", [("class", "card")], .tag("h3", [], isFrozen ? "It stands still" : "It is running"),
            .tag(
                "p", [("class", "soft small")],
                "Frozen, it moves only when somebody moves it, so that two runs of a test give the same tokens."),
            .tag(
                "div", [("class", "row")],
                form(
                    to: "clock", exchange, [],
                    [
                        .hidden("do", isFrozen ? "run" : "freeze"),
                        OrderField.button(isFrozen ? "Let it run" : "Freeze it", "quiet"),
                    ]),
                form(
                    to: "clock", exchange, [],
                    [.hidden("do", "reset"), OrderField.button("Back to the machine's time", "quiet")])))
    }

    func setClock(_ exchange: Exchange, _ form: Form) async throws -> Response {
        let order: JSONValue =
            switch form["do"] {
            case "set": ["set": .string(Inspector.instant(form["time"] ?? ""))]
            case "freeze": ["freeze": true]
            case "run": ["freeze": false]
            case "reset": ["reset": true]
            default: ["advance": .string((form["span"] ?? "").filter { !$0.isWhitespace })]
            }
        do {
            _ = try await call("POST", "clock", order, in: exchange)
            let now = exchange.world.now.text
            return try changed(exchange, show: "clock", saying: "It was \(now) in this world when that was done.")
        } catch let error as CallRefusal {
            return try clockPage(exchange, form, status: error.status, refusal: error)
        }
    }

    /// Returns a browser's date and time, `2030-01-01T00:00` with seconds or without, in the control API's form.
    private static func instant(_ text: String) -> String {
        switch text.utf8.count {
        case 16: text + ":00Z"
        case 19: text + "Z"
        default: text
        }
    }
}
