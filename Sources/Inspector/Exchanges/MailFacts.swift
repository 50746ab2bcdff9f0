import EmulatorCore
import HTTPServer

/// The part of an exchange's page about mail by SMTP.
enum MailFacts {
    private static let limit = 100

    /// Returns the sender and the recipients on which server and client agreed.
    static func envelope(_ mail: RecordedMail) -> HTML {
        let sender = mail.sender.map { [("From", $0.isEmpty ? "nobody (a report)" : $0)] } ?? []
        let recipients = mail.recipients.prefix(limit).map { ("To", $0) }
        guard !sender.isEmpty || !recipients.isEmpty else { return .group([]) }
        return FieldTable(caption: "Envelope", rows: sender + recipients).html
    }

    /// Returns rows for the summary.
    static func rows(_ mail: RecordedMail, _ exchange: Exchange) -> [(String, HTML)] {
        var rows: [(String, HTML)] = [("Connection", .text(mail.isSecure ? "TLS, by STARTTLS" : "not encrypted"))]
        if let user = mail.user { rows.append(("AUTH's user", ShownText.code(user, limit: 300))) }
        let links = mail.messages.prefix(limit).map { HTML.link($0, to: exchange.inspector("inbox/\($0)")) }
        if !links.isEmpty {
            rows.append(("In the inbox", .group(links.flatMap { [$0, .text(" ")] })))
        }
        return rows
    }
}
