import EmulatorCore
import HTTPServer
import JSON
import OAuth

extension AppleProvider {
    /// `GET /_understudy/v1/apple/relay?from=…&to=…`: what would become of a mail, whose sender stands in the envelope and in From, and
    /// that is signed as it should be.
    func relayDecision(_ exchange: Exchange) -> Response {
        let form = exchange.request.queryForm
        guard let sender = form["from"], let recipient = form["to"], TextRule.email.holds(sender),
            TextRule.email.holds(recipient)
        else { return ControlAnswer.error(400, "missingParameter", "give from and to, two e-mail addresses") }
        let mail = RelayedMail(
            sender: sender, recipient: recipient.lowercased(), authors: [Mailbox(sender)], content: nil)
        switch relay(mail, in: exchange.world) {
        case .accepted: return ControlAnswer.ok(["forwarded": true])
        case .forwarded(let mail):
            return ControlAnswer.ok([
                "forwarded": true, "to": .string(mail.recipient), "sender": .string(mail.sender),
            ])
        case .refused(let refusal) where refusal.reason == .noSuchAddress:
            return ControlAnswer.error(
                404, refusal.reason.rawValue, "\(refusal.smtp): \(refusal.answer.diagnosis.line)")
        case .refused(let refusal):
            return ControlAnswer.ok([
                "forwarded": false, "reason": .string(refusal.reason.rawValue), "smtp": .string(refusal.smtp),
            ]).diagnosed(refusal.answer.diagnosis)
        case .lost(let diagnosis):
            return ControlAnswer.ok(["forwarded": false, "reason": "lost"]).diagnosed(diagnosis)
        }
    }
}
