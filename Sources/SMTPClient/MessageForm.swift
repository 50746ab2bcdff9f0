/// A message as it goes over the connection: lines end with CR LF, and a dot at the begin of one is doubled.
/// <https://www.rfc-editor.org/rfc/rfc5321#section-4.5.2>
///
/// Lone CR and lone LF become line ends, since no client may send them (section 2.3.8); all else stays as it is.
struct MessageForm {
    private static let chunkSize = 65_536
    private var isAtBegin = true
    private var lastWasReturn = false

    /// Calls `write` with one chunk after the other.
    mutating func add(_ bytes: [UInt8], _ write: ([UInt8]) throws(SMTPFailure) -> Void) throws(SMTPFailure) {
        var chunk: [UInt8] = []
        chunk.reserveCapacity(min(MessageForm.chunkSize, bytes.count) + 8)
        for byte in bytes {
            add(byte, to: &chunk)
            guard chunk.count >= MessageForm.chunkSize else { continue }
            try write(chunk)
            chunk.removeAll(keepingCapacity: true)
        }
        if !chunk.isEmpty { try write(chunk) }
    }

    private mutating func add(_ byte: UInt8, to chunk: inout [UInt8]) {
        if lastWasReturn {
            lastWasReturn = false
            chunk += [0x0D, 0x0A]
            isAtBegin = true
            if byte == 0x0A { return }
        }
        switch byte {
        case 0x0D: lastWasReturn = true
        case 0x0A:
            chunk += [0x0D, 0x0A]
            isAtBegin = true
        default:
            if isAtBegin, byte == 0x2E { chunk.append(byte) }
            chunk.append(byte)
            isAtBegin = false
        }
    }

    /// What ends the message.
    mutating func end() -> [UInt8] {
        let lineEnd: [UInt8] = isAtBegin && !lastWasReturn ? [] : [0x0D, 0x0A]
        return lineEnd + [0x2E, 0x0D, 0x0A]
    }
}
