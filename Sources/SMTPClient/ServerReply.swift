/// What a server answered to a command: <https://www.rfc-editor.org/rfc/rfc5321#section-4.2>.
package struct ServerReply: Sendable, Equatable {
    /// From 200 to 599.
    package let code: Int
    /// What stands behind the codes; at least one.
    package let lines: [String]

    /// For people: `550 5.1.1 no such user`, in one line of at most 300 characters.
    package var text: String {
        let words = lines.map { $0.unicodeScalars.map { ServerReply.isPrintable($0) ? String($0) : "?" }.joined() }
        return String("\(code) \(words.joined(separator: " "))".prefix(300))
    }

    package var isPositive: Bool { code < 300 }
    /// Refused for now: the same may be accepted later.
    package var isTemporary: Bool { (400..<500).contains(code) }
    /// The server closes the connection after it.
    var isClosing: Bool { code == 421 }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value)
    }

    /// Puts a reply's lines together as they come. Its size is bounded.
    package struct Reader {
        /// Octets of a line, and lines of a reply: more than any server needs.
        private static let limit = (line: 2_048, lines: 128)
        private var code: Int?
        private var lines: [String] = []
        private var line: [UInt8] = []

        package init() {}

        /// Takes what belongs to the reply from the begin of what came, and returns the reply when it is whole.
        package mutating func take(_ bytes: inout ArraySlice<UInt8>) throws(SMTPFailure) -> ServerReply? {
            while let byte = bytes.popFirst() {
                guard byte == 0x0A else {
                    line.append(byte)
                    if line.count > Reader.limit.line { throw .connection("the server's reply has no end") }
                    continue
                }
                if let reply = try endLine() { return reply }
            }
            return nil
        }

        private mutating func endLine() throws(SMTPFailure) -> ServerReply? {
            if line.last == 0x0D { line.removeLast() }
            let text = String(decoding: line, as: UTF8.self)
            let digits = line.prefix(3)
            guard digits.count == 3, digits.allSatisfy({ (0x30...0x39).contains($0) }), let code = Int(text.prefix(3)),
                (200...599).contains(code), self.code == nil || self.code == code,
                line.count == 3 || line[3] == 0x20 || line[3] == 0x2D
            else { throw .connection("the server doesn't speak SMTP: \"\(Reader.shown(text))\"") }
            self.code = code
            let isLast = line.count == 3 || line[3] == 0x20
            lines.append(String(decoding: line.dropFirst(4), as: UTF8.self))
            line = []
            if isLast { return ServerReply(code: code, lines: lines) }
            guard lines.count < Reader.limit.lines else { throw .connection("the server's reply has no end") }
            return nil
        }

        private static func shown(_ text: String) -> String {
            String(text.unicodeScalars.prefix(60).map { isPrintable($0) ? Character($0) : "?" })
        }
    }
}

/// Why a message couldn't be given to a server.
package enum SMTPFailure: Error, Sendable, Equatable {
    /// The connection can't be made or can't be used any more. `mayHaveArrived` says that all of the message was written, so that
    /// the server may have taken it.
    case connection(String, mayHaveArrived: Bool = false)
    /// The server refused the message for all its recipients.
    case refused(ServerReply)
    /// It can't be sent to this server, whenever it is tried.
    case impossible(String)
}

extension SMTPFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .connection(let reason, _), .impossible(let reason): reason
        case .refused(let reply): reply.text
        }
    }
}
