import Control
import EmulatorCore
import HTTPServer
import JSON

// The documentation, at the daemon's own address: what an app refuses is looked up where it is seen, without a network.

/// The pages of the documentation, by their paths below `docs` without `.md`, such as `errors/apple`.
package enum Documents {
    package static let all: [String: Lazy<Document>] = Dictionary(
        uniqueKeysWithValues: EmbeddedDocuments.all.map { file in
            (name(of: file.path), Lazy { Document(parsing: "\(file.text)") })
        })

    /// A page as it was written, in Markdown; `nil` when there is none of the name.
    package static func text(_ name: String) -> String? {
        EmbeddedDocuments.all.first { self.name(of: $0.path) == name }.map { "\($0.text)" }
    }

    private static func name(of path: String) -> String {
        String(path.dropFirst("docs/".count).dropLast(".md".count))
    }
}

extension Inspector {
    var helpOperations: [Operation] {
        [
            page("GET", "help") { helpIndex($0) },
            page("GET", "help/:page") { help($0, $0.parameters["page"] ?? "") },
            page("GET", "help/:folder/:page") {
                help($0, "\($0.parameters["folder"] ?? "")/\($0.parameters["page"] ?? "")")
            },
        ]
    }

    private func helpIndex(_ exchange: Exchange) -> Response {
        let links = Documents.all.sorted { $0.key < $1.key }.map { name, document -> HTML in
            .tag("li", [], .link(document.value.title, to: exchange.inspector("help/\(name)")))
        }
        return page(exchange, .help, title: "Help", [.element("ul", attributes: [], children: links)])
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

    /// Where a link of a page in the folder `folder` leads here; `nil` for files of the repository that the daemon hasn't.
    static func address(of link: String, in folder: String) -> String? {
        if link.hasPrefix("https://") || link.hasPrefix("http://") || link.hasPrefix("#") { return link }
        var parts = folder.isEmpty ? [] : folder.split(separator: "/").map(String.init)
        parts.insert("docs", at: 0)
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
