import JSON
import Platform
import Synchronization

/// Writes messages to a descriptor, a line each, from any thread.
package final class LineOutput: Sendable {
    private let descriptor: Int32
    /// Whether the descriptor's other end has been closed.
    private let isBroken = Mutex(false)

    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Writes a whole message before the next one begins. If the other end has been closed, this and all later messages
    /// are dropped.
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
