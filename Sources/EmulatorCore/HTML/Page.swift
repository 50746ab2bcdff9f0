import HTTPServer
import JOSE
import JSON

/// The layout of the HTML pages that stand in for providers' pages, in light and dark colours, readable on a phone, and
/// without anything from other servers. The inspector's pages have another layout.
package enum Page {
    /// Returns the notice at the top of a provider's pages, which says that a page is only a stand-in for the
    /// provider's.
    package static func banner(standingInFor provider: String) -> String {
        "Understudy: a stand-in for \(provider), for tests only. Nobody's real account is used."
    }

    package static func response(
        title: String, status: Int = 200, banner: String, look: Look? = nil, _ content: [HTML]
    ) -> Response {
        let main = HTML.element("main", attributes: [], children: content)
        let page = HTML.element(
            "html", attributes: [(name: "lang", value: "en")],
            children: [
                .tag(
                    "head", [],
                    .tag("meta", [("charset", "utf-8")]),
                    .tag("meta", [("name", "viewport"), ("content", "width=device-width, initial-scale=1")]),
                    .tag("meta", [("name", "color-scheme"), ("content", "light dark")]),
                    .tag("link", [("rel", "icon"), ("href", "data:,")]), .tag("title", [], title), .style(styleSheet),
                    .group(look.map { [.style($0.style)] } ?? [])),
                .tag(
                    "body", [],
                    .tag("p", [("class", "banner"), ("role", "note")], banner),
                    .group(look.map { [$0.heading] } ?? []), main),
            ])
        return Response(
            status: status, contentType: "text/html;charset=UTF-8",
            headers: [(name: "Cache-Control", value: "no-store")], body: page.document)
    }

    // MARK: - Refusals

    /// Two placeholders in HTML pages, which are replaced by the inspector's address and the request's ID when a page
    /// is sent.
    private static let (inspectorMark, requestMark) = ("understudy-inspector:", "understudy-request")

    /// Returns the part of an error page that explains why a request was refused, with a link to the request in the
    /// inspector. If the seed lacks an entry, such as a client, a second link adds it.
    package static func why(_ diagnosis: Diagnosis) -> HTML {
        var links = [HTML.tag("a", [("href", "\(inspectorMark)requests/\(requestMark)")], "See this request")]
        if let seed = diagnosis.missingSeed {
            let query = PercentCoding.encode(Array(seed.indented().utf8))
            links += [
                .text(" · "),
                .tag(
                    "a", [("href", "\(inspectorMark)worlds/seed?merge=\(query)")],
                    "Add the missing entry to the seed of this test world"),
            ]
        }
        return .group([
            .tag("h2", [], "Why"), DiagnosisParts(line: diagnosis.line).html(),
            .tag("p", [("class", "why-links")], .group(links)),
        ])
    }

    /// Returns the body of an HTML page with links in place of the placeholders for the inspector and the request.
    /// `base` is the daemon's own address in the request's test world, and `id` is the request's ID.
    static func linked(_ body: [UInt8], base: String, id: String) -> [UInt8] {
        guard body.firstRange(of: Array(inspectorMark.utf8)) != nil else { return body }
        let text = String(decoding: body, as: UTF8.self)
        return Array(
            text.replacing(
                "\"\(inspectorMark)requests/\(requestMark)\"", with: "\"\(base)/_understudy/requests/\(id)\""
            )
            .replacing("\"\(inspectorMark)worlds/", with: "\"\(base)/_understudy/worlds/").utf8)
    }

    private static let styleSheet: StaticString = """
        :root{--ink:#1b1f27;--soft:#5a6372;--paper:#f4f5f8;--card:#fff;--line:#d4d8e0;--act:#2f4bb3;--on-act:#fff;\
        --warn:#7a4b00;--warn-paper:#fff1d6;--bad:#a3202c}\
        @media (prefers-color-scheme:dark){:root{--ink:#e8eaf0;--soft:#a3acbd;--paper:#14161b;--card:#1e2128;\
        --line:#3a404c;--act:#8fa6ff;--on-act:#10131a;--warn:#ffd48a;--warn-paper:#33270f;--bad:#ff9aa2}}\
        *{box-sizing:border-box}\
        body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}\
        .banner{margin:0;padding:.6rem 1rem;background:var(--warn-paper);color:var(--warn);text-align:center;font-size:.875rem}\
        main{overflow-wrap:anywhere;max-width:30rem;margin:2rem auto;padding:1.75rem;background:var(--card);border:1px solid var(--line);\
        border-radius:12px}\
        main.wide,main:has(.wide){max-width:52rem}\
        h1{font-size:1.375rem;line-height:1.25;margin:0 0 .5rem}h2{font-size:1.0625rem;margin:1.75rem 0 .5rem}\
        p{margin:.5rem 0}.soft{color:var(--soft)}.small{font-size:.875rem}\
        code,pre{font:.875rem/1.5 ui-monospace,monospace;overflow-wrap:anywhere}\
        pre{background:var(--paper);border:1px solid var(--line);border-radius:8px;padding:.75rem;white-space:pre-wrap}\
        fieldset{border:1px solid var(--line);border-radius:8px;margin:1.25rem 0;padding:.75rem 1rem 1rem}\
        legend{padding:0 .375rem;font-weight:600}\
        label{display:block;margin-top:.625rem}label.choice{display:flex;gap:.625rem;align-items:flex-start}\
        label.choice input{margin-top:.3rem;flex:none}\
        input:is([type=text],[type=email],[type=search],[type=password]){width:100%;font:inherit;color:inherit;background:var(--paper);border:1px solid var(--soft);\
        border-radius:8px;padding:.5rem .625rem;margin-top:.25rem}\
        button,.button{display:block;width:100%;font:inherit;font-weight:600;text-align:center;text-decoration:none;\
        border-radius:var(--radius,8px);padding:.7rem 1rem;margin-top:.75rem;cursor:pointer;border:1px solid var(--act);\
        background:var(--act);color:var(--on-act)}\
        button.quiet,.button.quiet{background:transparent;color:var(--link,var(--act));border-color:var(--line)}\
        :is(button,.button):hover{filter:brightness(.96)}\
        button.person{display:flex;gap:.875rem;align-items:center;text-align:left;background:transparent;color:inherit;\
        border-color:var(--line);font-weight:400}\
        button.person::before{content:attr(data-initial);flex:none;width:2.25rem;height:2.25rem;border-radius:50%;\
        display:grid;place-items:center;background:var(--line);color:var(--ink);font-weight:600}\
        button.person>span{min-width:0}button.person strong,button.person .soft{display:block}\
        button.person:hover{background:var(--paper)}\
        .brand{margin:1.5rem auto .75rem;text-align:center;font-weight:600}.brand+main{margin-top:0}\
        .search{display:flex;gap:.5rem;align-items:flex-end}.search label{flex:1;margin:0}.search button{width:auto;margin:0}\
        .actions{display:flex;flex-direction:column;margin-top:1.25rem}\
        :focus-visible{outline:3px solid var(--link,var(--act));outline-offset:2px}\
        .error{color:var(--bad);font-weight:600}\
        .diagnosis{margin:.5rem 0;text-align:left}.diagnosis dt{color:var(--soft);font-size:.875rem;margin-top:.5rem}.diagnosis dd{margin:0}\
        .why-links a{color:var(--link,var(--act))}\
        mark{background:var(--warn-paper);color:inherit;font-weight:700;border-bottom:2px solid var(--bad)}\
        table{border-collapse:collapse;width:100%;font-size:.9375rem}td,th{text-align:left;vertical-align:top;\
        padding:.375rem .75rem .375rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}\
        @media (min-width:34.01rem){td:first-child code{white-space:nowrap}}\
        @media (max-width:34rem){main{margin:0;border-width:0 0 1px;border-radius:0;padding:1.25rem 1rem}\
        tr{display:block;padding:.5rem 0;border-bottom:1px solid var(--line)}td{display:block;border:0;padding:0}}
        """
}

/// The design of a provider's pages. Each provider has colours and a layout of its own, so that users see whose page it
/// is. There are no logos.
package struct Look: Sendable {
    /// The provider's name, as people write it, at the top of each page and in its title.
    package let name: String
    /// The provider's style sheet, which follows the style sheet that all pages have. Colours are custom properties of
    /// `:root`: `--ink` and `--soft` for text, `--paper` for the page, `--card` for boxes on the page, `--line` for
    /// borders, `--act` for the first button and `--on-act` for its text, `--link` for the other buttons.
    package let style: StaticString

    package init(name: String, style: StaticString) {
        self.name = name
        self.style = style
    }

    /// Returns a page's `title` with the provider's name added, unless `title` contains it.
    func title(_ title: String) -> String { title.contains(name) ? title : "\(title) · \(name)" }

    var heading: HTML { .tag("p", [("class", "brand")], name) }
}

extension Page {
    package static func response(title: String, status: Int = 200, look: Look, _ content: [HTML]) -> Response {
        response(
            title: look.title(title), status: status, banner: banner(standingInFor: look.name), look: look, content)
    }
}

// Sign-in pages keep nothing on the server: the page's form holds the authorization request, in base64url. So a page
// still works after the world's reset.

extension HTML {
    /// Returns a hidden form field that carries an authorization request.
    package static func carrying(_ request: Form) -> HTML {
        .hidden("request", Base64URL.encode(Array(request.encoded.utf8)))
    }
}

extension Response {
    /// Returns a response with a JavaScript file that pages of other sites load, such as a provider's SDK. `function`
    /// is the text of a function expression. It is called with `arguments`, such as the provider's addresses at the
    /// daemon.
    package static func browserScript(_ function: StaticString, _ arguments: [JSONValue]) -> Response {
        let values = arguments.map(\.text).joined(separator: ", ")
        return Response(
            status: 200, contentType: "text/javascript; charset=UTF-8",
            headers: [
                // The addresses depend on the form of the request, so the script must not be cached.
                (name: "Cache-Control", value: "no-store"),
                // Isolated pages may load it, too (Cross-Origin-Embedder-Policy).
                (name: "Cross-Origin-Resource-Policy", value: "cross-origin"),
            ], body: "\(function)(\(values));\n")
    }
}
