import OAuth

/// A registered callback URL, and its comparison with `redirect_uri`.
/// <https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#redirect-urls>
///
/// Quirks: with wildcard matching, subdomains and subdirectories match, other ports and schemes don't. On a loopback
/// address, any port matches, which `http://localhost:*/path` spells out. That the scheme must be the same isn't
/// documented; a mismatch of http and https is reported.
struct CallbackURL: Sendable {
    let text: String
    let hasWildcardMatching: Bool
    /// The redirect URI for requests that don't name one; `nil` if the port is open.
    let target: String?
    private let address: WebAddress?

    init(_ text: String, wildcard: Bool) {
        self.text = text
        hasWildcardMatching = wildcard
        let anyPort = RegisteredRedirectURI(text).anyPort
        target = anyPort == nil ? text : nil
        address = WebAddress(anyPort ?? text)
    }

    func matches(_ uri: String) -> Bool { issue(with: uri) == nil }

    /// Returns why `uri` doesn't match, in a few words.
    func issue(with uri: String) -> String? {
        guard uri != target else { return nil }
        guard let other = WebAddress(uri), !other.hasFragment else {
            return "it isn't an absolute URL without fragment"
        }
        guard let address else { return "it isn't the registered text" }
        guard other.scheme == address.scheme else { return "its scheme is \(other.scheme), not \(address.scheme)" }
        guard hasWildcardMatching || address.isLoopback else {
            return "wildcard matching is off, so every character counts"
        }
        if let issue = hostIssue(with: other, against: address) { return issue }
        guard other.effectivePort == address.effectivePort || address.isLoopback else {
            return "its port is \(other.effectivePort), not \(address.effectivePort)"
        }
        guard hasWildcardMatching || other.rest == address.rest else { return "its path is another" }
        return pathIssue(with: other.path, below: address.path)
    }

    private func hostIssue(with other: WebAddress, against address: WebAddress) -> String? {
        if other.host == address.host { return nil }
        if hasWildcardMatching, !address.isLoopback, !address.isIPAddress, other.host.hasSuffix(".\(address.host)") {
            return nil
        }
        return "its host is \(other.host), not \(address.host)"
            + (hasWildcardMatching && !address.isLoopback ? " or below it" : "")
    }

    private func pathIssue(with path: String, below registered: String) -> String? {
        // A browser resolves dot segments, which could leave the registered directory.
        let folded = path.lowercased()
        guard !folded.contains("/.."), !folded.contains("%2e"), !folded.contains("\\"), !folded.contains("/./") else {
            return "its path holds dot segments"
        }
        let base = registered.hasSuffix("/") ? String(registered.dropLast()) : registered
        guard path == registered || path == base || path.hasPrefix(base + "/") else {
            return "its path \(path.isEmpty ? "/" : path) isn't \(registered.isEmpty ? "/" : registered) or below it"
        }
        return nil
    }
}
