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

    /// The project's `README.md`, whose last section lists the pages of the documentation in groups.
    package static let readme = Lazy {
        Document(parsing: EmbeddedDocuments.all.first { $0.path == "README.md" }.map { "\($0.text)" } ?? "")
    }

    /// Returns the Markdown of the documentation page called `name`; `nil` if there is no such page.
    package static func text(_ name: String) -> String? {
        EmbeddedDocuments.all.first { $0.path == "docs/\(name).md" }.map { "\($0.text)" }
    }

    fileprivate static func name(of path: String) -> String {
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

    /// Answers a request for the documentation. The response lists all pages, grouped as in the project's `README.md`,
    /// or the sections that a search has found.
    private func helpIndex(_ exchange: Exchange) -> Response {
        let wanted = exchange.request.queryForm["q"] ?? ""
        let search = search(
            exchange, "row.help-search", at: "help",
            .of(
                "label", .spoken("Search the documentation"),
                .input(
                    "q", wanted, type: "search",
                    ["maxlength": "100", "placeholder": "nonce, invalid_grant, Playwright, …"])))
        let isEmpty = wanted.allSatisfy(\.isWhitespace)
        return page(
            exchange, .help, title: "Help", [search] + (isEmpty ? groups(exchange) : results(exchange, wanted)))
    }

    private func groups(_ exchange: Exchange) -> [HTML] {
        let blocks = Documents.readme.value.blocks.drop { $0 != .heading(level: 2, "Where to go on") }
        let cards = blocks.compactMap { block -> HTML? in
            guard case .paragraph(let text) = block, text.hasPrefix("**"), let end = text.firstRange(of: ":** ") else {
                return nil
            }
            let items = text[end.upperBound...].split(separator: " · ").map { item -> HTML in
                .group(
                    Document.inline(String(item)) { link in
                        Inspector.address(of: link, in: "..").map { exchange.inspector($0) }
                    })
                // Files that the daemon doesn't have are left out.
            }.filter { $0.fragment.contains("href") }
            return .card(String(text[..<end.lowerBound].dropFirst(2)), .list("ul", items))
        }
        return [.of("div.cards.help-groups", .group(cards))]
    }

    /// Returns the sections of the documentation that match a search, or all pages if nothing matches.
    private func results(_ exchange: Exchange, _ wanted: String) -> [HTML] {
        let items = Documents.search(wanted).prefix(20).map { section -> HTML in
            let anchor = section.heading.map { "#\(Document.anchor($0))" } ?? ""
            let plain = { (text: String) in
                text.replacing("`", with: "").replacing("**", with: "").replacing("\n", with: " ")
            }
            let title = [section.title, section.heading].compactMap { $0 }.joined(separator: ": ")
            return .group([
                exchange.link("help/\(section.page)\(anchor)", .text(plain(title))),
                .of("p.soft.small", ShownText.isolated(plain(section.excerpt), limit: 300)),
            ])
        }
        return items.isEmpty
            ? [.of("p.empty", "No page of the documentation has all of these words.")] + groups(exchange)
            : [.list("ol.card.help-results", items)]
    }

    private func help(_ exchange: Exchange, _ name: String) -> Response {
        guard let document = Documents.all[name]?.value else {
            return missing(
                exchange, .help, "No such page", "The documentation has no page \(Diagnosis.quote(name)).",
                diagnosis: Diagnosis(
                    "the documentation has no page \(Diagnosis.quote(name)): /_understudy/help lists them"),
                to: "help", "All pages")
        }
        let folder = name.split(separator: "/").dropLast().joined(separator: "/")
        let content = document.html { link in
            Inspector.address(of: link, in: folder).map { address in
                address.hasPrefix("http") || address.hasPrefix("#") ? address : exchange.inspector(address)
            }
        }
        return page(exchange, .help, title: document.title, [.of("div.help", .group(content))])
    }

    /// Returns the path, below the inspector's address, for a link in a documentation page of the folder `folder`. Web
    /// addresses and links within the page are returned unchanged. Returns `nil` if the link leads to a file that isn't
    /// built into the daemon.
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
        let name = Documents.name(of: path)
        guard Documents.all[name] != nil else { return nil }
        return "help/\(name)" + (target.count > 1 ? "#\(target[1])" : "")
    }
}
