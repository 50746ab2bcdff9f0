import Foundation
import Platform
import Synchronization
import Understudy

/// The load balancer that `Tests/Stores/balancer` started. It has many addresses, each for two servers.
package final class Balancer: Sendable {
    package enum Kind: CaseIterable {
        /// Alternates with each request.
        case http
        /// Alternates with each connection.
        case https, smtp

        func port(of server: RunningServer) -> Int? {
            switch self {
            case .http: server.url.hasPrefix("http:") ? server.port : nil
            case .https: server.tlsPort
            case .smtp: server.smtpPort
            }
        }

        fileprivate var mode: String { self == .http ? "http" : "tcp" }
    }

    struct Address {
        let name: String
        let port: Int
    }

    /// The balancer; `nil` if the tests run without one.
    static let shared = ProcessInfo.processInfo.environment["UNDERSTUDY_TEST_BALANCER"].map(Balancer.init)

    private let folder: String
    private let unused: Mutex<[Address]>

    private init(folder: String) {
        self.folder = folder
        let lines = (try? String(contentsOfFile: "\(folder)/addresses", encoding: .utf8)) ?? ""
        unused = Mutex(
            lines.split(separator: "\n").map { line in
                let parts = line.split(separator: " ")
                return Address(name: String(parts[0]), port: Int(parts[1]) ?? 0)
            })
    }

    func lead(_ kind: Kind, to ports: [Int]) throws -> Address {
        let taken = unused.withLock { unused in
            unused.firstIndex { $0.name.hasPrefix(kind.mode) }.map { unused.remove(at: $0) }
        }
        guard let taken else { throw TransportError(reason: "the balancer has no address left") }
        try tell(
            zip(["a", "b"], ports).flatMap { server, port in
                [
                    "set server \(taken.name)/\(server) addr 127.0.0.1 port \(port)",
                    "set server \(taken.name)/\(server) state ready",
                ]
            })
        return taken
    }

    func free(_ address: Address) {
        try? tell(["a", "b"].map { "set server \(address.name)/\($0) state maint" })
        unused.withLock { $0.append(address) }
    }

    /// Sends commands to HAProxy: <https://docs.haproxy.org/2.6/management.html#9.3>
    private func tell(_ commands: [String]) throws {
        let descriptor = understudy_socket(AF_UNIX, understudy_stream, 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            path.copyBytes(from: "\(folder)/admin".utf8.prefix(path.count - 1))
        }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        let line = Array((commands.joined(separator: "; ") + "\n").utf8)
        guard result == 0, send(descriptor, line, line.count, understudy_no_signal) == line.count else {
            throw TransportError(reason: "the balancer can't be reached: \(String(cString: strerror(errno)))")
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 { answer += buffer.prefix(count) }
        let text = String(decoding: answer, as: UTF8.self)
        guard !text.contains("No such") else { throw TransportError(reason: "the balancer says: \(text)") }
    }
}
