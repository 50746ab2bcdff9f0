/// The content of a message, as people read it.
package struct MessageContent: Sendable {
    /// The header fields; empty for a text message.
    package var headers: [InboxMessage.HeaderField]
    package var text: String?
    package var html: String?
    /// Notes for the reader about how it is shown.
    package var notes: [String]
}

extension InboxMessage {
    /// Returns the content. A mail that came from outside is read like by `World.mail`.
    package func content(in world: World) -> MessageContent {
        guard message.received != nil else {
            return MessageContent(headers: headers, text: message.text, html: message.html, notes: [])
        }
        let mail = world.mail(self)
        return MessageContent(headers: mail.headers, text: mail.text, html: mail.html, notes: mail.notes)
    }

    /// Returns the content of an attachment, by its number in `message.attachments`, from 1; `nil` when there is none.
    package func attachment(
        _ number: Int, in world: World
    ) -> (description: ReadMail.Attachment, bytes: [UInt8])? {
        guard message.received != nil, message.attachments.indices.contains(number - 1) else { return nil }
        let mail = world.mail(self)
        guard mail.attachments.indices.contains(number - 1) else { return nil }
        return (message.attachments[number - 1], mail.content(of: number - 1))
    }

    /// Returns the images in the mail that its HTML shows, by the identifiers by which it names them.
    package func inlineImages(in world: World) -> [String: (type: String, bytes: [UInt8])] {
        guard message.received != nil else { return [:] }
        let mail = world.mail(self)
        var images: [String: (type: String, bytes: [UInt8])] = [:]
        for (index, attachment) in mail.attachments.enumerated() {
            let isImage = ["image/gif", "image/jpeg", "image/png", "image/webp"].contains(attachment.type)
            guard isImage, let id = attachment.contentID, images[id] == nil else { continue }
            images[id] = (attachment.type, mail.content(of: index))
        }
        return images
    }

    /// The mail as the person behind the relay gets it; `nil` when no relay forwarded it.
    package var forwarded: [UInt8]? {
        guard message.kind == .mail, let relay = message.relay, relay.forwardedTo != nil else { return nil }
        return HeaderRewriting.replace(raw, with: relay.fields)
    }
}
