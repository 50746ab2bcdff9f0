import EmulatorCore

/// What Google's own endpoints are for, in a few words for the inspector.
extension GoogleProvider {
    package func step(of exchange: RecordedExchange, at operation: Operation?) -> Step? {
        switch (exchange.request.method, exchange.path) {
        case ("POST", "/device/code"), ("POST", "/o/oauth2/device/code"): Step(.deviceCode, "device code requested")
        case ("GET", GoogleProvider.devicePath): Step(.page, "page for the device's code")
        case ("POST", GoogleProvider.devicePath): Step(.decision, "person's answer on the device's page")
        case ("GET", "/v1/people/me"), (_, "/userinfo/v2/me"): Step(.userInfo, "who is it?")
        default: nil
        }
    }
}
