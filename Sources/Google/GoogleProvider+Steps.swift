import EmulatorCore
import OAuth

/// What Google's own endpoints are for, in a few words for the inspector.
extension GoogleProvider {
    package func step(of exchange: RecordedExchange, at operation: Operation?) -> Step? {
        switch (exchange.request.method, exchange.path) {
        case ("POST", "/device/code"), ("POST", "/o/oauth2/device/code"): Step(.deviceCode, "device code requested")
        case ("GET", GoogleProvider.devicePath): Step(.page, "page for the device's code")
        case ("POST", GoogleProvider.devicePath): Step(.decision, "person's answer on the device's page")
        case ("GET", "/gsi/client"): Step(.page, "Google Identity Services")
        case ("GET", "/gsi/select"): Step(.authorization, "Sign in with Google button")
        case ("GET", "/gsi/iframe"): Step(.authorization, "Google One Tap")
        case ("POST", "/gsi/select"): Step(.decision, "person's answer to the button's pop-up")
        case ("POST", "/gsi/iframe"): Step(.decision, "person's answer to One Tap")
        case ("GET", "/gsi/status"): Step(.api, "may this page use the script?")
        case ("POST", "/gsi/revoke"): Step(.revocation, "consent taken back by a page")
        case ("GET", GoogleProvider.authorizePath)
        where exchange.request.queryForm["redirect_uri"].flatMap(JavaScriptOrigin.init(relay:)) != nil:
            Step(.authorization, "pop-up of Google Identity Services")
        case ("GET", "/v1/people/me"), (_, "/userinfo/v2/me"): Step(.userInfo, "who is it?")
        default: nil
        }
    }
}
