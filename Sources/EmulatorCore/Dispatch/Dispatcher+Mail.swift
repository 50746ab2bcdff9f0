import Dispatch
import HTTPServer
import Logging
import Recordings
import Time
import Worlds

/// A part of an SMTP conversation that is recorded: a mail with its envelope, or a command that was refused, met a
/// fault, or was the last one before the conversation broke off.
package struct MailExchange: Sendable {
    package let id: String
    /// The last SMTP command of the recorded part of a conversation, such as `MAIL` or `RCPT`. It is `CONNECT` for the
    /// server's greeting, and `MESSAGE` for the end of the mail's content.
    package var step: String
    /// The domain of one of the mail's recipients, in lower case; `nil` without a recipient.
    package var host: String?
    /// The lines that the SMTP client and the server have sent each other, without the mail's body.
    package var conversation = ""
    /// The code of the SMTP reply, such as 250; `nil` when the connection was closed without a reply.
    package var code: Int?
    /// The text of the SMTP reply, without the reply's code.
    package var reply = ""
    package var diagnosis: Diagnosis?
    package var note: Note?
    /// A description of the simulated fault that took effect in the SMTP conversation; `nil` if none did.
    package var fault: String?
    package var mail: RecordedMail
    /// The time when the recorded part of the SMTP conversation began, in microseconds since 1970.
    package let began: Int64

    package init(id: String, step: String, mail: RecordedMail, began: Int64) {
        self.id = id
        self.step = step
        self.mail = mail
        self.began = began
    }
}

extension Dispatcher {
    /// The text that recorded mails have in place of an HTTP method, because they are recorded beside HTTP requests.
    package static let mailMethod = "SMTP"

    /// Returns the test world named `name`; without a name, the world for mail that names no world. Blocks the thread
    /// until a new world's scenarios (prepared situations) have been run. Returns `nil` for an invalid name, and when
    /// too many worlds are in use.
    package func worldOfMail(_ name: String?) throws -> World? {
        guard let world = try worlds.world(name ?? worlds.unnamed) else { return nil }
        world.markChanged()
        if !scenarios.isEmpty, !world.isPrepared { try prepareForMail(world) }
        return world
    }

    /// Returns the test world named `name` if it exists, without making it. Blocks the thread.
    package func existingWorld(_ name: String) throws(StoreFailure) -> World? {
        try worlds.existing(name)
    }

    private func prepareForMail(_ world: World) throws {
        let isDone = DispatchSemaphore(value: 0)
        switch world.preparation.requestTurn(then: { isDone.signal() }) {
        case .go: return
        case .wait: isDone.wait()
        case .mine:
            if let failure = try waitUntilPrepared(world) { logger.error("\(failure)") }
        }
    }

    /// Returns what the private mail relay of a provider, such as Apple, does with a mail. Returns `nil` when the
    /// recipient's address belongs to no relay. `title` names the relay for display, such as "Apple's relay".
    package func relay(_ mail: MailInTransit) throws -> (title: String, verdict: RelayVerdict)? {
        for provider in providers(of: mail.world) {
            guard let verdict = try (provider as? any RelaysMail)?.relay(mail) else { continue }
            return ("\(provider.facts.title)'s relay", verdict)
        }
        return nil
    }

    package func countConversation() { count() }

    package func record(_ exchange: MailExchange, in world: World) {
        var response = Response(
            status: exchange.code ?? 421, contentType: "text/plain; charset=utf-8", body: exchange.reply)
        if exchange.code == nil { response.delivery = .dropped }
        if let diagnosis = exchange.diagnosis { response = response.diagnosed(diagnosis) }
        if let note = exchange.note { response = response.addingNote(note) }
        let request = Request(
            method: Dispatcher.mailMethod, target: "/\(exchange.step)",
            headers: [(name: "Content-Type", value: "text/plain; charset=utf-8")],
            body: Array(exchange.conversation.utf8))
        world.recording.add(
            RecordedExchange(
                id: exchange.id, parent: nil, world: world.name, host: exchange.host, path: "/\(exchange.step)",
                client: nil, request: request, response: response, time: world.now, began: exchange.began,
                duration: MachineClock.microseconds - exchange.began, fault: exchange.fault, mail: exchange.mail))
        log(exchange, in: world)
    }

    /// Logs a part of an SMTP conversation, with addresses but without the content of mails.
    private func log(_ exchange: MailExchange, in world: World) {
        let line = exchange.diagnosis?.line ?? exchange.note?.line
        guard line != nil || logger.logLevel <= .debug else { return }
        var metadata: Logger.Metadata = [
            "request": "\(exchange.id)", "status": "\(exchange.code.map { "\($0)" } ?? "closed")",
            "method": "\(Dispatcher.mailMethod)",
            "path": "\(Diagnosis.visible("\(exchange.host ?? "")/\(exchange.step)"))",
        ]
        if world.name != worlds.unnamed { metadata["world"] = "\(world.name)" }
        if let line {
            logger.info("\(line)", metadata: metadata)
        } else {
            logger.debug("answered", metadata: metadata)
        }
    }
}

extension Dispatcher {
    /// Returns whether `world` is the test world for requests and mail that name no world.
    package func isUnnamed(_ world: World) -> Bool { world.name == worlds.unnamed }

    /// The greatest number of test worlds that one search of all worlds loads from the store.
    private static let limitOfOthers = 64

    /// Returns all test worlds except `world`; `nil` when too many of them would have to be loaded from the store.
    package func otherWorlds(than world: World) throws(StoreFailure) -> [World]? {
        let others = try worlds.list().filter { $0.name != world.name }
        guard others.count(where: { $0.held == nil }) <= Dispatcher.limitOfOthers else { return nil }
        var found: [World] = []
        for other in others { if let world = try worlds.existing(other.name) { found.append(world) } }
        return found
    }
}
