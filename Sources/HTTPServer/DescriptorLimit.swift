import Platform

/// How many connections the limit of open files allows. Each connection needs a descriptor, and so does the rest of the process;
/// a server that has run out of them can't accept connections.
package enum DescriptorLimit {
    /// Raises the limit as far as the system lets the process do it.
    static func raise() { understudy_raise_open_files() }

    /// With fewer, the daemon's own needs leave nothing for connections.
    private static let least = 32

    /// - Throws: when no connection could be served.
    static func check() throws(ListenError) {
        let files = understudy_open_files()
        guard files < least else { return }
        throw ListenError(
            description:
                "only \(files) files may be open at once, and at least \(least) are needed: raise the limit "
                + "with ulimit -n")
    }

    /// Descriptors for the connections of all servers of the process. The rest, a quarter but from 32 to 512, is for epoll
    /// sets, files and outgoing requests.
    private static var available: Int {
        // Where there is no limit, the number is the largest that there is.
        let files = Int(min(understudy_open_files(), 1 << 20))
        return files - min(512, max(32, files / 4))
    }

    /// Connections of one server: a daemon has two, for HTTP and HTTPS.
    static var connections: Int { max(4, available * 3 / 8) }

    /// Tunnels of the proxy, which are two connections each.
    package static var tunnels: Int { max(2, available / 8) }
}
