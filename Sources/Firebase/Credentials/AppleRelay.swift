import EmulatorCore
import HTTPServer
import JSON

extension AppleSource {
    /// Asks Apple's private relay whether it forwards a mail; returns `nil` if the recipient's address doesn't belong
    /// to the relay. The relay refuses the mail unless its sender is registered with Apple.
    /// <https://developer.apple.com/help/account/capabilities/configure-private-email-relay-service>
    static func relay(from sender: String, to recipient: String, in call: FirebaseCall) async -> RelayedMessage? {
        guard recipient.hasSuffix("@privaterelay.appleid.com") else { return nil }
        let query = Form(fields: [
            Form.Field(name: "from", value: sender), Form.Field(name: "to", value: recipient),
        ]).encoded
        let answer = await call.exchange.fetch("GET", "localhost", "/_understudy/v1/apple/relay?\(query)")
        let verdict = answer.document
        if verdict?["forwarded"]?.bool ?? false {
            return RelayedMessage(
                forwardedTo: verdict?["to"]?.string ?? "", sender: verdict?["sender"]?.string, refusal: nil, reason: nil
            )
        }
        let refusal =
            verdict?["smtp"]?.string ?? verdict?["reason"]?.string ?? verdict?["error"]?["message"]?.string ?? "refused"
        return RelayedMessage(
            forwardedTo: nil, sender: nil, refusal: refusal, reason: answer.header(Diagnosis.headerName))
    }
}
