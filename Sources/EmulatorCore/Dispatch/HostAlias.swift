/// A short address at the daemon's own name: what is asked for below `prefix` is asked for below `path` at `host`.
package struct HostAlias: Sendable, Equatable {
    /// Such as `/oidc/corp`. With an empty one, it is for what is served there and not by the daemon itself.
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
    package func rest(of path: String, at host: String) -> Substring? {
        guard host == self.host, path.hasPrefix(self.path) else { return nil }
        let rest = path.dropFirst(self.path.count)
        return rest.isEmpty || rest.hasPrefix("/") ? rest : nil
    }

    /// The short addresses of a path at `host`, by this alias: `/oidc/corp/token` for `/token` at `login.corp.example`.
    func shortened(_ path: String, at host: String) -> [String] {
        guard host == self.host else { return [] }
        let below = rest(of: path, at: host).map { [prefix + $0] } ?? []
        return below + HostAlias.metadata.filter { path == $0 + self.path }.map { $0 + prefix }
    }

    /// The beginnings of paths where RFC 8414 section 3.1 puts a server's metadata, and section 5 OpenID Connect's: the server's own path follows.
    package static let metadata = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]
}
