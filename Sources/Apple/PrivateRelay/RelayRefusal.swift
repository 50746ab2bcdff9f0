import EmulatorCore

/// The reason and the text of a mail's refusal by the relay.
struct RelayRefusal: Sendable {
    /// The reason, for the control API.
    enum Reason: String {
        case unauthorizedSender
        case noSuchAddress
        case switchedOff
    }

    /// The position of the unregistered address.
    enum Place {
        case envelope
        case author
    }

    let reason: Reason
    let answer: MailRefusal

    /// The line of the answer.
    var smtp: String {
        [String(answer.code), answer.status, answer.text].compactMap { $0 }.joined(separator: " ")
    }

    /// Returns Apple's text with the envelope's sender: <https://developer.apple.com/forums/thread/798226>. That the
    /// author is named if From is at fault isn't documented.
    static func unauthorized(
        _ address: String, _ place: Place, recipient: String, at team: AppleDirectory.Team,
        registeredAt others: [String]
    ) -> RelayRefusal {
        let what =
            switch place {
            case .envelope: "the envelope's sender (MAIL FROM, Return-Path)"
            case .author: "the author (From)"
            }
        var advice = register(address, at: team)
        if !others.isEmpty {
            let teams = others.prefix(3).map { Diagnosis.quote($0) }.joined(separator: ", ")
            advice =
                "it is registered for team \(teams), but the address belongs to team \"\(team.id)\", whose apps alone may use it: mail the address that team \(teams) got, or \(advice)"
        }
        return RelayRefusal(
            reason: .unauthorizedSender,
            answer: MailRefusal(
                550, "5.1.1", "<\(address)>: unauthorized sender",
                Diagnosis(
                    received: "\(what) \(Diagnosis.quote(address)) for \(Diagnosis.quote(recipient))",
                    expected: expected(address, at: team), advice)))
    }

    private static func register(_ address: String, at team: AppleDirectory.Team) -> String {
        let domain = RegisteredSources.domain(of: address)
        let parent = team.sources.domains.sorted().first { domain.hasSuffix(".\($0)") || $0.hasSuffix(".\(domain)") }
        let note =
            parent.map { "each subdomain is registered by itself, and \(Diagnosis.quote($0)) is another: " } ?? ""
        return
            "\(note)register the address at \(team.place).relay.senders, or \(Diagnosis.quote(domain)) at \(team.place).relay.domains; with Apple, under Certificates, Identifiers & Profiles, Services, Sign in with Apple for Email Communication"
    }

    /// The most registered sources in a diagnosis.
    private static let listed = 8

    private static func expected(_ address: String, at team: AppleDirectory.Team) -> String {
        let sources = team.sources.addresses.sorted() + team.sources.domains.sorted()
        guard !sources.isEmpty else { return "a sender that team \"\(team.id)\" registered, which has registered none" }
        let shown = sources.prefix(listed).map { Diagnosis.quote($0) }.joined(separator: ", ")
        let more = sources.count > listed ? " and \(sources.count - listed) more" : ""
        return "what team \"\(team.id)\" registered: \(shown)\(more)"
    }

    /// Returns the refusal of an unknown address: <https://github.com/sisimai/go-sisimai/issues/155>
    static func userNotFound(_ address: String, endedBy account: String?, in world: World) -> RelayRefusal {
        let ended = account.map {
            "account \(Diagnosis.quote($0)) hid behind it, and uses Sign in with Apple for no app of the team any more: take the address off your lists"
        }
        return notFound(
            .noSuchAddress, address,
            ended ?? "nobody who has signed in in world \(Diagnosis.quote(world.name)) hides behind it")
    }

    static func switchedOff(_ address: String, _ account: Account) -> RelayRefusal {
        notFound(
            .switchedOff, address,
            "account \(Diagnosis.quote(account.id)) switched forwarding off (email-disabled): don't write there until email-enabled comes"
        )
    }

    private static func notFound(_ reason: Reason, _ address: String, _ advice: String) -> RelayRefusal {
        RelayRefusal(
            reason: reason,
            answer: MailRefusal(
                550, "5.1.1", "<\(address)>: user not found",
                Diagnosis(received: "mail to \(Diagnosis.quote(address))", advice)))
    }

    static func noAuthor(_ sender: String) -> RelayRefusal {
        RelayRefusal(
            reason: .unauthorizedSender,
            answer: MailRefusal(
                550, "5.1.1", "<\(sender)>: unauthorized sender",
                Diagnosis(
                    received: "a mail without an address in From", expected: "the address of a registered sender there",
                    "say in From who the mail is from: https://www.rfc-editor.org/rfc/rfc5322#section-3.6.2")))
    }

    /// Returns the refusal of a stranger's reply. The text isn't documented; it is the one for unregistered senders.
    static func strangersReply(_ sender: String, _ recipient: String, _ account: Account) -> RelayRefusal {
        RelayRefusal(
            reason: .unauthorizedSender,
            answer: MailRefusal(
                550, "5.1.1", "<\(sender)>: unauthorized sender",
                Diagnosis(
                    received: "a reply by \(Diagnosis.quote(sender)) to \(Diagnosis.quote(recipient))",
                    expected: "one by \(Diagnosis.quote(account.email)), in the envelope and in From",
                    "only the person whose address is hidden can answer there: send it as account \(Diagnosis.quote(account.id))"
                )))
    }
}
