import Glibc

/// How many connections the limit of open files leaves room for. A connection is a file; so is what the rest of the process
/// needs, and running out of files while accepting makes a server deaf.
package enum DescriptorLimit {
    /// As many open files as the system lets the process have.
    static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max
        else {
            return
        }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Fewer leave no room for a connection beside what the daemon itself needs.
    private static let least = 32

    /// - Throws: when so few files may be open that nobody could be served.
    static func check() throws(ListenError) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < least else {
            return
        }
        throw ListenError(
            description:
                "only \(limit.rlim_cur) files may be open at once, and at least \(least) are needed: raise the limit "
                + "with ulimit -n")
    }

    /// Files that connections may use, all servers of the process together. The rest is for epoll sets, files and requests
    /// to others: a quarter, but from 32 to 512.
    private static var spare: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 512 }
        let files = Int(clamping: limit.rlim_cur)
        return files - min(512, max(32, files / 4))
    }

    /// Connections of one server: a daemon has two, for HTTP and HTTPS.
    static var connections: Int { max(4, spare * 3 / 8) }

    /// Tunnels of the proxy, which are two connections each.
    package static var tunnels: Int { max(2, spare / 8) }
}
