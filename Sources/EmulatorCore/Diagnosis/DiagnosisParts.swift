/// The parts of a diagnosis, as pages show it: received above expected, with the difference marked, and the advice.
package struct DiagnosisParts: Sendable, Equatable {
    /// A piece of a text. Marked pieces differ from the other text.
    package struct Piece: Sendable, Equatable {
        package let text: String
        package let isMarked: Bool
    }

    package let received: [Piece]
    package let expected: [Piece]
    package let advice: String

    package init(_ diagnosis: Diagnosis) {
        let (received, expected) = (diagnosis.received ?? "", diagnosis.expected ?? "")
        (self.received, self.expected) = DiagnosisParts.marked(received, expected)
        advice = diagnosis.advice
    }

    /// Reads a line that `Diagnosis.line` has written. If its parts can't be found, `advice` is all of it.
    package init(line: String) {
        var rest = line[...]
        var received: String?
        var expected: String?
        if rest.hasPrefix("received ") {
            let body = rest.dropFirst("received ".count)
            if let end = body.firstRange(of: "; expected ") ?? DiagnosisParts.end(of: body) {
                received = String(body[..<end.lowerBound])
                rest = body[body.index(end.lowerBound, offsetBy: 2)...]
            }
        }
        if rest.hasPrefix("expected ") {
            let body = rest.dropFirst("expected ".count)
            if let end = DiagnosisParts.end(of: body) {
                expected = String(body[..<end.lowerBound])
                rest = body[end.upperBound...]
            }
        }
        self.init(Diagnosis(received: received, expected: expected, String(rest)))
    }

    /// Returns the first "; " that isn't in quotation marks.
    private static func end(of text: Substring) -> Range<Substring.Index>? {
        var isQuoted = false
        var place = text.startIndex
        while place < text.endIndex {
            if text[place] == "\"" { isQuoted.toggle() }
            if !isQuoted, text[place...].hasPrefix("; ") { return place..<text.index(place, offsetBy: 2) }
            place = text.index(after: place)
        }
        return text.firstRange(of: "; ")
    }

    // MARK: - The difference

    /// Marks the difference between the most similar values of two texts.
    private static func marked(_ received: String, _ expected: String) -> ([Piece], [Piece]) {
        func whole(_ text: String) -> [Piece] { text.isEmpty ? [] : [Piece(text: text, isMarked: false)] }
        var best: (left: Range<String.Index>, right: Range<String.Index>, alike: Int)?
        for left in values(of: received) {
            for right in values(of: expected) {
                let (prefix, suffix) = alike(received[left], expected[right])
                let longest = max(received[left].count, expected[right].count)
                guard prefix + suffix < longest, (prefix + suffix) * 2 >= longest else { continue }
                if prefix + suffix > best?.alike ?? 0 {
                    let inner = { (text: String, range: Range<String.Index>) -> Range<String.Index> in
                        text.index(range.lowerBound, offsetBy: prefix)..<text.index(range.upperBound, offsetBy: -suffix)
                    }
                    best = (inner(received, left), inner(expected, right), prefix + suffix)
                }
            }
        }
        guard let best else { return (whole(received), whole(expected)) }
        return (pieces(of: received, marking: best.left), pieces(of: expected, marking: best.right))
    }

    private static func pieces(of text: String, marking range: Range<String.Index>) -> [Piece] {
        [
            Piece(text: String(text[..<range.lowerBound]), isMarked: false),
            Piece(text: String(text[range]), isMarked: true),
            Piece(text: String(text[range.upperBound...]), isMarked: false),
        ].filter { !$0.text.isEmpty }
    }

    /// Returns the number of characters that two texts have in common at their beginnings and at their ends.
    private static func alike(_ left: Substring, _ right: Substring) -> (prefix: Int, suffix: Int) {
        let prefix = zip(left, right).prefix { $0 == $1 }.count
        let suffix = zip(left.dropFirst(prefix).reversed(), right.dropFirst(prefix).reversed()).prefix { $0 == $1 }
            .count
        return (prefix, suffix)
    }

    /// Returns the quoted values of a text, and its URLs without quotation marks, but only a few, since a diagnosis is
    /// a line.
    private static func values(of text: String) -> [Range<String.Index>] {
        (text.ranges(of: #/"[^"]{4,}"/#).map { text.index(after: $0.lowerBound)..<text.index(before: $0.upperBound) }
            + text.ranges(of: #/[a-z][a-z0-9+.-]*:\/\/[^\s",]+/#)).prefix(24).map { $0 }
    }
}

extension DiagnosisParts {
    /// Returns the parts one below another. `linked` makes HTML of the advice, with its links.
    package func html(linked: (String) -> HTML = { .text($0) }) -> HTML {
        guard !received.isEmpty || !expected.isEmpty else { return .tag("p", [], linked(advice.firstCapitalized)) }
        var rows: [HTML] = []
        func add(_ name: String, _ value: HTML) { rows.append(.group([.tag("dt", [], name), .tag("dd", [], value)])) }
        if !received.isEmpty { add("Received", DiagnosisParts.code(received)) }
        if !expected.isEmpty { add("Expected", DiagnosisParts.code(expected)) }
        // If nothing was expected, the text is a reason and not advice.
        add(expected.isEmpty ? "Why" : "Do", linked(advice.firstCapitalized))
        return .element("dl", attributes: [(name: "class", value: "diagnosis")], children: rows)
    }

    private static func code(_ pieces: [Piece]) -> HTML {
        .element(
            "code", attributes: [],
            children: pieces.map { $0.isMarked ? .tag("mark", [], $0.text) : .text($0.text) })
    }
}

extension String {
    fileprivate var firstCapitalized: String { prefix(1).uppercased() + dropFirst() }
}
