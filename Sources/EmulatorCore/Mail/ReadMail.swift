/// A mail that somebody else wrote, as far as it is shown: its header, its text, its HTML, and what is attached.
/// <https://www.rfc-editor.org/rfc/rfc5322>, <https://www.rfc-editor.org/rfc/rfc2045>
///
/// Nothing that a sender writes is refused: what can't be understood is shown as it stands. Reading takes time in proportion to
/// the mail, however its parts are nested.
package struct ReadMail: Sendable {
    package struct Attachment: Codable, Sendable, Equatable {
        /// As the sender calls it; `nil` where it has no name.
        package let name: String?
        /// Such as `image/png`, in lower case.
        package let type: String
        /// Bytes, decoded.
        package let size: Int
    }

    /// In the order of the mail, as people read them. At most a thousand.
    package let headers: [InboxMessage.HeaderField]
    /// The first part of plain text, with line feeds.
    package private(set) var text: String?
    /// The first part of HTML.
    package private(set) var html: String?
    package private(set) var attachments: [Attachment] = []

    /// How many parts are looked at, and how deep one may lie in others.
    private static let limit = (parts: 200, depth: 8)

    package init(_ raw: [UInt8]) {
        let whole = MIMEPart(raw[...])
        headers = whole.fields.map {
            InboxMessage.HeaderField(name: $0.name, value: EncodedWords.decode($0.value))
        }
        var left = ReadMail.limit.parts
        take(whole, depth: 0, left: &left)
    }

    /// The first header field of this name, in any case.
    package func header(_ name: String) -> String? {
        let name = name.lowercased()
        return headers.first { $0.name.lowercased() == name }?.value
    }

    private mutating func take(_ part: MIMEPart, depth: Int, left: inout Int) {
        guard left > 0 else { return }
        left -= 1
        let type = part.contentType
        if type.value.hasPrefix("multipart/"), depth < ReadMail.limit.depth, let boundary = type.parameters["boundary"],
            !boundary.isEmpty
        {
            for inner in part.parts(boundary, limit: left) { take(inner, depth: depth + 1, left: &left) }
            return
        }
        let content = TransferEncoding.decode(part.body, part.field("Content-Transfer-Encoding") ?? "")
        let disposition = part.disposition
        let name = disposition.parameters["filename"] ?? type.parameters["name"]
        let isAttached = disposition.value == "attachment" || name != nil
        let charset = type.parameters["charset"] ?? ""
        switch type.value {
        case "text/plain" where !isAttached && text == nil: text = Charset.text(content, charset)
        case "text/html" where !isAttached && html == nil: html = Charset.text(content, charset)
        default:
            attachments.append(
                Attachment(name: name.map { EncodedWords.decode($0) }, type: type.value, size: content.count))
        }
    }
}
