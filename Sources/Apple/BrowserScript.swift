import EmulatorCore
import HTTPServer
import JSON

// GET /appleauth/static/jsapi/appleid/1/LOCALE/appleid.auth.js at appleid.cdn-apple.com: Sign in with Apple JS, the script
// that web pages load. https://developer.apple.com/documentation/signinwithapplejs
//
// Ours is `Assets/appleid.js`. Its labels are English in every locale.

extension AppleProvider {
    static let scriptHost = "appleid.cdn-apple.com"

    var scripts: [Endpoint] {
        [
            Endpoint(
                "GET", [AppleProvider.scriptHost], "/appleauth/static/jsapi/appleid/1/:locale/appleid.auth.js",
                title: "the script of Sign in with Apple JS", step: Step(.page, "load Sign in with Apple JS"),
                cors: .any,
                .page
            ) { exchange in
                .browserScript(Scripts.appleid, [.string(exchange.address.base(of: AppleProvider.host))])
            },
            Endpoint(
                "GET", [AppleProvider.scriptHost], "/appleid/button", title: "a picture of the button",
                step: Step(.page, "load Sign in with Apple JS"), .page, buttonImage),
        ]
    }
}
