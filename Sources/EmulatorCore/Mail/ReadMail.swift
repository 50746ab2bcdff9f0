import HTTPServer
import Synchronization
import Text

/// A parsed mail: its header, its text, its HTML, and its attachments. <https://www.rfc-editor.org/rfc/rfc5322>,
/// <https://www.rfc-editor.org/rfc/rfc2045>
///
/// No mail is refused as malformed: a part that can't be parsed is shown as it is. Parsing takes time in proportion to
/// the mail's length, however its parts are nested.
package struct ReadMail: Sendable {
    package struct Attachment: Codable, Sendable, Equatable {
        /// The file name that the sender gave to the attachment; `nil` if there is none.
        package var name: String?
        /// The attachment's media type in lower case, such as `image/png`.
        package let type: String
        /// The number of bytes of the decoded attachment; 0 if the size wasn't measured.
        package let size: Int
        /// The identifier by which the mail's HTML refers to the attachment (`cid:`):
        /// <https://www.rfc-editor.org/rfc/rfc2392>.
        package var contentID: String?

        package init(name: String?, type: String, size: Int, contentID: String? = nil) {
            self.name = name
            self.type = type
            self.size = size
            self.contentID = contentID
        }
    }

    /// The decoded header fields of the mail, in their order, at most a thousand.
    package let headers: [InboxMessage.HeaderField]
    package let from: [Mailbox]
    package let sender: [Mailbox]
    package let replyTo: [Mailbox]
    package let to: [Mailbox]
    package let cc: [Mailbox]
    /// The content of the mail's first MIME part that is plain text and not an attachment, with line feeds at the ends
    /// of lines.
    package private(set) var text: String?
    /// The content of the mail's first MIME part that is HTML and not an attachment.
    package private(set) var html: String?
    package private(set) var attachments: [Attachment] = []
    /// Remarks for the mail's reader about how the mail is shown, for example that parts of it were left out.
    package private(set) var notes: [String] = []

    private var attached: [MIMEPart] = []
    private let measuresAttachments: Bool

    /// The largest number of a mail's parts that are read, and the largest depth to which they may be nested.
    private static let limit = (parts: 200, depth: 8)

    /// Parses a mail. If `measuresAttachments` is true, the attachments are decoded to find their sizes, which takes
    /// more time than the rest of the parsing.
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
        add(whole, depth: 0, left: &left)
        if left == 0 { notes.append("Only the first \(ReadMail.limit.parts) MIME parts of the mail are shown.") }
    }

    /// Returns the value of the mail's first header field with this name. The name may be in upper or lower case.
    package func header(_ name: String) -> String? {
        let name = name.lowercased()
        return headers.first { $0.name.lowercased() == name }?.value
    }

    package func content(of attachment: Int) -> [UInt8] { attached[attachment].content }

    /// Returns the approximate number of bytes that this parsed mail takes in memory, together with the `count` bytes
    /// from which it was parsed.
    func size(ofRaw count: Int) -> Int {
        let fields = headers.reduce(0) { $0 + 64 + $1.name.utf8.count + $1.value.utf8.count }
        // The fields of the parts are stored beside their bodies, too, and the mailboxes beside the header's fields.
        return 4_096 + 2 * count + 2 * fields + (text?.utf8.count ?? 0) + (html?.utf8.count ?? 0)
    }

    private mutating func add(_ part: MIMEPart, depth: Int, left: inout Int) {
        guard left > 0 else { return }
        left -= 1
        let type = part.contentType
        let boundary = type.value.hasPrefix("multipart/") ? type.parameters["boundary"] ?? "" : nil
        if let boundary, !boundary.isEmpty, depth < ReadMail.limit.depth {
            for inner in part.parts(boundary, limit: left) { add(inner, depth: depth + 1, left: &left) }
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
                "The character set \(Diagnosis.quote(charset)) isn't supported: non-ASCII text is shown as UTF-8 or Windows-1252."
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
    var content: [UInt8] { TransferEncoding.decode(body, field("Content-Transfer-Encoding") ?? "") }

    fileprivate var contentSize: Int {
        let name = field("Content-Transfer-Encoding") ?? ""
        return TransferEncoding.isEncoded(name) ? TransferEncoding.decode(body, name).count : body.count
    }

    /// Returns the mailboxes of all the mail's header fields of this name.
    fileprivate func mailboxes(_ name: String) -> [Mailbox] {
        let name = name.lowercased()
        return AddressList.read(fields.filter { $0.name.lowercased() == name }.map(\.value)).mailboxes
    }
}

/// Joins lines of a mail's text that belong to the same paragraph (`format=flowed`):
/// <https://www.rfc-editor.org/rfc/rfc3676>.
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

/// A cache of parsed mails that came from outside the daemon. It is needed because clients that watch an inbox read the
/// same mails many times. If the cache takes too much memory, the least recently used mails are removed.
package final class ReadMails: Sendable {
    private struct Key: Hashable {
        /// The number of the inbox that has the mail: `World.inboxNumber`.
        let inbox: Int
        let message: Int
    }

    private struct Entry {
        let raw: [UInt8]
        let mail: ReadMail
        let size: Int
        var lastUse: Int
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var size = 0
        /// A counter of all uses of cached mails, by which the least recently used mail is found.
        var uses = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// Makes a cache of parsed mails that takes at most about `limit` bytes.
    package init(limit: Int = 32 << 20) { self.limit = limit }

    /// The approximate number of bytes that the cached mails take.
    package var bytes: Int { state.withLock { $0.size } }

    /// Returns the parsed mail of an inbox message from the cache. If it isn't cached, the mail `raw` is parsed and
    /// added to the cache.
    func mail(_ raw: [UInt8], inbox: Int, message: Int) -> ReadMail {
        let key = Key(inbox: inbox, message: message)
        let known = state.withLock { state -> (raw: [UInt8], mail: ReadMail)? in
            state.uses += 1
            state.entries[key]?.lastUse = state.uses
            return state.entries[key].map { ($0.raw, $0.mail) }
        }
        // If another daemon has reset a shared world, another mail may have this number.
        if let known, known.raw == raw { return known.mail }
        let mail = ReadMail(raw, measuresAttachments: false)
        keep(mail, raw, key)
        return mail
    }

    private func keep(_ mail: ReadMail, _ raw: [UInt8], _ key: Key) {
        let size = mail.size(ofRaw: raw.count)
        guard size <= limit / 2 else { return }
        // The mails are freed outside the lock.
        _ = state.withLock { state in
            var removed =
                state.entries.updateValue(
                    Entry(raw: raw, mail: mail, size: size, lastUse: state.uses), forKey: key
                ).map { [$0] } ?? []
            state.size += size - (removed.first?.size ?? 0)
            guard state.size > limit else { return removed }
            // Remove half of them, so that sorting them is worth it.
            for (key, entry) in state.entries.sorted(by: { $0.value.lastUse < $1.value.lastUse })
            where state.size > limit / 2 {
                state.entries[key] = nil
                state.size -= entry.size
                removed.append(entry)
            }
            return removed
        }
    }

    func forget(_ inbox: Int) {
        _ = state.withLock { state in
            let removed = state.entries.filter { $0.key.inbox == inbox }
            for (key, entry) in removed {
                state.entries[key] = nil
                state.size -= entry.size
            }
            return removed
        }
    }
}

extension World {
    /// Returns an inbox message of this test world as a parsed mail. Unless the mail is cached, this takes time in
    /// proportion to the mail's length, so don't call it while the test world is locked.
    func mail(_ row: InboxMessage) -> ReadMail {
        guard let received = row.message.received else { return ReadMail(row.raw, measuresAttachments: false) }
        return budget.readMails.mail(received.raw, inbox: inboxNumber, message: row.number)
    }

    /// Runs `find`, which reads mails of this test world and may take too long for a worker thread of the server. Calls
    /// for the same test world run one after the other. Calls for different test worlds run at the same time.
    package func searchInbox<Result: Sendable, Failure: Error>(
        _ find: @escaping @Sendable () throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await inboxQueue.run(find)
    }
}

extension Request {
    /// The form fields in the body of a `multipart/form-data` request, without the files; empty for a request of any
    /// other type. <https://datatracker.ietf.org/doc/html/rfc7578>
    package var partsForm: Form {
        guard contentType == "multipart/form-data",
            let boundary = HeaderParameters(header("Content-Type") ?? "").parameters["boundary"], !boundary.isEmpty
        else { return Form(fields: []) }
        let parts = MIMEPart(Array("\r\n".utf8)[...] + body).parts(boundary, limit: RequestBudget.fields + 1)
        return Form(
            fields: parts.compactMap { part in
                let disposition = part.disposition
                guard disposition.value == "form-data", disposition.parameters["filename"] == nil,
                    let name = disposition.parameters["name"]
                else { return nil }
                return Form.Field(name: name, value: String(decoding: part.body, as: UTF8.self).withoutEndlessMarks)
            })
    }
}
