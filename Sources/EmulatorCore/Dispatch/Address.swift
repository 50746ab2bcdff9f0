import HTTPServer

/// The form in which a request was addressed, which URLs in its answer repeat: by prefix, by subdomain or by the real
/// host.
package struct Address: Sendable, Equatable {
    package enum Form: Sendable, Equatable {
        /// The host in the path: `http://localhost:9099/appleid.apple.com/auth/token`.
        case prefix
        /// The host before `localhost`: `http://appleid.apple.com.localhost:9099/auth/token`.
        case subdomain
        /// The provider's host, `Host: appleid.apple.com`, over TLS that ends here or at a proxy before this daemon.
        case real
        /// A short address of a path at a host: `http://localhost:9099/oidc/corp/token`.
        case alias(HostAlias)
    }

    package let form: Form
    /// The provider's host; `nil` for the daemon's own pages and the control API.
    package let host: String?
    /// The path on that host, percent-encoded as it was sent.
    package let path: String
    package let world: String
    /// The part of the request that names the world.
    private let worldPlace: NamedWorld.Place
    /// The header `Host` as it was sent.
    package let authority: String
    /// Whether the request came over the daemon's own TLS.
    private let isSecure: Bool

    /// The address of a request in the world that it names, with the hosts and short addresses of that world.
    package init(
        _ request: Request, in world: NamedWorld, alias aliasOf: (String) -> HostAlias? = { _ in nil },
        knows isKnown: (String) -> Bool
    ) {
        authority = request.header("Host") ?? "localhost"
        isSecure = request.isSecure
        self.world = world.name
        worldPlace = world.place
        let rest = world.path
        if !world.host.isEmpty, isKnown(world.host) {
            (form, host, path) = (world.isBelowLocalhost ? .subdomain : .real, world.host, rest)
            return
        }
        let segments = rest.utf8.dropFirst()
        let end = segments.firstIndex(of: UInt8(ascii: "/")) ?? segments.endIndex
        let first = String(Substring(segments[..<end])).lowercased()
        if isKnown(first) {
            (form, host) = (.prefix, first)
            path = end == segments.endIndex ? "/" : String(Substring(segments[end...]))
        } else if let alias = aliasOf(rest) {
            (form, host) = (.alias(alias), alias.host)
            path = alias.path + rest.dropFirst(alias.prefix.count)
        } else if let metadata = HostAlias.metadata.first(where: { rest.hasPrefix($0) }),
            let alias = aliasOf(String(rest.dropFirst(metadata.count))),
            rest.utf8.count == metadata.utf8.count + alias.prefix.utf8.count
        {
            (form, host) = (.alias(alias), alias.host)
            path = metadata + alias.path
        } else {
            (form, host, path) = (.prefix, nil, rest)
        }
    }

    /// Returns a host name in lower case without its port; an IPv6 address without its brackets.
    package static func hostName(of authority: String) -> String {
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }).lowercased() }
        return String(Substring(authority.utf8.prefix { $0 != UInt8(ascii: ":") })).lowercased()
    }

    /// Returns whether a `Host` may appear in the URLs of an answer: a name or an address, with or without a port. It
    /// may also be empty. <https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2>
    static func isWellFormed(_ authority: String) -> Bool {
        authority.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                || "-._~%:[]!$&'()*+,;=".utf8.contains(byte)
        }
    }

    /// The port after a colon, such as `:9099`; empty without one.
    package var portSuffix: String {
        let rest = authority.hasPrefix("[") ? authority.drop { $0 != "]" }.dropFirst() : authority.drop { $0 != ":" }
        return String(rest)
    }

    /// The scheme of the request's URL: `http` or `https`.
    package var scheme: String { isSecure ? "https" : "http" }

    /// The beginning of paths that names the world; empty if the path doesn't name it.
    private var worldPrefix: String { worldPlace == .path ? "/~\(world)" : "" }

    /// The end of host names, with the name of the world if the host names it.
    private var localhost: String { worldPlace == .host ? "\(world).localhost\(portSuffix)" : "localhost\(portSuffix)" }

    /// Returns the URL of `host` in this request's form and world, without a trailing slash.
    package func base(of host: String) -> String {
        switch form {
        case .prefix, .alias: return prefixBase(of: host)
        case .subdomain: return subdomainBase(of: host)
        case .real: return "https://\(host)\(portSuffix)\(worldPrefix)"
        }
    }

    /// Returns the URL of `host` in the prefix form. Each answer needs many of them, so each is built in one
    /// allocation.
    private func prefixBase(of host: String) -> String {
        let (scheme, world) = (scheme, worldPrefix)
        var base = ""
        base.reserveCapacity(
            scheme.utf8.count + authority.utf8.count + world.utf8.count + host.utf8.count + "://".utf8.count + 1)
        base += scheme
        base += "://"
        base += authority
        base += world
        base += "/"
        base += host
        return base
    }

    /// Returns the URL of a path at `host`, in this request's form and world: the short address, if the request came by
    /// one that leads there.
    package func url(of host: String, _ path: String) -> String {
        guard case .alias(let alias) = form, let rest = alias.rest(of: path, at: host) else {
            return base(of: host) + path
        }
        return ownBase + alias.prefix + rest
    }

    /// The path for cookies of this request's host, so that a browser sends them to this world only.
    package var cookiePath: String {
        switch form {
        case .prefix: "\(worldPrefix)/\(host ?? "")"
        case .alias(let alias): worldPrefix + alias.prefix == "" ? "/" : worldPrefix + alias.prefix
        case .subdomain, .real: worldPrefix.isEmpty ? "/" : worldPrefix
        }
    }

    /// The daemon's own address in this request's world, without a provider's host.
    package var ownBase: String {
        switch form {
        case .prefix, .alias: "\(scheme)://\(authority)\(worldPrefix)"
        case .subdomain: "\(scheme)://\(localhost)\(worldPrefix)"
        // The name `localhost` reaches the daemon without the proxy.
        case .real: "\(scheme)://\(localhost)" + (worldPlace == .nowhere ? "" : "/~\(world)")
        }
    }

    /// The host name under which this client reaches the daemon's other ports.
    package var daemonName: String {
        let sent = String(authority.dropLast(portSuffix.count))
        let isOwnName = Address.hostName(of: authority).hasSuffix(".localhost") || form == .real
        return isOwnName || sent.isEmpty ? "localhost" : sent
    }

    /// Returns the URL under which this client reaches another world: at that world's own port, or at the daemon's port
    /// `main`.
    package func base(ofWorld name: String, isUnnamed: Bool, port: UInt16?, main: UInt16?) -> String {
        let hostName = daemonName
        if let port { return "http://\(hostName):\(port)" }
        let place = worldPlace == .connection ? main.map { "http://\(hostName):\($0)" } : nil
        return (place ?? "\(scheme)://\(hostName)\(portSuffix)") + (isUnnamed ? "" : "/~\(name)")
    }

    /// Returns the URL of `host` in the subdomain form, which browsers treat as another site than `localhost`.
    package func subdomainBase(of host: String) -> String { "\(scheme)://\(host).\(localhost)\(worldPrefix)" }
}

/// Rules for host names: <https://www.rfc-editor.org/rfc/rfc1123#section-2.1>.
package enum HostName {
    /// Returns whether the text is a DNS name in lower case, and not an address. If `isLocal`, a machine's own name, it
    /// may have capitals and underscores, as container engines give out, and be a number.
    package static func isValid(_ name: String, isLocal: Bool = false) -> Bool {
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
        func isAllowed(_ byte: UInt8) -> Bool {
            isDigit(byte) || byte == UInt8(ascii: "-") || (0x61...0x7A).contains(isLocal ? byte | 0x20 : byte)
                || isLocal && byte == UInt8(ascii: "_")
        }
        return name.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.count) && label.allSatisfy { isAllowed($0) }
                    && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
            } && (isLocal || !(labels.last?.allSatisfy { isDigit($0) } ?? true))
    }
}

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
