import EmulatorCore
import SMTPServer
import Worlds

extension MailService {
    /// The name of a header field of mails. Its value is the name of the test world whose inbox gets the mail.
    static let worldHeader = "X-Understudy-World"

    /// The decision whether a received mail is accepted, with the facts that are recorded about the mail.
    struct Taken {
        var decision: MailDecision
        /// A few words that say what was done with the mail's content.
        var note: String
        var diagnosis: Diagnosis?
        /// The reason why an accepted mail is lost instead of being delivered; `nil` if it isn't lost.
        var loss: Note?
        var fault: String?
        /// The IDs of the mail's copies in the inbox.
        var messages: [String] = []
        /// The first recipient whose mail a provider's relay, such as Apple's, has forwarded, refused or lost; `nil` if
        /// there is none.
        var relayed: String?
    }

    /// Applies a requested fault to a received mail, or delivers the mail if there is no fault. If the mail can't be
    /// stored, the reply is a temporary error, after which clients may send the mail again.
    func receive(_ content: ReceivedContent, _ envelope: MailEnvelope, in world: World, request: String) -> Taken {
        do { return try tried(content, envelope, in: world, request: request) } catch {
            return Taken(
                decision: .reply(SMTPReply(451, "4.3.0", "the mail can't be saved in the inbox")), note: "not kept",
                diagnosis: (error as? StoreFailure)?.diagnosis ?? Diagnosis("\(error)"))
        }
    }

    private func tried(
        _ content: ReceivedContent, _ envelope: MailEnvelope, in world: World, request: String
    ) throws -> Taken {
        let fault = try world.consumeFault(at: .message, from: envelope.sender, to: envelope.recipients)
        let delay = fault?.fault.effect.delay?.duration ?? .zero
        guard let fault, !fault.fault.effect.onlyDelays else {
            var taken = try deliver(content, envelope, in: world, request: request)
            taken.fault = fault?.summary
            taken.decision = MailDecision(taken.decision.answer, after: delay)
            return taken
        }
        let effect = fault.fault.effect
        var answer = effect.answerToMail
        var note = "not taken"
        let isTaken = effect.isLost
        if isTaken {
            answer = .reply(SMTPReply(250, "2.0.0", "ok"))
            note = "taken and lost"
        }
        return Taken(
            decision: MailDecision(answer, after: delay), note: note, diagnosis: isTaken ? nil : fault.diagnosis,
            loss: isTaken ? Note(fault.diagnosis) : nil, fault: fault.summary)
    }

    private func deliver(
        _ content: ReceivedContent, _ envelope: MailEnvelope, in world: World, request: String
    ) throws -> Taken {
        guard world.hasRoom(forMail: content.raw.count) else {
            let reply = SMTPReply(452, "4.3.1", "the inboxes of all test worlds are full: delete mail")
            return Taken(
                decision: .reply(reply), note: "not kept",
                diagnosis: Diagnosis("there is no room for the mail: empty an inbox with DELETE mail"))
        }
        let delivery = try deliver(
            content, from: envelope.sender, to: envelope.recipients, in: world, request: request)
        let ids = delivery.rows.map(\.id)
        let shown = ids.prefix(3).joined(separator: ", ") + (ids.count > 3 ? "…" : "")
        let relayed = delivery.rows.lazy.compactMap { $0.message.relay?.address }.first
        if let refusal = delivery.refusal(of: envelope.recipients.count) {
            return Taken(
                decision: .reply(refusal.reply), note: "the mail is saved in the inbox as \(shown), but refused",
                diagnosis: refusal.diagnosis, messages: ids, relayed: relayed)
        }
        // A user name that is by chance a world's name leads there, so the sender's log says it.
        let place = dispatcher.isUnnamed(world) ? "" : " in world \(world.name)"
        return Taken(
            decision: .reply(SMTPReply(250, "2.0.0", "ok: queued as \(shown)\(place)")),
            note: "in the inbox as \(shown)",
            diagnosis: delivery.diagnosis, loss: delivery.loss, messages: ids, relayed: relayed)
    }
}

extension FaultEffect {
    var onlyDelays: Bool {
        !replacesAnswer && !isLost
    }
}
