import Text

/// A parsed mail from outside: its header, its text, its HTML, and its attachments.
/// <https://www.rfc-editor.org/rfc/rfc5322>, <https://www.rfc-editor.org/rfc/rfc2045>
///
/// Nothing that a sender writes is refused: a part that can't be parsed is shown as it is. Parsing takes time in
/// proportion to the mail, however its parts are nested.
package struct ReadMail: Sendable {
    package struct Attachment: Codable, Sendable, Equatable {
        /// The sender's name for the attachment; `nil` if there is none.
        package var name: String?
        /// The attachment's type in lower case, such as `image/png`.
        package let type: String
        /// The number of bytes of the decoded attachment; 0 if it wasn't measured.
        package let size: Int
        /// The identifier by which the mail's HTML shows it (`cid:`): <https://www.rfc-editor.org/rfc/rfc2392>.
        package var contentID: String?

        package init(name: String?, type: String, size: Int, contentID: String? = nil) {
            self.name = name
            self.type = type
            self.size = size
            self.contentID = contentID
        }
    }

    /// The header fields in their order, as people read them. At most a thousand.
    package let headers: [InboxMessage.HeaderField]
    package let from: [Mailbox]
    package let sender: [Mailbox]
    package let replyTo: [Mailbox]
    package let to: [Mailbox]
    package let cc: [Mailbox]
    /// The first part of plain text, with line feeds.
    package private(set) var text: String?
    /// The first part of HTML.
    package private(set) var html: String?
    package private(set) var attachments: [Attachment] = []
    /// Notes for the reader about how it is shown.
    package private(set) var notes: [String] = []

    private var attached: [MIMEPart] = []
    private let measuresAttachments: Bool

    /// The number of parts that are read, and the depth to which they may be nested.
    private static let limit = (parts: 200, depth: 8)

    /// Parses a mail. Measuring attachments means decoding them, which costs more than everything else.
    package init(_ raw: [UInt8], measuresAttachments: Bool = true) {
        self.measuresAttachments = measuresAttachments
        let whole = MIMEPart(raw[...])
        headers = whole.fields.map {
            InboxMessage.HeaderField(name: $0.name, value: EncodedWords.decode($0.value))
        }
        from = whole.mailboxes("From")
        sender = whole.mailboxes("Sender")
        replyTo = whole.mailboxes("Reply-To")
        to = whole.mailboxes("To")
        cc = whole.mailboxes("Cc")
        var left = ReadMail.limit.parts
        take(whole, depth: 0, left: &left)
        if left == 0 { notes.append("The mail has more parts: the first \(ReadMail.limit.parts) are shown.") }
    }

    /// Returns the first header field of this name, in any case.
    package func header(_ name: String) -> String? {
        let name = name.lowercased()
        return headers.first { $0.name.lowercased() == name }?.value
    }

    /// Returns the content of the attachment at this index.
    package func content(of attachment: Int) -> [UInt8] { attached[attachment].content }

    /// Returns the approximate number of bytes that the parsed mail takes, with the mail of `count` bytes from which it
    /// was parsed.
    func size(ofRaw count: Int) -> Int {
        let fields = headers.reduce(0) { $0 + 64 + $1.name.utf8.count + $1.value.utf8.count }
        // The fields of the parts are stored beside their bodies, too, and the mailboxes beside the header's fields.
        return 4_096 + 2 * count + 2 * fields + (text?.utf8.count ?? 0) + (html?.utf8.count ?? 0)
    }

    private mutating func take(_ part: MIMEPart, depth: Int, left: inout Int) {
        guard left > 0 else { return }
        left -= 1
        let type = part.contentType
        let boundary = type.value.hasPrefix("multipart/") ? type.parameters["boundary"] ?? "" : nil
        if let boundary, !boundary.isEmpty, depth < ReadMail.limit.depth {
            for inner in part.parts(boundary, limit: left) { take(inner, depth: depth + 1, left: &left) }
            return
        }
        let disposition = part.disposition
        let name = disposition.parameters["filename"] ?? type.parameters["name"]
        let isAttached = disposition.value == "attachment" || name != nil
        // Without a boundary, parts can't be found, so the body is shown as text.
        switch boundary == "" ? "text/plain" : type.value {
        case "text/html" where !isAttached && html == nil: html = shown(part, type)
        case "text/plain" where !isAttached && text == nil:
            let isFlowed = type.parameters["format"]?.lowercased() == "flowed"
            let plain = shown(part, type)
            text = isFlowed ? FlowedText.joined(plain, deletesSpace: type.parameters["delsp"] == "yes") : plain
        default: attach(part, type, name)
        }
    }

    private mutating func shown(_ part: MIMEPart, _ type: HeaderParameters) -> String {
        let charset = type.parameters["charset"] ?? ""
        let content = part.content
        if !Charset.isKnown(charset) {
            notes.append(
                "The character set \(Diagnosis.quote(charset)) isn't known here: what isn't ASCII is shown as UTF-8, or as Latin-1."
            )
        }
        return Charset.text(content, charset)
    }

    private mutating func attach(_ part: MIMEPart, _ type: HeaderParameters, _ name: String?) {
        var named = name.map { EncodedWords.decode($0) }
        if named == nil, type.value == "message/rfc822" {
            let subject = MIMEPart(part.body).field("Subject").map { EncodedWords.decode($0) }
            named = subject.map { "\($0.prefix(100)).eml" }
        }
        let contentID = part.field("Content-ID").map { $0.filter { $0 != "<" && $0 != ">" && $0 != " " } }
        func short(_ text: String) -> String { String(String.UnicodeScalarView(text.unicodeScalars.prefix(255))) }
        attachments.append(
            Attachment(
                name: named.map { short($0) }, type: short(type.value),
                size: measuresAttachments ? part.contentSize : 0,
                contentID: contentID.map { short($0) }))
        attached.append(part)
    }
}

extension MIMEPart {
    /// The part's decoded body.
    var content: [UInt8] { TransferEncoding.decode(body, field("Content-Transfer-Encoding") ?? "") }

    /// The number of bytes of `content`.
    fileprivate var contentSize: Int {
        let name = field("Content-Transfer-Encoding") ?? ""
        return TransferEncoding.isEncoded(name) ? TransferEncoding.decode(body, name).count : body.count
    }

    /// Returns the mailboxes of all fields of this name.
    fileprivate func mailboxes(_ name: String) -> [Mailbox] {
        let name = name.lowercased()
        return AddressList.read(fields.filter { $0.name.lowercased() == name }.map(\.value)).mailboxes
    }
}

/// Joins lines into which the paragraphs of a text were broken: <https://www.rfc-editor.org/rfc/rfc3676>.
enum FlowedText {
    static func joined(_ text: String, deletesSpace: Bool) -> String {
        var output = ""
        var last: (quotes: Int, isOpen: Bool)?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let quotes = line.utf8.prefix { $0 == UInt8(ascii: ">") }.count
            var content = line.dropFirst(quotes)
            // The sender has put a space before lines that look like a quote, or like the beginning of a mail in a
            // mailbox file.
            if content.first == " " { content = content.dropFirst() }
            let isSignature = content == "-- "
            let joins = last.map { $0.isOpen && $0.quotes == quotes && !isSignature } ?? false
            if !joins {
                if last != nil { output += "\n" }
                output += String(repeating: ">", count: quotes) + (quotes > 0 ? " " : "")
            }
            let isOpen = content.last == " " && !isSignature
            output += isOpen && deletesSpace ? content.dropLast() : content
            last = (quotes, isOpen)
        }
        return output.withoutEndlessMarks
    }
}
