import Platform

/// The reason why ports can't be opened in the machine's own network.
struct PortObstacle: CustomStringConvertible {
    private let code: Int32

    /// Tries the ports. Returns `nil` if all of them can be opened.
    init?(address: String, ports: [UInt16]) {
        for port in ports {
            if let code = PortObstacle.failure(address, port) {
                self.code = code
                return
            }
        }
        return nil
    }

    private static func failure(_ address: String, _ port: UInt16) -> Int32? {
        let descriptor = understudy_socket(AF_INET, understudy_stream, 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = port.bigEndian
        inet_pton(AF_INET, address, &place.sin_addr)
        let result = withUnsafePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return result == 0 ? nil : errno
    }

    /// The reason, its consequence for the command, and the remedy.
    var description: String {
        let reason =
            switch code {
            case EACCES, EPERM: "this user may not listen on ports 80 and 443"
            case EADDRINUSE: "somebody listens on port 80 or 443 of every address already"
            default: "ports 80 and 443 can't be listened on (\(String(cString: strerror(code))))"
            }
        let remedy =
            code == EACCES || code == EPERM
            ? "\"sudo sysctl net.ipv4.ip_unprivileged_port_start=80\" lets it stay in the machine's network, or " : ""
        return
            "\(reason), so the command has a network of its own, with nothing in it but the daemon: what listens on this "
            + "machine's loopback, such as a database, isn't there. \(remedy)\"--share-port 5432\" shares a port with it"
    }
}
