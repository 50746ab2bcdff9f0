import HTTPServer
import JSON

/// The reason why something was refused: what was received, what was expected, and what to do about it. It is sent in
/// the header `Understudy-Diagnosis` and logged; the provider's answer stays as it is.
package struct Diagnosis: Sendable, Equatable {
    package static let headerName = "Understudy-Diagnosis"

    package let received: String?
    package let expected: String?
    package let advice: String
    /// The members that the world's seed lacks, as a seed that can be merged into it; `nil` if that wouldn't help.
    package private(set) var missingSeed: JSONValue?

    /// Returns the same diagnosis with the members that the world's seed lacks.
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

    /// The diagnosis in one line of printable ASCII, at most 1,000 characters.
    package var line: String {
        var text = ""
        if let received { text += "received \(received); " }
        if let expected { text += "expected \(expected); " }
        return Diagnosis.printable(text + advice, limit: 1000)
    }

    /// Returns `text` quoted for a diagnosis, shortened when it is long.
    package static func quote(_ text: String, limit: Int = 120) -> String {
        "\"\(printable(text, limit: limit))\""
    }

    /// Returns `"a" or "b"`, for expected values; `nil` when there are none.
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
            } else {
                characters.append((0x20..<0x7F).contains(value) ? UInt8(value) : UInt8(ascii: "?"))
            }
        }
        let line = String(decoding: characters, as: UTF8.self)
        return characters.count > limit ? String(line.prefix(limit - 3)) + "..." : line
    }
}

/// A note about something surprising in an answer that refuses nothing, such as a mail that Firebase doesn't send
/// because nobody has the address. It is sent in the header `Understudy-Note` and logged.
package struct Note: Sendable, Equatable {
    package static let headerName = "Understudy-Note"

    /// The note in one line of printable ASCII, at most 1,000 characters.
    package let line: String

    package init(_ text: String) { line = Diagnosis.printable(text, limit: 1000) }

    package init(_ diagnosis: Diagnosis) { line = diagnosis.line }
}

extension Response {
    /// Returns the same response with a note; several notes are one line.
    package func noted(_ note: Note) -> Response {
        var response = self
        guard let place = response.headers.firstIndex(where: { $0.name == Note.headerName }) else {
            response.headers.append((name: Note.headerName, value: note.line))
            return response
        }
        response.headers[place].value = Note("\(response.headers[place].value); \(note.line)").line
        return response
    }

    /// Returns the same response with `text` added to its diagnosis.
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
