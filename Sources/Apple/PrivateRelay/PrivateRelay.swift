import EmulatorCore
import OAuth

// The private e-mail relay.
// https://developer.apple.com/documentation/signinwithapple/communicating-using-the-private-email-relay-service
// https://developer.apple.com/help/account/capabilities/configure-private-email-relay-service
//
// Quirks: an address is the same at all apps of a team, and only the team's registered senders may write to it, each subdomain by
// itself. The envelope's sender must be registered and pass SPF, or the domain in From be registered and have signed the mail with
// DKIM. Neither can be seen on one machine: a registered sender in the envelope counts as passed, and signatures aren't looked at. An
// unknown address is refused at RCPT; at which command an unregistered sender is isn't documented: here at RCPT, too.

/// What the relay does with a mail.
enum RelayDecision: Sendable {
    /// Nothing speaks against the envelope.
    case accepted
    case forwarded(ForwardedMail)
    case refused(RelayRefusal)
    /// Nobody gets it, and the sender isn't told.
    case lost(Diagnosis)

    var verdict: RelayVerdict {
        switch self {
        case .accepted: .accepted
        case .forwarded(let mail): .forwarded(mail)
        case .refused(let refusal): .refused(refusal.answer)
        case .lost(let diagnosis): .lost(diagnosis)
        }
    }
}

/// What is known of a mail.
struct RelayedMail {
    /// The envelope's sender; empty for a bounce.
    let sender: String
    /// At the relay, in lower case.
    let recipient: String
    /// As the mail says in From; `nil` as long as only the envelope is known.
    let authors: [Mailbox]?
    /// `nil` for a mail of which only the envelope and From are known.
    let content: ReceivedContent?
}

extension AppleProvider {
    package func relay(_ mail: MailInTransit) throws -> RelayVerdict? {
        let recipient = mail.recipient.lowercased()
        guard recipient.hasSuffix(AppleIdentifiers.relayDomain) else { return nil }
        let relayed = RelayedMail(
            sender: mail.sender, recipient: recipient, authors: mail.content?.read.from, content: mail.content)
        return try relay(relayed, in: mail.world).verdict
    }

    func relay(_ mail: RelayedMail, in world: World) throws -> RelayDecision {
        switch world.read({ $0.addressee(mail.recipient) }) {
        case .nobody(let ended): .refused(.userNotFound(mail.recipient, endedBy: ended, in: world))
        case .person(let person): try relay(mail, to: person, in: world)
        case .app(let reply): relay(mail, reply)
        }
    }

    // MARK: - To a person

    private func relay(_ mail: RelayedMail, to person: HiddenPerson, in world: World) throws -> RelayDecision {
        guard let team = directory.teams[person.team] else {
            return .refused(.userNotFound(mail.recipient, endedBy: nil, in: world))
        }
        // A null sender can't be registered: whose mail it is says From. Not documented.
        let isRegistered = mail.sender.isEmpty || team.sources.contain(mail.sender)
        guard isRegistered else { return .refused(unauthorized(mail.sender, .envelope, at: team, mail)) }
        // The words for this aren't documented; senders report that they get a bounce (https://www.braze.com/docs/email_relay).
        guard person.forwardsMail else { return .refused(.switchedOff(mail.recipient, person.account)) }
        guard let authors = mail.authors else { return .accepted }
        // Apple's words for a mail without From aren't documented.
        guard !authors.isEmpty else { return .refused(.noAuthor(mail.sender)) }
        if let stranger = authors.first(where: { !team.sources.contain($0.address) }) {
            return .refused(unauthorized(stranger.address, .author, at: team, mail))
        }
        return .forwarded(try forward(mail, from: authors, to: person, in: world))
    }

    private func unauthorized(
        _ address: String, _ place: RelayRefusal.Place, at team: AppleDirectory.Team, _ mail: RelayedMail
    ) -> RelayRefusal {
        let others = directory.teams.values.filter { $0.id != team.id && $0.sources.contain(address) }.map(\.id)
            .sorted()
        return .unauthorized(address, place, recipient: mail.recipient, at: team, registeredAt: others)
    }
}

/// Who may write to a team's relay addresses.
struct RegisteredSources: Sendable {
    /// In lower case, as the domains are.
    let addresses: Set<String>
    let domains: Set<String>

    init(_ relay: AppleSection.Relay) {
        addresses = Set(relay.senders.map { $0.lowercased() })
        domains = Set(relay.domains.map { $0.lowercased() })
    }

    func contain(_ address: String) -> Bool {
        addresses.contains(address.lowercased()) || domains.contains(RegisteredSources.domain(of: address))
    }

    /// In lower case; empty where there is none.
    static func domain(of address: String) -> String {
        guard let mark = address.utf8.lastIndex(of: UInt8(ascii: "@")) else { return "" }
        return address[mark...].dropFirst().lowercased()
    }
}
