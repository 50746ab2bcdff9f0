import HTTPServer
import JOSE
import OAuth
import EmulatorCore

/// The pages at github.com. They work without scripts and by keyboard, and have no logo.
enum Pages {
    static func base(_ exchange: Exchange) -> String { exchange.address.base(of: GitHubProvider.host) }

    static func page(_ title: String, status: Int = 200, _ content: [HTML]) -> Response {
        var response = Page.response(title: title, status: status, look: .github, content)
        // A page that asks for consent must not be shown within another.
        response.headers += [
            (name: "X-Frame-Options", value: "deny"),
            (name: "Content-Security-Policy", value: "frame-ancestors 'none'"),
        ]
        return response
    }

    static func form(_ exchange: Exchange, to path: String, _ children: [HTML]) -> HTML {
        .element(
            "form", attributes: [(name: "method", value: "post"), (name: "action", value: base(exchange) + path)],
            children: children)
    }

    static func submit(_ label: String, name: String, value: String, isQuiet: Bool = false, isFirst: Bool = false)
        -> HTML
    {
        var attributes: [(String, String?)] = [("type", "submit"), ("name", name), ("value", value)]
        if isQuiet { attributes.append(("class", "quiet")) }
        if isFirst { attributes.append(("autofocus", nil)) }
        return .tag("button", attributes, label)
    }

    static func link(_ exchange: Exchange, _ label: String, to path: String) -> HTML {
        .tag("a", [("class", "button quiet"), ("href", base(exchange) + path)], label)
    }

    // MARK: - Problems

    static func problem(_ exchange: Exchange, _ status: Int, _ title: String, _ diagnosis: Diagnosis) -> Response {
        page(
            title, status: status,
            [.tag("h1", [], title), Page.why(diagnosis)]
        ).diagnosed(diagnosis)
    }

    /// Returns github.com's page for an unknown `client_id` or address.
    static func notFound(_ exchange: Exchange, _ diagnosis: Diagnosis) -> Response {
        problem(exchange, 404, "This page doesn't exist", diagnosis)
    }

    /// Returns the page that github.com has shown since 2024 for a redirect_uri that doesn't match. Its status isn't
    /// documented.
    static func mismatch(_ exchange: Exchange, _ app: GitHubSection.App, _ diagnosis: Diagnosis) -> Response {
        page(
            "Be careful!", status: 400,
            [
                .tag("h1", [], "Be careful!"),
                .tag("p", [("class", "error")], "The redirect_uri is not associated with this application."),
                .tag(
                    "p", [],
                    "\(app.name) may be configured wrongly, or something tries to send you to a place you don't expect."
                ),
                Page.why(diagnosis),
            ]
        ).diagnosed(diagnosis)
    }

    static func forged(_ exchange: Exchange) -> Response {
        problem(
            exchange, 422, "This form can't be used",
            Diagnosis("authenticity_token isn't this session's: load the page again, and post the form that it shows"))
    }

    static func nobody(_ exchange: Exchange) -> Response {
        problem(
            exchange, 400, "Nobody can sign in",
            Diagnosis("there is no account to sign in: seed one, or add it with POST accounts"))
    }
}
