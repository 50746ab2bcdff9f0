import HTTPServer
import JSON
import Worlds

/// The reason why no page is shown at the daemon's own address.
package enum PageRefusal: Sendable {
    case nothingThere
    /// The address supports only these methods.
    case otherMethod([String])
    /// The request has too many fields, or texts that are too long.
    case tooMuch(Diagnosis)
}

/// Finds the endpoint that a request is for, by host, method and path, and the provider that it belongs to.
struct EndpointTable: Sendable {
    /// An endpoint and its provider; the provider is `nil` for the daemon's own endpoints. This is a class, so that
    /// finding an endpoint copies one reference.
    final class Entry: Sendable {
        let endpoint: Endpoint
        let provider: (any Provider)?

        init(_ endpoint: Endpoint, of provider: (any Provider)?) {
            self.endpoint = endpoint
            self.provider = provider
        }
    }

    /// The endpoints of a host. It is a class, so that finding one copies one reference, and changes only while the
    /// table is made.
    private final class Host: @unchecked Sendable {
        var router = Router<Entry>()
        /// The providers with endpoints at the host, in the order of the list of providers.
        var providers: [any Provider] = []
    }

    /// The number of endpoints; one that several hosts serve counts for each.
    private(set) var count = 0
    private var hosts: [String: Host] = [:]
    private var own = Router<Entry>()
    /// Returns the page in place of a JSON refusal below the daemon's own pages; `nil` where JSON is right. Such
    /// requests aren't recorded, since they belong to no sign-in.
    let refusePage: (@Sendable (Exchange, PageRefusal) -> Response?)?
    /// The short addresses by their prefix.
    private var aliases: [String: HostAlias] = [:]
    /// The number of segments of the longest prefix.
    private var aliasDepth = 0

    /// `own` are the endpoints that belong to no provider. Those that control the daemon run only if `control` returns
    /// `nil`.
    init(
        providers: [any Provider], own endpoints: [Endpoint],
        control refusal: @escaping ControlRefusal.Check,
        refusePage: (@Sendable (Exchange, PageRefusal) -> Response?)? = nil
    ) {
        self.refusePage = refusePage
        func add(_ endpoint: Endpoint, of provider: (any Provider)?) {
            count += max(1, endpoint.hosts.count)
            let entry = Entry(endpoint.isGuarded ? endpoint.guarded(by: refusal) : endpoint, of: provider)
            if endpoint.hosts.isEmpty { own.add(endpoint.method, endpoint.path, entry) }
            for host in endpoint.hosts {
                let served = hosts[host] ?? Host()
                served.router.add(endpoint.method, endpoint.path, entry)
                hosts[host] = served
            }
        }
        for endpoint in endpoints { add(endpoint, of: nil) }
        for provider in providers {
            let endpoints = provider.endpoints
            for endpoint in endpoints { add(endpoint, of: provider) }
            for alias in (provider as? any HasAliases)?.aliases ?? [] {
                aliases[alias.prefix] = alias
                aliasDepth = max(aliasDepth, alias.prefix.utf8.count { $0 == UInt8(ascii: "/") })
            }
            for host in Set(endpoints.flatMap(\.hosts)) { hosts[host]?.providers.append(provider) }
        }
    }

    /// The paths of endpoints at the daemon's own name.
    var ownPaths: [String] { own.served.map(\.path) }

    var hostNames: [String] { hosts.keys.sorted() }

    func serves(_ host: String) -> Bool { find(host) != nil }

    /// Returns the short address to which `path`, at the daemon's own name, belongs.
    func alias(of path: String) -> HostAlias? {
        guard !aliases.isEmpty else { return nil }
        var ends: [String.Index] = []
        var end = path.startIndex
        while ends.count < aliasDepth, end < path.endIndex {
            let next = path.utf8.index(after: end)
            end = path.utf8[next...].firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
            ends.append(end)
        }
        for end in ends.reversed() {
            if let alias = aliases[String(path[..<end])] { return alias }
        }
        guard let alias = aliases[""], !isServed(path, at: nil),
            isServed(alias.path + path, at: alias.host)
        else { return nil }
        return alias
    }

    /// Returns the short addresses of a path at a host.
    func shortPaths(of path: String, at host: String?) -> [String] {
        guard let host else { return [] }
        return aliases.values.flatMap { $0.shortened(path, at: host) }
    }

    private func isServed(_ path: String, at host: String?) -> Bool {
        if case .notFound = match("GET", host: host, path: path) { return false }
        return true
    }

    func match(_ method: String, at address: Address) -> Router<Entry>.Match {
        match(method, host: address.host, path: address.path)
    }

    func match(_ method: String, host: String?, path: String) -> Router<Entry>.Match {
        router(of: host).match(method, path)
    }

    /// Returns the endpoint at the address for the first of these methods that has one.
    func first(of methods: [String], at address: Address) -> Entry? {
        let router = router(of: address.host)
        for method in methods {
            if case .found(let entry, _) = router.match(method, address.path) { return entry }
        }
        return nil
    }

    /// Returns the address that may be meant by one at which nothing is served; `nil` when none is similar. It differs
    /// in one segment or in slashes; at the daemon's own name, the host may be misspelt, too.
    func nearest(to path: String, at host: String?) -> String? {
        guard path.utf8.count <= EndpointTable.longestMisspelling else { return nil }
        if let near = nearest(to: path, in: router(of: host)) { return near }
        guard host == nil, let first = path.split(separator: "/").first.map(String.init), first.contains("."),
            let near = Spelling.nearest(to: first, among: hostNames.filter { !$0.hasPrefix("*") })
        else { return nil }
        return "/\(near)\(path.drop { $0 == "/" }.dropFirst(first.count))"
    }

    /// Returns the played host that may be meant by a misspelt name.
    func nearestHost(to name: String) -> String? {
        Spelling.nearest(to: name, among: hostNames.filter { !$0.hasPrefix("*") })
    }

    private static let longestMisspelling = 400

    private func nearest(to path: String, in router: Router<Entry>) -> String? {
        let sent = path.split(separator: "/").map(String.init)
        guard sent.count <= 20 else { return nil }
        let plain = "/" + sent.joined(separator: "/")
        if plain != path {
            guard case .notFound = router.match("GET", plain) else { return plain }
        }
        // The served paths that differ from this one in one segment, by the index of that segment.
        var candidates: [Int: [(word: String, path: String)]] = [:]
        for served in Set(router.served.map(\.path)).sorted() {
            let pattern = served.split(separator: "/").map(String.init)
            guard pattern.count == sent.count else { continue }
            let filled = zip(pattern, sent).map { $0.hasPrefix(":") ? $1 : $0 }
            let wrong = filled.indices.filter { filled[$0] != sent[$0] }
            guard wrong.count == 1 else { continue }
            candidates[wrong[0], default: []].append((filled[wrong[0]], "/" + filled.joined(separator: "/")))
        }
        for (place, paths) in candidates.sorted(by: { $0.key > $1.key }) {
            guard let word = Spelling.nearest(to: sent[place], among: paths.map(\.word)) else { continue }
            return paths.first { $0.word == word }?.path
        }
        return nil
    }

    /// Returns the providers with endpoints at the host.
    func providers(at host: String?) -> [any Provider] { host.flatMap(find)?.providers ?? [] }

    private func router(of host: String?) -> Router<Entry> { host.flatMap(find)?.router ?? own }

    /// Returns the entry of the host itself, or of the pattern that matches it.
    private func find(_ name: String) -> Host? {
        if let host = hosts[name] { return host }
        guard let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return nil }
        return hosts["*\(name[dot...])"]
    }
}
