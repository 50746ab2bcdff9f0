import HTTPServer
import JOSE
import JSON

/// All endpoints to which faults (error responses, delays and the like) can apply. The faults of tests and of seeds are
/// checked against them.
package struct EndpointCatalog: Sendable {
    package final class Entry: Sendable {
        /// The host that an endpoint is served at, or a pattern of hosts; `nil` for the daemon's own address.
        package let host: String?
        package let method: String
        /// The path of an endpoint's URL, with `*` in place of each path parameter.
        package let path: String
        package let traits: EndpointTraits
        package let provider: String
        /// A short description of a request to the endpoint, such as "redeem a code"; `nil` for an endpoint without
        /// one.
        package let title: String?
        /// The paths by which the endpoint can also be reached at the daemon's own host name, without the provider's
        /// host in the path.
        fileprivate let shortPaths: [Glob]
        /// The endpoint's host as a pattern, which is compared with the host of a fault; `nil` for the daemon's own
        /// address.
        fileprivate let hostPattern: Glob?
        private let pathPatterns: [Glob]
        fileprivate let effects: Int

        /// Makes an endpoint's entry in the list of endpoints to which faults can apply; `nil` if no fault can apply to
        /// the endpoint, or if its path only adds a slash to the path of a listed endpoint.
        fileprivate init?(_ endpoint: Endpoint, at host: String?, of provider: String, _ aliases: HostAliases) {
            guard let traits = endpoint.traits else { return nil }
            // An endpoint whose path only adds a slash to another's isn't listed.
            if let whole = traits.partOf, endpoint.path.hasSuffix("\(whole)/") { return nil }
            self.host = host
            self.provider = provider
            self.traits = traits
            method = endpoint.method
            let segments = endpoint.path.split(separator: "/", omittingEmptySubsequences: false)
            path = segments.map { $0.hasPrefix(":") ? "*" : String($0) }.joined(separator: "/")
            title = endpoint.title
            effects = traits.effectsHash
            let place = path
            shortPaths = host.map { aliases.shortPaths(of: place, at: $0) }?.map { Glob($0) } ?? []
            hostPattern = host.map { Glob($0) }
            pathPatterns = ([path] + (traits.partOf.map { [$0] } ?? [])).map { Glob($0) }
        }

        /// The HTTP method of an endpoint with its address: `POST appleid.apple.com/auth/token`.
        package var name: String { "\(method) \(host ?? "")\(path)" }

        func matches(path pattern: Glob) -> Bool { pathPatterns.contains { pattern.overlaps($0) } }

        func matches(shortPath pattern: Glob) -> Bool { shortPaths.contains { pattern.overlaps($0) } }

        /// Whether all segments of the endpoint's path are parameters, as in `/*/*`, so that nearly any path matches.
        fileprivate var hasOnlyParameters: Bool {
            path.utf8.contains(UInt8(ascii: "*"))
                && path.utf8.allSatisfy { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "/") }
        }

        /// The total length in bytes of the endpoint's path patterns. Each pattern is compared byte by byte with the
        /// path pattern of a fault.
        fileprivate var patternBytes: Int {
            (pathPatterns + shortPaths).filter(\.isPattern).reduce(0) { $0 + $1.length }
        }
    }

    package let entries: [Entry]
    /// The total length in bytes of all endpoints' path patterns. Each pattern is compared byte by byte with the path
    /// pattern of a fault.
    private let patternBytes: Int
    /// The short addresses of all endpoints (paths without the provider's host, such as `/oidc/corp/token`), by the
    /// first segment, such as `oidc`.
    private let shortPaths: [Substring: [String]]
    /// The segments of all endpoints' paths that have no parameters, by the number of segments.
    private let plainPaths: [Int: [[Substring]]]
    /// The errors of each provider's endpoints, by the provider's name.
    private let errors: [String: [EndpointTraits.Errors]]

    package init(providers: [any Provider]) {
        entries = providers.flatMap { EndpointCatalog.entries(of: $0) }
        patternBytes = entries.reduce(0) { $0 + $1.patternBytes }
        errors = Dictionary(grouping: entries, by: \.provider).mapValues { entries in
            EndpointCatalog.different(entries).compactMap(\.traits.errors)
        }
        shortPaths = Dictionary(grouping: entries.flatMap { $0.shortPaths.map(\.text) }) {
            $0.split(separator: "/").first ?? ""
        }
        let plain = Set(entries.map(\.path)).filter { !$0.contains("*") }.sorted()
        plainPaths = Dictionary(grouping: plain.map { EndpointCatalog.segments(of: $0) }, by: \.count)
    }

    /// The limits on the work of checking a seed's faults: comparisons of single bytes in path patterns, and
    /// comparisons of whole paths. Work within both limits takes three seconds at most.
    private static let comparisons = (bytes: 400_000_000, paths: 4_000_000)

    /// Returns the reasons why faults and sign-in results that a seed requests are impossible. Stops when there are as
    /// many reasons as an error message lists.
    package func issues(inOrdersOf seed: Seed) -> [Issue] {
        for (name, list, limit) in [
            ("faults", seed.writtenFaults, FaultQueue.limit), ("outcomes", seed.writtenOutcomes, OutcomeQueue.limit),
        ] {
            guard list.count > limit, let first = list.first else { continue }
            return [
                Issue(
                    file: first.file, path: "$.\(name)",
                    message: "a seed can have at most \(limit) entries in \"\(name)\"; this seed has \(list.count)")
            ]
        }
        let patterns = seed.writtenFaults.compactMap { $0["match"]?["path"]?.string }.map { Glob($0) }
        let bytes = patterns.filter(\.isPattern).reduce(0) { $0 + $1.length }.multipliedReportingOverflow(
            by: patternBytes)
        let paths = seed.writtenFaults.count * entries.count
        guard !bytes.overflow, bytes.partialValue <= EndpointCatalog.comparisons.bytes,
            paths <= EndpointCatalog.comparisons.paths
        else {
            let file = seed.writtenFaults.first?.file ?? ""
            return [
                Issue(
                    file: file, path: "$.faults",
                    message:
                        "checking the seed would take too long: its faults can't all be compared with the paths of "
                        + "\(entries.count) endpoints; use fewer faults, or shorter path patterns"
                )
            ]
        }
        var issues: [Issue] = []
        for node in seed.writtenFaults where issues.count < Issues.listed { issues += self.issues(in: node, seed) }
        for node in seed.writtenOutcomes where issues.count < Issues.listed {
            issues += self.issues(inOutcome: node, seed)
        }
        return issues
    }

    /// Returns a provider's endpoints, grouped by host and then by path. Endpoints at the daemon's own address come
    /// first, and those of the control API last.
    private static func entries(of provider: any Provider) -> [Entry] {
        let endpoints = provider.endpoints
        let aliases = HostAliases((provider as? any HasAliases)?.aliases ?? [])
        func entries(_ endpoints: [Endpoint], at host: String?) -> [Entry] {
            endpoints.compactMap { Entry($0, at: host, of: provider.name, aliases) }
        }
        var all = entries(byPath(endpoints.filter { $0.hosts.isEmpty && !$0.isControl }), at: nil)
        var byHost: [String: [Endpoint]] = [:]
        for endpoint in endpoints { for host in Set(endpoint.hosts) { byHost[host, default: []].append(endpoint) } }
        for (host, endpoints) in byHost.sorted(by: { $0.key < $1.key }) {
            all += entries(byPath(endpoints), at: host)
        }
        return all + entries(endpoints.filter(\.isControl), at: nil)
    }

    private static func byPath(_ endpoints: [Endpoint]) -> [Endpoint] {
        var places: [String: Int] = [:]
        var groups: [[Endpoint]] = []
        for endpoint in endpoints {
            if let place = places[endpoint.path] {
                groups[place].append(endpoint)
            } else {
                places[endpoint.path] = groups.count
                groups.append([endpoint])
            }
        }
        return groups.flatMap { $0 }
    }

    /// Returns the reasons why no sign-in can have the result that a test or the seed requests: the client is unknown,
    /// or no sign-in at the provider ends with the requested error.
    package func issues(inOutcome node: LocatedJSON, _ seed: Seed) -> [Issue] {
        guard let provider = node["provider"]?.string else { return [] }
        var issues: [Issue] = []
        if let client = node["client"], let id = client.string, let reason = seed.unknownClient(id, at: [provider]) {
            issues.append(Issue(client, reason))
        }
        if let error = node["error"], let name = error.string, let reason = unknownError(name, at: provider) {
            issues.append(Issue(error, reason))
        }
        return issues
    }

    /// Returns a message if `name` is no error of the provider's. Returns `nil` if a sign-in can end with this error,
    /// if another endpoint, such as the token endpoint, answers with it, or if the errors of the provider's sign-ins
    /// aren't listed.
    private func unknownError(_ name: String, at provider: String) -> String? {
        let errors = errors[provider] ?? []
        let ofSignIns = errors.filter { $0.answer == nil }
        guard !ofSignIns.isEmpty, !ofSignIns.contains(where: { $0.accepts(name) }),
            !errors.contains(where: { $0.names.contains(name) })
        else { return nil }
        let hint = Spelling.hint(name, among: Array(Set(ofSignIns.flatMap { $0.names + $0.others })).sorted())
        let known = Set(ofSignIns.flatMap(\.names)).sorted().joined(separator: ", ")
        return "no sign-in at \(provider) can end with the error \(Diagnosis.quote(name))"
            + (hint.isEmpty ? "; possible errors: \(known), and those of OAuth" : hint)
    }

    /// Returns the reasons why a fault, whose JSON `node` has the right form, can't be carried out in a test world with
    /// this seed.
    package func issues(in node: LocatedJSON, _ seed: Seed) -> [Issue] {
        guard let effect = node["effect"] else { return [] }
        let contradictions = EndpointCatalog.contradictions(in: effect)
        guard contradictions.isEmpty else { return contradictions }
        let match = FaultMatch(reading: node["match"]?.value ?? [:])
        let place = node["match"] ?? node
        if let step = match.smtp { return EndpointCatalog.issues(at: step, match, place, effect) }
        if let name = ["from", "to"].first(where: { place[$0] != nil }) {
            return [
                Issue(
                    place[name] ?? place,
                    "in a fault's match, \(name) applies only to mail: add smtp to the match, too")
            ]
        }
        if let issue = hostInPath(of: match, place) { return [issue] }
        let atHost = match.host == nil ? entries : entries.filter { match.accepts(host: $0.hostPattern) }
        guard !atHost.isEmpty else {
            let hosts = Set(entries.compactMap(\.host)).sorted()
            let hint = Spelling.hint(match.host?.text ?? "", among: hosts)
            return [
                Issue(
                    place["host"] ?? place,
                    "the daemon serves no host of the name \(Diagnosis.quote(match.host?.text ?? ""))"
                        + (hint.isEmpty ? "; it serves: \(hosts.joined(separator: ", "))" : hint))
            ]
        }
        let atPath = at(match, among: atHost)
        guard !atPath.isEmpty else {
            let short = shortPaths(like: match)
            let paths = short.isEmpty ? atHost.map(\.path) : short
            let isAnywhere = match.host == nil && short.isEmpty
            let text = match.path?.text ?? ""
            let near = isAnywhere ? meantPath(by: text).map { "; did you mean \"\($0)\"?" } : nil
            let hint = near ?? Spelling.hint(text, among: paths)
            let known = Set(paths).sorted().prefix(12).joined(separator: ", ")
            let advice =
                isAnywhere
                ? "; GET endpoints lists all paths" : "; \(short.isEmpty ? "at this host" : "near it"): \(known)"
            return [
                Issue(place["path"] ?? place, "nothing is served at this path" + (hint.isEmpty ? advice : hint))
            ]
        }
        let matched = atPath.filter { entry in match.method.map { $0 == entry.method } ?? true }
        guard !matched.isEmpty else {
            let methods = Set(atPath.map(\.method)).sorted().joined(separator: ", ")
            return [Issue(place["method"] ?? place, "the endpoint takes \(methods)")]
        }
        let minting = matched.filter { entry in match.tokensOf.map { $0 == entry.traits.mints?.name } ?? true }
        guard !minting.isEmpty else {
            let owners = Set(matched.compactMap(\.traits.mints?.name)).sorted()
            let hint = Spelling.hint(match.tokensOf ?? "", among: owners)
            return [
                Issue(
                    place["tokensOf"] ?? place,
                    "none of the endpoints that the fault matches issues ID tokens of this issuer"
                        + (hint.isEmpty && !owners.isEmpty
                            ? "; expected one of: \(owners.joined(separator: ", "))" : hint))
            ]
        }
        if let client = match.client,
            let reason = seed.unknownClient(client, at: Set(minting.map(\.provider)))
        {
            return [Issue(place["client"] ?? place, reason)]
        }
        return misfits(effect, minting)
    }

    /// Returns the endpoints that match the path of a fault. If the fault names no host, and its path has no wildcard
    /// and begins like a short address (a path without the provider's host, such as `/oidc/corp/token`), only short
    /// addresses are compared. If only endpoints match whose paths consist of parameters, the path must have as many
    /// segments as theirs, and mustn't look like a misspelling of another endpoint's path.
    private func at(_ match: FaultMatch, among atHost: [Entry]) -> [Entry] {
        guard let path = match.path else { return atHost }
        guard match.host == nil else { return atHost.filter { $0.matches(path: path) } }
        guard shortPaths(like: match).isEmpty else { return atHost.filter { $0.matches(shortPath: path) } }
        let found = atHost.filter { $0.matches(path: path) || $0.matches(shortPath: path) }
        guard !path.isPattern, found.allSatisfy(\.hasOnlyParameters) else { return found }
        guard meantPath(by: path.text) == nil else { return [] }
        let count = EndpointCatalog.segments(of: path.text).count
        return found.filter { EndpointCatalog.segments(of: $0.path).count == count }
    }

    private static func segments(of path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false)
    }

    /// Returns the path of an endpoint that is probably meant by a fault's path. The two paths differ in one segment,
    /// which looks misspelled. Returns `nil` if there is no such endpoint.
    private func meantPath(by path: String) -> String? {
        let sent = EndpointCatalog.segments(of: path)
        guard let known = plainPaths[sent.count] else { return nil }
        for place in sent.indices.reversed() {
            let near = known.filter { other in
                other.indices.allSatisfy { ($0 == place) != (other[$0] == sent[$0]) }
            }
            let words = near.map { String($0[place]) }
            guard let word = Spelling.nearest(to: String(sent[place]), among: words) else { continue }
            return near.first { $0[place] == word }?.joined(separator: "/")
        }
        return nil
    }

    /// Returns the mistake in a fault's path that begins with the host of an endpoint, as in
    /// `/appleid.apple.com/auth/keys`. Such a fault would never apply, because paths are compared without their hosts.
    /// Returns `nil` for any other path.
    private func hostInPath(of match: FaultMatch, _ place: LocatedJSON) -> Issue? {
        guard let path = match.path?.text, path.hasPrefix("/") else { return nil }
        let first = path.dropFirst().prefix { $0 != "/" }
        let host = first.lowercased()
        guard host.contains("."), shortPaths[first] == nil,
            entries.contains(where: { $0.hostPattern?.matches(host) ?? false }),
            !entries.contains(where: { $0.path.hasPrefix("/\(first)/") })
        else { return nil }
        let rest = String(path.dropFirst(first.count + 1))
        let written = "\"host\": \(Diagnosis.quote(host))"
        let after = rest.isEmpty ? "" : ", \"path\": \(Diagnosis.quote(rest))"
        return Issue(place["path"] ?? place, "a fault's path must not contain the host: write \(written)\(after)")
    }

    /// Returns the short addresses (paths without a provider's host, such as `/oidc/corp/token`) that have the same
    /// first segment as the fault's path. Returns none if the fault's path has a wildcard, or if the fault names a
    /// host, since its path then belongs to that host.
    private func shortPaths(like match: FaultMatch) -> [String] {
        guard match.host == nil, let path = match.path, !path.isPattern else { return [] }
        let segment = path.text.split(separator: "/").first ?? ""
        let near = shortPaths[segment] ?? []
        // All issuers have metadata there, so these addresses aren't near each other.
        return segment == ".well-known" ? near.filter { $0 == path.text } : near
    }

    /// Leaves only the first of several endpoints at which the same faults are possible.
    private static func different(_ entries: [Entry]) -> [Entry] {
        var known: Set<Int> = []
        return entries.filter { known.insert($0.effects).inserted }
    }

    private func misfits(_ node: LocatedJSON, _ matched: [Entry]) -> [Issue] {
        let effect = FaultEffect(reading: node.value)
        let matched = EndpointCatalog.different(matched)
        let misfits = matched.map { $0.traits.misfit(effect) }
        guard !misfits.contains(nil), let first = matched.first, let member = misfits.first.flatMap({ $0 }) else {
            return []
        }
        // For a misspelt error, the hint is a name that any of these endpoints has.
        func hint(_ entry: Entry) -> String {
            member == "error" ? entry.traits.errors?.hint(for: effect.error ?? "") ?? "" : ""
        }
        let named = matched.first { !$0.hasOnlyParameters } ?? first
        let entry = matched.first { !hint($0).isEmpty } ?? named
        if member == "error", let errors = entry.traits.errors {
            let known = errors.names.joined(separator: ", ") + (errors.takesOthers ? ", and others" : "")
            let advice = hint(entry).isEmpty ? "; known errors: \(known)" : hint(entry)
            return [
                Issue(
                    node[member] ?? node,
                    "the error \(Diagnosis.quote(effect.error ?? "")) isn't known at \(entry.name)\(advice)")
            ]
        }
        return [
            Issue(
                node[member] ?? node,
                "the fault's effect \(member) isn't valid for \(entry.name)\(hint(entry)); valid effects: \(entry.traits.fitting)"
            )
        ]
    }
}

extension EndpointCatalog {
    /// The HTTP headers that the server writes itself, each with the reason why a fault can't set it.
    private static let serverHeaders: [String: String] = {
        let length =
            "the server writes the body's length itself; for an incomplete body, use "
            + "the effect \"disconnect\": \"midBody\""
        return [
            "content-length": length, "transfer-encoding": length,
            "connection":
                "the server writes this header itself; to close the connection, use the effect \"disconnect\"",
        ]
    }()

    /// Checks the HTTP headers that a fault sets, and returns an error for the first header that can't be sent:
    /// <https://www.rfc-editor.org/rfc/rfc9110#section-5.5>.
    private static func headerIssue(in effect: LocatedJSON) -> Issue? {
        let separators = Array("\"(),/:;<=>?@[\\]{}".utf8)
        for (name, node) in effect["headers"]?.members ?? [] {
            let isName =
                !name.isEmpty && name.utf8.allSatisfy { (0x21..<0x7F).contains($0) && !separators.contains($0) }
            guard isName else { return Issue(node, "\(Diagnosis.quote(name)) isn't a valid name of an HTTP header") }
            if let reason = serverHeaders[name.lowercased()] {
                return Issue(node, "a fault can't set \(name): \(reason)")
            }
            let isValue = (node.string ?? "").utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
            guard isValue else { return Issue(node, "the value of an HTTP header can't contain control characters") }
        }
        return nil
    }

    /// Returns the reasons why a fault's effect contradicts itself, so that no endpoint could carry it out.
    static func contradictions(in effect: LocatedJSON) -> [Issue] {
        let value = FaultEffect(reading: effect.value)
        func has(_ name: String) -> Bool { effect[name] != nil }
        for (part, whole) in [("headers", "status"), ("body", "status"), ("description", "error")]
        where has(part) && !has(whole) {
            return [Issue(effect[part] ?? effect, "the fault's effect \(part) requires \(whole), which is missing")]
        }
        if let issue = headerIssue(in: effect) { return [issue] }
        let replacing =
            ["status", "error", "response", "reply"].filter(has) + (value.isLost ? ["lose"] : [])
            + (value.disconnect == .beforeHeaders ? ["disconnect"] : [])
        if replacing.count > 1 {
            return [
                Issue(
                    effect[replacing[1]] ?? effect,
                    "only one effect of a fault can replace the response: give \(replacing.joined(separator: " or "))")
            ]
        }
        let isNothing =
            value.answer == nil && value.delay == nil && value.disconnect == nil && value.error == nil
            && value.token?.isNothing ?? true && value.response.isEmpty && value.rotation == nil && value.keySet == nil
            && !value.shufflesMembers && !value.isMalformed
            && value.state == nil && value.issuer == nil && !value.isCodeUsed && value.reply == nil && !value.isLost
        guard isNothing, case .object(let members) = FaultEffect.schema else { return [] }
        let names = members.fields.map(\.name).filter { !["headers", "body", "description"].contains($0) }
        return [Issue(effect, "the fault's effect is empty: give it one of \(names.joined(separator: ", "))")]
    }
}

extension EndpointCatalog {
    /// Returns the reasons why a fault for mail (at a step of SMTP) can't be carried out.
    static func issues(
        at step: SMTPStep, _ match: FaultMatch, _ place: LocatedJSON, _ effect: LocatedJSON
    ) -> [Issue] {
        for name in ["host", "path", "method", "client", "tokensOf", "fields"] {
            guard let node = place[name] else { continue }
            return [
                Issue(
                    node,
                    "in a fault's match, \(name) is for HTTP requests, but smtp is for mail: use from and to instead")
            ]
        }
        if match.from != nil, !step.knowsSender {
            return [
                Issue(
                    place["from"] ?? place,
                    "a fault at \(step.rawValue) can't match the mail's sender (from): the sender isn't known before "
                        + "the SMTP step MAIL"
                )
            ]
        }
        if match.to != nil, !step.knowsRecipient {
            return [
                Issue(
                    place["to"] ?? place,
                    "a fault at \(step.rawValue) can't match the mail's recipient (to): the recipient isn't known before "
                        + "the SMTP step RCPT"
                )
            ]
        }
        guard let member = step.misfit(FaultEffect(reading: effect.value)) else { return [] }
        return [
            Issue(
                effect[member] ?? effect,
                "the fault's effect \(member) isn't valid for the SMTP step \(step.rawValue); valid effects: \(step.fitting)"
            )
        ]
    }
}
