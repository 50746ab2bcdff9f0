import Text

/// Finds the URLs that a mail asks its reader to open.
enum MailLinks {
    /// The largest number of links that are kept of a mail, and the largest lengths, in bytes, of a link and of the
    /// text that is searched.
    private static let limit = (links: 100, length: 8 << 10, text: 1 << 20)
    private static let others: Set<String> = ["about", "blob", "cid", "data", "file", "javascript", "mid", "vbscript"]

    /// Returns the links of a mail's text in their order, then the links that only the HTML has, each link once. URLs
    /// with `//` after nearly any scheme count, so that links into apps are found, too. Exceptions are schemes such as
    /// `file`.
    static func find(text: String?, html: String?) -> [String] {
        var found = Found()
        if let text { bare(Array(text.utf8.prefix(limit.text)), &found) }
        guard let html, !found.isFull else { return found.links }
        var scanner = HTMLScanner(String(decoding: html.utf8.prefix(limit.text), as: UTF8.self))
        while !found.isFull, let piece = scanner.next() {
            guard case .tag(let tag) = piece, !tag.isEnd, tag.name == "a" || tag.name == "area",
                let value = tag.attributes.first(where: { $0.name == "href" })?.value
            else { continue }
            // Blanks around an address and line breaks in it aren't part of it:
            // https://url.spec.whatwg.org/#url-parsing
            let bytes = HTMLText.unescaped(value).filter { $0 > 0x20 && $0 != 0x7F }
            if let mark = bytes.firstIndex(of: UInt8(ascii: ":")), scheme(bytes, before: mark) == 0 { found.add(bytes) }
        }
        if text == nil, !found.isFull { bare(Array(HTMLText.plain(html).utf8.prefix(limit.text)), &found) }
        return found.links
    }

    private struct Found {
        var links: [String] = []
        private var known: Set<String> = []

        var isFull: Bool { links.count >= limit.links }

        mutating func add(_ bytes: some Collection<UInt8>) {
            guard bytes.count <= limit.length, !isFull else { return }
            let link = String(decoding: bytes, as: UTF8.self).withoutEndlessMarks
            if known.insert(link).inserted { links.append(link) }
        }
    }

    private static func bare(_ text: [UInt8], _ found: inout Found) {
        var place = 0
        while !found.isFull, let mark = text[place...].firstIndex(of: UInt8(ascii: ":")) {
            place = mark + 1
            guard let start = scheme(text, before: mark) else { continue }
            let end = end(text, from: mark + 3)
            place = max(place, end)
            let link = trimmed(text[start..<end])
            if link.endIndex > mark + 3 { found.add(link) }
        }
    }

    /// Returns where the scheme before the colon at `mark` begins, if `//` follows the colon and the scheme is one
    /// whose URLs people can open; otherwise `nil`.
    private static func scheme(_ text: [UInt8], before mark: Int) -> Int? {
        guard text[mark...].prefix(3).elementsEqual("://".utf8) else { return nil }
        let name = text[..<mark].suffix(32).reversed().prefix { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || [0x2B, 0x2D, 0x2E].contains(byte)
        }
        let start = mark - name.count
        guard let first = name.last, (0x61...0x7A).contains(first | 0x20) else { return nil }
        let scheme = String(decoding: text[start..<mark], as: UTF8.self).lowercased()
        return others.contains(scheme) ? nil : start
    }

    private static let ends: Set<UInt8> = Set("<>\"`\\".utf8)

    private static func end(_ text: [UInt8], from start: Int) -> Int {
        var place = start
        while place < text.count {
            let byte = text[place]
            if byte <= 0x20 || byte == 0x7F || ends.contains(byte) { break }
            // These are blanks and quotation marks beyond ASCII.
            let pair = text[place...].prefix(2)
            if [[0xC2, 0xA0], [0xC2, 0xBB], [0xE2, 0x80], [0xE3, 0x80]].contains(where: { pair.elementsEqual($0) }) {
                break
            }
            place += 1
        }
        return place
    }

    private static let marks: Set<UInt8> = Set(".,;:!?'*".utf8)

    /// Returns a link without the punctuation that belongs to the sentence around the link.
    private static func trimmed(_ link: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var link = link
        /// For each kind of closing bracket, the number of brackets in the link that have no opening bracket.
        var excess: [UInt8: Int] = [:]
        for byte in link {
            switch byte {
            case UInt8(ascii: "("): excess[UInt8(ascii: ")"), default: 0] -= 1
            case UInt8(ascii: "["): excess[UInt8(ascii: "]"), default: 0] -= 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"): excess[byte, default: 0] += 1
            default: break
            }
        }
        while let last = link.last {
            if excess[last, default: 0] > 0 {
                excess[last, default: 0] -= 1
            } else if !marks.contains(last) {
                break
            }
            link = link.dropLast()
        }
        return link
    }
}
