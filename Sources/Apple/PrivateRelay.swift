import HTTPServer
import JSON
import JOSE
import OAuth
import EmulatorCore

// The private e-mail relay.
// https://developer.apple.com/documentation/signinwithapple/communicating-using-the-private-email-relay-service
//
// Quirks: mail is forwarded only from addresses and domains that the team registered, each subdomain by itself, and
// only while the person has forwarding switched on. That a sender also has to pass SPF can't be seen here.

/// What the relay does with a message.
enum RelayDecision: Sendable, Equatable {
    case forwarded(to: String)
    /// Apple's SMTP answer.
    case unauthorizedSender(smtp: String)
    /// The person has switched forwarding off. Apple's answer isn't documented.
    case switchedOff
    case noSuchAddress
}

extension AppleProvider {
    /// Decides about mail from `sender` to the relay address `recipient`.
    func relay(from sender: String, to recipient: String, in world: World) -> RelayDecision {
        let found = world.read { tables -> (grant: AppleGrant, account: Account)? in
            let grant = tables.first(AppleGrant.byRelayAddress, recipient.lowercased())
            return grant.flatMap { grant in tables.account(grant.account).map { (grant, $0) } }
        }
        guard let found, let team = directory.teams[found.grant.team] else { return .noSuchAddress }
        let address = sender.lowercased()
        let domain = address.split(separator: "@").last.map(String.init) ?? ""
        let isRegistered =
            team.relay.senders.contains { $0.lowercased() == address }
            || team.relay.domains.contains { $0.lowercased() == domain }
        guard isRegistered else { return .unauthorizedSender(smtp: "550 5.1.1 <\(recipient)>: unauthorized sender") }
        return found.grant.forwardsMail ? .forwarded(to: found.account.email) : .switchedOff
    }

    /// `GET /_understudy/v1/apple/relay?from=…&to=…`: what would become of a message.
    func relayDecision(_ exchange: Exchange) -> Response {
        let form = exchange.request.queryForm
        guard let sender = form["from"], let recipient = form["to"], TextRule.email.holds(sender),
            TextRule.email.holds(recipient)
        else { return ControlAnswer.error(400, "missingParameter", "give from and to, two e-mail addresses") }
        switch relay(from: sender, to: recipient, in: exchange.world) {
        case .forwarded(let address): return ControlAnswer.ok(["forwarded": true, "to": .string(address)])
        case .unauthorizedSender(let smtp):
            let advice = "register the sender's address or domain at the team's relay in the seed"
            return ControlAnswer.ok(["forwarded": false, "reason": "unauthorizedSender", "smtp": .string(smtp)])
                .diagnosed(Diagnosis(received: "mail from \(Diagnosis.quote(sender))", advice))
        case .switchedOff:
            return ControlAnswer.ok(["forwarded": false, "reason": "switchedOff"])
                .diagnosed(Diagnosis("the person switched forwarding off (email-disabled)"))
        case .noSuchAddress:
            return ControlAnswer.error(
                404, "noSuchAddress", "nobody who has signed in hides behind \(Diagnosis.quote(recipient))")
        }
    }
}
