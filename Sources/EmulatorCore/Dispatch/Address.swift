import HTTPServer

/// The address of a request to the daemon: the provider's host, the path, and the form in which the client named the
/// host (in the path, as a subdomain of `localhost`, by its real name, or by a short address). URLs in the response
/// have the same form where possible.
package struct Address: Sendable, Equatable {
    package enum Form: Sendable, Equatable {
        /// The form of address with the provider's host in the path:
        /// `http://localhost:9099/appleid.apple.com/auth/token`.
        case prefix
        /// The form of address with the provider's host before `localhost`:
        /// `http://appleid.apple.com.localhost:9099/auth/token`.
        case subdomain
        /// The form of address with the provider's real host: `Host: appleid.apple.com`. URLs in the response begin
        /// with `https`.
        case real
        /// The form of address with a short path in place of a provider's host and path:
        /// `http://localhost:9099/oidc/corp/token`.
        case alias(HostAlias)
    }

    package let form: Form
    /// The provider's host that a request is for; `nil` for a request to the daemon's own address, such as a control
    /// API call.
    package let host: String?
    /// The path of a request at the provider's host, or at the daemon's own address, percent-encoded as the client sent
    /// it.
    package let path: String
    package let world: String
    /// The part of the request, such as the path, that names the test world.
    private let worldPlace: NamedWorld.Place
    /// The value of the request's header `Host`, as the client sent it.
    package let authority: String
    /// This is true if the client sent the request over TLS, either to the daemon or to a proxy. A proxy says so in the
    /// header `X-Forwarded-Proto`. Where several proxies have written to it, the first value is the client's protocol,
    /// as in Django: <https://code.djangoproject.com/ticket/33569>.
    private let isSecure: Bool

    /// Reads the address of a request. `world` is the test world that the request names. `alias` returns the short
    /// address, such as `/oidc/corp`, with which a request's path begins. `knows` returns whether a host is a
    /// provider's host in this world.
    package init(
        _ request: Request, in world: NamedWorld, alias aliasOf: (String) -> HostAlias? = { _ in nil },
        knows isKnown: (String) -> Bool
    ) {
        authority = request.header("Host") ?? "localhost"
        let forwarded = request.header("X-Forwarded-Proto")?.prefix { $0 != "," && $0 != " " }
        isSecure = request.isSecure || forwarded?.lowercased() == "https"
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

    /// Returns the host name of `authority`, the value of a header `Host`, in lower case and without the port. An IPv6
    /// address loses its brackets.
    package static func hostName(of authority: String) -> String {
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }).lowercased() }
        return String(Substring(authority.utf8.prefix { $0 != UInt8(ascii: ":") })).lowercased()
    }

    /// Returns whether the value of a header `Host` may appear in the URLs of a response: it has only characters of a
    /// name or an address, with or without a port. It may also be empty.
    /// <https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2>
    static func isWellFormed(_ authority: String) -> Bool {
        authority.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                || "-._~%:[]!$&'()*+,;=".utf8.contains(byte)
        }
    }

    /// The port in the request's header `Host` after a colon, such as `:9099`; empty if the header has no port.
    package var portSuffix: String {
        let rest = authority.hasPrefix("[") ? authority.drop { $0 != "]" }.dropFirst() : authority.drop { $0 != ":" }
        return String(rest)
    }

    package var scheme: String { isSecure ? "https" : "http" }

    /// The beginning of URLs' paths that names the request's test world, such as `/~w1`; empty if the request's path
    /// names no world.
    private var worldPrefix: String { worldPlace == .path ? "/~\(world)" : "" }

    /// The end of host names in URLs: `localhost:9099`, or `w1.localhost:9099` if the request's host names the test
    /// world `w1`.
    private var localhost: String { worldPlace == .host ? "\(world).localhost\(portSuffix)" : "localhost\(portSuffix)" }

    /// Returns the URL at which this request's client reaches a provider's `host`, without a slash at its end. The URL
    /// has the same form as this request's URL, and leads to the same test world. If the request came by a short
    /// address, the URL has the host in its path.
    package func base(of host: String) -> String {
        switch form {
        case .prefix, .alias: return prefixBase(of: host)
        case .subdomain: return subdomainBase(of: host)
        case .real: return "https://\(host)\(portSuffix)\(worldPrefix)"
        }
    }

    /// Returns a URL with a provider's `host` in the path, such as `http://localhost:9099/appleid.apple.com`. A
    /// response needs many such URLs, so each is built in one allocation.
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

    /// Returns the URL at which this request's client reaches a path of a provider's `host`. The URL is short if the
    /// request came by a short address, such as `/oidc/corp`, that covers the path.
    package func url(of host: String, _ path: String) -> String {
        guard case .alias(let alias) = form, let rest = alias.rest(of: path, at: host) else {
            return base(of: host) + path
        }
        return ownBase + alias.prefix + rest
    }

    /// The attribute `Path` of a response's cookies: the beginning of the paths that lead to the same provider in the
    /// same test world.
    package var cookiePath: String {
        switch form {
        case .prefix: "\(worldPrefix)/\(host ?? "")"
        case .alias(let alias): worldPrefix + alias.prefix == "" ? "/" : worldPrefix + alias.prefix
        case .subdomain, .real: worldPrefix.isEmpty ? "/" : worldPrefix
        }
    }

    /// The URL of the daemon itself, without a provider's host, in the test world of this request.
    package var ownBase: String {
        switch form {
        case .prefix, .alias: "\(scheme)://\(authority)\(worldPrefix)"
        case .subdomain: "\(scheme)://\(localhost)\(worldPrefix)"
        // The name `localhost` reaches the daemon without the proxy.
        case .real: "\(scheme)://\(localhost)" + (worldPlace == .nowhere ? "" : "/~\(world)")
        }
    }

    /// The host name under which this request's client reaches other ports of the daemon.
    package var daemonName: String {
        let sent = String(authority.dropLast(portSuffix.count))
        let isOwnName = Address.hostName(of: authority).hasSuffix(".localhost") || form == .real
        return isOwnName || sent.isEmpty ? "localhost" : sent
    }

    /// Returns the URL under which this request's client reaches the test world `name`. If the world has a `port` of
    /// its own, the URL leads to this port. `main` is the daemon's own port.
    package func base(ofWorld name: String, isUnnamed: Bool, port: UInt16?, main: UInt16?) -> String {
        let hostName = daemonName
        if let port { return "http://\(hostName):\(port)" }
        let place = worldPlace == .connection ? main.map { "http://\(hostName):\($0)" } : nil
        return (place ?? "\(scheme)://\(hostName)\(portSuffix)") + (isUnnamed ? "" : "/~\(name)")
    }

    /// Returns a URL with a provider's `host` before `localhost`, such as `http://appleid.apple.com.localhost:9099`.
    /// Browsers treat this host as another site than `localhost`.
    package func subdomainBase(of host: String) -> String { "\(scheme)://\(host).\(localhost)\(worldPrefix)" }
}

/// Rules for host names: <https://www.rfc-editor.org/rfc/rfc1123#section-2.1>.
package enum HostName {
    /// Returns whether the text is a DNS name in lower case, and not an IP address. If `isLocal` is true, capitals,
    /// underscores and names made of digits are allowed, too: container engines give machines such names.
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

/// A short address of a provider at the daemon. A path that begins with `prefix` stands for a path at the provider's
/// `host` that begins with `path`: `/oidc/corp/token` stands for `/token` at `login.corp.example`.
package struct HostAlias: Sendable, Equatable {
    /// The beginning of a short address, such as `/oidc/corp`. If it is empty, the short address covers the paths that
    /// the daemon itself doesn't serve.
    package let prefix: String
    package let host: String
    /// A path at the provider's host, without a slash at its end. The short address replaces the host and this path.
    /// The path is empty if the short address replaces only the host.
    package let path: String

    package init(prefix: String, host: String, path: String) {
        self.prefix = prefix
        self.host = host
        self.path = path
    }

    /// Returns `path` without `self.path` at its beginning. Returns `nil` if `path` doesn't begin with `self.path`, or
    /// if `host` isn't `self.host`.
    package func rest(of path: String, at host: String) -> Substring? {
        guard host == self.host, path.hasPrefix(self.path) else { return nil }
        let rest = path.dropFirst(self.path.count)
        return rest.isEmpty || rest.hasPrefix("/") ? rest : nil
    }

    /// The beginnings of the paths of an authorization server's metadata, by RFC 8414: section 3.1 for OAuth, section 5
    /// for OpenID Connect. The path of the server's issuer follows them.
    package static let metadata = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]
}

/// The short addresses of providers' hosts, found by the host and the path for which they stand. A seed (initial data)
/// can have thousands of issuers, each with a short address.
struct HostAliases {
    private var places: [String: [String: [HostAlias]]] = [:]
    /// Short addresses, such as `/oidc/corp`, stand for a provider's host and a path there. This is the greatest number
    /// of slashes in these paths.
    private var depth = 0

    init(_ aliases: [HostAlias] = []) { for alias in aliases { add(alias) } }

    mutating func add(_ alias: HostAlias) {
        places[alias.host, default: [:]][alias.path, default: []].append(alias)
        depth = max(depth, alias.path.utf8.count { $0 == UInt8(ascii: "/") })
    }

    /// Returns the daemon's paths that stand for a path at a provider's host: `/oidc/corp/token` for `/token` at
    /// `login.corp.example`.
    func shortPaths(of path: String, at host: String) -> [String] {
        guard let places = places[host] else { return [] }
        var found: [String] = []
        // A short address stands for a path that ends before a slash of this one, or where this one ends.
        var end = path.startIndex
        for _ in 0...depth {
            if end == path.endIndex || path.utf8[end] == UInt8(ascii: "/") {
                found += (places[String(path[..<end])] ?? []).map { $0.prefix + path[end...] }
            }
            guard end < path.endIndex else { break }
            end = path.utf8[path.utf8.index(after: end)...].firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
        }
        for metadata in HostAlias.metadata where path.hasPrefix(metadata) {
            found += (places[String(path.dropFirst(metadata.count))] ?? []).map { metadata + $0.prefix }
        }
        return found
    }
}

extension Address {
    /// Returns whether `host` is `localhost`, a name below `localhost`, `::1`, or an IP address of 127.0.0.0/8. These
    /// names always mean this machine: DNS rebinding, by which a website's own host name points here, is impossible
    /// with them. Browsers say for them, and for no other address of a server without TLS, from which site a request
    /// comes: <https://w3c.github.io/webappsec-secure-contexts/#is-origin-trustworthy>.
    static func isLoopbackName(_ host: String) -> Bool {
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        let isV4 = numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
        return host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || isV4
    }

    /// Returns whether `host` is a loopback name, or an IP address: four groups of digits, or hexadecimal digits with
    /// colons. No DNS name looks like either.
    package static func isLocalName(_ host: String) -> Bool {
        let isV4 =
            host.split(separator: ".", omittingEmptySubsequences: false).count == 4
            && host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
        let isV6 = host.contains(":") && host.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." || $0 == "%" }
        return isLoopbackName(host) || isV4 || isV6
    }

    /// Returns whether `origin`, such as `http://localhost:3000`, or a URL of that origin, is on this machine.
    static func isOnThisMachine(_ origin: String) -> Bool {
        guard let mark = origin.firstRange(of: "://") else { return false }
        return isLoopbackName(hostName(of: String(origin[mark.upperBound...].prefix { $0 != "/" })))
    }
}
