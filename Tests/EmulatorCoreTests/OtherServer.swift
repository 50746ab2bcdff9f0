import Foundation
import Platform
import Synchronization

/// A server that speaks another protocol.
final class OtherServer {
    let port: UInt16
    private let listener: Int32
    private let counter = Counter()

    private final class Counter: Sendable {
        let value = Atomic<Int>(0)
    }

    /// The number of connections that it has had.
    var connections: Int { counter.value.load(ordering: .relaxed) }

    init() throws {
        let listener = understudy_socket(AF_INET, understudy_stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = bind(listener, pointer, length)
                _ = listen(listener, 1)
                _ = getsockname(listener, pointer, &length)
            }
        }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        let counter = counter
        Thread {
            while true {
                let client = understudy_accept(listener, nil, nil, 1)
                guard client >= 0 else { return }
                counter.value.add(1, ordering: .relaxed)
                let answer = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
                _ = send(client, answer, answer.count, understudy_no_signal)
                close(client)
            }
        }.start()
    }

    deinit {
        // The thread that accepts connections ends after this.
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }
}
