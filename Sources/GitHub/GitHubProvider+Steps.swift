import EmulatorCore

/// What GitHub's own endpoints are for, in a few words for the inspector.
extension GitHubProvider {
    package func step(of exchange: RecordedExchange, at operation: Operation?) -> Step? {
        switch (exchange.request.method, exchange.path) {
        // Without grant_type, which GitHub doesn't ask for.
        case ("POST", "/login/oauth/access_token") where exchange.notes.request["granttype"] == nil:
            Step(.redemption, "code redeemed")
        case ("POST", "/login/device/code"): Step(.deviceCode, "device code requested")
        case ("GET", "/login/device"): Step(.page, "page for the device's code")
        case ("POST", "/login/device"): Step(.decision, "device's code entered")
        case ("POST", "/login/device/confirmation"): Step(.decision, "person's answer")
        case ("POST", "/session"): Step(.decision, "person signs in")
        case ("GET", "/user"): Step(.userInfo, "who is it?")
        case ("GET", "/user/emails"): Step(.userInfo, "e-mail addresses")
        default: nil
        }
    }
}
