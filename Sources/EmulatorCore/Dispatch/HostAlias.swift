/// A short address at the daemon's own name: what is asked for below `prefix` is asked for below `path` at `host`.
package struct HostAlias: Sendable, Equatable {
    /// Two segments, such as `/oidc/corp`.
    package let prefix: String
    package let host: String
    /// Without a slash at its end; empty for all of the host.
    package let path: String

    package init(prefix: String, host: String, path: String) {
        self.prefix = prefix
        self.host = host
        self.path = path
    }

    /// What of a path at `host` follows the alias's own; `nil` when it doesn't lie below it.
    func rest(of path: String, at host: String) -> Substring? {
        guard host == self.host, path.hasPrefix(self.path) else { return nil }
        let rest = path.dropFirst(self.path.count)
        return rest.isEmpty || rest.hasPrefix("/") ? rest : nil
    }

    /// Where RFC 8414 section 3.1 puts a server's metadata: the server's own path follows.
    static let metadata = "/.well-known/oauth-authorization-server"

    /// The first two segments of a path, by which an alias is found.
    static func prefix(of path: String) -> String {
        let bytes = path.utf8.dropFirst()
        guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[..<(bytes[bytes.index(after: slash)...].firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex)])
    }
}
