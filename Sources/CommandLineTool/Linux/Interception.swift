import CNamespaces
import Platform
import EmulatorCore
import Proxy
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

    /// Why it can't be had on this system; `nil` where it can.
    static let obstacle: String? = nil

    /// The loopback address where the daemon listens on ports 80 and 443. Nobody else uses it.
    let address: String
    /// Whether the command has a network of its own, in which there is only the daemon.
    let isIsolated: Bool
    /// Why it has, where nobody has asked for it.
    let portObstacle: PortObstacle?
    /// The network that was left, if ports of it are shared.
    let outside: NetworkSockets?

    /// Enters the namespaces. Only while the process has one thread: other threads would stay outside. `store` is put in the
    /// place of the browsers' one. With `shares`, sockets of the network that is left can be had.
    init(
        hosts: [String], bundle: String, directory: String, isolated: Bool, store: BrowserStore?, shares: Bool
    ) throws {
        address = "127.77.0.1"
        portObstacle = isolated ? nil : PortObstacle(address: address, ports: [80, 443])
        isIsolated = isolated || portObstacle != nil
        outside = try Interception.enter(withNetwork: isIsolated, keepingSockets: shares && isIsolated)
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
        if let store, understudy_bind(store.path, store.place) != 0 {
            throw Failure("a certificate store can't be put in place: \(String(cString: strerror(errno)))")
        }
        for path in TrustBundle.systemPaths where access(path, F_OK) == 0 {
            guard understudy_bind(bundle, path) == 0 else {
                throw Failure("a trust bundle can't be put at \(path): \(String(cString: strerror(errno)))")
            }
        }
    }

    /// A user namespace first, where one is needed: it can only be entered by a process with one thread. Then a thread may stay
    /// behind, and the rest is entered.
    private static func enter(withNetwork: Bool, keepingSockets: Bool) throws -> NetworkSockets? {
        let network = withNetwork ? understudy_new_network : 0
        let (user, group) = (geteuid(), getegid())
        if user != 0 || understudy_unshare(understudy_new_mounts) != 0 {
            guard understudy_unshare(understudy_new_user | understudy_new_mounts) == 0 else {
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
        let outside = keepingSockets ? NetworkSockets() : nil
        guard network == 0 || understudy_unshare(network) == 0 else {
            throw Failure("a network of its own isn't allowed here (\(String(cString: strerror(errno))))")
        }
        if withNetwork, understudy_raise_loopback() != 0 {
            throw Failure("the loopback device can't be raised: \(String(cString: strerror(errno)))")
        }
        return outside
    }

    private static func write(_ text: String, to path: String) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        return Platform.write(descriptor, bytes, bytes.count) == bytes.count
    }
}
