/// What a message says, as people read it.
package struct MessageContent: Sendable {
    /// Empty for a text message.
    package var headers: [InboxMessage.HeaderField]
    package var text: String?
    package var html: String?
    /// What a reader should know of how it is shown.
    package var notes: [String]
}

extension InboxMessage {
    /// Reads a mail that came from outside, which takes time in proportion to its length: not under a world's lock.
    package var content: MessageContent {
        guard let received = message.received else {
            return MessageContent(headers: headers, text: message.text, html: message.html, notes: [])
        }
        let mail = ReadMail(received.raw, measuresAttachments: false)
        return MessageContent(headers: mail.headers, text: mail.text, html: mail.html, notes: mail.notes)
    }

    /// What an attachment holds, by its number in `message.attachments`, from 1; `nil` where there is none.
    package func attachment(_ number: Int) -> (description: ReadMail.Attachment, bytes: [UInt8])? {
        guard let received = message.received, message.attachments.indices.contains(number - 1) else { return nil }
        let mail = ReadMail(received.raw, measuresAttachments: false)
        guard mail.attachments.indices.contains(number - 1) else { return nil }
        return (message.attachments[number - 1], mail.content(of: number - 1))
    }

    /// The images that the mail's HTML shows from the mail itself, by the identifiers by which it names them.
    package var inlineImages: [String: (type: String, bytes: [UInt8])] {
        guard let received = message.received else { return [:] }
        let mail = ReadMail(received.raw, measuresAttachments: false)
        var images: [String: (type: String, bytes: [UInt8])] = [:]
        for (index, attachment) in mail.attachments.enumerated() {
            let isImage = ["image/gif", "image/jpeg", "image/png", "image/webp"].contains(attachment.type)
            guard isImage, let id = attachment.contentID, images[id] == nil else { continue }
            images[id] = (attachment.type, mail.content(of: index))
        }
        return images
    }

    /// The mail as the person gets it behind the relay; `nil` where no relay forwarded it.
    package var forwarded: [UInt8]? {
        guard message.kind == .mail, let relay = message.relay, relay.forwardedTo != nil else { return nil }
        return HeaderRewriting.replace(raw, with: relay.fields)
    }
}
