import HTTPClient
import HTTPServer
import EmulatorCore

extension ControlAPI {
    /// Returns the refusal of a request to the control API, to the daemon's web pages, or to a provider's endpoint for
    /// tests; `nil` if the request is allowed. If the daemon has a control token, a request without this token is
    /// refused. A health check needs no token.
    ///
    /// If `isControl` is true, a request is also refused if another site's page may have sent it, or if a daemon sent
    /// it as a message, such as a webhook. `isControl` is false for a provider's endpoint for tests, because pages of
    /// any site may call such an endpoint.
    package func refusal(of exchange: Exchange, isControl: Bool = true, allowsLinks: Bool = false) -> Response? {
        if isControl, let refusal = refusal(of: exchange.request, allowsLinks: allowsLinks) { return refusal }
        // A balancer that only asks whether the daemon is ready has no token. The answer tells it nothing else.
        guard !isAllowed(exchange), exchange.address.path != ControlAPI.healthPath else { return nil }
        let source = "the token that --control-token or UNDERSTUDY_CONTROL_TOKEN sets"
        let isOther = ControlToken.bearer(of: exchange.request) != nil
        var refusal =
            isOther
            ? ControlAnswer.error(
                401, "wrongToken", "the bearer token isn't this daemon's control token: send \(source)")
            : ControlAnswer.error(
                401, "noToken", "this call needs the header \"Authorization: Bearer\" with \(source)")
        // The challenge of RFC 6750: https://www.rfc-editor.org/rfc/rfc6750#section-3
        let challenge = "Bearer realm=\"understudy control\"" + (isOther ? ", error=\"invalid_token\"" : "")
        refusal.headers.append((name: "WWW-Authenticate", value: challenge))
        return refusal
    }

    /// Whether the request may control the daemon: it has the control token, the daemon needs none, or the daemon sent
    /// the request itself.
    func isAllowed(_ exchange: Exchange) -> Bool {
        guard let token, !exchange.isInternal else { return true }
        return token.isShown(by: exchange.request)
    }

    /// Returns the refusal of a request; `nil` if the request is allowed. A request is refused if a daemon sent it as a
    /// message, such as a webhook, or if a page of another site may have sent it. The page may use a host name of its
    /// site that points to this daemon (DNS rebinding). These rules hold even for a daemon without a control token.
    ///
    /// If `allowsLinks` is true, a browser may still follow a link on another site to a page of the daemon, because the
    /// other site can neither read nor frame the daemon's page.
    package func refusal(of request: Request, allowsLinks: Bool = false) -> Response? {
        let authority = request.header("Host") ?? ""
        let host = Address.hostName(of: authority)
        guard isOwn(host) else {
            return ControlAnswer.error(
                403, "foreignHost",
                "the control API accepts only loopback names and IP addresses as host, not \(Diagnosis.quote(host)); "
                    + "allow another name with --control-host")
        }
        // A client that sets a blocking function's address chooses where the daemon posts to. It must not choose the
        // control API, where such a message would pass the checks below.
        if request.header("User-Agent") == OutgoingRequest.userAgent {
            return ControlAnswer.error(
                403, "ownMessage",
                "a daemon sent this request as a message, such as a webhook; the control API refuses messages: choose another URL"
            )
        }
        // A browser sends Origin with every request from a script that could change something.
        if let origin = request.header("Origin"), origin.lowercased() != "http://\(authority.lowercased())",
            origin.lowercased() != "https://\(authority.lowercased())"
        {
            return ControlAnswer.error(
                403, "foreignOrigin",
                "the control API refuses requests from pages of another origin: \(Diagnosis.quote(origin))")
        }
        // Without Origin, as for an image or a link, Sec-Fetch-Site tells the page's site. Worlds and hosts have names
        // below localhost, so pages of other sites may be "same-site". Values that may be added later are accepted, as
        // https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header asks.
        if let site = request.header("Sec-Fetch-Site")?.lowercased(), ["cross-site", "same-site"].contains(site),
            !(allowsLinks && ControlAPI.isLink(request))
        {
            return ControlAnswer.error(
                403, "foreignSite",
                "the control API refuses requests from pages of another origin (Sec-Fetch-Site: \(site)); "
                    + "open the address directly, or call it from a test")
        }
        return nil
    }

    /// Whether a browser sent the request in order to open a page in a tab or window, rather than to load something
    /// into another page.
    private static func isLink(_ request: Request) -> Bool {
        request.method == "GET" && request.header("Sec-Fetch-Mode")?.lowercased() == "navigate"
            && request.header("Sec-Fetch-Dest")?.lowercased() == "document"
    }

    private func isOwn(_ host: String) -> Bool { hosts.contains(host) || Address.isLocalName(host) }
}
