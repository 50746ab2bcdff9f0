import CNamespaces
import Platform
import EmulatorCore
import Proxy
import Understudy

/// Gives one command its own hosts file and trusted certificates, by Linux's namespaces, so that the providers' host
/// names lead to the daemon. Other processes aren't affected.
struct Interception {
    /// The error that a command's requests can't be intercepted, with the reason and a manual alternative.
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

    /// The reason why the option `--intercept` isn't available on this system; always `nil` on Linux.
    static let obstacle: String? = nil

    /// The loopback address at which the daemon listens on ports 80 and 443 for the intercepted requests.
    let address: String
    /// Whether the command runs in an isolated network, in which it can reach only the daemon and the machine's ports
    /// that the option `--share-port` names.
    let isIsolated: Bool
    /// The reason why the command runs in an isolated network although the option `--isolate` wasn't given.
    let portObstacle: PortObstacle?
    /// The maker of sockets in the machine's network, for ports that the machine shares with a command in an isolated
    /// network. It is `nil` if the command isn't isolated, or if no port is shared.
    let outside: NetworkSockets?

    /// Moves this process into new namespaces. It must have only one thread, because other threads would stay outside.
    /// `store` replaces the browsers' certificate store. If `shares` is true, this process can still make sockets in
    /// the machine's network.
    init(
        hosts: [String], bundle: String, directory: String, isolated: Bool, store: BrowserStore?, shares: Bool
    ) throws {
        (address, portObstacle) = isolated ? ("127.77.0.1", nil) : Interception.freeAddress()
        isIsolated = isolated || portObstacle != nil
        outside = try Interception.enter(withNetwork: isIsolated, keepingSockets: shares && isIsolated)
        guard understudy_make_mounts_private() == 0 else {
            throw Failure("can't make the command's mounts private: \(String(cString: strerror(errno)))")
        }
        let known = (try? File.read("/etc/hosts")) ?? Array("127.0.0.1 localhost\n".utf8)
        let lines = hosts.map { "\(address) \($0)\n" }.joined()
        let file = "\(directory)/hosts"
        // If a host has several lines, the first one counts.
        try File.write(lines.utf8 + known, to: file, mode: 0o644)
        guard understudy_bind(file, "/etc/hosts") == 0 else {
            throw Failure(
                "can't replace /etc/hosts while exec runs its program: \(String(cString: strerror(errno)))"
            )
        }
        if let store, understudy_bind(store.path, store.place) != 0 {
            throw Failure(
                "can't replace the browsers' certificate store while exec runs its program: "
                    + String(cString: strerror(errno)))
        }
        for path in TrustBundle.systemPaths where access(path, F_OK) == 0 {
            guard understudy_bind(bundle, path) == 0 else {
                throw Failure(
                    "can't replace the trusted certificates in \(path) while exec runs its program: "
                        + String(cString: strerror(errno))
                )
            }
        }
    }

    /// Returns a loopback address whose ports 80 and 443 are free, or the reason why none of eight addresses has free
    /// ports. Commands that start at the same time try different addresses first.
    private static func freeAddress() -> (address: String, obstacle: PortObstacle?) {
        var place = (address: "", obstacle: PortObstacle?.none)
        for offset in 0..<8 {
            let address = "127.77.0.\((Int(getpid()) + offset) % 250 + 1)"
            place = (address, PortObstacle(address: address, ports: [80, 443]))
            if place.obstacle == nil { break }
        }
        return place
    }

    /// Moves this process into new namespaces. It must have only one thread, because otherwise it can't enter a user
    /// namespace. If `keepingSockets` is true, this process can still make sockets in the machine's network.
    private static func enter(withNetwork: Bool, keepingSockets: Bool) throws -> NetworkSockets? {
        let network = withNetwork ? understudy_new_network : 0
        let (user, group) = (geteuid(), getegid())
        if user != 0 || understudy_unshare(understudy_new_mounts) != 0 {
            guard understudy_unshare(understudy_new_user | understudy_new_mounts) == 0 else {
                throw Failure(
                    "this system doesn't allow user namespaces (\(String(cString: strerror(errno)))): see the sysctls "
                        + "kernel.unprivileged_userns_clone, user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns, "
                        + "or run understudy as root")
            }
            // The user and the group stay the same.
            _ = write("deny", to: "/proc/self/setgroups")
            guard write("\(user) \(user) 1", to: "/proc/self/uid_map"),
                write("\(group) \(group) 1", to: "/proc/self/gid_map")
            else { throw Failure("can't set up the user namespace: \(String(cString: strerror(errno)))") }
        }
        let outside = keepingSockets ? NetworkSockets() : nil
        guard network == 0 || understudy_unshare(network) == 0 else {
            throw Failure("this system doesn't allow an isolated network (\(String(cString: strerror(errno))))")
        }
        if withNetwork, understudy_raise_loopback() != 0 {
            throw Failure(
                "can't bring up the loopback device of the isolated network: \(String(cString: strerror(errno)))")
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
