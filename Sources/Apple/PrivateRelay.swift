import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Worlds

// The private e-mail relay.
// https://developer.apple.com/documentation/signinwithapple/communicating-using-the-private-email-relay-service
// https://developer.apple.com/help/account/capabilities/configure-private-email-relay-service
//
// Quirks: an address is the same in all apps of a team. Only the team's registered senders may write to it, and each
// subdomain is registered by itself. Either the envelope's sender is registered and passes SPF, or the domain in From
// is registered and has signed the mail with DKIM. Neither can be checked on one machine: a registered sender in the
// envelope counts as passed, and signatures are ignored. An unknown address is refused at RCPT. At which command an
// unregistered sender is refused isn't documented: here, also at RCPT.

/// The decision of Apple's private email relay whether it forwards a mail.
enum RelayDecision: Sendable {
    /// The relay accepts the mail's envelope. The decision about the mail itself follows later.
    case accepted
    case forwarded(ForwardedMail)
    case refused(RelayRefusal)
    /// The relay drops the mail without notifying the sender.
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

/// A mail to a relay address, as Apple's private email relay sees it.
struct RelayedMail {
    /// The sender in the mail's envelope; empty for a bounce.
    let sender: String
    /// The relay address to which the mail is sent, in lower case.
    let recipient: String
    /// The mailboxes in the mail's header field From; `nil` as long as only the envelope is known.
    let authors: [Mailbox]?
    /// The content of the mail; `nil` if no more than the envelope and the header field From is known.
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
        guard person.forwardsMail else { return .refused(.switchedOff(mail.recipient, person.account)) }
        guard let authors = mail.authors else { return .accepted }
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

/// The registered senders that may write to the relay addresses of an Apple developer team.
struct RegisteredSources: Sendable {
    /// The email addresses, in lower case, that may write to the relay addresses of an Apple developer team.
    let addresses: Set<String>
    let domains: Set<String>

    init(_ relay: AppleSection.Relay) {
        addresses = Set(relay.senders.map { $0.lowercased() })
        domains = Set(relay.domains.map { $0.lowercased() })
    }

    func contain(_ address: String) -> Bool {
        addresses.contains(address.lowercased()) || domains.contains(RegisteredSources.domain(of: address))
    }

    /// Returns the domain of an email address in lower case; empty if the address has none.
    static func domain(of address: String) -> String {
        guard let mark = address.utf8.lastIndex(of: UInt8(ascii: "@")) else { return "" }
        return address[mark...].dropFirst().lowercased()
    }
}

/// A person who hides the real email address behind a relay address of Apple's.
struct HiddenPerson: Sendable {
    let account: Account
    let team: String
    /// The person's relay address.
    let address: String
    /// Whether the relay forwards mail to the person. The relay address doesn't show which of the team's apps the mail
    /// is about, so all mail is forwarded as long as the person wants it from one of the apps.
    let forwardsMail: Bool
}

/// A relay address that stands for the sender of a mail to a person with a hidden address, so that the person can
/// answer the mail.
struct RelayedSender: Row {
    static let table = Table<RelayedSender>("apple.relayedSender", limit: 10_000)

    /// The relay address that stands for the sender, in lower case.
    let key: String
    /// The sender's real address.
    let sender: String
    /// The recipient's relay address, to which the sender wrote.
    let relayAddress: String

    /// Makes the relay address that stands for a sender, as recipients see it:
    /// `noreply_at_example_com_dpdcnf87nu_918e97ce@privaterelay.appleid.com`. It is made of the sender's address, the
    /// recipient's relay address and eight hexadecimal digits. Apple documents neither how it makes such addresses nor
    /// how it shortens long ones.
    init(_ sender: String, to relayAddress: String) {
        self.sender = sender
        self.relayAddress = relayAddress
        let domain = RegisteredSources.domain(of: sender)
        let local = domain.isEmpty ? sender : String(sender.dropLast(domain.count + 1))
        let hidden = relayAddress.prefix { $0 != "@" }
        let digits = Hex.encode(Digest.sha256("apple:relayed:\(relayAddress):\(sender.lowercased())")).prefix(8)
        let end = "_\(hidden)_\(digits)"
        // The local part has at most 64 bytes: https://www.rfc-editor.org/rfc/rfc5321#section-4.5.3.1.1.
        let begin = RelayedSender.plain("\(local)_at_\(domain)").prefix(64 - end.utf8.count)
        key = begin + end + AppleIdentifiers.relayDomain
    }

    /// Returns a text in lower case, in which an underscore replaces each character that is no letter, digit or hyphen.
    private static func plain(_ text: String) -> String {
        let bytes = text.utf8.map { byte -> UInt8 in
            switch byte {
            case 0x41...0x5A: byte | 0x20
            case 0x61...0x7A, 0x30...0x39, UInt8(ascii: "-"): byte
            default: UInt8(ascii: "_")
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The recipient whom mail to one of Apple's relay addresses reaches.
enum RelayAddressee: Sendable {
    case person(HiddenPerson)
    /// The mail is a person's reply, and goes to the app that has written to the person before.
    case app(Reply)
    /// The mail reaches nobody. `endedBy` is the account that had the relay address until its consent ended; `nil` if
    /// no account had it.
    case nobody(endedBy: String?)

    struct Reply: Sendable {
        let person: HiddenPerson
        /// The real address of the app that has written to the person.
        let sender: String
    }
}

extension TableReading where Self: ~Copyable {
    /// Returns the recipient whom mail to the relay address `address` reaches. The address is in lower case.
    func addressee(_ address: String) -> RelayAddressee {
        if let person = hiddenPerson(address) { return .person(person) }
        guard let sender = find(RelayedSender.self, address) else { return .nobody(endedBy: formerAccount(address)) }
        guard let person = hiddenPerson(sender.relayAddress) else {
            return .nobody(endedBy: formerAccount(sender.relayAddress))
        }
        return .app(RelayAddressee.Reply(person: person, sender: sender.sender))
    }

    private func hiddenPerson(_ address: String) -> HiddenPerson? {
        let grants = rows(AppleGrant.byRelayAddress, address)
        guard let grant = grants.first, let account = account(grant.account) else { return nil }
        return HiddenPerson(
            account: account, team: grant.team, address: address, forwardsMail: grants.contains(where: \.forwardsMail))
    }

    private func formerAccount(_ address: String) -> String? {
        first(EndedGrant.byRelayAddress, address)?.account
    }
}

// The relay changes the header of the mail it forwards, but not the content.
//
// Quirks: the sender gets an address of its own, to which the person's reply returns; the name and To stay. Little else
// is documented: here, Reply-To and Sender are changed like From, and a reply loses everything that would reveal the
// person.

extension AppleProvider {
    /// Forwards an app's mail to a person. The relay addresses that stand for the mail's senders are stored, so that
    /// the person can answer.
    func forward(
        _ mail: RelayedMail, from authors: [Mailbox], to person: HiddenPerson, in world: World
    ) throws -> ForwardedMail {
        let read = mail.content?.read
        let changed = [("From", authors), ("Sender", read?.sender ?? []), ("Reply-To", read?.replyTo ?? [])]
        var senders: [RelayedSender] = []
        let fields = changed.compactMap { name, mailboxes -> InboxMessage.HeaderField? in
            guard !mailboxes.isEmpty else { return nil }
            let rewritten = mailboxes.prefix(RelayedSender.perField).map { mailbox -> Mailbox in
                let sender = RelayedSender(mailbox.address, to: person.address)
                senders.append(sender)
                return Mailbox(sender.key, name: mailbox.name)
            }
            return InboxMessage.HeaderField(name: name, mailboxes: rewritten)
        }
        try world.remember(senders)
        // A mail that can't be answered keeps its empty sender.
        let sender = mail.sender.isEmpty ? "" : senders.first?.key ?? ""
        return ForwardedMail(to: person.account.email, from: sender, fields: fields)
    }

    // MARK: - From a person

    func relay(_ mail: RelayedMail, _ reply: RelayAddressee.Reply) -> RelayDecision {
        let account = reply.person.account
        let own = account.email.lowercased()
        guard mail.sender.isEmpty || mail.sender.lowercased() == own else {
            return .refused(.strangersReply(mail.sender, mail.recipient, account))
        }
        guard let authors = mail.authors else { return .accepted }
        if mail.sender.isEmpty {
            // Apple's treatment of these isn't documented.
            return .lost(
                Diagnosis(
                    received: "a bounce, or another mail without a sender, to \(Diagnosis.quote(mail.recipient))",
                    "the relay doesn't forward such mail, because it would reveal to the app the user's own address, which \(Diagnosis.quote(reply.person.address)) hides"
                ))
        }
        guard authors.count == 1, let author = authors.first, author.address.lowercased() == own else {
            return .refused(.strangersReply(authors.first?.address ?? "", mail.recipient, account))
        }
        let fields = ReplyHeader(of: mail, author: author, reply).fields
        return .forwarded(ForwardedMail(to: reply.sender, from: reply.person.address, fields: fields))
    }
}

/// The header of a person's reply through Apple's relay, as the app gets it.
private struct ReplyHeader {
    /// The names of header fields that are removed from a person's reply, because they reveal where the reply was
    /// written, or are wrong after the relay's changes.
    private static let telling = [
        "Received", "Return-Path", "Delivered-To", "X-Originating-IP", "DKIM-Signature", "Authentication-Results",
        "Reply-To",
        "Sender",
    ]

    let fields: [InboxMessage.HeaderField]

    init(of mail: RelayedMail, author: Mailbox, _ reply: RelayAddressee.Reply) {
        let own = author.address.lowercased()
        func changed(_ mailbox: Mailbox) -> Mailbox {
            switch mailbox.address.lowercased() {
            case own: Mailbox(reply.person.address, name: mailbox.name)
            case mail.recipient: Mailbox(reply.sender, name: mailbox.name == mail.recipient ? nil : mailbox.name)
            default: mailbox
            }
        }
        var fields = [InboxMessage.HeaderField(name: "From", mailboxes: [changed(author)])]
        var known: Set<String> = ["from", "subject"]
        for (name, mailboxes) in [("To", mail.content?.read.to ?? []), ("Cc", mail.content?.read.cc ?? [])]
        where !mailboxes.isEmpty {
            known.insert(name.lowercased())
            fields.append(InboxMessage.HeaderField(name: name, mailboxes: mailboxes.map(changed)))
        }
        let telling = Set(ReplyHeader.telling.map { $0.lowercased() })
        for field in mail.content?.read.headers ?? []
        where telling.contains(field.name.lowercased()) || field.value.lowercased().contains(own) {
            guard known.insert(field.name.lowercased()).inserted else { continue }
            fields.append(InboxMessage.HeaderField(name: field.name, value: ""))
        }
        self.fields = fields
    }
}

extension RelayedSender {
    /// The greatest number of mailboxes that the relay forwards in each of the header fields From, Sender and Reply-To
    /// of a mail. Further mailboxes are left out.
    static let perField = 10
}

extension World {
    fileprivate func remember(_ senders: [RelayedSender]) throws {
        let unknown = read { tables in senders.filter { tables.find(RelayedSender.self, $0.key) == nil } }
        guard !unknown.isEmpty else { return }
        try update { tables in
            for sender in unknown { tables.put(sender) }
        }
    }
}

/// A mail's rejection by Apple's relay: the reason, and the SMTP reply.
struct RelayRefusal: Sendable {
    /// The reason why Apple's relay rejects a mail, as the control API names it.
    enum Reason: String {
        case unauthorizedSender
        case noSuchAddress
        case switchedOff
    }

    /// The part of the mail that contains the unregistered sender's address: the envelope, or the header field From.
    enum Place {
        case envelope
        case author
    }

    let reason: Reason
    let answer: MailRefusal

    /// The line of the SMTP reply with which the relay rejects the mail.
    var smtp: String {
        [String(answer.code), answer.status, answer.text].compactMap { $0 }.joined(separator: " ")
    }

    /// Returns the rejection of a mail from an unregistered sender. Apple's text names the envelope's sender. If only
    /// the address in From isn't registered, the text here names that address, because Apple documents no text for this
    /// case.
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
                    received:
                        "mail from the unregistered sender \(Diagnosis.quote(address)), \(what), to \(Diagnosis.quote(recipient))",
                    expected: expected(address, at: team), advice)))
    }

    private static func register(_ address: String, at team: AppleDirectory.Team) -> String {
        let domain = RegisteredSources.domain(of: address)
        let parent = team.sources.domains.sorted().first { domain.hasSuffix(".\($0)") || $0.hasSuffix(".\(domain)") }
        let note =
            parent.map { "each subdomain is registered by itself, and \(Diagnosis.quote($0)) differs: " } ?? ""
        return
            "\(note)register the address at \(team.place).relay.senders, or \(Diagnosis.quote(domain)) at \(team.place).relay.domains; with Apple, under Certificates, Identifiers & Profiles, Services, Sign in with Apple for Email Communication"
    }

    /// The greatest number of registered senders that an error message lists.
    private static let listed = 8

    private static func expected(_ address: String, at team: AppleDirectory.Team) -> String {
        let sources = team.sources.addresses.sorted() + team.sources.domains.sorted()
        guard !sources.isEmpty else { return "a sender that team \"\(team.id)\" registered: it has registered none" }
        let shown = sources.prefix(listed).map { Diagnosis.quote($0) }.joined(separator: ", ")
        let more = sources.count > listed ? " and \(sources.count - listed) more" : ""
        return "a sender that team \"\(team.id)\" registered: \(shown)\(more)"
    }

    /// Returns the rejection of a mail to an unknown relay address.
    static func userNotFound(_ address: String, endedBy account: String?, in world: World) -> RelayRefusal {
        let ended = account.map {
            "account \(Diagnosis.quote($0)) hid behind it, and uses Sign in with Apple for no app of the team any more: take the address off your lists"
        }
        return notFound(
            .noSuchAddress, address,
            ended ?? "no user of the test world \(Diagnosis.quote(world.name)) hides behind this address")
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
                Diagnosis(
                    received: "mail to \(Diagnosis.quote(address)), a relay address that forwards no mail", advice)))
    }

    static func noAuthor(_ sender: String) -> RelayRefusal {
        RelayRefusal(
            reason: .unauthorizedSender,
            answer: MailRefusal(
                550, "5.1.1", "<\(sender)>: unauthorized sender",
                Diagnosis(
                    received: "mail without an address in the header From",
                    expected: "the address of a registered sender",
                    "name the sender in the header From: https://www.rfc-editor.org/rfc/rfc5322#section-3.6.2")))
    }

    /// Returns the rejection of a reply that doesn't come from the person whose address is hidden. It has the text for
    /// unregistered senders, because Apple documents no text for such replies.
    static func strangersReply(_ sender: String, _ recipient: String, _ account: Account) -> RelayRefusal {
        RelayRefusal(
            reason: .unauthorizedSender,
            answer: MailRefusal(
                550, "5.1.1", "<\(sender)>: unauthorized sender",
                Diagnosis(
                    received: "a reply from \(Diagnosis.quote(sender)) to \(Diagnosis.quote(recipient))",
                    expected: "a reply from \(Diagnosis.quote(account.email)), in the envelope and in From",
                    "only the user whose address is hidden can reply to this address: send the reply as account \(Diagnosis.quote(account.id))"
                )))
    }
}

extension AppleProvider {
    private struct Question: SchemaObject {
        let sender: String
        let recipient: String

        init(_ fields: inout Fields) {
            sender = fields("from", .text(.email), "The sender.")
            recipient = fields("to", .text(.email), "A hidden address.")
        }
    }

    var relayCall: Endpoint {
        .control(
            "GET", "apple/relay", "Tells what Apple's private relay would do with a mail.",
            reads: .query(Question.self),
            answers: [
                .json(
                    "The relay's decision.",
                    .members([
                        .required("forwarded", .boolean, "Whether the mail is forwarded."),
                        .optional("to", .string, "The address to which the mail is forwarded."),
                        .optional("sender", .string, "The forwarded mail's MAIL FROM."),
                        .optional("reason", .string, "The reason why the mail isn't forwarded."),
                        .optional("smtp", .string, "The reply with which the relay refuses the mail."),
                    ])),
                .refusal(404, RelayRefusal.Reason.noSuchAddress.rawValue, "The relay gave out no such address."),
            ]
        ) { try relayDecision($0, $1) }
    }

    /// Handles `GET /_understudy/v1/apple/relay?from=…&to=…`, by which a test asks how Apple's relay decides about a
    /// mail. The mail has the sender `from` both in the envelope and in the header field From.
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
            return ControlAnswer.ok(["forwarded": false, "reason": "lost"]).addingNote(Note(diagnosis))
        }
    }
}

// Apple's mails to people about Sign in with Apple, if the seed asks for them. Mails about an Apple Account come from
// this address (https://support.apple.com/102525). Whether and when there is one about an app isn't documented, nor is
// its text: these words are our own.

extension AppleProvider {
    private static let sender = Mailbox("appleid@id.apple.com", name: "Apple")

    /// Sends a mail to a person whose Apple Account was used with an app for the first time, if the seed asks for such
    /// mails.
    func mailPerson(of authorization: Authorization, for client: AppleDirectory.Client, _ exchange: Exchange) throws {
        guard settings.accountMails, authorization.isFirst else { return }
        let account = authorization.account
        let address =
            authorization.grant.sharesEmail
            ? "It knows you by your address."
            : "Your address is hidden: the app has \(authorization.email), and what it writes there is forwarded to you."
        let text = """
            Hello \(authorization.name.given),

            your Apple Account (\(account.email)) was used for the first time to sign in to \(client.id).

            \(address)

            In the settings of your Apple Account, under Sign in with Apple, you can look at it, switch forwarding off, or stop using it.

            """
        try exchange.world.deliver(
            SentMessage(
                .mail, from: AppleProvider.sender, to: Mailbox(account.email, name: account.fullName),
                subject: "Your Apple Account was used to sign in to \(client.id)", text: text, request: exchange.id))
    }
}
