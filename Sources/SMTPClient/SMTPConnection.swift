import ClientConnection
import JOSE

/// A connection to a mail server, over which messages are given to it one after the other.
/// <https://www.rfc-editor.org/rfc/rfc5321>, with SIZE (RFC 1870), 8BITMIME (RFC 6152), SMTPUTF8 (RFC 6531), STARTTLS (RFC 3207) and
/// AUTH PLAIN (RFC 4954).
///
/// It blocks its thread, and one thread uses it.
package final class SMTPConnection {
    /// How long something may take. Section 4.5.3.2 allows servers minutes; these are shorter, for networks of tests.
    package struct Patience: Sendable {
        package var connecting = Duration.seconds(10)
        /// The greeting, and the answer to a command.
        package var command = Duration.seconds(60)
        /// Writing a chunk of 64 KiB of the message.
        package var chunk = Duration.seconds(60)
        /// The answer to the end of a message.
        package var end = Duration.seconds(300)

        package init() {}
    }

    private let address: MailServerAddress
    private let patience: Patience
    private let connection: ClientConnection
    private var received: ArraySlice<UInt8> = []
    /// What the server offers, by names in capitals.
    private var offers: [String: String] = [:]
    /// How many messages have been sent over it.
    package private(set) var count = 0

    /// Connects, greets, begins TLS where the server offers it, and logs in where the address says as whom.
    ///
    /// As mail servers do among themselves, TLS is taken without asking whose certificate it is
    /// (<https://www.rfc-editor.org/rfc/rfc7435>). Where the handshake fails, all goes unencrypted, unless a password would.
    ///
    /// - Parameter didConnect: Gets the socket, so that another thread can end what goes on.
    package static func open(
        to address: MailServerAddress, patience: Patience = Patience(), didConnect: (ClientSocket) -> Void = { _ in }
    ) throws(SMTPFailure) -> SMTPConnection {
        let first = try SMTPConnection(address, patience, didConnect)
        if try first.begin(withTLS: true) { return first }
        let second = try SMTPConnection(address, patience, didConnect)
        _ = try second.begin(withTLS: false)
        return second
    }

    private init(
        _ address: MailServerAddress, _ patience: Patience, _ didConnect: (ClientSocket) -> Void
    ) throws(SMTPFailure) {
        self.address = address
        self.patience = patience
        do throws(ConnectionFailure) {
            let socket = try ClientSocket(
                host: address.host, port: "\(address.port)", title: "\(address)",
                deadline: .now.advanced(by: patience.connecting))
            didConnect(socket)
            connection = ClientConnection(socket)
        } catch {
            throw .connection(error.isLate ? "\(address) doesn't answer" : error.description)
        }
    }

    package var isSecure: Bool { connection.isSecure }

    // MARK: - Greeting

    /// `false` when the TLS handshake failed and another connection may go without.
    private func begin(withTLS: Bool) throws(SMTPFailure) -> Bool {
        let greeting = try reply(within: patience.command)
        guard greeting.isPositive else { throw .connection("\(address) answers \(greeting.text)") }
        try greet()
        if withTLS, offers["STARTTLS"] != nil, try command("STARTTLS").isPositive {
            // What came before the handshake may be anybody's: section 6 of RFC 3207.
            received = []
            do throws(ConnectionFailure) {
                try connection.startTLS(
                    host: address.host, isVerified: false, until: .now.advanced(by: patience.command))
            } catch {
                guard address.login == nil else { throw .connection(error.description) }
                return false
            }
            try greet()
        }
        if let login = address.login { try logIn(login) }
        return true
    }

    private func greet() throws(SMTPFailure) {
        let name = connection.socket.ownAddress.map { $0.contains(":") ? "[IPv6:\($0)]" : "[\($0)]" } ?? "localhost"
        offers = [:]
        let extended = try command("EHLO \(name)")
        guard !extended.isPositive else {
            for line in extended.lines.dropFirst() {
                let words = line.split(separator: " ", maxSplits: 1)
                if let first = words.first { offers[first.uppercased()] = words.count > 1 ? String(words[1]) : "" }
            }
            return
        }
        // Section 3.2: who doesn't know EHLO knows HELO.
        let plain = extended.isClosing ? extended : try command("HELO \(name)")
        guard plain.isPositive else { throw .connection("\(address) answers \(plain.text)") }
    }

    private func logIn(_ login: MailServerAddress.Login) throws(SMTPFailure) {
        guard let mechanisms = offers["AUTH"] else {
            throw .connection("\(address) offers no AUTH, and --smtp-forward names a user")
        }
        guard mechanisms.uppercased().split(separator: " ").contains("PLAIN") else {
            throw .connection("\(address) offers AUTH \(mechanisms), and only PLAIN is spoken here")
        }
        let secret = Base64.encode([0] + Array(login.user.utf8) + [0] + Array(login.password.utf8))
        let answer = try command("AUTH PLAIN \(secret)")
        guard answer.isPositive else { throw .connection("\(address) refuses the user: \(answer.text)") }
    }

    // MARK: - Messages

    /// Gives a message to the server.
    ///
    /// - Returns: The recipients whom the server refused, and how. For the others, it has taken the message.
    package func send(_ mail: OutgoingMail) throws(SMTPFailure) -> [(recipient: String, reply: ServerReply)] {
        let begin = try mailCommand(mail)
        count += 1
        let answer = try command(begin)
        guard answer.isPositive else { throw refusal(answer) }
        var refused: [(recipient: String, reply: ServerReply)] = []
        for recipient in mail.recipients {
            let answer = try command("RCPT TO:<\(recipient)>")
            if answer.isClosing { throw refusal(answer) }
            if !answer.isPositive { refused.append((recipient: recipient, reply: answer)) }
        }
        guard refused.count < mail.recipients.count else {
            _ = try? command("RSET")
            return refused
        }
        let go = try command("DATA")
        guard go.code == 354 else {
            let failure = refusal(go)
            if case .refused = failure { _ = try? command("RSET") }
            throw failure
        }
        try write(mail)
        return refused
    }

    private func mailCommand(_ mail: OutgoingMail) throws(SMTPFailure) -> String {
        guard mail.hasUsableAddresses else { throw .impossible("an address in the envelope can't be written") }
        var command = "MAIL FROM:<\(mail.sender)>"
        if let limit = offers["SIZE"] {
            if let limit = Int(limit), limit > 0, mail.size > limit {
                throw .impossible("\(address) takes \(limit) octets at most, and the message has \(mail.size)")
            }
            command += " SIZE=\(mail.size)"
        }
        // A server that doesn't offer 8BITMIME gets the octets all the same: changing them would break signatures, and servers
        // that can't keep eight bits are gone.
        if offers["8BITMIME"] != nil, mail.hasEightBits { command += " BODY=8BITMIME" }
        if offers["SMTPUTF8"] != nil {
            if mail.hasInternationalAddress || mail.hasInternationalHeader { command += " SMTPUTF8" }
        } else if mail.hasInternationalAddress {
            throw .impossible("\(address) doesn't offer SMTPUTF8, which an address in the envelope needs")
        }
        return command
    }

    private func refusal(_ reply: ServerReply) -> SMTPFailure {
        reply.isClosing || reply.code < 400 ? .connection("\(address) answers \(reply.text)") : .refused(reply)
    }

    private func write(_ mail: OutgoingMail) throws(SMTPFailure) {
        var form = MessageForm()
        try form.add(mail.trace) { chunk throws(SMTPFailure) in try write(chunk, within: patience.chunk) }
        try form.add(mail.content) { chunk throws(SMTPFailure) in try write(chunk, within: patience.chunk) }
        let answer: ServerReply
        do throws(SMTPFailure) {
            try write(form.end(), within: patience.chunk)
            answer = try reply(within: patience.end)
        } catch {
            throw .connection(error.description, mayHaveArrived: true)
        }
        guard answer.isPositive else { throw refusal(answer) }
    }

    /// Says goodbye; the connection is closed with the last reference to this.
    package func quit() {
        try? write(Array("QUIT\r\n".utf8), within: .seconds(1))
        _ = try? reply(within: .seconds(1))
    }

    // MARK: - Lines

    private func command(_ line: String) throws(SMTPFailure) -> ServerReply {
        try write(Array("\(line)\r\n".utf8), within: patience.command)
        return try reply(within: patience.command)
    }

    private func write(_ bytes: [UInt8], within time: Duration) throws(SMTPFailure) {
        do throws(ConnectionFailure) {
            try connection.write(bytes, until: .now.advanced(by: time))
        } catch {
            throw .connection("\(address): \(error.description)")
        }
    }

    private func reply(within time: Duration) throws(SMTPFailure) -> ServerReply {
        let deadline = ContinuousClock.now.advanced(by: time)
        var reader = ServerReply.Reader()
        while true {
            if let reply = try reader.take(&received) { return reply }
            do throws(ConnectionFailure) {
                received = try connection.read(until: deadline)[...]
            } catch {
                throw .connection("\(address): \(error.description)")
            }
            if received.isEmpty { throw .connection("\(address) closed the connection") }
        }
    }
}
