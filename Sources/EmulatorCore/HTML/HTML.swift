/// HTML as a tree of elements and texts. Texts and attributes are always escaped, and style sheets and scripts can only
/// be literals of the source code.
package indirect enum HTML: Sendable {
    case element(String, attributes: [(name: String, value: String?)], children: [HTML])
    case text(String)
    case group([HTML])
    case style(StaticString)
    case script(StaticString)

    /// Returns an element. An attribute whose value is `nil` has only a name (`autofocus`).
    package static func tag(_ name: String, _ attributes: [(String, String?)] = [], _ children: HTML...) -> HTML {
        .element(name, attributes: attributes.map { (name: $0.0, value: $0.1) }, children: children)
    }

    package static func tag(_ name: String, _ attributes: [(String, String?)] = [], _ text: String) -> HTML {
        .element(name, attributes: attributes.map { (name: $0.0, value: $0.1) }, children: [.text(text)])
    }

    package static func hidden(_ name: String, _ value: String) -> HTML {
        .tag("input", [("type", "hidden"), ("name", name), ("value", value)])
    }

    private static let void: Set<String> = ["input", "meta", "br", "hr", "link", "img"]

    /// The whole HTML document as text, including `<!DOCTYPE html>`.
    package var document: String {
        var output = "<!DOCTYPE html>\n"
        write(to: &output)
        return output + "\n"
    }

    /// A part of a document as HTML text. It has no line breaks, because line breaks within texts are written as
    /// character references.
    package var fragment: String {
        var output = ""
        write(to: &output)
        return output
    }

    private func write(to output: inout String) {
        switch self {
        case .text(let text): output += HTML.escape(text)
        case .group(let children): for child in children { child.write(to: &output) }
        case .style(let css): output += "<style>\(css)</style>"
        case .script(let code): output += "<script>\(code)</script>"
        case .element(let name, let attributes, let children):
            output += "<\(name)"
            for attribute in attributes {
                output += " \(attribute.name)"
                if let value = attribute.value { output += "=\"\(HTML.escape(value))\"" }
            }
            output += ">"
            guard !HTML.void.contains(name) else { return }
            for child in children { child.write(to: &output) }
            output += "</\(name)>"
        }
    }

    /// Returns the text escaped for HTML and XML, as text or in an attribute.
    package static func escape(_ text: String) -> String {
        var output = ""
        output.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            case "'": output += "&#39;"
            // Browsers normalize line breaks unless they are written as references.
            case "\r": output += "&#13;"
            case "\n": output += "&#10;"
            // HTML can't have this character.
            case "\0": output += "\u{FFFD}"
            default: output.unicodeScalars.append(scalar)
            }
        }
        return output
    }
}
