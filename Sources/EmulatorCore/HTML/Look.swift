import HTTPServer

/// The design of a provider's pages: each has its own colours and layout, so that people see where they are. There are
/// no logos.
package struct Look: Sendable {
    /// The provider's name, as people write it, at the top of each page and in its title.
    package let name: String
    /// The style in addition to that of all pages. Colours are custom properties of `:root`: `--ink` and `--soft` for
    /// text, `--paper` for the page, `--card` for boxes on it, `--line`, `--act` and `--on-act` for the first button,
    /// `--link` for the others.
    package let style: StaticString

    package init(name: String, style: StaticString) {
        self.name = name
        self.style = style
    }

    /// Returns `title` with the provider's name, unless it has it already.
    func title(_ title: String) -> String { title.contains(name) ? title : "\(title) · \(name)" }

    /// The provider's name at the top of the page.
    var heading: HTML { .tag("p", [("class", "brand")], name) }
}

extension Page {
    /// Returns a provider's page.
    package static func response(title: String, status: Int = 200, look: Look, _ content: [HTML]) -> Response {
        response(
            title: look.title(title), status: status, banner: banner(standingInFor: look.name), look: look, content)
    }
}
