import JSON
import Platform
import Synchronization

/// Reads lines from a file descriptor. A line of more than `limit` bytes is discarded.
package struct LineReader {
    package enum Line: Equatable, Sendable {
        case text([UInt8])
        /// A line that exceeded the limit, and was discarded.
        case tooLong
    }

    /// The greatest number of bytes of a line. A line may contain a request body of 1 MB for the control API, and
    /// escaping the body as a JSON string makes it longer.
    package static let limit = 4 << 20

    private let descriptor: Int32
    private let limit: Int
    private var buffer: [UInt8] = []
    /// The number of bytes at the beginning of the buffer that were searched and contain no line break.
    private var searched = 0
    private var isSkipping = false
    private var hasEnded = false
    private var chunk = [UInt8](repeating: 0, count: 64 << 10)

    package init(_ descriptor: Int32, limit: Int = LineReader.limit) {
        self.descriptor = descriptor
        self.limit = limit
    }

    /// Waits for the next line and returns it without its line break. Returns `nil` at the end of the input. The last
    /// line needs no line break.
    package mutating func next() -> Line? {
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                let line = Array(buffer[..<end])
                buffer.removeSubrange(...end)
                searched = 0
                guard isSkipping else { return line.count > limit ? .tooLong : .text(line) }
                isSkipping = false
                return .tooLong
            }
            searched = buffer.count
            if hasEnded {
                guard !isSkipping else {
                    isSkipping = false
                    return .tooLong
                }
                guard !buffer.isEmpty else { return nil }
                defer { buffer = [] }
                searched = 0
                return .text(buffer)
            }
            if searched > limit { isSkipping = true }
            if isSkipping {
                buffer = []
                searched = 0
            }
            read()
        }
    }

    private mutating func read() {
        while true {
            let count = Platform.read(descriptor, &chunk, chunk.count)
            if count > 0 {
                buffer += chunk[..<count]
                return
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                // Another process with this descriptor has made it non-blocking. This thread may wait.
                var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&entry, 1, -1)
                continue
            }
            hasEnded = true
            return
        }
    }
}

/// Writes JSON messages to a file descriptor, one message a line, from any thread.
package final class LineOutput: Sendable {
    private let descriptor: Int32
    /// Whether the process at the other end of the pipe has stopped reading.
    private let isBroken = Mutex(false)

    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Writes one message completely before the next. If the process at the other end no longer reads, this and all
    /// later messages are dropped.
    package func send(_ message: JSONValue) {
        // Line breaks within texts are escaped, so that a message has none.
        let line = message.serialized() + [0x0A]
        isBroken.withLock { isBroken in
            if !isBroken { isBroken = !write(line) }
        }
    }

    private func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Platform.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&entry, 1, -1)
            } else if count == 0 || errno != EINTR {
                return false
            }
        }
        return true
    }
}
