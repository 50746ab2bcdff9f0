import JOSE
import Time

/// A mail to be written: <https://www.rfc-editor.org/rfc/rfc5322>.
package struct ComposedMail: Sendable {
    package var from: Mailbox
    package var to: [Mailbox]
    package var cc: [Mailbox] = []
    package var replyTo: Mailbox?
    package var subject: String
    package var text: String?
    package var html: String?
    /// The identifiers of the earlier mails of a conversation, in angle brackets; the last is the one that this
    /// answers.
    package var references: [String] = []

    package init(from: Mailbox, to: [Mailbox], subject: String, text: String?, html: String? = nil) {
        self.from = from
        self.to = to
        self.subject = subject
        self.text = text
        self.html = html
    }

    /// Returns the mail as bytes. `id` is a unique text of letters and digits.
    func raw(id: String, date: Instant) -> [UInt8] {
        let body = MailBody(text: text, html: html, boundary: "=_part_\(id)")
        var output = "From: \(from.headerText)\r\n"
        for (name, mailboxes) in [("To", to), ("Cc", cc), ("Reply-To", replyTo.map { [$0] } ?? [])]
        where !mailboxes.isEmpty {
            output += "\(name): \(mailboxes.map(\.headerText).joined(separator: ",\r\n "))\r\n"
        }
        output += "Subject: \(HeaderText.encode(subject))\r\nDate: \(date.mailDate)\r\n"
        output += "Message-ID: <\(id)@\(from.domain ?? "localhost")>\r\n"
        if let last = references.last {
            output += "In-Reply-To: \(last)\r\nReferences: \(references.joined(separator: "\r\n "))\r\n"
        }
        output += "MIME-Version: 1.0\r\nContent-Type: \(body.contentType)\r\n"
        return Array((output + body.written).utf8)
    }
}

extension World {
    /// Returns the mail as bytes, with an identifier of its own and the time by the world's clock.
    package func write(_ mail: ComposedMail) throws(StoreFailure) -> [UInt8] {
        let (id, now) = try update { tables -> (String, Instant) in
            var random = tables.random
            defer { tables.random = random }
            return (random.text(24, from: Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)), tables.now)
        }
        return mail.raw(id: id, date: now)
    }
}

// MARK: - Answers

extension InboxMessage {
    /// Returns who answers this mail and who gets the answer, as in the program of the person, to whom the mail may
    /// have come from a relay. Returns `nil` if nobody got the mail, or it has no sender.
    package func correspondents(in world: World) -> (answerer: Mailbox, sender: Mailbox)? {
        guard message.kind == .mail, !message.isUndelivered else { return nil }
        let read = asRead(in: world)
        let sender = (read.replyTo + read.from).first { $0.address.contains("@") }
        return sender.map { (Mailbox(message.relay?.forwardedTo ?? message.to.address), $0) }
    }

    /// Returns the answer to this mail, without quoting it: <https://www.rfc-editor.org/rfc/rfc5322#section-3.6.4>.
    package func answer(
        in world: World, from answerer: Mailbox, to sender: Mailbox, text: String?, html: String?
    ) -> ComposedMail {
        let read = asRead(in: world)
        let subject = message.subject ?? ""
        let isAnswer = subject.lowercased().hasPrefix("re:")
        var mail = ComposedMail(
            from: answerer, to: [sender], subject: isAnswer ? subject : "Re: \(subject)", text: text, html: html)
        let earlier = InboxMessage.identifiers(read.header("References") ?? read.header("In-Reply-To") ?? "")
        mail.references = earlier.suffix(20) + InboxMessage.identifiers(read.header("Message-ID") ?? "").prefix(1)
        return mail
    }

    /// Returns the mail as its recipient reads it.
    private func asRead(in world: World) -> ReadMail {
        forwarded.map { ReadMail($0, measuresAttachments: false) } ?? world.mail(self)
    }

    /// Returns identifiers `<…>` of printable ASCII. A header can hold any bytes.
    private static func identifiers(_ text: String) -> [String] {
        text.split(whereSeparator: { $0.isWhitespace }).prefix(1_000).filter { word in
            word.utf8.count <= 250 && word.first == "<" && word.last == ">"
                && word.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
        }.map(String.init)
    }
}
