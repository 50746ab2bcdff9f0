import EmulatorCore
import SMTPServer

extension MailService {
    /// The header field by which a message names its world.
    static let worldHeader = "X-Understudy-World"

    /// What becomes of a message, and what the recording says of it.
    struct Taken {
        var decision: MailDecision
        /// In a few words, what became of the content.
        var note: String
        var diagnosis: Diagnosis?
        /// Why mail that was taken gets nowhere.
        var loss: Note?
        var fault: String?
        /// The IDs of the rows in the inbox.
        var messages: [String] = []
        /// The first recipient that a relay decided about.
        var relayed: String?
    }

    /// Carries out the fault that is ordered for the message, or delivers it. What can't be kept, the sender may send again.
    func take(_ content: ReceivedContent, _ envelope: MailEnvelope, in world: World, request: String) -> Taken {
        do throws(StoreFailure) {
            return try StoreCall.checked { tried(content, envelope, in: world, request: request) }
        } catch {
            return Taken(
                decision: .reply(SMTPReply(451, "4.3.0", "the inbox can't be written")), note: "not kept",
                diagnosis: error.diagnosis)
        }
    }

    private func tried(
        _ content: ReceivedContent, _ envelope: MailEnvelope, in world: World, request: String
    ) -> Taken {
        let fault = world.takeFault(at: .message, from: envelope.sender, to: envelope.recipients)
        let delay = fault?.fault.effect.delay?.duration ?? .zero
        guard let fault, !fault.fault.effect.onlyDelays else {
            var taken = deliver(content, envelope, in: world, request: request)
            taken.fault = fault?.summary
            taken.decision = MailDecision(taken.decision.answer, after: delay)
            return taken
        }
        let effect = fault.fault.effect
        var answer = effect.answerToMail
        var note = "not taken"
        if effect.isLost || effect.bounce != nil {
            answer = .reply(SMTPReply(250, "2.0.0", "ok"))
            note = effect.isLost ? "taken and lost" : "taken, to be returned"
        }
        if let bounce = effect.bounce {
            let report = DeliveryReport(
                of: content, to: envelope.recipients, code: bounce.code, status: bounce.status, text: bounce.text)
            returns.send(report, to: envelope.sender, in: world, after: bounce.after.duration, request: request)
        }
        let isTaken = effect.isLost || effect.bounce != nil
        return Taken(
            decision: MailDecision(answer, after: delay), note: note, diagnosis: isTaken ? nil : fault.diagnosis,
            loss: isTaken ? Note(fault.diagnosis) : nil, fault: fault.summary)
    }

    private func deliver(
        _ content: ReceivedContent, _ envelope: MailEnvelope, in world: World, request: String
    ) -> Taken {
        if world.budget.mailRoutes.forwarding?.isLoop(content.raw) == true { return MailService.loop }
        guard world.hasRoom(forMail: content.raw.count) else {
            let reply = SMTPReply(452, "4.3.1", "the inboxes of all worlds hold too much: delete mail")
            return Taken(
                decision: .reply(reply), note: "not kept",
                diagnosis: Diagnosis("there is no room for the mail: DELETE mail empties an inbox"))
        }
        let delivery = deliver(
            content, from: envelope.sender, to: envelope.recipients, in: world, request: request)
        let ids = delivery.rows.map(\.id)
        let shown = ids.prefix(3).joined(separator: ", ") + (ids.count > 3 ? "…" : "")
        let relayed = delivery.rows.lazy.compactMap { $0.message.relay?.address }.first
        if let refusal = delivery.refusal(of: envelope.recipients.count) {
            return Taken(
                decision: .reply(refusal.reply), note: "in the inbox as \(shown), refused",
                diagnosis: refusal.diagnosis, messages: ids, relayed: relayed)
        }
        // Some have taken it, so the sender learns of the others as any server tells it that has said 250:
        // https://www.rfc-editor.org/rfc/rfc5321#section-6.1
        for (recipient, refusal) in delivery.refusals {
            let report = DeliveryReport(
                of: content, to: [recipient], code: refusal.code, status: refusal.status ?? "5.0.0",
                text: refusal.text)
            returns.send(report, to: envelope.sender, in: world, after: .zero, request: request)
        }
        // A user name that happens to be a world's name leads there: the sender's log shall say so.
        let place = dispatcher.isUnnamed(world) ? "" : " in world \(world.name)"
        return Taken(
            decision: .reply(SMTPReply(250, "2.0.0", "ok: queued as \(shown)\(place)")),
            note: "in the inbox as \(shown)",
            diagnosis: delivery.diagnosis, loss: delivery.loss, messages: ids, relayed: relayed)
    }
}

extension MailService {
    /// Keeping it would make it go round for ever. <https://www.rfc-editor.org/rfc/rfc5321#section-6.3>
    private static let loop = Taken(
        decision: .reply(SMTPReply(554, "5.4.6", "routing loop: this daemon has handed the message on before")),
        note: "not taken",
        diagnosis: Diagnosis(
            "the message carries the trace of this daemon, or more than \(MailTrace.limit) traces: the server of --smtp-forward "
                + "sends mail back here"))
}

extension FaultEffect {
    /// Whether it changes nothing but the time of the answer.
    var onlyDelays: Bool {
        !replacesAnswer && !isLost && bounce == nil
    }
}
