import HTTPServer
import JOSE
import Text

/// A mail, or a part of a mail: header fields and a body.
struct MIMEPart {
    /// The header fields of a mail or of its part, in their order, with continued lines joined.
    let fields: [(name: String, value: String)]
    let body: ArraySlice<UInt8>

    private static let limit = (fields: 1_000, bytes: 256 << 10)

    init(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        var fields: [(name: String, value: String)] = []
        var field: [UInt8] = []
        func close() {
            if fields.count < MIMEPart.limit.fields, let read = MIMEPart.field(field) { fields.append(read) }
            field = []
        }
        while !rest.isEmpty {
            let line = MIMEPart.line(&rest)
            if line.isEmpty { break }
            // A line that begins with a blank continues the field before it.
            if line.first == 0x20 || line.first == 0x09 {
                if field.count < MIMEPart.limit.bytes { field += line }
            } else {
                close()
                field = Array(line.prefix(MIMEPart.limit.bytes))
            }
        }
        close()
        self.fields = fields
        body = rest
    }

    /// Removes the first line of `rest`, and returns it without its line break. A line feed alone ends a line, too,
    /// because mails in files have no carriage returns.
    private static func line(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
        let line = rest[..<end]
        rest = rest[end...].dropFirst()
        return line.last == 0x0D ? line.dropLast() : line
    }

    private static func field(_ bytes: [UInt8]) -> (name: String, value: String)? {
        guard let mark = bytes.firstIndex(of: 0x3A), mark > 0 else { return nil }
        let name = bytes[..<mark].reversed().drop { $0 == 0x20 || $0 == 0x09 }.reversed()
        guard !name.isEmpty, name.allSatisfy({ (0x21..<0x7F).contains($0) }) else { return nil }
        let value = bytes[mark...].dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
        return (String(decoding: Array(name), as: UTF8.self), Charset.text(Array(value), ""))
    }

    func field(_ name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }

    /// The content type of a mail or of its part; plain text if the header names none.
    var contentType: HeaderParameters {
        let type = HeaderParameters(field("Content-Type") ?? "")
        return type.value.contains("/") ? type : HeaderParameters("text/plain")
    }

    var disposition: HeaderParameters { HeaderParameters(field("Content-Disposition") ?? "") }

    /// Returns at most `limit` parts of a multipart body, which are separated by lines of `--` and `boundary`. Text
    /// before the first part and after the last part isn't returned.
    func parts(_ boundary: String, limit: Int) -> [MIMEPart] {
        let delimiter = Array("--\(boundary)".utf8)
        var parts: [MIMEPart] = []
        var start: Int?
        var rest = body
        while !rest.isEmpty, parts.count < limit {
            let place = rest.startIndex
            let line = MIMEPart.line(&rest)
            guard line.starts(with: delimiter) else { continue }
            let tail = line.dropFirst(delimiter.count)
            let isLast = tail.starts(with: [0x2D, 0x2D])
            guard isLast || tail.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) else { continue }
            if let begin = start { parts.append(MIMEPart(withoutLineEnd(begin..<place))) }
            start = isLast ? nil : rest.startIndex
            if isLast { return parts }
        }
        if let begin = start, parts.count < limit { parts.append(MIMEPart(body[begin...])) }
        return parts
    }

    /// Returns a part of a multipart body, at `range`, without the line break before the next boundary. This line break
    /// belongs to the boundary.
    private func withoutLineEnd(_ range: Range<Int>) -> ArraySlice<UInt8> {
        var part = body[range]
        if part.last == 0x0A { part = part.dropLast() }
        if part.last == 0x0D { part = part.dropLast() }
        return part
    }
}

/// A header field's value with parameters: `text/plain; charset=utf-8`.
///
/// <https://www.rfc-editor.org/rfc/rfc2045#section-5.1>, <https://www.rfc-editor.org/rfc/rfc2231>
struct HeaderParameters {
    /// A header field's value without its parameters, in lower case.
    let value: String
    /// The parameters of a header field's value, by their names in lower case. If several have the same name, the first
    /// one counts.
    let parameters: [String: String]

    init(_ text: String) {
        var rest = Array(text.utf8.prefix(64 << 10))[...]
        value = HeaderParameters.trimmed(HeaderParameters.popPrefix(&rest, until: 0x3B)).lowercased()
        var found: [String: String] = [:]
        var pieces: [String: DividedValue] = [:]
        var count = 0
        while !rest.isEmpty, count < 100 {
            count += 1
            let name = HeaderParameters.trimmed(HeaderParameters.popPrefix(&rest, until: 0x3D)).lowercased()
            let content = HeaderParameters.content(&rest)
            guard !name.isEmpty else { continue }
            guard let star = name.firstIndex(of: "*") else {
                if found[name] == nil { found[name] = content }
                continue
            }
            let place = name[star...].dropFirst().prefix { $0 != "*" }
            pieces[String(name[..<star]), default: DividedValue()]
                .add(content, at: Int(place) ?? 0, isEncoded: name.hasSuffix("*"))
        }
        for (name, value) in pieces { found[name] = value.text }
        parameters = found
    }

    private static func popPrefix(_ rest: inout ArraySlice<UInt8>, until mark: UInt8) -> ArraySlice<UInt8> {
        let end = rest.firstIndex(of: mark) ?? rest.endIndex
        defer { rest = rest[end...].dropFirst() }
        return rest[..<end]
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
        let blanks: Set<UInt8> = [0x20, 0x09, 0x3B]
        let head = bytes.drop { blanks.contains($0) }
        let tail = head.reversed().prefix { blanks.contains($0) }.count
        return String(decoding: head.dropLast(tail), as: UTF8.self)
    }

    /// Reads a parameter's value in a mail's header field: a text in quotes, or the text up to the next semicolon.
    /// Removes what has been read from `rest`.
    private static func content(_ rest: inout ArraySlice<UInt8>) -> String {
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
        guard rest.first == 0x22 else { return trimmed(popPrefix(&rest, until: 0x3B)) }
        rest = rest.dropFirst()
        var content: [UInt8] = []
        while let byte = rest.popFirst(), byte != 0x22 {
            if byte == 0x5C, let escaped = rest.popFirst() { content.append(escaped) } else { content.append(byte) }
        }
        _ = popPrefix(&rest, until: 0x3B)
        return String(decoding: content, as: UTF8.self).withoutEndlessMarks
    }
}

/// The value of a parameter in a header field. The value is percent-encoded, or is divided among several parameters:
/// <https://www.rfc-editor.org/rfc/rfc2231#section-3>.
private struct DividedValue {
    private var pieces: [(place: Int, bytes: [UInt8])] = []
    private var charset = ""

    /// Adds one piece to a parameter value that is divided into pieces. Only the first piece names a character set,
    /// such as `utf-8'en'%E2%82%AC%20rates`.
    mutating func add(_ content: String, at place: Int, isEncoded: Bool) {
        guard isEncoded else { return pieces.append((place, Array(content.utf8))) }
        let parts = content.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        let isWhole = place == 0 && parts.count == 3
        if isWhole { charset = String(parts[0]) }
        let encoded = isWhole ? String(parts[2]) : content
        pieces.append((place, PercentCoding.decode(Array(encoded.utf8)[...], plusIsSpace: false)))
    }

    /// The text of all pieces of a divided parameter value. They are joined before they are decoded, because a
    /// character may be divided between two pieces.
    var text: String { Charset.text(pieces.sorted { $0.place < $1.place }.flatMap(\.bytes), charset) }
}

/// A received mail, byte for byte. Its text, its HTML and most of its header fields are stored only in these bytes,
/// which are parsed again unless the parsed mail is cached.
package struct ReceivedMail: Codable, Sendable, Equatable {
    /// The bytes of the received mail, with CR LF at the ends of lines.
    package let raw: [UInt8]

    package init(_ raw: [UInt8]) { self.raw = raw }

    /// The largest number of Cc addresses in an inbox message, so that the message stays small. The mail's bytes, which
    /// are also stored, have all addresses.
    fileprivate static let copiesLimit = 100

    static func summary(_ text: String) -> String {
        text.utf8.count <= 1_000 ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(1_000)))
    }

    /// Decodes a received mail from Base64. A JSON list of numbers would take three times the space.
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        raw = TransferEncoding.base64(Array(text.utf8)[...])
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Base64.encode(raw))
    }
}

extension SentMessage {
    /// Makes an inbox message from a mail that the daemon has received, by SMTP or in a request. `sender` and
    /// `recipients` are those of the mail's envelope. A mail to several recipients becomes one message, except that
    /// recipients at a relay's addresses get messages of their own.
    package init(
        received content: ReceivedContent, from sender: String, to recipients: [String], relay: Relay? = nil,
        request: String?
    ) {
        let read = content.read
        let recipient = recipients.first ?? ""
        let author = read.from.first { $0.address.contains("@") } ?? read.from.first
        let named = (read.to + read.cc).first { $0.address.lowercased() == recipient.lowercased() }
        self.init(
            .mail, from: (author ?? Mailbox(sender)).summary,
            to: Mailbox(recipient, name: named?.name).summary, replyTo: read.replyTo.first?.summary,
            subject: content.subject, text: nil, links: content.links, codes: content.codes, relay: relay,
            request: request)
        envelope = Envelope(from: sender, to: recipients)
        cc = read.cc.prefix(ReceivedMail.copiesLimit).map(\.summary)
        attachments = read.attachments
        received = ReceivedMail(content.raw)
    }
}

extension Mailbox {
    fileprivate var summary: Mailbox {
        Mailbox(ReceivedMail.summary(address), name: name.map { ReceivedMail.summary($0) })
    }
}
