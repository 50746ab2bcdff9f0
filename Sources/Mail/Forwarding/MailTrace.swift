import EmulatorCore
import JOSE
import Time

/// The line of the header by which a message shows that this daemon has handed it on, and the daemon recognizes it. Replicas that share
/// their worlds recognize each other's.
/// <https://www.rfc-editor.org/rfc/rfc5321#section-4.4>
package struct MailTrace: Sendable {
    /// No other daemon has it, but replicas.
    private let token: String
    /// Section 6.3: a message with more `Received` lines goes in circles.
    static let limit = 100

    /// One of this daemon's own.
    package init() { token = MailTrace.makeToken() }

    /// The one of all who share their worlds by `archive`; one of this daemon's own where they aren't shared.
    package init(sharedBy archive: (any Archive)?) throws(StoreFailure) {
        let made = MailTrace.makeToken()
        token = if let archive, archive.isShared { try archive.text("mailTrace", orKeep: made) } else { made }
    }

    private static func makeToken() -> String {
        var generator = SystemGenerator()
        return Hex.encode(generator.bytes(8))
    }

    /// The line for a message of an inbox, at a time by the machine's clock.
    func line(_ id: String, _ time: Instant) -> [UInt8] {
        Array("Received: by localhost (Understudy) with SMTP id \(id).\(token);\r\n\t\(time.mailDate)\r\n".utf8)
    }

    /// Whether this daemon has handed the message on before, or it has gone through too many servers.
    package func isLoop(_ message: [UInt8]) -> Bool {
        var count = 0
        var isTrace = false
        for line in HeaderLines(message) {
            // A line that begins with a blank belongs to the one before it.
            if line.first != 0x20, line.first != 0x09 {
                isTrace = String(decoding: line.prefix(9), as: UTF8.self).lowercased() == "received:"
                if isTrace { count += 1 }
            }
            if count > MailTrace.limit || isTrace && line.firstRange(of: Array(".\(token)".utf8)) != nil { return true }
        }
        return false
    }

    /// The lines before the first empty one.
    private struct HeaderLines: Sequence, IteratorProtocol {
        private var rest: ArraySlice<UInt8>

        init(_ message: [UInt8]) { rest = message[...] }

        mutating func next() -> ArraySlice<UInt8>? {
            guard !rest.isEmpty else { return nil }
            let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
            var line = rest[..<end]
            rest = rest[end...].dropFirst()
            if line.last == 0x0D { line = line.dropLast() }
            return line.isEmpty ? nil : line
        }
    }
}
