/// A short address at the daemon's own name: paths below `prefix` are those below `path` at `host`.
package struct HostAlias: Sendable, Equatable {
    /// The prefix, such as `/oidc/corp`. An empty one is for paths that the daemon itself doesn't serve.
    package let prefix: String
    package let host: String
    /// The path without a slash at its end; empty for all of the host.
    package let path: String

    package init(prefix: String, host: String, path: String) {
        self.prefix = prefix
        self.host = host
        self.path = path
    }

    /// Returns the rest of a path at `host` after the alias's own; `nil` when it isn't below it.
    package func rest(of path: String, at host: String) -> Substring? {
        guard host == self.host, path.hasPrefix(self.path) else { return nil }
        let rest = path.dropFirst(self.path.count)
        return rest.isEmpty || rest.hasPrefix("/") ? rest : nil
    }

    /// Returns the short addresses of a path at `host`, by this alias: `/oidc/corp/token` for `/token` at
    /// `login.corp.example`.
    func shortened(_ path: String, at host: String) -> [String] {
        guard host == self.host else { return [] }
        let below = rest(of: path, at: host).map { [prefix + $0] } ?? []
        return below + HostAlias.metadata.filter { path == $0 + self.path }.map { $0 + prefix }
    }

    /// The beginnings of the paths of a server's metadata by RFC 8414 section 3.1, and of OpenID Connect's by section
    /// 5. The server's own path follows.
    package static let metadata = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]
}
