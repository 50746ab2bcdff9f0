import Foundation
import Platform
import Synchronization
import Testing

@testable import Proxy

@Suite("What is carried between two sockets")
struct PipeTests {
    /// Two connections, and a pipe between their inner ends.
    private final class Joined: @unchecked Sendable {
        private(set) var left: [Int32] = [0, 0]
        private(set) var right: [Int32] = [0, 0]
        private let isOver = Atomic<Bool>(false)
        private let done = DispatchSemaphore(value: 0)

        init() throws {
            try #require(understudy_channel(&left) == 0 && understudy_channel(&right) == 0)
            let (near, far) = (left[1], right[1])
            Thread.detachNewThread { [self] in
                Pipe.join(near, far, idleSeconds: 60) { isOver.load(ordering: .relaxed) }
                done.signal()
            }
        }

        /// Sends until the descriptor accepts no more, and returns the number of bytes.
        func fill(_ descriptor: Int32) -> Int {
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
            var sent = 0
            let part = [UInt8](repeating: 7, count: 65_536)
            for _ in 0..<200 {
                while case let count = send(descriptor, part, part.count, 0), count > 0 { sent += count }
                usleep(5_000)
            }
            return sent
        }

        func end() {
            isOver.store(true, ordering: .relaxed)
            done.wait()
            for descriptor in left + right { close(descriptor) }
        }
    }

    @Test("a side that doesn't read holds up its own direction only")
    func fullDuplex() throws {
        let joined = try Joined()
        defer { joined.end() }
        let sent = joined.fill(joined.left[0])
        #expect(sent > 65_536)
        let answer = Array("answer".utf8)
        #expect(send(joined.right[0], answer, answer.count, 0) == answer.count)
        var waiting = pollfd(fd: joined.left[0], events: Int16(POLLIN), revents: 0)
        #expect(poll(&waiting, 1, 300_000) == 1)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(joined.left[0], &buffer, buffer.count, 0)
        #expect(Array(buffer.prefix(count)) == answer)
        // The waiting bytes arrive complete, and then the end.
        shutdown(joined.left[0], Int32(SHUT_WR))
        var received = 0
        while case let count = recv(joined.right[0], &buffer, buffer.count, 0), count > 0 { received += count }
        #expect(received == sent)
    }
}
