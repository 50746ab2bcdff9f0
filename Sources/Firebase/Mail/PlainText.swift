/// Makes a text of an HTML mail that has none. It is for reading only: it knows what mails are made of, not all of
/// HTML.
enum PlainText {
    /// The elements that end a line.
    private static let blocks: Set<String> = [
        "p", "div", "br", "tr", "li", "h1", "h2", "h3", "h4", "table", "ul", "ol", "blockquote", "hr",
    ]
    /// The elements whose content isn't shown.
    private static let hidden: Set<String> = ["head", "style", "script", "title", "template"]
    private static let entities = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "#39": "'", "#10": "\n", "#13": "", "nbsp": " ",
        "rsquo": "’", "copy": "©", "mdash": "—", "ndash": "–",
    ]

    /// Returns the text, in time proportional to its length.
    static func of(html: String) -> String {
        var output = ""
        /// The element whose content is left out.
        var skipped: Substring?
        var rest = Substring(html)
        while let character = rest.first {
            if character == "<" {
                let tag = rest.dropFirst().prefix { $0 != ">" }
                rest = rest[tag.endIndex...].dropFirst()
                let isEnd = tag.first == "/"
                let name = (isEnd ? tag.dropFirst() : tag).prefix { $0.isASCII && ($0.isLetter || $0.isNumber) }
                    .lowercased()
                if let element = skipped {
                    if isEnd, name == element { skipped = nil }
                } else if !isEnd, hidden.contains(name) {
                    skipped = Substring(name)
                } else if blocks.contains(name), !isEnd || name != "br" {
                    endLine(&output)
                }
                continue
            }
            let run = character == "&" ? entity(&rest) : text(&rest)
            if skipped == nil { append(run, to: &output) }
        }
        while output.last?.isWhitespace ?? false { output.removeLast() }
        return output + "\n"
    }

    private static func text(_ rest: inout Substring) -> String {
        let run = rest.prefix { $0 != "<" && $0 != "&" }
        rest = rest[run.endIndex...]
        return String(run)
    }

    private static func entity(_ rest: inout Substring) -> String {
        let name = rest.dropFirst().prefix(8).prefix { $0 != ";" }
        guard let value = entities[String(name)], name.endIndex < rest.endIndex, rest[name.endIndex] == ";" else {
            rest = rest.dropFirst()
            return "&"
        }
        rest = rest[name.endIndex...].dropFirst()
        return value
    }

    /// Appends a text, with each run of white space as one space.
    private static func append(_ run: String, to output: inout String) {
        for character in run {
            guard character.isWhitespace else {
                output.append(character)
                continue
            }
            if let last = output.last, !last.isWhitespace { output.append(" ") }
        }
    }

    /// Ends a line, unless an empty line was just added.
    private static func endLine(_ output: inout String) {
        if output.last == " " { output.removeLast() }
        guard !output.isEmpty, !output.hasSuffix("\n\n") else { return }
        output.append("\n")
    }
}
