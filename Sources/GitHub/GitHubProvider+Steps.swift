import EmulatorCore

/// What GitHub's own endpoints are for, in a few words for the inspector.
extension GitHubProvider {
    package func step(of exchange: RecordedExchange, at operation: Operation?) -> Step? {
        switch (exchange.request.method, exchange.path) {
        // Without grant_type, which GitHub doesn't ask for.
        case ("POST", "/login/oauth/access_token") where exchange.notes.request["granttype"] == nil:
            Step(.redemption, "redeem code")
        case ("POST", "/login/device/code"): Step(.deviceCode, "ask for a device code")
        case ("GET", "/login/device"): Step(.page, "open the device page")
        case ("POST", "/login/device"): Step(.decision, "enter the device's code")
        case ("POST", "/login/device/confirmation"): Step(.decision, "answer the page")
        case ("POST", "/session"): Step(.decision, "sign in on the page")
        case ("GET", "/user"): Step(.userInfo, "ask who it is")
        case ("GET", "/user/emails"): Step(.userInfo, "ask for e-mail addresses")
        default: nil
        }
    }
}
