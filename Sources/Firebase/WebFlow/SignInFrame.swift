import EmulatorCore
import HTTPServer
import JSON

// /__/auth/iframe of a project's own domain, and with SDKs in emulator mode /emulator/auth/iframe: the frame that web SDKs
// keep in the app's page, through which a pop-up and the page after a redirect learn how a sign-in ended.
//
// Page and frame speak by Google's `gapi.iframes`. The SDK gets that from https://apis.google.com/js/api.js, unless the page
// has it: so our own is served under that name, and at /_understudy/gapi.js for pages that load it before the SDK does.

extension FirebaseProvider {
    static let scriptHost = "apis.google.com"

    var scripts: [Endpoint] {
        [
            Endpoint(
                "GET", [FirebaseProvider.scriptHost], "/js/api.js", step: Step(.page, "load the script"), cors: .any,
                .page
            ) { _ in FirebaseProvider.gapi() },
            Endpoint("GET", [], "/_understudy/gapi.js", step: Step(.page, "load the script"), cors: .any, .page) { _ in
                FirebaseProvider.gapi()
            },
        ]
    }

    private static func gapi() -> Response {
        Response(
            status: 200, contentType: "text/javascript; charset=UTF-8",
            headers: [
                (name: "Cache-Control", value: "no-cache"),
                // For pages that are isolated (Cross-Origin-Embedder-Policy), as Google's has it.
                (name: "Cross-Origin-Resource-Policy", value: "cross-origin"),
            ], body: "\(Scripts.gapi)")
    }

    /// The frame tells a page what the handler sends only where the project has the page's domain: `data-domains`, any domain
    /// below them, and this machine, as for `redirectUrl`.
    func frame(_ exchange: Exchange) throws -> Response {
        let query = exchange.request.queryForm
        let (apiKey, app) = (query["apiKey"] ?? "", query["appName"] ?? "")
        let key = FirebaseProvider.storageKey(exchange, apiKey: apiKey, app: app)
        let project = try? project(apiKey: apiKey, in: exchange)
        let domains = JSONValue.array((project?.returnDomains ?? []).map { .string($0) })
        let kept = try project.flatMap { try takeKept(exchange, storageKey: key, of: $0) }
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
