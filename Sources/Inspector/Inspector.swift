import Control
import EmulatorCore
import HTTPServer
import JOSE
import Worlds

/// The inspector: pages for people, which show what has happened in a world and change what happens next.
///
/// Each area has a folder with its pages and its endpoints. A page works without scripts. It makes changes by calls of
/// the control API, so that each rule and each refusal is written once. No page has a script or a style in it: all are
/// files in the folder `Assets`.
package struct Inspector: Sendable {
    /// The path of the pages, below the world's address.
    package static let root = "/_understudy"

    let control: ControlAPI
    let providers: [any Provider]
    let version: String
    /// The scenarios with which every world begins.
    let chosen: [Scenario]
    let formToken: FormToken
    /// Finds the endpoints that have answered recorded exchanges.
    var finder: Lazy<EndpointFinder> { control.finder }

    package init(
        _ control: ControlAPI, providers: [any Provider], version: String, chosen: [Scenario], formToken: FormToken
    ) {
        self.control = control
        self.providers = providers
        self.version = version
        self.chosen = chosen
        self.formToken = formToken
    }

    /// All pages. They aren't recorded, and no fault can be ordered at them.
    package var endpoints: [Endpoint] {
        [Endpoint("GET", [], Inspector.root, nil) { toFirstPage($0) }]
            + signInsEndpoints + exchangeEndpoints + explainEndpoints + peopleEndpoints + userEndpoints
            + orderEndpoints + settingsEndpoints
            + helpEndpoints + assetEndpoints
            + inboxEndpoints + tokenEndpoints + tryOutEndpoints
    }

    /// Answers `/`: browsers get the first page. Programs, which don't accept HTML, get the JSON by which they
    /// recognize an emulator.
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
    /// Returns the URL of the inspector's page at `path`, such as `people/ada`, in the request's world.
    func inspector(_ path: String = "") -> String { "\(address.ownBase)\(Inspector.root)/\(path)" }
}

/// The areas of the inspector, in the order of its menu.
enum Area: String, CaseIterable {
    case signIns = ""
    case people
    case users
    case inbox
    case orders
    case clock
    case worlds
    case setUp = "setup"
    case explain
    case help

    /// The area's title in the menu.
    var title: String {
        switch self {
        case .signIns: "Sign-ins"
        case .people: "People"
        case .users: "App users"
        case .inbox: "Inbox"
        case .orders: "Orders"
        case .clock: "Clock"
        case .worlds: "Worlds"
        case .setUp: "Set up"
        case .explain: "Explain"
        case .help: "Help"
        }
    }
}

extension Inspector {
    /// The policy of pages: they load only their own style sheet and scripts. Markup from a request couldn't run, even
    /// if it weren't escaped.
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

    /// Returns a page. `scripts` are names of files in `Assets`; `lead` is shown beside the title.
    func page(
        _ exchange: Exchange, _ area: Area?, title: String, status: Int = 200, scripts: [String] = [],
        lead: [HTML] = [], _ content: [HTML]
    ) -> Response {
        let heading = HTML.tag("h1", [], title)
        let main = HTML.element(
            "main", attributes: [(name: "id", value: "main"), (name: "tabindex", value: "-1")],
            children: [.tag("div", [("class", "title")], heading, .group(lead))] + content)
        let page = HTML.element(
            "html", attributes: [(name: "lang", value: "en")],
            children: [
                head(exchange, title: title, scripts: ["comfort"] + scripts),
                .tag(
                    "body", [("data-run", formToken.run)],
                    .tag("a", [("class", "skip"), ("href", "#main")], "Skip to the content"),
                    header(exchange), menu(exchange, area), main),
            ])
        return Response(
            status: status, contentType: "text/html;charset=UTF-8",
            headers: Inspector.protection + [(name: "Content-Security-Policy", value: Inspector.policy)],
            body: page.document)
    }

    /// The headers of all answers that aren't files of `Assets`.
    static let protection: [(name: String, value: String)] = [
        (name: "Cache-Control", value: "no-store"), (name: "X-Content-Type-Options", value: "nosniff"),
        // With no-referrer, a form of these pages would be sent with "Origin: null".
        (name: "Referrer-Policy", value: "same-origin"), (name: "Cross-Origin-Opener-Policy", value: "same-origin"),
    ]

    private func head(_ exchange: Exchange, title: String, scripts: [String]) -> HTML {
        .tag(
            "head", [], .tag("meta", [("charset", "utf-8")]),
            .tag("meta", [("name", "viewport"), ("content", "width=device-width, initial-scale=1")]),
            .tag("meta", [("name", "color-scheme"), ("content", "light dark")]),
            .tag("title", [], "\(title) · Understudy"), .tag("link", [("rel", "icon"), ("href", "data:,")]),
            .tag("link", [("rel", "stylesheet"), ("href", exchange.inspector(InspectorAssets.styleSheet.path))]),
            .group(
                scripts.compactMap { InspectorAssets.scripts[$0] }.map { script in
                    .tag("script", [("type", "module"), ("src", exchange.inspector(script.path))])
                }))
    }

    private func header(_ exchange: Exchange) -> HTML {
        .tag(
            "header", [("class", "top")],
            .tag("a", [("class", "brand"), ("href", exchange.inspector())], "Understudy"),
            .tag("span", [("class", "version")], version),
            .tag(
                "p", [("class", "banner"), ("role", "note")],
                "For tests only: nobody's real account is used, and nothing here is secret."),
            .tag(
                "a", [("class", "world"), ("href", exchange.inspector(Area.worlds.rawValue))],
                .text("World: "), .tag("bdi", [], exchange.world.name), .tag("span", [("aria-hidden", "true")], " ▾")))
    }

    private func menu(_ exchange: Exchange, _ current: Area?) -> HTML {
        let items = Area.allCases.map { area -> HTML in
            var attributes = [("href", exchange.inspector(area.rawValue))]
            if area == current { attributes.append(("aria-current", "page")) }
            return .tag("li", [], .tag("a", attributes, area.title))
        }
        return .tag(
            "nav", [("class", "menu"), ("aria-label", "Inspector")],
            .element("ul", attributes: [], children: items))
    }
}

extension HTML {
    static func link(_ text: String, to url: String) -> HTML { .tag("a", [("href", url)], text) }
}

/// A style sheet or a script. Its address changes with its content, so browsers may cache it forever.
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

    /// The path below the inspector's address.
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
    /// All style sheets of the folder `Assets`, in the order of their names: `base` comes first.
    static let styleSheet = Asset(
        name: "inspector.css", type: "text/css;charset=UTF-8",
        text: StyleSheets.all.map { "\($0.text)" }.joined())

    /// The scripts by their files' names without `.js`.
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

/// A secret in the inspector's forms that pages of other origins can't read, so that only the inspector's pages can
/// make changes. It is made when the daemon starts, and is the same for all worlds; replicas that share their worlds
/// share it, too.
/// <https://cheatsheetseries.owasp.org/cheatsheets/Cross-Site_Request_Forgery_Prevention_Cheat_Sheet.html>
package struct FormToken: Sendable {
    private static let name = "formToken"
    private var text: String

    /// Makes a token for this daemon.
    package init() {
        // This isn't the world's randomness: opening a page must not change the world's next code.
        var randomness = Randomness(seed: nil)
        text = Base64URL.encode(randomness.bytes(16))
    }

    /// Makes a token for this daemon, or takes that of all replicas if `archive` is shared.
    package init(_ archive: (any Archive)?) throws(StoreFailure) {
        self.init()
        guard let archive, archive.isShared else { return }
        let kept = try archive.text("formToken", orKeep: text)
        text = kept
    }

    /// An ID of the daemon's run, or of that of all replicas together, from which the token can't be computed.
    var run: String { String(Hex.encode(Digest.sha256(text)).prefix(12)) }

    /// The form's hidden field.
    var field: HTML { .hidden(FormToken.name, text) }

    func isCarried(by form: Form) -> Bool {
        constantTimeEquals(Array((form[FormToken.name] ?? "").utf8), Array(text.utf8))
    }
}
