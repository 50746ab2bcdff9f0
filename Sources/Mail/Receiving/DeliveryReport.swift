import EmulatorCore
import JOSE
import Time

/// Tells the sender that a message couldn't be delivered: <https://www.rfc-editor.org/rfc/rfc3464>. It has the message's header, as
/// <https://www.rfc-editor.org/rfc/rfc6522#section-4> allows.
struct DeliveryReport: Sendable {
    private let recipients: [String]
    private let code: Int
    private let status: String
    private let text: String
    /// Of the message that is returned, lines ended by CR LF.
    private let header: [UInt8]

    /// Bytes of a header that are returned.
    private static let headerLimit = 64 << 10

    /// `code`, `status` and `text` are what the server said that refused it.
    init(of content: ReceivedContent, to recipients: [String], code: Int, status: String, text: String) {
        self.recipients = recipients
        self.code = code
        self.status = status
        self.text = text
        header = DeliveryReport.header(of: content.raw)
    }

    private static func header(of raw: [UInt8]) -> [UInt8] {
        var end = 0
        for line in raw.prefix(headerLimit).split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() {
            if line.isEmpty || line.elementsEqual([0x0D]) { break }
            end = line.endIndex + 1
        }
        return Array(raw[..<min(end, raw.count)])
    }

    /// The report as a mail. `id` makes its Message-ID and its boundary.
    func message(to sender: String, at time: Instant, id: String) -> [UInt8] {
        let boundary = self.boundary(id)
        let head = [
            "From: Mail Delivery System <MAILER-DAEMON@localhost>", "To: <\(sender)>",
            "Subject: Undelivered Mail Returned to Sender", "Date: \(time.mailDate)",
            "Message-ID: <report-\(id).\(time.milliseconds)@localhost>", "Auto-Submitted: auto-replied",
            "MIME-Version: 1.0",
            "Content-Type: multipart/report; report-type=delivery-status; boundary=\"\(boundary)\"", "",
        ]
        let isASCII = recipients.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 } }
        let words =
            [
                "--\(boundary)", "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: 8bit", "",
                "The message could not be delivered to:", "",
            ] + recipients.map { "  <\($0)>: \(code) \(status) \(text)" } + [""]
        let fields =
            [
                "--\(boundary)",
                // Addresses beyond ASCII: https://www.rfc-editor.org/rfc/rfc6533#section-4
                "Content-Type: message/\(isASCII ? "" : "global-")delivery-status", "",
                "Reporting-MTA: dns; localhost",
            ]
            + recipients.flatMap { recipient in
                [
                    "", "Final-Recipient: \(isASCII ? "rfc822" : "utf-8"); \(recipient)", "Action: failed",
                    "Status: \(status)", "Diagnostic-Code: smtp; \(code) \(status) \(text)",
                ]
            } + [""]
        let original = ["--\(boundary)", "Content-Type: text/rfc822-headers; charset=utf-8", "", ""]
        let start = (head + words + fields + original).joined(separator: "\r\n")
        return Array(start.utf8) + header + Array("\r\n--\(boundary)--\r\n".utf8)
    }

    /// One that doesn't occur in the header, which can't hold its own digest.
    private func boundary(_ id: String) -> String {
        "report-\(id)-\(Hex.encode(Array(Digest.sha256(String(decoding: header, as: UTF8.self)))).prefix(16))"
    }
}
