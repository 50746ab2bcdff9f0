import JOSE

/// The state of a conversation with one SMTP client, without the connection: it gets lines and returns replies.
///
/// It implements <https://www.rfc-editor.org/rfc/rfc5321>, with SIZE (RFC 1870), 8BITMIME (RFC 6152), PIPELINING (RFC
/// 2920), SMTPUTF8 (RFC 6531), ENHANCEDSTATUSCODES (RFC 2034), STARTTLS (RFC 3207) and AUTH PLAIN and LOGIN (RFC 4954).
package struct SMTPSession: Sendable {
    package typealias Decide = (MailQuestion, SMTPSession) -> MailDecision

    private enum Phase: Sendable {
        case connected
        /// The server's greeting was a refusal. Section 3.1 of RFC 5321 allows the client only QUIT after that.
        case unwelcome
        case greeted
        case hasSender
        /// The server waits for the client's response to an AUTH challenge.
        case login(LoginStep)
    }

    private enum LoginStep: Sendable {
        case plain
        case user
        case password(user: String)
    }

    /// The greatest number of octets of a mail.
    package static let messageLimit = 10 << 20
    /// The greatest number of recipients of a mail. Section 4.5.3.1.10 of RFC 5321 asks for at least 100.
    package static let recipientLimit = 100
    /// The greatest number of octets of an SMTP command line with its line end. RFC 4954 section 4 asks for this many.
    package static let lineLimit = 12_288

    /// The server's host name, as in its SMTP greeting.
    private let host: String
    private let offersTLS: Bool
    private var phase = Phase.connected
    private(set) package var client = Client()
    private(set) package var envelope = MailEnvelope()
    private var badCommands = 0
    /// A client is disconnected when the session has refused this many of its SMTP commands.
    private static let badCommandLimit = 20

    package struct Client: Sendable {
        /// The host name that the client has given in HELO or EHLO.
        package var name: String?
        package var isExtended = false
        package var isSecure = false
        /// The user name that the client has given in AUTH. Any user name and password are accepted.
        package var user: String?
        package var password: String?
    }

    package init(host: String, offersTLS: Bool) {
        self.host = host
        self.offersTLS = offersTLS
    }

    /// Whether the client has begun a mail by the command MAIL.
    package var hasSender: Bool {
        guard case .hasSender = phase else { return false }
        return true
    }

    /// Returns the greeting to an SMTP client that has connected (RFC 5321 section 3.1).
    package mutating func greeting(_ decide: Decide) -> Turn {
        decided(.connect, decide) { session in
            .reply(SMTPReply(220, nil, "\(session.host) ESMTP Understudy, for tests only"))
        } otherwise: { session in
            session.phase = .unwelcome
        }
    }

    /// Forgets everything that the client said before TLS began, as RFC 3207 section 4.2 demands.
    package mutating func didStartTLS() {
        phase = .connected
        client = Client(isSecure: true)
        envelope = MailEnvelope()
    }

    /// Ends the transaction of a mail after its data, whether the mail was accepted or not.
    package mutating func didTakeMessage() {
        phase = .greeted
        envelope = MailEnvelope()
    }

    /// Replies to a line of the SMTP client, which is given without its line end. Before a valid EHLO, HELO, STARTTLS,
    /// AUTH, MAIL, RCPT or DATA is carried out, `decide` can refuse it.
    package mutating func receive(_ bytes: [UInt8], decide: Decide) -> Turn {
        guard bytes.count <= SMTPSession.lineLimit - 2 else {
            return bad("COMMAND", SMTPReply(500, "5.5.6", "line too long"), shown: "(a line that is too long)")
        }
        guard let line = String(validating: bytes, as: UTF8.self) else {
            return unknown(
                SMTPReply(500, "5.5.2", "the line isn't UTF-8"), String(decoding: bytes.prefix(200), as: UTF8.self))
        }
        if case .login(let step) = phase { return login(step, line[...], decide).showing("********") }
        guard let command = SMTPCommand(line) else {
            return unknown(
                SMTPReply(500, "5.5.2", "command not recognized"), String(line.prefix(200)),
                isOtherProtocol: SMTPCommand.belongsToHTTP(line))
        }
        return answer(command, decide).showing(command.shown(line))
    }

    private mutating func answer(_ command: SMTPCommand, _ decide: Decide) -> Turn {
        if case .unwelcome = phase {
            if case .quit = command {
            } else {
                return bad(command.verb, SMTPReply(503, "5.5.1", "the server refused this connection: send QUIT"))
            }
        }
        switch command {
        case .helo(let name): return greet(command.verb, name, isExtended: false, decide)
        case .ehlo(let name): return greet(command.verb, name, isExtended: true, decide)
        case .mail(let path): return mail(path, decide)
        case .rcpt(let path): return rcpt(path, decide)
        case .data: return data(decide)
        case .auth(let mechanism, let initial): return auth(mechanism, initial, decide)
        case .startTLS: return startTLS(decide)
        case .rset:
            if case .hasSender = phase { didTakeMessage() }
            return .reply(250, "2.0.0", "ok")
        case .noop: return .reply(250, "2.0.0", "ok")
        // Section 3.5.3 allows a server not to tell whether an address exists.
        case .vrfy: return .reply(252, "2.5.0", "VRFY doesn't tell whether an address exists: send a mail to it")
        case .help: return .reply(214, "2.0.0", "RFC 5321 describes the commands")
        case .quit: return Turn(.close(SMTPReply(221, "2.0.0", "\(host) closes the connection")))
        case .malformed(let verb, let form):
            return bad(verb, SMTPReply(501, "5.5.4", "the arguments can't be read: expected \(form)"))
        case .notOffered(let verb): return bad(verb, SMTPReply(502, "5.5.1", "\(verb) isn't offered"))
        }
    }

    /// Replies to a line that isn't an SMTP command. The client is disconnected if it hasn't sent EHLO or HELO yet, or
    /// if the line is HTTP. This keeps web pages from letting a browser send SMTP commands in the body of an HTTP
    /// request to this port.
    private mutating func unknown(_ reply: SMTPReply, _ shown: String, isOtherProtocol: Bool = false) -> Turn {
        var isFirst = false
        if case .connected = phase { isFirst = true }
        guard isFirst || isOtherProtocol else { return bad("COMMAND", reply, shown: shown) }
        var turn = Turn(.close(SMTPReply(421, "4.7.0", "this port speaks SMTP: begin with EHLO")))
        turn.refused = "COMMAND"
        turn.shown = shown
        return turn
    }

    /// Refuses an SMTP command. After 20 commands refused in this way, the client is disconnected with code 421, which
    /// section 3.8 of RFC 5321 allows at any time.
    private mutating func bad(_ verb: String, _ reply: SMTPReply, shown: String = "") -> Turn {
        badCommands += 1
        let isEnough = badCommands >= SMTPSession.badCommandLimit
        var turn = Turn(
            isEnough ? .close(SMTPReply(421, "4.7.0", "too many commands were invalid or refused")) : .reply(reply))
        turn.refused = verb
        turn.shown = shown
        return turn
    }

    /// Carries out an SMTP command, unless `decide` refuses it.
    private mutating func decided(
        _ question: MailQuestion, _ decide: Decide, carryOut: (inout SMTPSession) -> Step,
        otherwise: (inout SMTPSession) -> Void = { _ in }
    ) -> Turn {
        let decision = decide(question, self)
        var turn: Turn
        switch decision.answer {
        case .usual: turn = Turn(carryOut(&self))
        case .disconnect: turn = Turn(.close(nil))
        case .reply(let reply) where !reply.isRefusal:
            _ = carryOut(&self)
            turn = Turn(.reply(reply))
        case .reply(let reply):
            otherwise(&self)
            // With 421, the server ends the connection: section 3.8.
            turn = Turn(reply.code == 421 ? .close(reply) : .reply(reply))
        }
        turn.delay = decision.delay
        return turn
    }

    // MARK: - Greeting and TLS

    private mutating func greet(_ verb: String, _ name: String, isExtended: Bool, _ decide: Decide) -> Turn {
        guard !name.isEmpty else {
            return bad(
                verb, SMTPReply(501, "5.5.4", "your host name is missing: send, for example, \(verb) mail.example.com"))
        }
        return decided(.hello(name), decide) { session in
            session.phase = .greeted
            session.envelope = MailEnvelope()
            session.client.name = name
            session.client.isExtended = isExtended
            return .reply(SMTPReply(250, nil, lines: [session.host] + (isExtended ? session.extensions : [])))
        }
    }

    private var extensions: [String] {
        [
            "SIZE \(SMTPSession.messageLimit)", "8BITMIME", "SMTPUTF8", "PIPELINING", "ENHANCEDSTATUSCODES",
            "AUTH PLAIN LOGIN",
        ] + (offersTLS && !client.isSecure ? ["STARTTLS"] : [])
    }

    private mutating func startTLS(_ decide: Decide) -> Turn {
        guard offersTLS else { return bad("STARTTLS", SMTPReply(502, "5.5.1", "STARTTLS isn't offered")) }
        guard !client.isSecure else { return bad("STARTTLS", SMTPReply(503, "5.5.1", "TLS has begun already")) }
        return decided(.startTLS, decide) { _ in .startTLS(SMTPReply(220, "2.0.0", "begin TLS")) }
    }

    // MARK: - Messages

    private mutating func mail(_ path: MailPath, _ decide: Decide) -> Turn {
        switch phase {
        case .connected, .unwelcome, .login: return bad("MAIL", SMTPReply(503, "5.5.1", "say EHLO first"))
        case .hasSender: return bad("MAIL", SMTPReply(503, "5.5.1", "a message has already begun: send RSET first"))
        case .greeted: break
        }
        if let refusal = SMTPSession.refusal(of: path.parameters) { return bad("MAIL", refusal) }
        let isUTF8 = path.parameters.contains { $0.name == "SMTPUTF8" }
        guard isUTF8 || path.isASCII else { return bad("MAIL", SMTPSession.notASCII) }
        return decided(.mail(path), decide) { session in
            session.envelope.sender = path.address
            session.envelope.isUTF8 = isUTF8
            session.phase = .hasSender
            return .reply(SMTPReply(250, "2.1.0", "ok"))
        }
    }

    private mutating func rcpt(_ path: MailPath, _ decide: Decide) -> Turn {
        guard case .hasSender = phase else { return bad("RCPT", SMTPReply(503, "5.5.1", "send MAIL FROM first")) }
        guard !path.address.isEmpty else {
            return bad("RCPT", SMTPReply(501, "5.1.3", "the recipient's address is missing"))
        }
        // The parameter of MAIL applies to all addresses: https://www.rfc-editor.org/rfc/rfc6531#section-3.4
        guard envelope.isUTF8 || path.isASCII else { return bad("RCPT", SMTPSession.notASCII) }
        if let other = path.parameters.first {
            return bad("RCPT", SMTPReply(555, "5.5.4", "RCPT TO has no parameter \(other.name) here"))
        }
        // The client sends the other recipients in another message (section 4.5.3.1.10), so this doesn't count as a
        // mistake.
        guard envelope.recipients.count < SMTPSession.recipientLimit else {
            var turn = Turn.reply(452, "4.5.3", "a message can have at most \(SMTPSession.recipientLimit) recipients")
            turn.refused = "RCPT"
            return turn
        }
        return decided(.rcpt(path), decide) { session in
            session.envelope.recipients.append(path.address)
            return .reply(SMTPReply(250, "2.1.5", "ok"))
        }
    }

    private mutating func data(_ decide: Decide) -> Turn {
        guard case .hasSender = phase else { return bad("DATA", SMTPReply(503, "5.5.1", "send MAIL FROM first")) }
        guard !envelope.recipients.isEmpty else {
            return bad("DATA", SMTPReply(554, "5.5.1", "no valid recipients"))
        }
        return decided(.data, decide) { _ in
            .data(SMTPReply(354, nil, "end the message with a line that is a single dot"))
        }
    }

    // MARK: - AUTH

    private mutating func auth(_ mechanism: String, _ initial: String?, _ decide: Decide) -> Turn {
        switch phase {
        case .greeted where client.isExtended: break
        case .hasSender: return bad("AUTH", SMTPReply(503, "5.5.1", "AUTH isn't allowed within a message"))
        default: return bad("AUTH", SMTPReply(503, "5.5.1", "say EHLO first"))
        }
        guard client.user == nil else { return bad("AUTH", SMTPReply(503, "5.5.1", "the client is already logged in")) }
        let step: LoginStep
        switch mechanism {
        case "PLAIN": step = .plain
        case "LOGIN": step = .user
        default: return bad("AUTH", SMTPReply(504, "5.5.4", "AUTH supports only PLAIN and LOGIN"))
        }
        phase = .login(step)
        // "=" means an empty initial response.
        if let initial { return login(step, initial == "=" ? "" : initial[...], decide) }
        // The challenge is base64 of "Username:", as clients expect it.
        return .reply(334, nil, mechanism == "PLAIN" ? "" : "VXNlcm5hbWU6")
    }

    private mutating func login(_ step: LoginStep, _ line: Substring, _ decide: Decide) -> Turn {
        phase = .greeted
        if line == "*" { return bad("AUTH", SMTPReply(501, "5.7.0", "AUTH is cancelled")) }
        guard let bytes = Base64.decode(line) else {
            return bad("AUTH", SMTPReply(501, "5.5.2", "the answer isn't base64"))
        }
        let user: String
        let password: String
        switch step {
        case .user:
            phase = .login(.password(user: String(decoding: bytes, as: UTF8.self)))
            return .reply(334, nil, "UGFzc3dvcmQ6")
        case .password(let name): (user, password) = (name, String(decoding: bytes, as: UTF8.self))
        case .plain:
            // RFC 4616: the identity to act as, the user name and the password, separated by zero bytes.
            let parts = bytes.split(separator: 0, omittingEmptySubsequences: false)
            guard parts.count == 3 else {
                return bad("AUTH", SMTPReply(501, "5.5.2", "AUTH PLAIN needs three texts, separated by zero bytes"))
            }
            (user, password) = (String(decoding: parts[1], as: UTF8.self), String(decoding: parts[2], as: UTF8.self))
        }
        return decided(.auth(user: user), decide) { session in
            session.client.user = user
            session.client.password = password
            return .reply(SMTPReply(235, "2.7.0", "any user name and password are accepted"))
        }
    }
}

extension SMTPSession {
    static let tooLong = SMTPReply(552, "5.3.4", "a message can have at most \(messageLimit) octets")

    /// The refusal of an e-mail address that isn't ASCII: <https://www.rfc-editor.org/rfc/rfc6531#section-3.5>
    static let notASCII = SMTPReply(553, "5.6.7", "a non-ASCII address needs SMTPUTF8 with MAIL FROM")

    /// Returns the refusal of a MAIL command because of its parameters, or `nil` if they are valid.
    static func refusal(of parameters: [MailPath.Parameter]) -> SMTPReply? {
        for parameter in parameters {
            switch parameter.name {
            case "SIZE":
                guard let size = parameter.value.flatMap({ UInt64($0) }) else {
                    return SMTPReply(501, "5.5.4", "SIZE must be a number")
                }
                guard size <= UInt64(messageLimit) else { return tooLong }
            case "BODY":
                guard ["7BIT", "8BITMIME"].contains(parameter.value?.uppercased()) else {
                    return SMTPReply(501, "5.5.4", "BODY must be 7BIT or 8BITMIME")
                }
            case "SMTPUTF8", "AUTH": break
            default: return SMTPReply(555, "5.5.4", "MAIL FROM has no parameter \(parameter.name) here")
            }
        }
        return nil
    }
}

/// An SMTP server's reply to a command: <https://www.rfc-editor.org/rfc/rfc5321#section-4.2>.
package struct SMTPReply: Sendable, Equatable {
    /// The reply's code, which has three digits. From 400 on, the command was refused.
    package let code: Int
    /// The reply's enhanced status code, such as `5.1.1`, if it has one: <https://www.rfc-editor.org/rfc/rfc3463>.
    package let status: String?
    /// The text of the SMTP reply, which has at least one line.
    package let lines: [String]

    package init(_ code: Int, _ status: String? = nil, _ lines: String...) {
        self.init(code, status, lines: lines)
    }

    package init(_ code: Int, _ status: String?, lines: [String]) {
        self.code = min(max(code, 200), 599)
        self.status = status
        self.lines = lines.isEmpty ? [""] : lines.map(SMTPReply.printable)
    }

    /// Whether the reply refuses the command, temporarily or permanently.
    package var isRefusal: Bool { code >= 400 }

    /// The SMTP reply as it is sent.
    package var text: String {
        var text = ""
        for (place, line) in lines.enumerated() {
            text += "\(code)\(place + 1 < lines.count ? "-" : " ")"
            if let status { text += "\(status) " }
            text += "\(line)\r\n"
        }
        return text
    }

    /// The greatest number of octets of a reply line's text. Section 4.5.3.1.5 of RFC 5321 limits a reply line to 512
    /// octets with its code and its line end.
    private static let lineLimit = 480

    /// Cuts a reply's line that is too long, and replaces control characters. The line may quote the client, and a
    /// quoted line break would begin a new line of the reply.
    private static func printable(_ line: String) -> String {
        var bytes: [UInt8] = []
        for byte in line.utf8.prefix(lineLimit) { bytes.append(byte < 0x20 || byte == 0x7F ? 0x3F : byte) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension SMTPSession {
    /// The action that follows a line of the SMTP client.
    package enum Step: Sendable {
        case reply(SMTPReply)
        /// The server sends this reply, and then reads the mail's data.
        case data(SMTPReply)
        /// The server sends this reply, and then begins TLS. After that, the session continues with `didStartTLS`.
        case startTLS(SMTPReply)
        /// The server sends this reply, if there is one, and then closes the connection.
        case close(SMTPReply?)

        package var reply: SMTPReply? {
            switch self {
            case .reply(let reply), .data(let reply), .startTLS(let reply): reply
            case .close(let reply): reply
            }
        }
    }

    /// The reaction to a line that the SMTP client has sent.
    package struct Turn: Sendable {
        package let step: Step
        /// The time that the server waits before it replies.
        package internal(set) var delay = Duration.zero
        /// The line that the client has sent, without its secrets, for display.
        package internal(set) var shown = ""
        /// The name of the SMTP command, if the session refused it without asking the `MailConversation`; `COMMAND` for
        /// an unknown command; `nil` if the session didn't refuse it.
        package internal(set) var refused: String?

        init(_ step: Step) { self.step = step }

        static func reply(_ code: Int, _ status: String?, _ line: String) -> Turn {
            Turn(.reply(SMTPReply(code, status, line)))
        }
    }
}

extension SMTPSession.Turn {
    func showing(_ line: String) -> Self {
        guard shown.isEmpty else { return self }
        var turn = self
        turn.shown = line
        return turn
    }
}
