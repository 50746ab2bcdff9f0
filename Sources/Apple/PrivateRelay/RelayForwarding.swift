import EmulatorCore
import OAuth

// The relay changes the header of the mail it forwards, but not the content.
//
// Quirks: the sender gets an address of its own, to which the person's reply returns; the name and To stay
// (https://atelierhsn.com/2022/11/byo-hide-my-email/). Little else is documented: here, Reply-To and Sender are changed
// like From, and a reply loses everything that would reveal the person.

extension AppleProvider {
    /// Forwards a mail, and stores the addresses at which the person can answer.
    func forward(
        _ mail: RelayedMail, from authors: [Mailbox], to person: HiddenPerson, in world: World
    ) throws -> ForwardedMail {
        let read = mail.content?.read
        let changed = [("From", authors), ("Sender", read?.sender ?? []), ("Reply-To", read?.replyTo ?? [])]
        var senders: [RelayedSender] = []
        let fields = changed.compactMap { name, mailboxes -> InboxMessage.HeaderField? in
            guard !mailboxes.isEmpty else { return nil }
            let rewritten = mailboxes.prefix(RelayedSender.perField).map { mailbox -> Mailbox in
                let sender = RelayedSender(mailbox.address, to: person.address)
                senders.append(sender)
                return Mailbox(sender.key, name: mailbox.name)
            }
            return InboxMessage.HeaderField(name: name, mailboxes: rewritten)
        }
        try world.remember(senders)
        // A mail that can't be answered keeps its empty sender.
        let sender = mail.sender.isEmpty ? "" : senders.first?.key ?? ""
        return ForwardedMail(to: person.account.email, from: sender, fields: fields)
    }

    // MARK: - From a person

    func relay(_ mail: RelayedMail, _ reply: RelayAddressee.Reply) -> RelayDecision {
        let account = reply.person.account
        let own = account.email.lowercased()
        guard mail.sender.isEmpty || mail.sender.lowercased() == own else {
            return .refused(.strangersReply(mail.sender, mail.recipient, account))
        }
        guard let authors = mail.authors else { return .accepted }
        if mail.sender.isEmpty {
            // Apple's treatment of these isn't documented.
            return .lost(
                Diagnosis(
                    received: "a bounce, or another mail without a sender, to \(Diagnosis.quote(mail.recipient))",
                    "the relay keeps such mails: they would tell the app who hides behind \(Diagnosis.quote(reply.person.address))"
                ))
        }
        guard authors.count == 1, let author = authors.first, author.address.lowercased() == own else {
            return .refused(.strangersReply(authors.first?.address ?? "", mail.recipient, account))
        }
        let fields = ReplyHeader(of: mail, author: author, reply).fields
        return .forwarded(ForwardedMail(to: reply.sender, from: reply.person.address, fields: fields))
    }
}

/// The header of a person's reply, as the app gets it.
private struct ReplyHeader {
    /// Header fields that reveal where a mail was written, or that are wrong after the change.
    private static let telling = [
        "Received", "Return-Path", "Delivered-To", "X-Originating-IP", "DKIM-Signature", "Authentication-Results",
        "Reply-To",
        "Sender",
    ]

    let fields: [InboxMessage.HeaderField]

    init(of mail: RelayedMail, author: Mailbox, _ reply: RelayAddressee.Reply) {
        let own = author.address.lowercased()
        func changed(_ mailbox: Mailbox) -> Mailbox {
            switch mailbox.address.lowercased() {
            case own: Mailbox(reply.person.address, name: mailbox.name)
            case mail.recipient: Mailbox(reply.sender, name: mailbox.name == mail.recipient ? nil : mailbox.name)
            default: mailbox
            }
        }
        var fields = [InboxMessage.HeaderField(name: "From", mailboxes: [changed(author)])]
        var known: Set<String> = ["from", "subject"]
        for (name, mailboxes) in [("To", mail.content?.read.to ?? []), ("Cc", mail.content?.read.cc ?? [])]
        where !mailboxes.isEmpty {
            known.insert(name.lowercased())
            fields.append(InboxMessage.HeaderField(name: name, mailboxes: mailboxes.map(changed)))
        }
        let telling = Set(ReplyHeader.telling.map { $0.lowercased() })
        for field in mail.content?.read.headers ?? []
        where telling.contains(field.name.lowercased()) || field.value.lowercased().contains(own) {
            guard known.insert(field.name.lowercased()).inserted else { continue }
            fields.append(InboxMessage.HeaderField(name: field.name, value: ""))
        }
        self.fields = fields
    }
}

extension RelayedSender {
    /// The most mailboxes of a header field. Further ones are left out.
    static let perField = 10
}

extension World {
    fileprivate func remember(_ senders: [RelayedSender]) throws {
        let unknown = read { tables in senders.filter { tables.find(RelayedSender.self, $0.key) == nil } }
        guard !unknown.isEmpty else { return }
        try update { tables in
            for sender in unknown { tables.put(sender) }
        }
    }
}
