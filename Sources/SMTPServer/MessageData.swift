import Synchronization

/// The data of a mail while they are received. They end at a line that is a single dot. From lines that begin with a
/// dot, the dot that the client has added is removed. <https://www.rfc-editor.org/rfc/rfc5321#section-4.5.2>
///
/// Only CR LF ends a line. A server that accepts other line ends, too, can be made to see two mails where another
/// server sees one.
package struct MessageData: Sendable {
    private enum State: Sendable {
        case lineBegin
        /// The last octet was a dot at the beginning of a line.
        case dot
        case dotReturn
        case text
        case carriageReturn
        case done
    }

    private var state = State.lineBegin
    /// The received bytes of the mail, up to the limit.
    private(set) package var bytes: [UInt8] = []
    /// The number of octets received of the mail, including those beyond the limit.
    private(set) package var size = 0
    private let limit: Int
    private var isKept = true

    package init(limit: Int) { self.limit = limit }

    package var isComplete: Bool { state == .done }
    package var isTooLong: Bool { size > limit }
    /// Whether the mail's data were discarded because all mails that are being received exceed their common limit.
    package var isDropped: Bool { !isKept }

    /// Discards the mail's data that were received, and all that follow.
    package mutating func drop() {
        isKept = false
        bytes = []
    }

    private mutating func keep(_ byte: UInt8) {
        size += 1
        if isKept, size <= limit { bytes.append(byte) }
    }

    private mutating func keep(_ part: ArraySlice<UInt8>) {
        if isKept, size < limit { bytes += part.prefix(limit - size) }
        size += part.count
    }

    /// Consumes the octets of `chunk` that belong to the mail, and returns their number.
    package mutating func consume(_ chunk: ArraySlice<UInt8>) -> Int {
        var rest = chunk
        while state != .done, let byte = rest.first {
            if state == .text {
                // Most of a message is text, in which only a line's end matters.
                let line = rest[..<(rest.firstIndex(of: 0x0D) ?? rest.endIndex)]
                keep(line)
                rest = rest[line.endIndex...]
                guard let next = rest.popFirst() else { break }
                step(next)
            } else {
                rest = rest.dropFirst()
                step(byte)
            }
        }
        return chunk.count - rest.count
    }

    private mutating func step(_ byte: UInt8) {
        let isReturn = byte == 0x0D
        switch state {
        case .lineBegin:
            if byte == 0x2E {
                state = .dot
                return
            }
        case .dot:
            if isReturn {
                state = .dotReturn
                return
            }
        case .dotReturn:
            if byte == 0x0A {
                state = .done
                return
            }
            keep(0x0D)
        case .carriageReturn:
            if byte == 0x0A {
                keep(byte)
                state = .lineBegin
                return
            }
        case .text, .done: break
        }
        keep(byte)
        state = isReturn ? .carriageReturn : .text
    }
}

/// Limits the total number of octets of all mails that are being received at the same time.
final class MessageRoom: Sendable {
    private let limit: Int
    private let taken = Atomic<Int>(0)

    init(limit: Int) { self.limit = limit }

    /// One mail's share, in octets, of the limit that all mails have in common. The share is given back when the last
    /// reference to this object is released.
    final class Part {
        private let room: MessageRoom
        private var size = 0

        init(of room: MessageRoom) { self.room = room }

        deinit { room.taken.subtract(size, ordering: .relaxed) }

        /// Enlarges the mail's share of the limit that all mails have in common, in steps of 64 KiB. Returns `false` if
        /// the limit would be exceeded.
        func grow(to wanted: Int) -> Bool {
            guard wanted > size else { return true }
            let step = (wanted - size + Part.step - 1) / Part.step * Part.step
            guard room.taken.add(step, ordering: .relaxed).newValue <= room.limit else {
                room.taken.subtract(step, ordering: .relaxed)
                return false
            }
            size += step
            return true
        }

        private static let step = 64 << 10
    }
}

/// The sender and the recipients of a mail, as the client gives them in SMTP commands.
package struct MailEnvelope: Sendable, Equatable {
    /// The e-mail address of the sender; empty for a bounce.
    package var sender = ""
    package var recipients: [String] = []
    package var isUTF8 = false
}
