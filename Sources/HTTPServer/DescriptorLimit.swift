import Platform

/// The number of connections that the limit of open files allows. Each connection needs a descriptor, and a server
/// without free descriptors can't accept connections.
package enum DescriptorLimit {
    /// Raises the limit as far as the system allows.
    static func raise() { understudy_raise_open_files() }

    /// The fewest open files with which a server can start.
    private static let least = 32

    /// Checks that the limit leaves room for connections.
    ///
    /// - Throws: An error if no connection could be served.
    static func check() throws(ListenError) {
        let files = understudy_open_files()
        guard files < least else { return }
        throw ListenError(
            description:
                "only \(files) files may be open at once, and at least \(least) are needed: raise the limit "
                + "with ulimit -n")
    }

    /// The descriptors for the connections of all servers of the process. The rest is a quarter of the limit, 32 to
    /// 512, and serves epoll sets, files and outgoing requests.
    private static var available: Int {
        // If there is no limit, the system returns its largest number.
        let files = Int(min(understudy_open_files(), 1 << 20))
        return files - min(512, max(32, files / 4))
    }

    /// The most connections of one server. A daemon has two servers, for HTTP and HTTPS.
    static var connections: Int { max(4, available * 3 / 8) }

    /// The most tunnels of the proxy. Each tunnel needs two connections.
    package static var tunnels: Int { max(2, available / 8) }
}
