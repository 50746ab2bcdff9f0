import EmulatorCore
import HTTPServer
import JSON

// The frame that web SDKs keep in the app's page: /__/auth/iframe at a project's own domain, and /emulator/auth/iframe
// in emulator mode. Through it a pop-up and the page after a redirect learn how a sign-in ended.
//
// Page and frame communicate by Google's `gapi.iframes`. The SDK loads it from https://apis.google.com/js/api.js,
// unless the page has it already: so ours is served under that name, and at /_understudy/gapi.js for pages that load it
// before the SDK does.

extension FirebaseProvider {
    static let scriptHost = "apis.google.com"

    var scripts: [Endpoint] {
        [
            Endpoint(
                "GET", [FirebaseProvider.scriptHost], "/js/api.js", step: SignInStep(.page, "load the script"),
                cors: .any,
                .page
            ) { _ in FirebaseProvider.gapi() },
            Endpoint("GET", [], "/_understudy/gapi.js", step: SignInStep(.page, "load the script"), cors: .any, .page) {
                _ in
                FirebaseProvider.gapi()
            },
        ]
    }

    private static func gapi() -> Response {
        Response(
            status: 200, contentType: "text/javascript; charset=UTF-8",
            headers: [
                (name: "Cache-Control", value: "no-cache"),
                // Pages that are isolated (Cross-Origin-Embedder-Policy) need it, as Google's script has it.
                (name: "Cross-Origin-Resource-Policy", value: "cross-origin"),
            ], body: "\(Scripts.gapi)")
    }

    /// Serves the page that the SDK embeds as a frame. The frame passes the result of a sign-in on only to pages of the
    /// project's domains (`data-domains`), of their subdomains, and of this machine.
    func frame(_ exchange: Exchange) throws -> Response {
        let query = exchange.request.queryForm
        let (apiKey, app) = (query["apiKey"] ?? "", query["appName"] ?? "")
        let key = FirebaseProvider.storageKey(exchange, apiKey: apiKey, app: app)
        let project = try? project(apiKey: apiKey, in: exchange)
        let domains = JSONValue.array((project?.returnDomains ?? []).map { .string($0) })
        let kept = try project.flatMap { try popKeptEvent(exchange, storageKey: key, of: $0) }
        return Page.response(
            title: "Sign-in frame", look: .firebase,
            [
                .tag(
                    "p",
                    [("id", "frame"), ("data-key", key), ("data-domains", domains.text), ("data-kept", kept ?? "")],
                    "This frame carries sign-in events to the page around it."),
                .script(Scripts.gapi), .script(Scripts.frame),
            ])
    }
}
