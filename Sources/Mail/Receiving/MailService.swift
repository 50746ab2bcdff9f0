import EmulatorCore
import SMTPServer

/// The daemon's mail service: receives messages, has providers judge those to their relays, and puts them into the
/// inboxes of worlds.
package final class MailService: Sendable {
    let dispatcher: Dispatcher

    package init(_ dispatcher: Dispatcher) { self.dispatcher = dispatcher }
}

extension MailService: MailReceiver {
    package func open(_ label: String?) -> any MailConversation { RecordedConversation(label, self) }
}

/// The outcome of delivering a message.
struct Delivery: Sendable {
    /// The rows in the inbox, with those of refused recipients that are kept.
    var rows: [InboxMessage] = []
    var refusals: [(recipient: String, refusal: MailRefusal)] = []
    /// The reasons why mail was lost.
    var losses: [Diagnosis] = []

    /// The reason for the first refusal.
    var diagnosis: Diagnosis? { refusals.first?.refusal.diagnosis }

    /// The reason why mail was lost that wasn't refused.
    var loss: Note? { losses.first.map { Note($0) } }

    /// Returns the refusal for the sender, if all recipients are refused.
    func refusal(of count: Int) -> MailRefusal? { refusals.count == count ? refusals.first?.refusal : nil }
}

extension MailService {
    /// Judges a message, and puts it into the inbox: once for each recipient at a relay, and once for all others
    /// together. A refused message is kept, too.
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

    /// Returns the refusal of the envelope for this recipient, before the content is known. There is none if another
    /// world would accept it: the message's header may name that world.
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
