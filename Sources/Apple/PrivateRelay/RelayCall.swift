import EmulatorCore
import HTTPServer
import JSON
import OAuth

extension AppleProvider {
    private struct Question: SchemaObject {
        let sender: String
        let recipient: String

        init(_ fields: inout Fields) {
            sender = fields("from", .text(.email), "Who sends it.")
            recipient = fields("to", .text(.email), "A hidden address.")
        }
    }

    var relayCall: Endpoint {
        .control(
            "GET", "apple/relay", "Tells what Apple's private relay would do with a mail.",
            reads: .query(Question.self),
            answers: [
                .json(
                    "What it would do.",
                    .members([
                        .required("forwarded", .boolean, "Whether the person would get it."),
                        .optional("to", .string, "At which address."), .optional("sender", .string, "As whose."),
                        .optional("reason", .string, "Why not."),
                        .optional("smtp", .string, "With which words it is refused."),
                    ])),
                .refusal(404, RelayRefusal.Reason.noSuchAddress.rawValue, "The relay gave out no such address."),
            ]
        ) { try relayDecision($0, $1) }
    }

    /// Handles `GET /_understudy/v1/apple/relay?from=…&to=…`: decides about a mail whose sender is in the envelope and
    /// in From.
    private func relayDecision(_ exchange: Exchange, _ question: Question) throws -> Response {
        let (sender, recipient) = (question.sender, question.recipient)
        let mail = RelayedMail(
            sender: sender, recipient: recipient.lowercased(), authors: [Mailbox(sender)], content: nil)
        switch try relay(mail, in: exchange.world) {
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
            return ControlAnswer.ok(["forwarded": false, "reason": "lost"]).noted(Note(diagnosis))
        }
    }
}
