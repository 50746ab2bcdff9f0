import Text

/// Finds the text of a mail's HTML without the markup. This is enough to find links and codes in the text, but not to
/// lay out a page.
enum HTMLText {
    /// The HTML elements that begin a new line of text.
    private static let blocks: Set<String> = [
        "address", "article", "blockquote", "br", "center", "dd", "div", "dl", "dt", "footer", "form", "h1", "h2", "h3",
        "h4", "h5", "h6", "header", "hr", "li", "main", "ol", "p", "pre", "section", "table", "tbody", "td", "th", "tr",
        "ul",
    ]

    static func plain(_ html: String) -> String {
        var output: [UInt8] = []
        var scanner = HTMLScanner(html)
        while let piece = scanner.next() {
            switch piece {
            case .tag(let tag):
                if blocks.contains(tag.name), output.last != 0x0A { output.append(0x0A) }
            case .text(let bytes):
                for byte in unescaped(bytes) {
                    let isBlank = byte == 0x20 || (0x09...0x0D).contains(byte)
                    if !isBlank {
                        output.append(byte)
                    } else if let last = output.last, last != 0x20, last != 0x0A {
                        output.append(0x20)
                    }
                }
            }
        }
        return String(decoding: output, as: UTF8.self).withoutEndlessMarks
    }

    private static let entities: [String: String] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": " ", "copy": "©", "ndash": "–",
        "mdash": "—", "hellip": "…", "zwnj": "", "colon": ":", "sol": "/", "equals": "=", "quest": "?",
    ]

    /// Replaces HTML's character references by their characters:
    /// <https://html.spec.whatwg.org/multipage/syntax.html#character-references>. Of the named references, only those
    /// are known that are usual in mails.
    static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard bytes.contains(UInt8(ascii: "&")) else { return Array(bytes) }
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "&"), let end = rest.prefix(12).firstIndex(of: UInt8(ascii: ";")),
                let character = character(rest[..<end])
            else {
                output.append(byte)
                continue
            }
            output += Array(character.utf8)
            rest = rest[end...].dropFirst()
        }
        return output
    }

    private static func character(_ name: ArraySlice<UInt8>) -> String? {
        let text = String(decoding: name, as: UTF8.self)
        guard text.first == "#" else { return entities[text] }
        let digits = text.dropFirst()
        let isHexadecimal = digits.first == "x" || digits.first == "X"
        let number = isHexadecimal ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        return number.flatMap { Unicode.Scalar($0) }.map { String(Character($0)) }
    }
}

/// Splits HTML into tags and texts in one pass. Like a browser, it tolerates malformed HTML.
struct HTMLScanner {
    struct Tag {
        /// The HTML element's name in lower case.
        let name: String
        let isEnd: Bool
        /// The HTML element's attributes, with names in lower case and values as in the source.
        let attributes: [(name: String, value: ArraySlice<UInt8>)]
    }

    enum Piece {
        case tag(Tag)
        case text(ArraySlice<UInt8>)
    }

    private var rest: ArraySlice<UInt8>
    /// The name of the open element whose content isn't shown, such as `style` or `script`; `nil` when there is none.
    private var hidden: String?

    private static let hiding: Set<String> = ["style", "script", "title", "template"]

    init(_ html: String) { rest = Array(html.utf8)[...] }

    mutating func next() -> Piece? {
        if let name = hidden {
            hidden = nil
            skip(past: Array("</\(name)".utf8))
            skipTag()
        }
        guard let first = rest.first else { return nil }
        if first == UInt8(ascii: "<"), let second = rest.dropFirst().first {
            if HTMLScanner.isLetter(second) || second == UInt8(ascii: "/") { return .tag(tag()) }
            if second == UInt8(ascii: "!") || second == UInt8(ascii: "?") {
                if rest.starts(with: Array("<!--".utf8)) {
                    rest = rest.dropFirst(4)
                    skip(past: Array("-->".utf8))
                } else {
                    skipTag()
                }
                // A comment has no text. It doesn't call itself for the next piece: many comments would exhaust the
                // stack.
                return .text([])
            }
        }
        let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "<")) ?? rest.endIndex
        defer { rest = rest[end...] }
        return .text(rest[..<end])
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// Skips the HTML up to and including the next `mark`, in upper or lower case. Without such a `mark`, skips all
    /// remaining HTML.
    private mutating func skip(past mark: [UInt8]) {
        while let place = rest.firstIndex(of: mark[0]) {
            rest = rest[place...]
            if rest.prefix(mark.count).elementsEqual(
                mark, by: { $0 == $1 || HTMLScanner.isLetter($1) && $0 | 0x20 == $1 })
            {
                rest = rest.dropFirst(mark.count)
                return
            }
            rest = rest.dropFirst()
        }
        rest = []
    }

    private mutating func skipTag() {
        let end = rest.firstIndex(of: UInt8(ascii: ">")) ?? rest.endIndex
        rest = rest[end...].dropFirst()
    }

    /// The largest number of attributes that are read of an HTML tag.
    private static let attributeLimit = 100

    private mutating func tag() -> Tag {
        rest = rest.dropFirst()
        let isEnd = rest.first == UInt8(ascii: "/")
        if isEnd { rest = rest.dropFirst() }
        let name = word()
        var attributes: [(name: String, value: ArraySlice<UInt8>)] = []
        while true {
            rest = rest.drop { HTMLScanner.isBlank($0) || $0 == UInt8(ascii: "/") }
            guard let byte = rest.first else { break }
            if byte == UInt8(ascii: ">") {
                rest = rest.dropFirst()
                break
            }
            let attribute = attribute()
            if attributes.count < HTMLScanner.attributeLimit { attributes.append(attribute) }
        }
        if !isEnd, HTMLScanner.hiding.contains(name) { hidden = name }
        return Tag(name: name, isEnd: isEnd, attributes: attributes)
    }

    private mutating func word() -> String {
        let word = rest.prefix { !HTMLScanner.isBlank($0) && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "/") }
        rest = rest[word.endIndex...]
        return String(decoding: word.prefix(32), as: UTF8.self).lowercased()
    }

    private mutating func attribute() -> (name: String, value: ArraySlice<UInt8>) {
        let ends: Set<UInt8> = [UInt8(ascii: ">"), UInt8(ascii: "/"), UInt8(ascii: "=")]
        // An equals sign at the beginning of a name is part of it, so that each attribute has at least one byte.
        let head = rest.dropFirst().prefix { !HTMLScanner.isBlank($0) && !ends.contains($0) }
        let name = rest[rest.startIndex..<head.endIndex]
        rest = rest[head.endIndex...].drop { HTMLScanner.isBlank($0) }
        let named = String(decoding: name.prefix(32), as: UTF8.self).lowercased()
        guard rest.first == UInt8(ascii: "=") else { return (named, []) }
        rest = rest.dropFirst().drop { HTMLScanner.isBlank($0) }
        guard let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            let value = rest.prefix { !HTMLScanner.isBlank($0) && $0 != UInt8(ascii: ">") }
            rest = rest[value.endIndex...]
            return (named, value)
        }
        let value = rest.dropFirst().prefix { $0 != quote }
        rest = rest[value.endIndex...].dropFirst()
        return (named, value)
    }
}
