import EmulatorCore

extension MailService: MailSubmission {
    /// Submits a mail by a call of the control API instead of SMTP. A fault that is requested for the end of an SMTP
    /// message applies to the call, too. If the fault would close the connection, the mail is refused.
    package func submit(
        _ raw: [UInt8], from sender: String, to recipients: [String], in world: World, request: String?
    ) throws -> SubmittedMail {
        let content = ReceivedContent(raw)
        let fault = try world.consumeFault(at: .message, from: sender, to: recipients)
        var submitted: SubmittedMail
        if let fault, !fault.fault.effect.onlyDelays {
            submitted = carryOut(fault, for: content, from: sender, to: recipients, in: world, request: request)
        } else {
            let delivery = try deliver(content, from: sender, to: recipients, in: world, request: request)
            submitted = SubmittedMail(delivery.rows, refusals: delivery.refusals)
        }
        submitted.delay = fault?.fault.effect.delay ?? .zero
        return submitted
    }

    private func carryOut(
        _ fault: AppliedFault, for content: ReceivedContent, from sender: String, to recipients: [String],
        in world: World, request: String?
    ) -> SubmittedMail {
        let effect = fault.fault.effect
        if effect.isLost { return SubmittedMail([]) }
        let refusal = MailRefusal(
            effect.reply?.code ?? 421, effect.reply?.status, effect.reply?.text ?? "the connection is closed",
            fault.diagnosis)
        return SubmittedMail([], refusals: recipients.map { ($0, refusal) })
    }
}
