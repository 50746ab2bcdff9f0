import CNamespaces
import Platform
import EmulatorCore
import Understudy

/// Shows one command a machine of its own, in which the provider hosts lead to the daemon: by Linux's namespaces it has
/// its own hosts file and its own trust bundle. Nothing changes for other processes.
struct Interception {
    /// Why interception isn't possible, and how to do the same by hand.
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ what: String) {
            description = """
                \(what)
                By hand: run "understudy hosts" into /etc/hosts, "understudy serve --port 80 --tls-port 443" as root, and trust \
                the authority ("understudy ca install-hint"); or use "understudy exec --proxy-port 0".
                """
        }
    }

    /// The loopback address where the daemon listens on ports 80 and 443. Nobody else uses it.
    let address: String
    /// Whether the command has a network of its own, in which there is only the daemon.
    let isIsolated: Bool

    /// Enters the namespaces. Only while the process has one thread: other threads would stay outside.
    init(hosts: [String], bundle: String, directory: String, isolated: Bool) throws {
        address = "127.77.0.1"
        isIsolated = try isolated || !Interception.mayListen(at: address)
        try Interception.enter(withNetwork: isIsolated)
        guard understudy_make_mounts_private() == 0 else {
            throw Failure("mounts can't be made private: \(String(cString: strerror(errno)))")
        }
        let known = (try? File.read("/etc/hosts")) ?? Array("127.0.0.1 localhost\n".utf8)
        let lines = hosts.map { "\(address) \($0)\n" }.joined()
        let file = "\(directory)/hosts"
        // Of several lines for a host, the first one counts.
        try File.write(lines.utf8 + known, to: file, mode: 0o644)
        guard understudy_bind(file, "/etc/hosts") == 0 else {
            throw Failure("a hosts file can't be put in place: \(String(cString: strerror(errno)))")
        }
        for path in TrustBundle.systemPaths where access(path, F_OK) == 0 {
            guard understudy_bind(bundle, path) == 0 else {
                throw Failure("a trust bundle can't be put at \(path): \(String(cString: strerror(errno)))")
            }
        }
    }

    private static func enter(withNetwork: Bool) throws {
        let network = withNetwork ? understudy_new_network : 0
        let (user, group) = (geteuid(), getegid())
        if user != 0 || understudy_unshare(understudy_new_mounts | network) != 0 {
            guard understudy_unshare(understudy_new_user | understudy_new_mounts | network) == 0 else {
                throw Failure(
                    "user namespaces aren't allowed here (\(String(cString: strerror(errno)))): see the sysctls "
                        + "kernel.unprivileged_userns_clone, user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns, "
                        + "or run it as root")
            }
            // The user and the group stay the same.
            _ = write("deny", to: "/proc/self/setgroups")
            guard write("\(user) \(user) 1", to: "/proc/self/uid_map"),
                write("\(group) \(group) 1", to: "/proc/self/gid_map")
            else { throw Failure("the user namespace can't be set up: \(String(cString: strerror(errno)))") }
        }
        if withNetwork, understudy_raise_loopback() != 0 {
            throw Failure("the loopback device can't be raised: \(String(cString: strerror(errno)))")
        }
    }

    private static func write(_ text: String, to path: String) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        return Platform.write(descriptor, bytes, bytes.count) == bytes.count
    }

    /// Whether ports 80 and 443 can be listened on without a network of its own.
    private static func mayListen(at address: String) throws -> Bool {
        for port in [80, 443] as [UInt16] {
            let descriptor = understudy_socket(AF_INET, understudy_stream, 0)
            defer { close(descriptor) }
            var one: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
            var ip = in_addr()
            inet_pton(AF_INET, address, &ip)
            var place = sockaddr_in(
                sin_family: sa_family_t(AF_INET), sin_port: port.bigEndian, sin_addr: ip,
                sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
            let result = withUnsafePointer(to: &place) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if result != 0 { return false }
        }
        return true
    }
}
