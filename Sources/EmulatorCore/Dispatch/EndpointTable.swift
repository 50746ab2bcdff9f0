import HTTPServer
import JSON
import Worlds

/// The reason why a request for one of the daemon's own pages is refused.
package enum PageRefusal: Sendable {
    case nothingThere
    /// The page is served only for these HTTP methods, and the request has a different method.
    case otherMethod([String])
    /// The request has too many fields, or texts that are too long.
    case tooMuch(Diagnosis)
}

/// A table that finds the endpoint for a request, by host, method and path, and the provider to which the endpoint
/// belongs.
struct EndpointTable: Sendable {
    /// An endpoint with its provider; the provider is `nil` for the daemon's own endpoints. This is a class, so that
    /// finding an endpoint copies only one reference.
    final class Entry: Sendable {
        let endpoint: Endpoint
        let provider: (any Provider)?

        init(_ endpoint: Endpoint, of provider: (any Provider)?) {
            self.endpoint = endpoint
            self.provider = provider
        }
    }

    /// The endpoints of a host. This is a class, so that finding a host copies only one reference. No object changes
    /// once the table of endpoints is complete.
    private final class Host: @unchecked Sendable {
        var router = Router<Entry>()
        /// The providers that have endpoints at a host, in the order in which the daemon lists providers.
        var providers: [any Provider] = []
    }

    /// The number of endpoints in the table. An endpoint that several hosts serve counts once for each host.
    private(set) var count = 0
    private var hosts: [String: Host] = [:]
    private var own = Router<Entry>()
    /// Returns the page that answers a refused request for one of the daemon's own pages; `nil` where a refusal in JSON
    /// is right. The refused requests for own pages aren't recorded, since they belong to no sign-in.
    let refusePage: (@Sendable (Exchange, PageRefusal) -> Response?)?
    /// The short addresses that stand for providers' hosts. The keys are the beginnings of the daemon's paths, such as
    /// `/oidc/corp`.
    private var aliases: [String: HostAlias] = [:]
    /// The greatest number of path segments in the daemon's short addresses for providers' hosts. The short address
    /// `/oidc/corp` has 2.
    private var aliasDepth = 0
    /// Finds the daemon's paths that stand for a provider's host and path, such as `/oidc/corp` for
    /// `login.corp.example`.
    private var hostAliases = HostAliases()

    /// Makes the table of endpoints. `own` are the endpoints that belong to no provider. An endpoint that controls the
    /// daemon runs only if `control` returns `nil`.
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
                hostAliases.add(alias)
                aliasDepth = max(aliasDepth, alias.prefix.utf8.count { $0 == UInt8(ascii: "/") })
            }
            for host in Set(endpoints.flatMap(\.hosts)) { hosts[host]?.providers.append(provider) }
        }
    }

    /// The paths of all endpoints at the daemon's own host name.
    var ownPaths: [String] { own.served.map(\.path) }

    var hostNames: [String] { hosts.keys.sorted() }

    func serves(_ host: String) -> Bool { find(host) != nil }

    /// Returns the short address (a path that stands for a provider's host) with which `path` begins: `/oidc/corp` for
    /// `/oidc/corp/token`. Returns `nil` if `path` begins with none.
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

    /// Returns the daemon's paths that stand for a path at a provider's host, such as `/oidc/corp/token`.
    func shortPaths(of path: String, at host: String?) -> [String] {
        guard let host else { return [] }
        return hostAliases.shortPaths(of: path, at: host)
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

    /// Tries the HTTP methods in order, and returns the endpoint of the first one that is served at the address.
    func first(of methods: [String], at address: Address) -> Entry? {
        let router = router(of: address.host)
        for method in methods {
            if case .found(let entry, _) = router.match(method, address.path) { return entry }
        }
        return nil
    }

    /// Returns the served path that is probably meant by a path at which nothing is served; `nil` when no served path
    /// is similar. Similar paths differ in one segment or in slashes. A path at the daemon's own host name is also
    /// similar if only the spelling of the provider's host differs.
    func nearest(to path: String, at host: String?) -> String? {
        guard path.utf8.count <= EndpointTable.longestMisspelling else { return nil }
        if let near = nearest(to: path, in: router(of: host)) { return near }
        guard host == nil, let first = path.split(separator: "/").first.map(String.init), first.contains("."),
            let near = Spelling.nearest(to: first, among: hostNames.filter { !$0.hasPrefix("*") })
        else { return nil }
        return "/\(near)\(path.drop { $0 == "/" }.dropFirst(first.count))"
    }

    /// Returns the provider's host that may be meant by a misspelt host name; `nil` when none is similar.
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
            let words = paths.map(\.word).filter { EndpointTable.mayBeMeant($0, by: sent[place]) }
            guard let word = Spelling.nearest(to: sent[place], among: words) else { continue }
            return paths.first { $0.word == word }?.path
        }
        return nil
    }

    /// Whether a served segment can be meant by the segment `sent`. Of two segments such as `accounts:signUp`, which
    /// begin alike up to the colon, the rests must be similar.
    private static func mayBeMeant(_ word: String, by sent: String) -> Bool {
        let (served, given) = (word.split(separator: ":"), sent.split(separator: ":"))
        guard served.count == 2, given.count == 2, served[0] == given[0] else { return true }
        return Spelling.nearest(to: String(given[1]), among: [String(served[1])]) != nil
    }

    func providers(at host: String?) -> [any Provider] { host.flatMap(find)?.providers ?? [] }

    private func router(of host: String?) -> Router<Entry> { host.flatMap(find)?.router ?? own }

    /// Returns the endpoints of the host `name`: those of the name itself, or those of a pattern that matches the name,
    /// such as `*.example.com`.
    private func find(_ name: String) -> Host? {
        if let host = hosts[name] { return host }
        guard let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return nil }
        return hosts["*\(name[dot...])"]
    }
}
