/// An element of an XML document: <https://www.w3.org/TR/xml/>.
struct XML {
    enum Content {
        case elements([XML])
        case text(String)
    }

    private let name: String
    private let attributes: [(name: String, value: String)]
    private let content: Content

    init(_ name: String, _ attributes: [(String, String)], _ content: Content = .elements([])) {
        self.name = name
        self.attributes = attributes.map { (name: $0.0, value: $0.1) }
        self.content = content
    }

    /// The text with one element a line, indented.
    var text: String {
        var text = ""
        write(to: &text, indent: "")
        return text
    }

    private func write(to text: inout String, indent: String) {
        text += "\(indent)<\(name)"
        for attribute in attributes {
            text += " \(attribute.name)=\"\(XML.escaped(attribute.value, inAttribute: true))\""
        }
        switch content {
        case .elements(let elements) where elements.isEmpty: text += "/>\n"
        case .elements(let elements):
            text += ">\n"
            for element in elements { element.write(to: &text, indent: indent + "  ") }
            text += "\(indent)</\(name)>\n"
        case .text(let content): text += ">\(XML.escaped(content, inAttribute: false))</\(name)>\n"
        }
    }

    /// Escapes a text. XML 1.0 has no way to write most control characters, not even as references: they become
    /// `\\u{1b}`.
    private static func escaped(_ text: String, inAttribute: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            // Parsers replace line breaks in attributes by spaces, and drop a carriage return.
            case "\r": escaped += "&#13;"
            case "\n" where inAttribute: escaped += "&#10;"
            case "\t" where inAttribute: escaped += "&#9;"
            case "\n", "\t": escaped.unicodeScalars.append(scalar)
            case "\u{20}"..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"...: escaped.unicodeScalars.append(scalar)
            default: escaped += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return escaped
    }
}
