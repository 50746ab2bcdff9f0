import EmulatorCore
import HTTPServer

/// A conversation as a sequence diagram: a lifeline for each party, an arrow for each request, a dashed one for its answer.
/// Its colours and strokes are the style sheet's; each arrow is a link to its exchange.
struct SequenceDiagram {
    let conversation: Conversation
    let reader: FlowReader
    let exchange: Exchange

    /// Pixels between two lifelines: fewer where there are many.
    private var column: Int { conversation.parties.count > 4 ? 196 : 250 }
    private static let margin = 110
    private static let head = 52
    private static let line = 46

    private var width: Int {
        SequenceDiagram.margin * 2 + column * max(0, conversation.parties.count - 1)
    }
    private var height: Int { SequenceDiagram.head + SequenceDiagram.line * conversation.lines.count + 24 }

    private func x(_ party: Party) -> Int {
        SequenceDiagram.margin + column * (conversation.parties.firstIndex(of: party) ?? 0)
    }

    var html: HTML {
        let lines = conversation.lines.enumerated().map { number, line in
            draw(line, SequenceDiagram.head + SequenceDiagram.line * number + 30)
        }
        let size = [("width", String(width)), ("height", String(height)), ("viewBox", "0 0 \(width) \(height)")]
        return .tag(
            "svg",
            [("class", "flow-diagram"), ("role", "group"), ("aria-label", "Sequence diagram")] + size,
            .group(conversation.parties.map { lifeline($0) }), .group(lines))
    }

    private func lifeline(_ party: Party) -> HTML {
        let middle = x(party)
        return .tag(
            "g", [("class", "flow-party \(party.style)")],
            .tag("line", [("x1", "\(middle)"), ("x2", "\(middle)"), ("y1", "36"), ("y2", "\(height - 8)")]),
            .tag("rect", [("x", "\(middle - 92)"), ("y", "6"), ("width", "184"), ("height", "30"), ("rx", "7")]),
            .tag("text", [("x", "\(middle)"), ("y", "26"), ("text-anchor", "middle")], party.title))
    }

    // MARK: - Lines

    private func draw(_ line: Conversation.Line, _ y: Int) -> HTML {
        switch line {
        case .pause(let length): pause(length, y)
        case .request(let step): request(step, y)
        case .answer(let step): answer(step, y)
        case .onward(let step, let party, let label, let place):
            arrow(
                x(.browser), x(party), y, style: "flow-arrow browser", above: label, below: place,
                spoken: "Browser to \(party.title): \(label), \(place)", to: step)
        }
    }

    private func request(_ step: FlowStep, _ y: Int) -> HTML {
        let path = "\(step.exchange.request.method) \(reader.control.shownPath(of: step.known))"
        let fault = step.exchange.fault == nil ? "" : " ⚡ fault"
        return arrow(
            x(step.sender), x(step.receiver), y, style: "flow-arrow \(step.sender.style)",
            above: step.step.label + fault, below: path,
            spoken: "\(step.sender.title) to \(step.receiver.title): \(step.step.label), \(path)\(fault)", to: step)
    }

    private func answer(_ step: FlowStep, _ y: Int) -> HTML {
        let words = AnswerWords.answer(step)
        let style = step.isPending ? "pending" : step.isFailed || step.isCancelled ? "bad" : step.receiver.style
        let delay = step.exchange.duration >= 500_000 ? "after \(ShownText.duration(step.exchange.duration))" : ""
        let refused = step.isFailed && !step.isPending ? "refused, " : ""
        return arrow(
            x(step.receiver), x(step.sender), y, style: "flow-arrow answer \(style)", above: words, below: delay,
            spoken: "\(step.receiver.title) answers \(step.sender.title): \(refused)\(words) \(delay)", to: step)
    }

    private func pause(_ length: Int64, _ y: Int) -> HTML {
        let middle = width / 2
        return .tag(
            "g", [("class", "flow-pause")],
            .tag("rect", [("x", "8"), ("y", "\(y - 18)"), ("width", "\(width - 16)"), ("height", "26"), ("rx", "7")]),
            .tag(
                "text", [("x", "\(middle)"), ("y", "\(y)"), ("text-anchor", "middle")],
                "\(ShownText.duration(length)) pass"))
    }

    private func arrow(
        _ from: Int, _ to: Int, _ y: Int, style: String, above: String, below: String, spoken: String, to step: FlowStep
    ) -> HTML {
        // To oneself, it is drawn as a short one to the right.
        let end = from == to ? from + 90 : to
        let middle = (from + end) / 2
        let tip = end > from ? end - 7 : end + 7
        // Seven pixels are the width of a letter, nearly.
        let room = max(12, (abs(end - from) - 14) / 7)
        return .tag(
            "a",
            [
                ("href", exchange.inspector("requests/\(step.exchange.id)")),
                ("aria-label", ShownText.plain(spoken, limit: 300)), ("class", style),
            ],
            .tag(
                "rect",
                [
                    ("class", "flow-hit"), ("x", "\(min(from, end))"), ("y", "\(y - 20)"),
                    ("width", "\(abs(end - from))"), ("height", "\(SequenceDiagram.line - 4)"),
                ]),
            .tag("line", [("x1", "\(from)"), ("x2", "\(tip)"), ("y1", "\(y)"), ("y2", "\(y)")]),
            .tag("path", [("d", "M\(end) \(y)L\(tip) \(y - 4)L\(tip) \(y + 4)Z")]),
            text(above, middle, y - 6, room, ""), text(below, middle, y + 13, room, "detail"))
    }

    private func text(_ text: String, _ x: Int, _ y: Int, _ room: Int, _ style: String) -> HTML {
        guard !text.isEmpty else { return .group([]) }
        let shown = ShownText.plain(text, limit: 400)
        let cut = shown.count > room ? shown.prefix(room - 1) + "…" : shown[...]
        return .tag(
            "text", [("x", "\(x)"), ("y", "\(y)"), ("text-anchor", "middle"), ("class", style)], String(cut))
    }
}
