import JSON

extension EndpointCatalog {
    /// Returns the reasons why a fault for mail can't be carried out.
    static func issues(
        at step: SMTPStep, _ match: FaultMatch, _ place: LocatedJSON, _ effect: LocatedJSON
    ) -> [Issue] {
        for name in ["host", "path", "method", "client", "tokensOf", "fields"] {
            guard let node = place[name] else { continue }
            return [Issue(node, "\(name) is a request's, and smtp is for mail: give from and to")]
        }
        if match.from != nil, !step.knowsSender {
            return [Issue(place["from"] ?? place, "the sender isn't known at \(step.rawValue), but from MAIL on")]
        }
        if match.to != nil, !step.knowsRecipient {
            return [Issue(place["to"] ?? place, "the recipient isn't known at \(step.rawValue), but from RCPT on")]
        }
        guard let member = step.misfit(FaultEffect(reading: effect.value)) else { return [] }
        return [
            Issue(
                effect[member] ?? effect,
                "\(member) doesn't fit \(step.rawValue) of SMTP; what fits there: \(step.fitting)")
        ]
    }
}
