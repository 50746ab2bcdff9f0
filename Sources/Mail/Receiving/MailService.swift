import EmulatorCore
import SMTPServer

/// The daemon's mail service. It receives mails, lets providers decide about mails to their relay addresses, and puts
/// mails into the inboxes of test worlds.
package final class MailService: Sendable {
    let dispatcher: Dispatcher

    package init(_ dispatcher: Dispatcher) { self.dispatcher = dispatcher }
}

extension MailService: MailReceiver {
    package func open(_ label: String?) -> any MailConversation { RecordedConversation(label, self) }
}

struct Delivery: Sendable {
    /// The copies of the mail that were put into the inbox, including those for refused recipients, which are kept for
    /// display.
    var rows: [InboxMessage] = []
    var refusals: [(recipient: String, refusal: MailRefusal)] = []
    /// The reasons why an accepted mail was lost on its way to a recipient.
    var losses: [Diagnosis] = []

    var diagnosis: Diagnosis? { refusals.first?.refusal.diagnosis }

    var loss: Note? { losses.first.map { Note($0) } }

    /// Returns the refusal of the whole mail if all `count` recipients were refused, or else `nil`.
    func refusal(of count: Int) -> MailRefusal? { refusals.count == count ? refusals.first?.refusal : nil }
}

extension MailService {
    /// Accepts or refuses a mail for each recipient, and puts it into the inbox: one copy for each recipient at a
    /// provider's relay, and one for all other recipients together. Copies for refused recipients are put into the
    /// inbox, too.
    func deliver(
        _ content: ReceivedContent, from sender: String, to recipients: [String], in world: World, request: String?
    ) throws -> Delivery {
        var delivery = Delivery()
        var others: [String] = []
        func keep(_ recipients: [String], _ relay: SentMessage.Relay? = nil) throws {
            delivery.rows.append(
                try world.deliver(
                    SentMessage(
                        received: content, from: sender, to: recipients, relay: relay, request: request)))
        }
        for recipient in recipients {
            let mail = MailInTransit(in: world, from: sender, to: recipient, content: content)
            guard let (title, verdict) = try dispatcher.relay(mail) else {
                others.append(recipient)
                continue
            }
            switch verdict {
            case .accepted: others.append(recipient)
            case .forwarded(let forwarded):
                try keep([recipient], SentMessage.Relay(title: title, address: recipient, forwarded: forwarded))
            case .refused(let refusal):
                delivery.refusals.append((recipient, refusal))
                try keep([recipient], SentMessage.Relay(title: title, address: recipient, refused: refusal))
            case .lost(let diagnosis):
                delivery.losses.append(diagnosis)
                try keep([recipient], SentMessage.Relay(title: title, address: recipient, lost: diagnosis))
            }
        }
        if !others.isEmpty { try keep(others) }
        return delivery
    }

    /// Returns the refusal of a recipient, before the mail's content is known; `nil` if the recipient isn't refused. A
    /// recipient that another test world would accept isn't refused yet, because the mail's header may name that world.
    func refusal(of recipient: String, from sender: String, in world: World, isFixed: Bool) throws -> MailRefusal? {
        guard case .refused(let refusal) = try verdict(recipient, sender, world) else { return nil }
        guard !isFixed else { return refusal }
        // If there are too many worlds to ask, the decision waits for the header.
        guard let others = try dispatcher.otherWorlds(than: world) else { return nil }
        let isOthers = try others.contains { other in
            switch try verdict(recipient, sender, other) {
            case .accepted, .forwarded: true
            case .refused, .lost, nil: false
            }
        }
        return isOthers ? nil : refusal
    }

    private func verdict(_ recipient: String, _ sender: String, _ world: World) throws -> RelayVerdict? {
        try dispatcher.relay(MailInTransit(in: world, from: sender, to: recipient))?.verdict
    }
}

extension MailRefusal {
    var reply: SMTPReply { SMTPReply(code, status, text) }
}
