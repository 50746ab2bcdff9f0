import EmulatorCore
import HTTPServer

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
