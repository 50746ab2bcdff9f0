import Control
import EmulatorCore
import HTTPServer
import JOSE
import Worlds

/// The inspector: web pages that show people what has happened in a test world, and change what happens next.
///
/// Pages work without scripts, and make most changes by calls of the control API. Scripts and styles are never inline:
/// they are files in the folder `Assets`.
package struct Inspector: Sendable {
    /// The path of the inspector's pages, below the address of a test world.
    package static let root = "/_understudy"

    let control: ControlAPI
    let providers: [any Provider]
    let version: String
    /// The scenarios (ready-made test situations) with which every test world begins.
    let chosen: [Scenario]
    let formToken: FormToken

    package init(
        _ control: ControlAPI, providers: [any Provider], version: String, chosen: [Scenario], formToken: FormToken
    ) {
        self.control = control
        self.providers = providers
        self.version = version
        self.chosen = chosen
        self.formToken = formToken
    }

    /// The endpoints of all pages of the inspector. Requests for them aren't recorded, and tests can't cause faults at
    /// them.
    package var endpoints: [Endpoint] {
        [Endpoint("GET", [], Inspector.root, nil) { toFirstPage($0) }]
            + signInsEndpoints + exchangeEndpoints + explainEndpoints + peopleEndpoints + userEndpoints
            + orderEndpoints + settingsEndpoints
            + helpEndpoints + assetEndpoints
            + inboxEndpoints + tokenEndpoints + tryOutEndpoints
    }

    /// Answers a request for `/`. Browsers get the inspector's first page. Programs, which don't accept HTML, get the
    /// JSON by which Firebase's tools recognize an emulator.
    package func home(_ exchange: Exchange) async throws -> Response {
        // Scripts of any origin may request that JSON, but not read the page.
        guard exchange.request.header("Origin") == nil,
            exchange.request.header("Accept")?.contains("text/html") ?? false
        else { return control.mark() }
        if let refusal = refusal(of: exchange) { return refusal }
        return try await signIns(exchange)
    }

    private func toFirstPage(_ exchange: Exchange) -> Response { .redirect(to: exchange.inspector(), status: 303) }
}

extension Exchange {
    /// Returns the URL of the inspector's page at `path`, such as `people/ada`, in the test world of this request.
    func inspector(_ path: String = "") -> String { "\(address.ownBase)\(Inspector.root)/\(path)" }
}

/// An area of the inspector's pages, such as the inbox, with an entry in the menu.
struct Area {
    /// The path of the page to which the entry in the inspector's menu leads, relative to the inspector's address.
    let path: String
    let title: String
    /// The pages that an area of the inspector shows as tabs.
    var tabs: [(path: String, title: String)] = []

    static let signIns = Area(path: "", title: "Sign-ins")
    static let people = Area(path: "people", title: "People")
    static let users = Area(path: "users", title: "App users")
    static let inbox = Area(path: "inbox", title: "Inbox")
    static let orders = Area(
        path: "orders", title: "Orders",
        tabs: [
            ("orders", "Waiting"), ("orders/sign-in", "Next sign-in"), ("orders/fault", "Something goes wrong"),
            ("orders/scenarios", "Scenarios"), ("orders/tokens", "Mint a token"),
        ])
    static let clock = Area(path: "clock", title: "Clock")
    static let worlds = Area(
        path: "worlds", title: "Worlds", tabs: [("worlds", "All worlds"), ("worlds/seed", "This world's seed")])
    static let setUp = Area(path: "setup", title: "Set up")
    static let explain = Area(path: "explain", title: "Explain")
    static let help = Area(path: "help", title: "Help")
    /// All areas of the inspector, in the order of the menu.
    static let all = [signIns, people, users, inbox, orders, clock, worlds, setUp, explain, help]
}

extension Inspector {
    /// The Content-Security-Policy of the inspector's pages: they load only the daemon's own style sheet and scripts.
    /// Markup from a request couldn't run even if it weren't escaped.
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

    /// Returns a page of the inspector. `scripts` are the names of files in the folder `Assets`. `lead` is shown beside
    /// the title, and `about` below it.
    func page(
        _ exchange: Exchange, _ area: Area?, title: String, status: Int = 200, scripts: [String] = [],
        lead: [HTML?] = [], about: String? = nil, _ content: [HTML?]
    ) -> Response {
        let path = exchange.address.path.dropFirst(Inspector.root.count + 1)
        let tabs = area?.tabs ?? []
        let tab = tabs.last { path == $0.path || path.hasPrefix("\($0.path)/") }
        let page = HTML.of(
            "html", ["lang": "en"], head(exchange, title: title, scripts: ["comfort"] + scripts),
            .of(
                "body", ["data-run": formToken.run], .of("a.skip", ["href": "#main"], "Skip to the content"),
                header(exchange),
                links(exchange, "nav.menu", "Inspector", Area.all.map { ($0.path, $0.title) }, current: area?.path),
                .of(
                    "main#main", ["tabindex": "-1"],
                    .of("div.title", .of("h1", .text(title)), .group(lead.compactMap { $0 })),
                    tabs.isEmpty
                        ? nil : links(exchange, "nav.orders-tabs", area?.title ?? "", tabs, current: tab?.path),
                    about.map { .of("p", .text($0)) }, .group(content.compactMap { $0 }))))
        return Response(
            status: status, contentType: "text/html;charset=UTF-8",
            headers: Inspector.protection + [(name: "Content-Security-Policy", value: Inspector.policy)],
            body: page.document)
    }

    /// Returns a page with forms. After a form was sent, the page says what it has changed, or why it changed nothing.
    func page(
        _ exchange: Exchange, _ area: Area, title: String, refusal: CallRefusal?, scripts: [String] = [],
        lead: [HTML?] = [], about: String? = nil, _ content: [HTML?]
    ) throws -> Response {
        let page = page(
            exchange, area, title: title, status: refusal?.status ?? 200, scripts: scripts, lead: lead, about: about,
            [try notice(exchange), refusalNote(refusal)] + content)
        return refusal.map { page.diagnosed($0.diagnosis) } ?? page
    }

    /// Returns a page that says why a request failed, for example because the page doesn't exist. The page has a link
    /// to the page at `path`.
    func missing(
        _ exchange: Exchange, _ area: Area?, _ title: String, _ reason: String, status: Int = 404,
        diagnosis: Diagnosis? = nil, to path: String = "", _ link: String = "To the sign-ins"
    ) -> Response {
        page(
            exchange, area, title: title, status: status,
            [.note("bad", ShownText.isolated(reason, limit: 2_000)), .of("p", exchange.link(path, .text(link)))]
        ).diagnosed(diagnosis ?? Diagnosis(reason))
    }

    /// The security headers of the inspector's pages.
    static let protection: [(name: String, value: String)] = [
        (name: "Cache-Control", value: "no-store"), (name: "X-Content-Type-Options", value: "nosniff"),
        // With no-referrer, a form of these pages would be sent with "Origin: null".
        (name: "Referrer-Policy", value: "same-origin"), (name: "Cross-Origin-Opener-Policy", value: "same-origin"),
    ]

    private func head(_ exchange: Exchange, title: String, scripts: [String]) -> HTML {
        .of(
            "head", .of("meta", ["charset": "utf-8"]),
            .of("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"]),
            .of("meta", ["name": "color-scheme", "content": "light dark"]), .of("title", "\(title) · Understudy"),
            .of("link", ["rel": "icon", "href": "data:,"]),
            .of("link", ["rel": "stylesheet", "href": exchange.inspector(InspectorAssets.styleSheet.path)]),
            .group(
                scripts.compactMap { InspectorAssets.scripts[$0] }.map {
                    .of("script", ["type": "module", "src": exchange.inspector($0.path)])
                }))
    }

    private func header(_ exchange: Exchange) -> HTML {
        .of(
            "header.top", .of("a.brand", ["href": exchange.inspector()], "Understudy"),
            .of("span.version", .text(version)),
            .of(
                "p.banner", ["role": "note"],
                "For tests only: no real accounts are used, and nothing here is secret."),
            .of(
                "a.world", ["href": exchange.inspector(Area.worlds.path)], "World: ",
                .of("bdi", .text(exchange.world.name)), .of("span", ["aria-hidden": "true"], " ▾")))
    }

    /// Returns a button that copies the text of the HTML element with the ID `id`.
    func copyButton(_ id: String, _ text: String = "Copy", spoken: String? = nil) -> HTML {
        .button(text, spoken: spoken, "quiet.small.needs-script", ["type": "button", "data-copy-from": id])
    }

    /// Returns a list of links to pages. `current` is the path of the page that is shown now.
    private func links(
        _ exchange: Exchange, _ selector: String, _ label: String, _ pages: [(path: String, title: String)],
        current: String?
    ) -> HTML {
        let items = pages.map { page in
            let attributes: Attributes = [
                "href": exchange.inspector(page.path), "aria-current": page.path == current ? "page" : nil,
            ]
            return HTML.of("a", attributes, .text(page.title))
        }
        return .of(selector, ["aria-label": label], .list("ul", items))
    }
}

/// A style sheet or a script of the inspector. Its URL changes with its content, so browsers may cache it forever.
struct Asset: Sendable {
    let name: String
    let type: String
    let text: String
    private let version: String

    init(name: String, type: String, text: String) {
        self.name = name
        self.type = type
        self.text = text
        version = String(Hex.encode(Digest.sha256(text)).prefix(16))
    }

    var path: String { "assets/\(name)?v=\(version)" }

    var response: Response {
        Response(
            status: 200, contentType: type,
            headers: [
                (name: "Cache-Control", value: "public, max-age=31536000, immutable"),
                (name: "X-Content-Type-Options", value: "nosniff"),
            ], body: text)
    }
}

enum InspectorAssets {
    /// All style sheets of the folder `Assets` joined into one: first `base`, then the others in the order of their
    /// names.
    static let styleSheet = Asset(
        name: "inspector.css", type: "text/css;charset=UTF-8",
        text: StyleSheets.all.map { "\($0.text)" }.joined())

    /// The inspector's scripts by the names of their files, without `.js`.
    static let scripts = Dictionary(
        uniqueKeysWithValues: Scripts.all.map { script in
            let type = "text/javascript;charset=UTF-8"
            return (script.name, Asset(name: "\(script.name).js", type: type, text: "\(script.text)"))
        })
}

extension Inspector {
    var assetEndpoints: [Endpoint] {
        ([InspectorAssets.styleSheet] + InspectorAssets.scripts.values).map { asset in
            Endpoint("GET", [], "\(Inspector.root)/assets/\(asset.name)", nil) { _ in asset.response }
        }
    }
}

/// A secret in the inspector's forms against forged requests: pages of other origins can't read it, so only the
/// inspector's pages can make changes. It is made when the daemon starts, and is the same in all test worlds. Daemons
/// that share their test worlds share the secret, too.
/// <https://cheatsheetseries.owasp.org/cheatsheets/Cross-Site_Request_Forgery_Prevention_Cheat_Sheet.html>
package struct FormToken: Sendable {
    private static let name = "formToken"
    private var text: String

    /// Makes a new random secret for the inspector's HTML forms, against forged requests. No other daemon has this
    /// secret.
    package init() {
        // This isn't the world's randomness: opening a page must not change the world's next code.
        var randomness = Randomness(seed: nil)
        text = Base64URL.encode(randomness.bytes(16))
    }

    /// Makes the secret for the inspector's HTML forms, against forged requests. If `archive` is storage that several
    /// daemons share, all of them get the same secret.
    package init(_ archive: (any Archive)?) throws(StoreFailure) {
        self.init()
        guard let archive, archive.isShared else { return }
        text = try archive.text(FormToken.name, orKeep: text)
    }

    /// An ID that changes when the daemon restarts. Daemons that share their test worlds are an exception: all of them
    /// have one ID, which stays. The ID is a digest of the secret form token, and doesn't reveal the token.
    var run: String { String(Hex.encode(Digest.sha256(text)).prefix(12)) }

    var field: HTML { .hidden(FormToken.name, text) }

    func isCarried(by form: Form) -> Bool {
        constantTimeEquals(Array((form[FormToken.name] ?? "").utf8), Array(text.utf8))
    }
}
