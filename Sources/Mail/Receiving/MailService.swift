import EmulatorCore
import SMTPServer

/// The daemon's mail: takes messages, has providers judge those to their relays, and puts them into the inboxes of worlds.
package final class MailService: Sendable {
    let dispatcher: Dispatcher

    package init(_ dispatcher: Dispatcher) { self.dispatcher = dispatcher }
}

extension MailService: MailReceiver {
    package func open(_ label: String?) -> any MailConversation { RecordedConversation(label, self) }
}

/// What became of a message.
struct Delivery: Sendable {
    /// Those that are kept of refused recipients included.
    var rows: [InboxMessage] = []
    var refusals: [(recipient: String, refusal: MailRefusal)] = []
    /// Why mail was lost.
    var losses: [Diagnosis] = []

    /// Why somebody was refused.
    var diagnosis: Diagnosis? { refusals.first?.refusal.diagnosis }

    /// Why mail was lost that nobody refused.
    var loss: Note? { losses.first.map { Note($0) } }

    /// The answer to the sender, when nobody takes the message.
    func refusal(of count: Int) -> MailRefusal? { refusals.count == count ? refusals.first?.refusal : nil }
}

extension MailService {
    /// Judges a message, and puts it into the inbox: once for each recipient at a relay, and once for all others together. One that
    /// is refused is kept, too.
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

    /// Whether the envelope of a message to this recipient is refused, before its content is known. What another world would take
    /// isn't: the message's header may name that world.
    func refusal(of recipient: String, from sender: String, in world: World, isFixed: Bool) throws -> MailRefusal? {
        guard case .refused(let refusal) = try verdict(recipient, sender, world) else { return nil }
        guard !isFixed else { return refusal }
        // With too many of them to ask, it is decided when the header is there.
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
