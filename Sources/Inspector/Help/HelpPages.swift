import Control
import EmulatorCore
import HTTPServer
import JSON

// The documentation at the daemon's own address: people can look up a refusal where they see it, without a network.

/// The pages of the documentation, by their paths below `docs` without `.md`, such as `errors/apple`.
package enum Documents {
    package static let all: [String: Lazy<Document>] = Dictionary(
        uniqueKeysWithValues: EmbeddedDocuments.all.filter { $0.path.hasPrefix("docs/") }.map { file in
            (name(of: file.path), Lazy { Document(parsing: "\(file.text)") })
        })

    /// The page README.md, whose last section has the pages in groups.
    package static let readme = Lazy {
        Document(parsing: EmbeddedDocuments.all.first { $0.path == "README.md" }.map { "\($0.text)" } ?? "")
    }

    /// Returns a page's Markdown; `nil` if there is none with the name.
    package static func text(_ name: String) -> String? {
        EmbeddedDocuments.all.first { $0.path == "docs/\(name).md" }.map { "\($0.text)" }
    }

    private static func name(of path: String) -> String {
        String(path.dropFirst("docs/".count).dropLast(".md".count))
    }
}

extension Inspector {
    var helpEndpoints: [Endpoint] {
        [
            page("GET", "help") { helpIndex($0) },
            page("GET", "help/:page") { help($0, $0.parameters["page"] ?? "") },
            page("GET", "help/:folder/:page") {
                help($0, "\($0.parameters["folder"] ?? "")/\($0.parameters["page"] ?? "")")
            },
        ]
    }

    /// Answers with the pages in README's groups, or with the sections that a search finds.
    private func helpIndex(_ exchange: Exchange) -> Response {
        let wanted = exchange.request.queryForm["q"] ?? ""
        let search = HTML.tag(
            "form",
            [
                ("method", "get"), ("action", exchange.inspector("help")), ("role", "search"),
                ("class", "row help-search"),
            ],
            .tag(
                "label", [], .tag("span", [("class", "spoken")], "Search the documentation"),
                .tag(
                    "input",
                    [
                        ("type", "search"), ("name", "q"), ("value", wanted), ("maxlength", "100"),
                        ("placeholder", "nonce, invalid_grant, Playwright, …"),
                    ])), .tag("button", [("class", "quiet")], "Search"))
        let found = wanted.allSatisfy(\.isWhitespace) ? helpGroups(exchange) : helpResults(exchange, wanted)
        return page(exchange, .help, title: "Help", [search] + found)
    }

    private func helpGroups(_ exchange: Exchange) -> [HTML] {
        let blocks = Documents.readme.value.blocks.drop { $0 != .heading(level: 2, "Where to go on") }
        let cards = blocks.compactMap { block -> HTML? in
            guard case .paragraph(let text) = block, text.hasPrefix("**"), let end = text.firstRange(of: ":** ") else {
                return nil
            }
            let items = text[end.upperBound...].split(separator: " · ").map { item -> HTML in
                .element(
                    "li", attributes: [],
                    children: Document.inline(String(item)) { link in
                        Inspector.address(of: link, in: "..").map { exchange.inspector($0) }
                    })
                // Files that the daemon doesn't have are left out.
            }.filter { $0.fragment.contains("href") }
            return .tag(
                "section", [("class", "card")], .tag("h2", [], String(text[..<end.lowerBound].dropFirst(2))),
                .element("ul", attributes: [], children: items))
        }
        return [.element("div", attributes: [(name: "class", value: "cards help-groups")], children: cards)]
    }

    private func helpResults(_ exchange: Exchange, _ wanted: String) -> [HTML] {
        let found = Documents.search(wanted).prefix(20)
        guard !found.isEmpty else {
            return [
                .tag("p", [("class", "empty")], "No page has all of these words.")
            ] + helpGroups(exchange)
        }
        let items = found.map { section -> HTML in
            let anchor = section.heading.map { "#\(Document.anchor($0))" } ?? ""
            let plain = { (text: String) in
                text.replacing("`", with: "").replacing("**", with: "").replacing("\n", with: " ")
            }
            return .tag(
                "li", [],
                .link(
                    plain([section.title, section.heading].compactMap { $0 }.joined(separator: ": ")),
                    to: exchange.inspector("help/\(section.page)\(anchor)")),
                .tag("p", [("class", "soft small")], ShownText.isolated(plain(section.excerpt), limit: 300)))
        }
        return [.element("ol", attributes: [(name: "class", value: "card help-results")], children: Array(items))]
    }

    private func help(_ exchange: Exchange, _ name: String) -> Response {
        guard let document = Documents.all[name]?.value else {
            return page(
                exchange, .help, title: "No such page", status: 404,
                [.tag("p", [], .link("All pages", to: exchange.inspector("help")))]
            ).diagnosed(
                Diagnosis("the documentation has no page \(Diagnosis.quote(name)): /_understudy/help lists them"))
        }
        let folder = name.split(separator: "/").dropLast().joined(separator: "/")
        return page(
            exchange, .help, title: document.title,
            [
                .element(
                    "div", attributes: [(name: "class", value: "help")],
                    children: document.html { link in
                        Inspector.address(of: link, in: folder).map { address in
                            address.hasPrefix("http") || address.hasPrefix("#") ? address : exchange.inspector(address)
                        }
                    })
            ])
    }

    /// Returns the address here of a link in a page of the folder `folder`; `nil` for files of the repository that the
    /// daemon doesn't have.
    static func address(of link: String, in folder: String) -> String? {
        if link.hasPrefix("https://") || link.hasPrefix("http://") || link.hasPrefix("#") { return link }
        var parts = ["docs"]
        for part in folder.split(separator: "/") {
            if part == ".." { _ = parts.popLast() } else { parts.append(String(part)) }
        }
        let target = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        for part in target[0].split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(String(part)) }
        }
        let path = parts.joined(separator: "/")
        if path == "seed-data/scenarios/README.md" { return "orders/scenarios" }
        guard path.hasPrefix("docs/"), path.hasSuffix(".md") else { return nil }
        let name = String(path.dropFirst("docs/".count).dropLast(".md".count))
        guard Documents.all[name] != nil else { return nil }
        return "help/\(name)" + (target.count > 1 ? "#\(target[1])" : "")
    }
}
