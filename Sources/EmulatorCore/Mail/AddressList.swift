import Text

/// Reads the mailboxes of a header field such as `From` or `To`: <https://www.rfc-editor.org/rfc/rfc5322#section-3.4>.
///
/// Reading never fails: a text that isn't an address becomes a mailbox with this text.
package enum AddressList {
    private static let limit = (fields: 10, bytes: 64 << 10, mailboxes: 1_000)

    /// Returns the mailboxes in the value of a mail's header field, in which names may be encoded words. The names of
    /// groups are ignored.
    package static func read(_ value: String) -> [Mailbox] { read([value]).mailboxes }

    /// Returns the mailboxes in `values`, the values of all header fields of one name, since some mails repeat a field.
    /// `isWhole` is `false` if the values exceed a limit, so that some mailboxes are missing.
    static func read(_ values: [String]) -> (mailboxes: [Mailbox], isWhole: Bool) {
        var found: [Mailbox] = []
        var left = limit.bytes
        for value in values.prefix(limit.fields) {
            var reader = AddressReader(Array(value.utf8.prefix(left))[...])
            found += reader.mailboxes(limit.mailboxes - found.count)
            left -= value.utf8.count
            guard left >= 0, found.count < limit.mailboxes else { return (found, false) }
        }
        return (found, values.count <= limit.fields)
    }
}

private struct AddressReader {
    /// A word in a list of mail addresses, such as the header field To. It is a run of characters without spaces and
    /// quotation marks, or a text in quotation marks.
    private struct Word {
        private(set) var text: [UInt8]
        let isQuoted: Bool
        /// Whether a word in a list of mail addresses, such as the header field To, contains an `@` and isn't in
        /// quotation marks.
        private(set) var isAddress: Bool
        /// Whether there was a space before a word in a list of mail addresses.
        let isApart: Bool

        init(quoted text: [UInt8], isApart: Bool) {
            (self.text, self.isApart, isQuoted, isAddress) = (text, isApart, true, false)
        }

        init(_ byte: UInt8, isApart: Bool) {
            (text, self.isApart, isQuoted, isAddress) = ([byte], isApart, false, byte == UInt8(ascii: "@"))
        }

        mutating func append(_ byte: UInt8) {
            text.append(byte)
            if byte == UInt8(ascii: "@") { isAddress = true }
        }
    }

    private var rest: ArraySlice<UInt8>
    private var words: [Word] = []
    private var angled: [UInt8]?
    private var comment: [UInt8] = []
    private var wasBlank = false

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func mailboxes(_ limit: Int) -> [Mailbox] {
        var found: [Mailbox] = []
        while let byte = rest.popFirst(), found.count < limit {
            switch byte {
            case UInt8(ascii: ","), UInt8(ascii: ";"):
                if let mailbox = end() { found.append(mailbox) }
            // The text before a colon is a group's name, unless it is part of an address, as in `ada@[IPv6:::1]`.
            case UInt8(ascii: ":") where !hasAddress: clear()
            case UInt8(ascii: "("): comment = closed(by: UInt8(ascii: ")"), nesting: byte)
            case UInt8(ascii: "\""): append(Word(quoted: quoted(), isApart: wasBlank))
            case UInt8(ascii: "<"): angled = angle()
            case 0x20, 0x09, 0x0D, 0x0A: wasBlank = true
            default:
                if wasBlank || words.last?.isQuoted ?? true {
                    append(Word(byte, isApart: wasBlank))
                } else {
                    words[words.count - 1].append(byte)
                }
            }
        }
        if found.count < limit, let mailbox = end() { found.append(mailbox) }
        return found
    }

    private mutating func append(_ word: Word) {
        words.append(word)
        wasBlank = false
    }

    private var hasAddress: Bool { angled != nil || words.last?.isAddress ?? false }

    private mutating func clear() {
        (words, angled, comment, wasBlank) = ([], nil, [], false)
    }

    private mutating func end() -> Mailbox? {
        defer { clear() }
        let remark = EncodedWords.decode(Charset.text(comment, ""))
        if let angled {
            let name = phrase
            return Mailbox(Charset.text(angled, ""), name: name.isEmpty ? (remark.isEmpty ? nil : remark) : name)
        }
        guard !words.isEmpty else { return nil }
        guard words.contains(where: \.isAddress) else {
            return Mailbox(phrase)
        }
        let address = Charset.text(words.flatMap(\.text), "")
        // Before the format had names, mails had them behind the address: `ada@example.com (Ada Lovelace)`.
        return Mailbox(address, name: remark.isEmpty ? nil : remark)
    }

    /// The name before an e-mail address in angle brackets. If a mailbox has no e-mail address, this is the mailbox's
    /// whole text. Quotation marks are removed, and encoded words are decoded.
    private var phrase: String {
        var text = ""
        var run = ""
        for word in words {
            let content = Charset.text(word.text, "")
            let blank = word.isApart && !(text.isEmpty && run.isEmpty) ? " " : ""
            guard word.isQuoted else {
                run += blank + content
                continue
            }
            text += EncodedWords.decode(run) + blank + content
            run = ""
        }
        return (text + EncodedWords.decode(run)).withoutEndlessMarks
    }

    /// Reads a quoted text up to the closing quotation mark. The opening quotation mark has been read already.
    private mutating func quoted() -> [UInt8] {
        var content: [UInt8] = []
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
                content.append(escaped)
            } else {
                content.append(byte)
            }
        }
        return content
    }

    /// Reads a comment in parentheses up to the closing parenthesis. The opening parenthesis has been read already.
    private mutating func closed(by end: UInt8, nesting begin: UInt8) -> [UInt8] {
        var content: [UInt8] = []
        var depth = 1
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
                content.append(escaped)
                continue
            }
            if byte == begin { depth += 1 }
            if byte == end { depth -= 1 }
            if depth == 0 { break }
            content.append(byte)
        }
        return content
    }

    /// Reads an e-mail address up to the closing angle bracket. The opening bracket has been read already. A mail route
    /// that precedes the address (RFC 5322, section 4.4) isn't returned.
    private mutating func angle() -> [UInt8] {
        var content: [UInt8] = []
        while let byte = rest.popFirst(), byte != UInt8(ascii: ">") {
            switch byte {
            case UInt8(ascii: "\""): content += quoted()
            case UInt8(ascii: "("): _ = closed(by: UInt8(ascii: ")"), nesting: byte)
            case 0x20, 0x09, 0x0D, 0x0A: break
            default: content.append(byte)
            }
        }
        guard content.first == UInt8(ascii: "@"), let mark = content.firstIndex(of: UInt8(ascii: ":")) else {
            return content
        }
        return Array(content[mark...].dropFirst())
    }
}
