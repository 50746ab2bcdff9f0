import HTTPServer

/// How a request was addressed, and how URLs in its answer are therefore written: by prefix, by subdomain or by the real
/// host.
package struct Address: Sendable, Equatable {
    package enum Form: Sendable, Equatable {
        /// `http://localhost:9099/appleid.apple.com/auth/token`
        case prefix
        /// `http://appleid.apple.com.localhost:9099/auth/token`
        case subdomain
        /// `Host: appleid.apple.com`, over TLS that ends here or at a proxy before this daemon.
        case real
        /// `http://localhost:9099/oidc/corp/token`: a short address, for what lies below a path at a host.
        case alias(HostAlias)
    }

    package let form: Form
    /// The provider's host; `nil` for the daemon's own pages and the control API.
    package let host: String?
    /// The path on that host, percent-encoded as it was sent.
    package let path: String
    package let world: String
    /// Where the request names the world.
    private let worldPlace: NamedWorld.Place
    /// `Host` as it was sent.
    package let authority: String
    /// Whether it came over the daemon's own TLS.
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

    /// A host name in lower case without its port; an IPv6 address without its brackets.
    package static func hostName(of authority: String) -> String {
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }).lowercased() }
        return String(Substring(authority.utf8.prefix { $0 != UInt8(ascii: ":") })).lowercased()
    }

    /// Whether a `Host` may stand in the URLs of an answer: a name or an address, with or without a port. Empty is allowed, too.
    /// <https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2>
    static func isWellFormed(_ authority: String) -> Bool {
        authority.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                || "-._~%:[]!$&'()*+,;=".utf8.contains(byte)
        }
    }

    /// `:9099`, or nothing.
    package var portSuffix: String {
        let rest = authority.hasPrefix("[") ? authority.drop { $0 != "]" }.dropFirst() : authority.drop { $0 != ":" }
        return String(rest)
    }

    /// `http` or `https`.
    package var scheme: String { isSecure ? "https" : "http" }

    /// What stands before the path because the path names the world.
    private var worldPrefix: String { worldPlace == .path ? "/~\(world)" : "" }

    /// What stands behind a host's name because the name of the world is part of the host's.
    private var localhost: String { worldPlace == .host ? "\(world).localhost\(portSuffix)" : "localhost\(portSuffix)" }

    /// Where `host` is found, in this request's form and world, without a trailing slash.
    package func base(of host: String) -> String {
        switch form {
        case .prefix, .alias: return prefixBase(of: host)
        case .subdomain: return subdomainBase(of: host)
        case .real: return "https://\(host)\(portSuffix)\(worldPrefix)"
        }
    }

    /// Many of these are made for each answer, so that each is put together in one piece of memory.
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

    /// The URL of a path at `host`, in this request's form and world: by the short address, if the request came by one
    /// that leads there.
    package func url(of host: String, _ path: String) -> String {
        guard case .alias(let alias) = form, let rest = alias.rest(of: path, at: host) else {
            return base(of: host) + path
        }
        return ownBase + alias.prefix + rest
    }

    /// The path below which a browser sends the cookies of this request's host, as far as this world's pages go.
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
        // The daemon's own name leads past the proxy.
        case .real: "\(scheme)://\(localhost)" + (worldPlace == .nowhere ? "" : "/~\(world)")
        }
    }

    /// By which name the daemon's other ports are reached, from where this request came.
    package var daemonName: String {
        let sent = String(authority.dropLast(portSuffix.count))
        let isOwnName = Address.hostName(of: authority).hasSuffix(".localhost") || form == .real
        return isOwnName || sent.isEmpty ? "localhost" : sent
    }

    /// Where another world is reached, from where this request came: at a port of that world's own, or at the daemon's port
    /// `main`.
    package func base(ofWorld name: String, isUnnamed: Bool, port: UInt16?, main: UInt16?) -> String {
        let hostName = daemonName
        if let port { return "http://\(hostName):\(port)" }
        let place = worldPlace == .connection ? main.map { "http://\(hostName):\($0)" } : nil
        return (place ?? "\(scheme)://\(hostName)\(portSuffix)") + (isUnnamed ? "" : "/~\(name)")
    }

    /// The same in the subdomain form, which is another site than `localhost`.
    package func subdomainBase(of host: String) -> String { "\(scheme)://\(host).\(localhost)\(worldPrefix)" }
}
