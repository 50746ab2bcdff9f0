import EmulatorCore

/// What the Graph API's endpoints are for, in a few words for the inspector.
extension FacebookProvider {
    package func step(of exchange: RecordedExchange, at operation: Operation?) -> Step? {
        switch (exchange.host, exchange.path) {
        case (FacebookProvider.scriptHost, _): return Step(.page, "load Facebook's SDK for JavaScript")
        case (_, FacebookProvider.statusPath): return Step(.userInfo, "ask who is signed in")
        case (_, FacebookProvider.logoutPath): return Step(.logout, "sign out")
        default: break
        }
        if exchange.request.method == "GET",
            FacebookProvider.origin(ofRelay: exchange.request.queryForm["redirect_uri"] ?? "") != nil
        {
            return Step(.authorization, "FB.login")
        }
        guard exchange.host == FacebookProvider.graphHost else { return nil }
        let path = exchange.path
        if path.hasSuffix("/oauth/access_token") {
            switch exchange.notes.request["granttype"] {
            case nil, "authorization_code": return Step(.redemption, "redeem code")
            case "fb_exchange_token": return Step(.tokenExchange, "make token long-lived")
            default: return nil
            }
        }
        if path.hasSuffix("/debug_token") || path.hasSuffix("/access_token_info") {
            return Step(.introspection, "inspect token")
        }
        if path.hasSuffix("/me"), exchange.request.method == "GET" { return Step(.userInfo, "ask who it is") }
        return exchange.request.method == "DELETE" ? Step(.revocation, "remove permissions") : nil
    }
}
