/// A mail on its way to one recipient, as a provider judges it that relays mail to people who hide their address.
package struct MailInTransit: Sendable {
    package let world: World
    /// The envelope's sender; empty for a bounce.
    package let sender: String
    /// The envelope's recipient.
    package let recipient: String
    /// `nil` as long as only the envelope is known: the sender's server asks for each recipient before it sends the mail.
    package let content: ReceivedContent?

    package init(in world: World, from sender: String, to recipient: String, content: ReceivedContent? = nil) {
        self.world = world
        self.sender = sender
        self.recipient = recipient
        self.content = content
    }
}

/// What a mail says, as it came and as it is read.
package struct ReceivedContent: Sendable {
    /// Lines ended by CR LF.
    package let raw: [UInt8]
    package let read: ReadMail
    /// What a message keeps beside the mail. It is looked for once, however many recipients there are.
    package let subject: String?
    package let links: [String]
    package let codes: [String]

    package init(_ raw: [UInt8]) {
        self.raw = raw
        read = ReadMail(raw)
        subject = read.header("Subject").map { ReceivedMail.summary($0) }
        links = MailLinks.find(text: read.text, html: read.html)
        codes = MailCodes.find(subject: subject ?? "", text: read.text ?? read.html.map { HTMLText.plain($0) } ?? "")
    }
}

/// What becomes of a mail at a relay.
package enum RelayVerdict: Sendable {
    /// Nothing speaks against the envelope; the content is judged when it is there.
    case accepted
    case forwarded(ForwardedMail)
    /// The sender is told.
    case refused(MailRefusal)
    /// The sender isn't told, and nobody gets the mail.
    case lost(Diagnosis)
}

/// How a relay hands a mail on.
package struct ForwardedMail: Sendable, Equatable {
    /// The address to which it goes.
    package let recipient: String
    /// The envelope's sender from there on.
    package let sender: String
    /// Header fields that take the place of those of the same name.
    package let fields: [InboxMessage.HeaderField]

    package init(to recipient: String, from sender: String, fields: [InboxMessage.HeaderField]) {
        self.recipient = recipient
        self.sender = sender
        self.fields = fields
    }
}

extension InboxMessage.HeaderField {
    /// A field that holds mailboxes, such as `From`, names in quotes: <https://www.rfc-editor.org/rfc/rfc5322#section-3.4>.
    package init(name: String, mailboxes: [Mailbox]) {
        let written = mailboxes.map { mailbox in
            guard let name = mailbox.name, !name.isEmpty else { return mailbox.address }
            var quoted = ""
            for character in name.unicodeScalars {
                if character == "\"" || character == "\\" { quoted.unicodeScalars.append("\\") }
                quoted.unicodeScalars.append(character)
            }
            return "\"\(quoted)\" <\(mailbox.address)>"
        }
        self.init(name: name, value: written.joined(separator: ", "))
    }
}

/// The answer to a mail that isn't taken: <https://www.rfc-editor.org/rfc/rfc5321#section-4.2>.
package struct MailRefusal: Sendable {
    /// 550, say.
    package let code: Int
    /// The enhanced status code, such as `5.1.1`, where there is one: <https://www.rfc-editor.org/rfc/rfc3463>.
    package let status: String?
    package let text: String
    package let diagnosis: Diagnosis

    package init(_ code: Int, _ status: String?, _ text: String, _ diagnosis: Diagnosis) {
        self.code = code
        self.status = status
        self.text = text
        self.diagnosis = diagnosis
    }
}
