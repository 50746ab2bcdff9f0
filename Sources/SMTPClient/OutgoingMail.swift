/// A message with its envelope, to be given to a server.
package struct OutgoingMail: Sendable {
    /// Empty for a bounce.
    package let sender: String
    package let recipients: [String]
    /// Header lines that are put before the content.
    package let trace: [UInt8]
    package let content: [UInt8]

    package init(from sender: String, to recipients: [String], trace: [UInt8] = [], content: [UInt8]) {
        self.sender = sender
        self.recipients = recipients
        self.trace = trace
        self.content = content
    }

    /// Octets, about: lone line ends count twice only when they are written.
    var size: Int { trace.count + content.count }

    var hasEightBits: Bool { content.contains { $0 >= 0x80 } }

    var hasInternationalAddress: Bool { ([sender] + recipients).contains { $0.utf8.contains { $0 >= 0x80 } } }

    /// Whether its header holds more than ASCII, which needs SMTPUTF8: <https://www.rfc-editor.org/rfc/rfc6532>.
    var hasInternationalHeader: Bool {
        var isLineEmpty = true
        for byte in content {
            if byte >= 0x80 { return true }
            if byte == 0x0A {
                if isLineEmpty { return false }
                isLineEmpty = true
            } else if byte != 0x0D {
                isLineEmpty = false
            }
        }
        return false
    }

    /// Nothing in an address may end the command that it stands in.
    var hasUsableAddresses: Bool {
        !recipients.isEmpty
            && ([sender] + recipients).allSatisfy {
                $0.utf8.count <= 1_000 && $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            }
    }
}
