import EmulatorCore
import HTTPServer
import JSON

/// A message in the control API's form.
struct MailDocument {
    let message: ShownMessage
    /// Whether it is in a list: there, long texts are cut, so that an answer's length is bounded.
    var isListed = false
    /// The URL of the message's own documents, without its ID.
    let base: String

    private var row: InboxMessage { message.row }

    var json: JSONValue {
        let (mail, content) = (row.message, message.content)
        var cut = Cut(left: isListed ? MailDocument.listLimit : .max)
        var object = JSONObject([
            ("id", .string(row.id)), ("kind", .string(mail.kind.rawValue)),
            ("from", .string(mail.from.address)), ("to", .string(mail.to.address)),
            ("envelope", ["from": .string(mail.envelope.from), "to": MailDocument.list(mail.envelope.to)]),
        ])
        if !mail.cc.isEmpty { object["cc"] = MailDocument.list(mail.cc.map(\.address)) }
        object["subject"] = mail.subject.map { .string($0) }
        object["text"] = content.text.map { .string(cut.take($0)) }
        object["html"] = content.html.map { .string(cut.take($0)) }
        object["links"] = MailDocument.list(cut.take(mail.links))
        object["codes"] = MailDocument.list(mail.codes)
        if !mail.attachments.isEmpty { object["attachments"] = attachments }
        if let relay = mail.relay { object["relay"] = MailDocument.json(relay) }
        object["time"] = .string(row.time.text)
        object["request"] = mail.request.map { .string($0) }
        if !content.headers.isEmpty {
            object["headers"] = .array(
                content.headers.prefix(isListed ? 100 : .max).map { field in
                    ["name": .string(cut.take(field.name)), "value": .string(cut.take(field.value))]
                })
        }
        if !content.notes.isEmpty { object["notes"] = MailDocument.list(content.notes) }
        if cut.isCut || (isListed && content.headers.count > 100) { object["cut"] = true }
        return .object(object)
    }

    private var attachments: JSONValue {
        .array(
            row.message.attachments.enumerated().map { index, attachment in
                var object = JSONObject()
                object["name"] = attachment.name.map { .string($0) }
                object["type"] = .string(attachment.type)
                object["size"] = .integer(Int64(attachment.size))
                object["contentId"] = attachment.contentID.map { .string($0) }
                if message.isMasked {
                    object["withheld"] = true
                } else {
                    object["url"] = .string("\(base)/\(row.id)/attachments/\(index + 1)")
                }
                return .object(object)
            })
    }

    private static func list(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }

    private static func json(_ relay: SentMessage.Relay) -> JSONValue {
        var object = JSONObject([("address", .string(relay.address)), ("title", .string(relay.title))])
        object["forwardedTo"] = relay.forwardedTo.map { .string($0) }
        object["sender"] = relay.sender.map { .string($0) }
        object["refusal"] = relay.refusal.map { .string($0) }
        object["reason"] = relay.reason.map { .string($0) }
        return .object(object)
    }

    /// The number of bytes of a message's texts in a list.
    static let listLimit = 128 << 10
}

/// Cuts texts that are too long together.
private struct Cut {
    var left: Int
    private(set) var isCut = false

    init(left: Int) { self.left = left }

    mutating func take(_ text: String) -> String {
        guard text.utf8.count > left else {
            left -= text.utf8.count
            return text
        }
        isCut = true
        var end = text.utf8.index(text.startIndex, offsetBy: left)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        left = 0
        return String(text[..<end])
    }

    /// Returns whole texts, as many as fit.
    mutating func take(_ texts: [String]) -> [String] {
        var taken: [String] = []
        for text in texts {
            guard text.utf8.count <= left else {
                isCut = true
                break
            }
            left -= text.utf8.count
            taken.append(text)
        }
        return taken
    }
}
