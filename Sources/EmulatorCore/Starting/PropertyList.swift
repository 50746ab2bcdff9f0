/// Reads the strings in the outermost dictionary of a property list in XML, as Xcode projects have them. Values of
/// other types are ignored.
///
/// The decoder for property lists in FoundationEssentials isn't used. It is recursive, so a hostile file would exhaust
/// the stack.
enum PropertyList {
    static func strings(in text: String) throws(AppConfiguration.Malformed) -> [(String, String)] {
        var reader = Reader(text)
        var strings: [(String, String)] = []
        var key: String?
        var depth = 0
        var isPropertyList = false
        while let tag = try reader.nextTag() {
            switch tag.name {
            case "plist": isPropertyList = true
            case "dict" where tag.kind != .empty, "array" where tag.kind != .empty:
                depth += tag.kind == .opening ? 1 : -1
                if depth == 1 { key = nil }
            case "key" where depth == 1 && tag.kind == .opening: key = try reader.text(to: "key")
            case "string" where depth == 1 && tag.kind == .opening:
                let value = try reader.text(to: "string")
                if let key { strings.append((key, value)) }
                key = nil
            default: break
            }
        }
        guard isPropertyList else { throw AppConfiguration.Malformed("the file isn't a property list") }
        guard depth == 0 else {
            throw AppConfiguration.Malformed(line: reader.line, "the file ends within a dict or array")
        }
        return strings
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private struct Tag {
        enum Kind { case opening, closing, empty }

        let name: String
        let kind: Kind
    }

    private struct Reader {
        private let bytes: [UInt8]
        private var place = 0
        private(set) var line = 1

        init(_ text: String) { bytes = Array(text.utf8) }

        /// Returns the next tag of the XML, after declarations and comments; `nil` at the end.
        mutating func nextTag() throws(AppConfiguration.Malformed) -> Tag? {
            while true {
                move { $0 == UInt8(ascii: "<") }
                guard place < bytes.count else { return nil }
                if starts(with: "<!--") {
                    try pass("-->", of: "comment")
                } else if starts(with: "<!") || starts(with: "<?") {
                    try pass(">", of: "declaration")
                } else {
                    break
                }
            }
            let start = place + 1
            try pass(">", of: "tag")
            var content = bytes[start..<(place - 1)]
            var kind = Tag.Kind.opening
            if content.first == UInt8(ascii: "/") {
                kind = .closing
                content.removeFirst()
            } else if content.last == UInt8(ascii: "/") {
                kind = .empty
                content.removeLast()
            }
            return Tag(name: String(decoding: content.prefix { !isSpace($0) }, as: UTF8.self), kind: kind)
        }

        /// Returns the text before the closing tag `name`, with entity references such as `&lt;` replaced by their
        /// characters.
        mutating func text(to name: String) throws(AppConfiguration.Malformed) -> String {
            let (start, begin) = (place, line)
            move { $0 == UInt8(ascii: "<") }
            let text = String(decoding: bytes[start..<place], as: UTF8.self)
            guard starts(with: "</\(name)>") else {
                throw AppConfiguration.Malformed(line: begin, "<\(name)> isn't closed by </\(name)>")
            }
            try pass(">", of: "tag")
            return PropertyList.resolved(text)
        }

        private func starts(with text: String) -> Bool { bytes[place...].starts(with: text.utf8) }

        private mutating func move(_ isEnd: (UInt8) -> Bool) {
            while place < bytes.count, !isEnd(bytes[place]) {
                if bytes[place] == UInt8(ascii: "\n") { line += 1 }
                place += 1
            }
        }

        /// Moves the XML reader's position behind the next occurrence of the text `end`.
        private mutating func pass(_ end: String, of what: String) throws(AppConfiguration.Malformed) {
            let begin = line
            while place < bytes.count, !starts(with: end) {
                if bytes[place] == UInt8(ascii: "\n") { line += 1 }
                place += 1
            }
            guard place < bytes.count else { throw AppConfiguration.Malformed(line: begin, "the \(what) isn't closed") }
            place += end.utf8.count
        }
    }

    private static let references = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]

    private static func resolved(_ text: String) -> String {
        guard text.contains("&") else { return text }
        return references.reduce(text) { result, reference in
            result.split(separator: reference.0, omittingEmptySubsequences: false).joined(separator: reference.1)
        }
    }
}
