import EmulatorCore
import HTTPServer
import JOSE

/// A body for people: JSON with line breaks, a form as a table, other texts unchanged, bytes as a dump of their
/// beginning.
enum BodyView {
    /// The greatest number of bytes that are shown.
    static let limit = 24 << 10

    static func text(_ text: String, type: String?, label: String) -> [HTML] {
        let bytes = Array(text.utf8)
        let kind = type?.mediaType ?? ""
        if bytes.holdsJSON {
            var layout = JSONLayout(limit: limit)
            layout.add(bytes)
            return [source(layout.text, label: label)] + (layout.isCut ? [cut] : [])
        }
        if kind == "application/x-www-form-urlencoded" {
            let fields = Form(parsing: bytes).fields
            return [FieldTable(caption: "Form", rows: fields.map { ($0.name, $0.value) }).html]
        }
        return [source(text, label: label)] + (bytes.count > limit ? [cut] : [])
    }

    static func bytes(_ bytes: [UInt8], label: String) -> [HTML] {
        let note = "It isn't UTF-8: its first \(min(bytes.count, HexDump.limit)) bytes are these."
        return [.tag("p", [("class", "soft small")], note), source(HexDump.text(bytes), label: label)]
    }

    private static var cut: HTML {
        .tag("p", [("class", "soft small")], "Only the beginning is shown here: save the body to see the rest.")
    }

    private static func source(_ text: String, label: String) -> HTML {
        .tag(
            "pre", [("tabindex", "0"), ("role", "region"), ("aria-label", label)], ShownText.source(text, limit: limit))
    }
}

/// Formats JSON with a member or an element a line, without parsing its values: duplicate names, numbers of any length
/// and texts that aren't valid JSON to the end stay as they are.
struct JSONLayout {
    /// The deepest level of indentation, so that the text doesn't grow too much.
    private static let deepest = 16

    private let limit: Int
    private var output: [UInt8] = []
    private var level = 0
    private(set) var isCut = false

    /// Makes a layout. `limit` is the greatest number of bytes that it writes.
    init(limit: Int) { self.limit = limit }

    var text: String { String(decoding: output, as: UTF8.self) }

    mutating func add(_ bytes: [UInt8]) {
        var isInText = false
        var place = 0
        while place < bytes.count {
            guard output.count < limit else {
                isCut = true
                return
            }
            let byte = bytes[place]
            place += 1
            if isInText {
                output.append(byte)
                if byte == UInt8(ascii: "\\"), place < bytes.count {
                    output.append(bytes[place])
                    place += 1
                } else if byte == UInt8(ascii: "\"") {
                    isInText = false
                }
                continue
            }
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: break
            case UInt8(ascii: "\""):
                output.append(byte)
                isInText = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): place = open(byte, bytes, place)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                level = max(0, level - 1)
                breakLine()
                output.append(byte)
            case UInt8(ascii: ","):
                output.append(byte)
                breakLine()
            case UInt8(ascii: ":"): output += [byte, 0x20]
            default: output.append(byte)
            }
        }
    }

    /// Writes an opening bracket; an empty object or array stays on its line. Returns the index after it.
    private mutating func open(_ byte: UInt8, _ bytes: [UInt8], _ place: Int) -> Int {
        output.append(byte)
        var next = place
        while next < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[next]) { next += 1 }
        if next < bytes.count, bytes[next] == UInt8(ascii: "}") || bytes[next] == UInt8(ascii: "]") {
            output.append(bytes[next])
            return next + 1
        }
        level += 1
        breakLine()
        return next
    }

    private mutating func breakLine() {
        output.append(0x0A)
        output += [UInt8](repeating: 0x20, count: 2 * min(level, JSONLayout.deepest))
    }
}

enum HexDump {
    /// The greatest number of bytes that are shown.
    static let limit = 512

    /// Returns sixteen bytes a line: their position, their hexadecimal digits, and their ASCII characters.
    static func text(_ bytes: [UInt8]) -> String {
        let shown = bytes.prefix(limit)
        return stride(from: 0, to: shown.count, by: 16).map { start in
            let line = shown[start..<min(start + 16, shown.count)]
            let digits = line.map { Hex.encode([$0]) }.joined(separator: " ")
            let text = line.map { (0x20..<0x7F).contains($0) ? String(Unicode.Scalar($0)) : "." }.joined()
            let pad = String(repeating: " ", count: 47 - digits.utf8.count)
            return Hex.encode([UInt8(truncatingIfNeeded: start >> 8), UInt8(truncatingIfNeeded: start)])
                + "  \(digits)\(pad)  \(text)"
        }.joined(separator: "\n")
    }
}
