import Foundation

/// A plain socket for SMTP, with which tests can send what no client library would.
package final class MailWire {
    private let wire: Wire

    /// Connects, and reads the greeting.
    package init(port: Int, timeoutSeconds: Int = patienceSeconds) throws {
        wire = try Wire(port: port, timeoutSeconds: timeoutSeconds)
        greeting = ""
        greeting = reply() ?? ""
    }

    package private(set) var greeting: String

    package func send(_ text: String) { wire.send(text) }
    package func finishSending() { wire.finishSending() }

    /// Returns all lines of a reply; `nil` if the connection is closed instead.
    package func reply() -> String? {
        var lines: [String] = []
        while let line = wire.nextLine() {
            lines.append(line)
            if line.dropFirst(3).first != "-" { return lines.joined(separator: "\n") }
        }
        return nil
    }

    @discardableResult
    package func say(_ line: String) -> String? {
        wire.send("\(line)\r\n")
        return reply()
    }

    /// Sends lines, and returns the codes of the answers; 0 if the connection was closed.
    package func codes(_ lines: String...) -> [Int] {
        lines.map { say($0).flatMap { Int($0.prefix(3)) } ?? 0 }
    }

    /// Sends a message, and returns the reply to its data, or the first refusal.
    @discardableResult
    package func mail(
        from sender: String = "app@example.com", to recipients: [String], user: String? = nil,
        _ content: String = "Subject: Hello\r\n\r\nText\r\n"
    ) -> String? {
        var lines = ["EHLO tests"]
        if let user { lines.append("AUTH PLAIN " + Data("\0\(user)\0secret".utf8).base64EncodedString()) }
        lines += ["MAIL FROM:<\(sender)>"] + recipients.map { "RCPT TO:<\($0)>" } + ["DATA"]
        for line in lines {
            guard let reply = say(line) else { return nil }
            guard let first = reply.first, "23".contains(first) else { return reply }
        }
        return say("\(content).")
    }
}
