import Control
import EmulatorCore
import HTTPServer

/// The sequence diagram of a sign-in: a lifeline for each party, an arrow for each request, and a dashed arrow for each
/// response. The style sheet sets the colours and strokes. Each arrow is a link to the page about the request.
struct SequenceDiagram {
    let conversation: Conversation
    let reader: FlowReader
    let exchange: Exchange

    let size: DiagramSize

    private var head: Int { size.box.height + 22 }
    private var width: Int { size.margin * 2 + size.column * max(0, conversation.parties.count - 1) }
    private var height: Int { head + size.line * conversation.lines.count + 24 }

    private func x(_ party: Party) -> Int {
        size.margin + size.column * (conversation.parties.firstIndex(of: party) ?? 0)
    }

    var html: HTML {
        let lines = conversation.lines.enumerated().map { number, line in
            draw(line, head + size.line * number + size.line - 16)
        }
        return .of(
            "svg.flow-diagram.\(size.name)",
            [
                "role": "group", "aria-label": "Sequence diagram", "width": "\(width)", "height": "\(height)",
                "viewBox": "0 0 \(width) \(height)",
            ], .group(conversation.parties.map { lifeline($0) }), .group(lines))
    }

    private func lifeline(_ party: Party) -> HTML {
        let middle = x(party)
        let (box, top) = (size.box, 6)
        let lines = size.lines(party.title, room: box.width - 8, limit: 2)
        let first = top + box.height / 2 + 5 - 7 * (lines.count - 1)
        return .of(
            "g.flow-party.\(party.style)", line(middle, top + box.height, middle, height - 8),
            rect("", middle - box.width / 2, top, box.width, box.height),
            .group(lines.enumerated().map { text($1, middle, first + 14 * $0) }))
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
        let words = ShownText.plain(step.answer)
        let style = step.isPending ? "pending" : step.isFailed || step.isCancelled ? "bad" : step.receiver.style
        let delay = step.exchange.duration >= 500_000 ? "after \(ShownText.duration(step.exchange.duration))" : ""
        let refused = step.isFailed && !step.isPending ? "refused, " : ""
        return arrow(
            x(step.receiver), x(step.sender), y, style: "flow-arrow answer \(style)", above: words, below: delay,
            spoken: "\(step.receiver.title) answers \(step.sender.title): \(refused)\(words) \(delay)", to: step)
    }

    private func pause(_ length: Int64, _ y: Int) -> HTML {
        .of(
            "g.flow-pause", rect("", 8, y - 18, width - 16, 26),
            text("\(ShownText.duration(length)) pass", width / 2, y))
    }

    private func arrow(
        _ from: Int, _ to: Int, _ y: Int, style: String, above: String, below: String, spoken: String, to step: FlowStep
    ) -> HTML {
        // An arrow from a party to itself is a short one to the right.
        let end = from == to ? from + size.column / 2 : to
        let middle = (from + end) / 2
        let tip = end > from ? end - 7 : end + 7
        let room = abs(end - from) - 14
        let label = size.lines(ShownText.plain(above, limit: 400), room: room, limit: size.labelLines)
        let details = size.hasDetails ? size.lines(ShownText.plain(below, limit: 400), room: room, limit: 1) : []
        return .of(
            "a",
            [
                "href": exchange.inspector("requests/\(step.exchange.id)"),
                "aria-label": ShownText.plain(spoken, limit: 300), "class": style,
            ], rect(".flow-hit", min(from, end), y - size.line + 18, abs(end - from), size.line - 2),
            line(from, y, tip, y), .of("path", ["d": "M\(end) \(y)L\(tip) \(y - 4)L\(tip) \(y + 4)Z"]),
            .group(label.enumerated().map { text($1, middle, y - 6 - 13 * (label.count - 1 - $0)) }),
            .group(details.map { text($0, middle, y + 13, ".detail") }))
    }

    private func line(_ x1: Int, _ y1: Int, _ x2: Int, _ y2: Int) -> HTML {
        .of("line", ["x1": "\(x1)", "x2": "\(x2)", "y1": "\(y1)", "y2": "\(y2)"])
    }

    private func rect(_ style: String, _ x: Int, _ y: Int, _ width: Int, _ height: Int) -> HTML {
        .of(
            "rect\(style)",
            [
                "x": "\(x)", "y": "\(y)", "width": "\(width)", "height": "\(height)",
                "rx": style.isEmpty ? "7" : nil,
            ])
    }

    private func text(_ text: String, _ x: Int, _ y: Int, _ style: String = "") -> HTML {
        .of("text\(style)", ["x": "\(x)", "y": "\(y)", "text-anchor": "middle"], .text(text))
    }
}

/// The sizes of the parts of a sequence diagram, in pixels. A page contains each diagram in two sizes, and shows the
/// size that fits the window.
struct DiagramSize {
    /// The diagram's class in the style sheet, which also sets the font size.
    let name: String
    /// The space between two lifelines of a sequence diagram, in pixels.
    let column: Int
    /// The space between the first lifeline of a sequence diagram and the edge, in pixels.
    let margin: Int
    /// The size of the box with a party's name in a sequence diagram, in pixels.
    let box: (width: Int, height: Int)
    /// The vertical space between two arrows of a sequence diagram, in pixels.
    let line: Int
    /// The approximate width of a letter in a sequence diagram, in pixels.
    let letter: Int
    /// The greatest number of lines in a label of a sequence diagram.
    let labelLines: Int
    /// Whether the sequence diagram shows the paths of requests below the arrows.
    let hasDetails: Bool

    /// Returns the sizes for a sequence diagram with this number of parties, in a window that is wide enough for it.
    static func wide(parties: Int) -> DiagramSize {
        let columns = [440, 440, 440, 380, 265]
        return DiagramSize(
            name: "wide", column: parties < columns.count ? columns[parties] : 196, margin: 110, box: (184, 30),
            line: 48,
            letter: 7, labelLines: 2, hasDetails: true)
    }

    /// The sizes for a sequence diagram on a phone, where three parties fit.
    static let narrow = DiagramSize(
        name: "narrow", column: 108, margin: 54, box: (102, 40), line: 54, letter: 6, labelLines: 3, hasDetails: false)

    /// Breaks `text` into lines that are at most `room` pixels wide, and cuts it after `limit` lines.
    func lines(_ text: String, room: Int, limit: Int) -> [String] {
        let length = max(8, room / letter)
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= length {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
        let isCut = lines.count > limit
        return lines.prefix(limit).enumerated().map { number, line in
            let goesOn = isCut && number == limit - 1
            if line.count <= length - (goesOn ? 2 : 0) { return goesOn ? "\(line) …" : line }
            return line.prefix(length - 1) + "…"
        }
    }
}
