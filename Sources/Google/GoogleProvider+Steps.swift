import EmulatorCore
import OAuth

/// What Google's own endpoints are for, in a few words for the inspector.
extension GoogleProvider {
    package func step(of exchange: RecordedExchange, at operation: Operation?) -> Step? {
        switch (exchange.request.method, exchange.path) {
        case ("POST", "/device/code"), ("POST", "/o/oauth2/device/code"): Step(.deviceCode, "ask for a device code")
        case ("GET", GoogleProvider.devicePath): Step(.page, "open the device page")
        case ("POST", GoogleProvider.devicePath): Step(.decision, "answer the device page")
        case ("GET", "/gsi/client"): Step(.page, "load Google Identity Services")
        case ("GET", "/gsi/select"): Step(.authorization, "Sign in with Google button")
        case ("GET", "/gsi/iframe"): Step(.authorization, "Google One Tap")
        case ("POST", "/gsi/select"): Step(.decision, "answer the button's pop-up")
        case ("POST", "/gsi/iframe"): Step(.decision, "answer One Tap")
        case ("GET", "/gsi/status"): Step(.api, "ask whether the page may use the script")
        case ("POST", "/gsi/revoke"): Step(.revocation, "take consent back")
        case ("GET", GoogleProvider.authorizePath)
        where exchange.request.queryForm["redirect_uri"].flatMap(JavaScriptOrigin.init(relay:)) != nil:
            Step(.authorization, "pop-up of Google Identity Services")
        case ("GET", "/v1/people/me"), (_, "/userinfo/v2/me"): Step(.userInfo, "ask who it is")
        default: nil
        }
    }
}
