import EmulatorCore
import OAuth

// The private e-mail relay.
// https://developer.apple.com/documentation/signinwithapple/communicating-using-the-private-email-relay-service
// https://developer.apple.com/help/account/capabilities/configure-private-email-relay-service
//
// Quirks: an address is the same in all apps of a team. Only the team's registered senders may write to it, and each
// subdomain is registered by itself. Either the envelope's sender is registered and passes SPF, or the domain in From
// is registered and has signed the mail with DKIM. Neither can be checked on one machine: a registered sender in the
// envelope counts as passed, and signatures are ignored. An unknown address is refused at RCPT. At which command an
// unregistered sender is refused isn't documented: here, also at RCPT.

/// The relay's decision about a mail.
enum RelayDecision: Sendable {
    /// The envelope is acceptable.
    case accepted
    case forwarded(ForwardedMail)
    case refused(RelayRefusal)
    /// The mail is dropped, and the sender isn't notified.
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

/// The known parts of a mail.
struct RelayedMail {
    /// The envelope's sender; empty for a bounce.
    let sender: String
    /// The recipient's relay address, in lower case.
    let recipient: String
    /// The mailboxes in From; `nil` as long as only the envelope is known.
    let authors: [Mailbox]?
    /// The content; `nil` if only the envelope and From are known.
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
        // A null sender can't be registered, so From decides. Not documented.
        let isRegistered = mail.sender.isEmpty || team.sources.contain(mail.sender)
        guard isRegistered else { return .refused(unauthorized(mail.sender, .envelope, at: team, mail)) }
        // The text isn't documented; senders report that they get a bounce (https://www.braze.com/docs/email_relay).
        guard person.forwardsMail else { return .refused(.switchedOff(mail.recipient, person.account)) }
        guard let authors = mail.authors else { return .accepted }
        // Apple's text for a mail without From isn't documented.
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

/// The senders that may write to a team's relay addresses.
struct RegisteredSources: Sendable {
    /// The addresses, in lower case like the domains.
    let addresses: Set<String>
    let domains: Set<String>

    init(_ relay: AppleSection.Relay) {
        addresses = Set(relay.senders.map { $0.lowercased() })
        domains = Set(relay.domains.map { $0.lowercased() })
    }

    func contain(_ address: String) -> Bool {
        addresses.contains(address.lowercased()) || domains.contains(RegisteredSources.domain(of: address))
    }

    /// Returns the domain of an address in lower case; empty if there is none.
    static func domain(of address: String) -> String {
        guard let mark = address.utf8.lastIndex(of: UInt8(ascii: "@")) else { return "" }
        return address[mark...].dropFirst().lowercased()
    }
}
