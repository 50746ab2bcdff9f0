import HTTPServer

/// How a provider's pages look: each has colours and an order of its own kind, so that people see where they are. There are no
/// logos.
package struct Look: Sendable {
    /// The provider's name, as people write it: at the top of each page and in its title.
    package let name: String
    /// What is laid over the rules that all pages have. Colours are custom properties of `:root`: `--ink` and `--soft` for
    /// text, `--paper` for the page, `--card` for what lies on it, `--line`, `--act` and `--on-act` for the first button,
    /// `--link` for the others.
    package let style: StaticString

    package init(name: String, style: StaticString) {
        self.name = name
        self.style = style
    }

    /// `title` with the provider's name, unless it is in it.
    func title(_ title: String) -> String { title.contains(name) ? title : "\(title) · \(name)" }

    /// The provider's name, above everything else of the page.
    var heading: HTML { .tag("p", [("class", "brand")], name) }
}

extension Page {
    /// A provider's page.
    package static func response(title: String, status: Int = 200, look: Look, _ content: [HTML]) -> Response {
        response(
            title: look.title(title), status: status, banner: banner(standingInFor: look.name), look: look, content)
    }
}
