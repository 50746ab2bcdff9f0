import HTTPServer
import JSON
import Recordings
import Worlds

/// The reason why a request was refused: what was received, what was expected, and what to do about it. It is sent in
/// the header `Understudy-Diagnosis` and logged. The rest of the response stays as the real provider sends it.
package struct Diagnosis: Sendable, Equatable {
    package static let headerName = RecordedExchange.diagnosisHeader

    package let received: String?
    package let expected: String?
    package let advice: String
    /// The members that the test world's seed lacks for the refused request to succeed, as JSON that can be merged into
    /// the seed; `nil` if no addition is known to help.
    package private(set) var missingSeed: JSONValue?

    package func mended(byMerging seed: JSONValue) -> Diagnosis {
        var diagnosis = self
        diagnosis.missingSeed = seed
        return diagnosis
    }

    package init(received: String? = nil, expected: String? = nil, _ advice: String) {
        self.received = received
        self.expected = expected
        self.advice = advice
    }

    /// The diagnosis (the reason for a refusal) as one line of printable ASCII, at most 1,000 characters.
    package var line: String {
        var text = ""
        if let received { text += "received \(received); " }
        if let expected { text += "expected \(expected); " }
        return Diagnosis.printable(text + advice, limit: 1000)
    }

    /// Returns `text` in quotation marks for a diagnosis, shortened when it has more than `limit` characters.
    package static func quote(_ text: String, limit: Int = 120) -> String {
        "\"\(printable(text, limit: limit))\""
    }

    /// Returns the expected values as a phrase for a diagnosis, such as `"a" or "b"`; `nil` for an empty list.
    package static func alternatives(_ values: [String]) -> String? {
        values.isEmpty ? nil : values.map { quote($0) }.joined(separator: " or ")
    }

    /// Returns a path for the log. All but printable ASCII is percent-encoded, so that no request writes control
    /// sequences to anybody's terminal.
    static func visible(_ path: String) -> String {
        guard !path.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else { return path }
        var text = ""
        for byte in path.utf8 {
            if (0x21..<0x7F).contains(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }

    fileprivate static func printable(_ text: String, limit: Int) -> String {
        var characters: [UInt8] = []
        for scalar in text.unicodeScalars.prefix(limit + 1) {
            let value = scalar.value
            if value == 0x0A || value == 0x0D || value == 0x09 {
                characters.append(UInt8(ascii: " "))
            } else if scalar == "…" {
                characters.append(contentsOf: "...".utf8)
            } else {
                characters.append((0x20..<0x7F).contains(value) ? UInt8(value) : UInt8(ascii: "?"))
            }
        }
        let line = String(decoding: characters, as: UTF8.self)
        return characters.count > limit ? String(line.prefix(limit - 3)) + "..." : line
    }
}

extension StoreFailure {
    package var diagnosis: Diagnosis { Diagnosis(message) }
}

/// A remark for the developer about something surprising that isn't an error, such as that Firebase sends no mail
/// because no user has the address. The response carries it in the header `Understudy-Note`, and it is logged.
package struct Note: Sendable, Equatable {
    package static let headerName = RecordedExchange.noteHeader

    /// The text of the header `Understudy-Note`: one line of printable ASCII, at most 1,000 characters.
    package let line: String

    package init(_ text: String) { line = Diagnosis.printable(text, limit: 1000) }

    package init(_ diagnosis: Diagnosis) { line = diagnosis.line }
}

extension Response {
    /// Returns a copy of the response with `note` in the header `Understudy-Note`. Several notes are joined into one
    /// line.
    package func addingNote(_ note: Note) -> Response {
        var response = self
        guard let place = response.headers.firstIndex(where: { $0.name == Note.headerName }) else {
            response.headers.append((name: Note.headerName, value: note.line))
            return response
        }
        response.headers[place].value = Note("\(response.headers[place].value); \(note.line)").line
        return response
    }

    /// Returns a copy of the response with `text` added to the header `Understudy-Diagnosis`. A response without this
    /// header stays unchanged.
    func diagnosed(adding text: String) -> Response {
        guard !text.isEmpty, let place = headers.firstIndex(where: { $0.name == Diagnosis.headerName }) else {
            return self
        }
        var response = self
        response.headers[place].value = Diagnosis.printable(headers[place].value + text, limit: 1000)
        return response
    }

    package func diagnosed(_ diagnosis: Diagnosis) -> Response {
        var response = self
        response.headers.append((name: Diagnosis.headerName, value: diagnosis.line))
        return response
    }
}

/// The parts of a diagnosis (the reason for a refusal) as HTML pages show them: the received text above the expected
/// text, with the difference marked, and the advice.
package struct DiagnosisParts: Sendable, Equatable {
    /// A piece of the received or of the expected text in a diagnosis. The piece is marked if the two texts differ in
    /// it.
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

    /// Splits a diagnosis, a line that `Diagnosis.line` has written, into its parts. If the parts can't be found,
    /// `advice` is the whole line.
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

    /// Returns the range of the first "; " outside quotation marks, where a part of a diagnosis ends. If every "; " is
    /// inside quotation marks, returns the first of them.
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

    /// Marks where the received and the expected text of a diagnosis differ. Each quoted value or URL in the received
    /// text is compared with each one in the expected text. In the most similar pair, the characters that differ are
    /// marked.
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

    /// Returns the ranges of the quoted values and of the unquoted URLs in a text, at most 24. Values of more than
    /// 2,000 bytes are left out, because Swift takes quadratic time to read many flag emoji from the end of a text.
    private static func values(of text: String) -> [Range<String.Index>] {
        (text.ranges(of: #/"[^"]{4,}"/#).map { text.index(after: $0.lowerBound)..<text.index(before: $0.upperBound) }
            + text.ranges(of: #/[a-z][a-z0-9+.-]*:\/\/[^\s",]+/#)).filter { text[$0].utf8.count <= 2_000 }
            .prefix(24).map { $0 }
    }
}

extension DiagnosisParts {
    /// Returns HTML that shows the received text, the expected text and the advice of a diagnosis one below another.
    /// `linked` turns the advice into HTML with links.
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
    /// The text with a capital at its beginning, unless it begins with the name of a parameter, such as `client_id`.
    fileprivate var firstCapitalized: String {
        prefix { $0 != " " }.contains("_") ? self : prefix(1).uppercased() + dropFirst()
    }
}
