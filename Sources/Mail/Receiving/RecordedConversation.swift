import EmulatorCore
import Recordings
import SMTPServer
import Text
import Time

/// The conversation with an SMTP client. It finds the test world for whose inbox a mail is meant, applies the requested
/// faults, and records mails and refusals.
final class RecordedConversation: MailConversation {
    private let service: MailService
    /// The name of the test world to which the SMTP port belongs; `nil` for the port that serves all test worlds.
    private let label: String?
    /// The name of the test world that the client has given as the user name of AUTH; `nil` if it has given none.
    private var named: String?
    private var transcript = Transcript()
    /// The ID of the mail that is being received, and the time when its reception began.
    private var message: (id: String, began: Int64)?
    /// The record of a command or a mail, which is stored together with the server's reply.
    private var pending: (exchange: MailExchange, world: World, isWhole: Bool)?
    /// The faults, requested by a test, that delayed the server's replies to the present mail's SMTP commands without
    /// changing the replies. Each is described in words.
    private var delays: [String] = []
    private var lastCode: Int?
    private var hasRecorded = false
    /// Whether a refused command of the present mail, such as a refused recipient, has been recorded.
    private var hasRefused = false

    init(_ label: String?, _ service: MailService) {
        self.label = label
        self.service = service
    }

    private var dispatcher: Dispatcher { service.dispatcher }
    /// The test world to which the SMTP conversation belongs; `nil` if the world can't be loaded.
    private var world: World? { try? findWorld(label ?? named) }

    private func findWorld(_ name: String?) throws(NoDestination) -> World {
        let world: World?
        do { world = try dispatcher.worldOfMail(name) } catch {
            throw NoDestination(reply: SMTPReply(451, "4.3.0", "the test worlds can't be read from the store"))
        }
        guard let world else {
            throw NoDestination(
                reply: SMTPReply(451, "4.3.2", "the limit of test worlds is reached, and all worlds are in use"))
        }
        return world
    }

    // MARK: - Commands

    func decide(_ question: MailQuestion, _ session: SMTPSession) -> MailDecision {
        let asked = Asked(question, session)
        if case .auth(let user) = question { name(user) }
        if case .mail = question {
            transcript.beginMessage()
            message = (dispatcher.makeID(), MachineClock.microseconds)
            delays = []
            hasRefused = false
            dispatcher.countConversation()
        }
        let world: World
        do throws(NoDestination) { world = try findWorld(label ?? named) } catch { return .reply(error.reply) }
        do { return try decide(question, asked, session, in: world) } catch {
            return .reply(SMTPReply(451, "4.3.0", "a change to the test world can't be saved in the store"))
        }
    }

    private func decide(
        _ question: MailQuestion, _ asked: Asked, _ session: SMTPSession, in world: World
    ) throws -> MailDecision {
        let fault = try world.consumeFault(at: asked.step, from: asked.sender, to: asked.recipients)
        let delay = fault?.fault.effect.delay?.duration ?? .zero
        guard let fault, fault.fault.effect.replacesAnswer else {
            if let fault { delays.append(fault.summary) }
            guard case .rcpt(let path) = question,
                let refusal = try service.refusal(
                    of: path.address, from: session.envelope.sender, in: world, isFixed: label != nil)
            else { return MailDecision(.usual, after: delay) }
            prepare(asked, session, in: world) { $0.diagnosis = refusal.diagnosis }
            return MailDecision(.reply(refusal.reply), after: delay)
        }
        prepare(asked, session, in: world) { exchange in
            exchange.diagnosis = fault.diagnosis
            exchange.fault = fault.summary
        }
        return MailDecision(fault.fault.effect.answerToMail, after: delay)
    }

    /// Takes the user name of AUTH as the name of a test world, if it is a valid name for one.
    private func name(_ user: String) {
        guard WorldName.isValid(user) else {
            transcript.remark(
                "the user name \(Diagnosis.quote(user)) isn't a valid world name, so it selects no test world")
            return
        }
        named = user
    }

    private func prepare(
        _ asked: Asked, _ session: SMTPSession, in world: World, _ change: (inout MailExchange) -> Void
    ) {
        var exchange = MailExchange(
            id: dispatcher.makeID(), step: asked.step.rawValue, mail: asked.mail(session),
            began: MachineClock.microseconds)
        exchange.host = asked.recipients.first.flatMap(RecordedConversation.domain)
        change(&exchange)
        pending = (exchange, world, false)
    }

    static func domain(of address: String) -> String? {
        address.lastIndex(ofASCII: "@").map { address[$0...].dropFirst().lowercased() }
    }

    func recordLine(_ line: ConversationLine) {
        transcript.add(line)
        guard case .server(let reply) = line else { return }
        lastCode = reply.code
        record(reply)
    }

    func didRefuse(_ verb: String, _ reply: SMTPReply, _ session: SMTPSession) {
        guard let world else { return }
        var exchange = MailExchange(
            id: dispatcher.makeID(), step: verb,
            mail: RecordedMail(
                sender: session.hasSender ? session.envelope.sender : nil, recipients: session.envelope.recipients,
                user: session.client.user, isSecure: session.client.isSecure, messages: []),
            began: MachineClock.microseconds)
        exchange.host = session.envelope.recipients.first.flatMap(RecordedConversation.domain)
        exchange.diagnosis = Diagnosis(
            received: "\(verb)",
            "the SMTP server refused the command: \(Diagnosis.quote(reply.lines.joined(separator: " ")))")
        pending = (exchange, world, false)
        record(reply)
    }

    /// Records an SMTP command or a mail together with the server's reply to it.
    private func record(_ reply: SMTPReply?) {
        guard let (prepared, world, isWhole) = pending else { return }
        var exchange = prepared
        pending = nil
        hasRecorded = true
        exchange.code = reply?.code
        exchange.reply = reply.map { "\($0.status.map { "\($0) " } ?? "")\($0.lines.joined(separator: "\n"))" } ?? ""
        exchange.conversation = isWhole ? transcript.whole : transcript.lastCommand
        dispatcher.record(exchange, in: world)
        guard isWhole || exchange.step == SMTPStep.mail.rawValue else {
            hasRefused = true
            return
        }
        if isWhole { transcript.endMessage() }
        message = nil
    }

    // MARK: - Messages

    func receive(_ incoming: IncomingMessage, _ session: SMTPSession) -> MailDecision {
        let envelope = incoming.envelope
        let content = ReceivedContent(incoming.content)
        let id = message?.id ?? dispatcher.makeID()
        var exchange = MailExchange(
            id: id, step: SMTPStep.message.rawValue,
            mail: RecordedMail(
                sender: envelope.sender, recipients: envelope.recipients, user: session.client.user,
                isSecure: session.client.isSecure, messages: []),
            began: message?.began ?? MachineClock.microseconds)
        exchange.host = envelope.recipients.first.flatMap(RecordedConversation.domain)
        exchange.fault = delays.first
        let destination: Destination
        do { destination = try self.destination(of: content) } catch {
            transcript.add(dataOf: incoming.content, "not kept")
            guard let world else { return .reply(error.reply) }
            exchange.diagnosis = Diagnosis(
                "no test world accepts the mail: \(error.reply.lines.joined(separator: " "))")
            pending = (exchange, world, true)
            return .reply(error.reply)
        }
        let result = service.receive(content, envelope, in: destination.world, request: id)
        transcript.add(dataOf: incoming.content, result.note)
        if let fault = result.fault { exchange.fault = fault }
        exchange.diagnosis = result.diagnosis
        exchange.note = result.loss
        if let recipient = result.relayed { exchange.host = RecordedConversation.domain(of: recipient) }
        exchange.mail = exchange.mail.with(messages: result.messages)
        pending = (exchange, destination.world, true)
        return result.decision
    }

    private struct Destination {
        let world: World
    }

    private struct NoDestination: Error {
        let reply: SMTPReply
    }

    /// Returns the test world that the mail's header names, or else the test world of the SMTP conversation.
    private func destination(of content: ReceivedContent) throws(NoDestination) -> Destination {
        let name = content.read.header(MailService.worldHeader)?.trimmingBlanks
        if let name, !WorldName.isValid(name) {
            throw NoDestination(
                reply: SMTPReply(550, "5.6.0", "\(MailService.worldHeader): \(WorldName.rule)"))
        }
        if let name, let label, name != label {
            throw NoDestination(
                reply: SMTPReply(
                    550, "5.6.0",
                    "this port is for the test world \(label), but \(MailService.worldHeader) names \(name)"))
        }
        return Destination(world: try findWorld(name ?? label ?? named))
    }

    // MARK: - The end

    func end(_ session: SMTPSession, _ reason: ConversationEnd) {
        // This records a command that was answered by closing the connection.
        record(nil)
        guard let world, let step = unrecordedStep(session, reason) else { return }
        var exchange = MailExchange(
            id: message?.id ?? dispatcher.makeID(), step: step,
            mail: RecordedMail(
                sender: session.hasSender ? session.envelope.sender : nil, recipients: session.envelope.recipients,
                user: session.client.user, isSecure: session.client.isSecure, messages: []),
            began: message?.began ?? MachineClock.microseconds)
        exchange.host = session.envelope.recipients.first.flatMap(RecordedConversation.domain)
        exchange.fault = delays.first
        exchange.diagnosis = reason.diagnosis
        exchange.code = reason == .handshakeFailed ? nil : lastCode
        exchange.conversation = transcript.whole
        dispatcher.record(exchange, in: world)
    }

    /// Returns the SMTP command at which the conversation broke off; `nil` if the end of the conversation needn't be
    /// recorded.
    private func unrecordedStep(_ session: SMTPSession, _ reason: ConversationEnd) -> String? {
        if reason == .handshakeFailed { return SMTPStep.startTLS.rawValue }
        let isOver = [.quit, .closedByServer].contains(reason) || hasRefused && session.envelope.recipients.isEmpty
        if message != nil, session.hasSender, !isOver { return lastCode == 354 ? "DATA" : "MAIL" }
        return !hasRecorded && session.client.user != nil ? "AUTH" : nil
    }
}

extension ConversationEnd {
    fileprivate var diagnosis: Diagnosis? {
        switch self {
        case .quit, .closedByServer: nil
        case .closedByClient: Diagnosis("the client closed the connection in the middle of a message")
        case .silence: Diagnosis("the connection timed out: the client sent nothing for too long")
        case .handshakeFailed:
            Diagnosis(
                "the TLS handshake after STARTTLS failed: let the client trust the certificate authority "
                    + "(\"understudy ca path\"), or not verify the certificate")
        case .serverStopped: Diagnosis("the daemon stopped in the middle of a message")
        }
    }
}

extension String {
    fileprivate var trimmingBlanks: String {
        var rest = utf8.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = rest.last, last == 0x20 || last == 0x09 { rest = rest.dropLast() }
        return String(Substring(rest))
    }
}
