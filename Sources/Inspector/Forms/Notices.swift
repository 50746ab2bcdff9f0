import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Worlds

/// A notice that the next page shows once, after a form has changed something. The page's address contains the notice's
/// name. The notice is stored with the test world, because another daemon that shares the world may serve that page.
struct PageNotice: Row {
    static let table = Table<PageNotice>("inspector.notice", limit: 100)

    /// The name of the notice: the value of the query parameter `notice` in the page's URL.
    let key: String
    /// The path, below the inspector's address, of the only page that may show the notice.
    let page: String
    let text: String

    init(_ text: String, for page: String) {
        // This isn't the world's randomness: a form must not change the world's next code.
        var randomness = Randomness(seed: nil)
        key = Base64URL.encode(randomness.bytes(9))
        self.page = page
        self.text = BoundedText.shortened(text, to: 2_000)
    }
}

extension World {
    /// Removes the notice with this name and returns its text. Returns `nil` if `page` has no such notice.
    fileprivate func popNotice(_ name: String, on page: String) throws -> String? {
        // Reading first keeps the reload of a page from changing the world.
        guard read({ $0.find(PageNotice.self, name) }) != nil else { return nil }
        return try update { tables in tables.pop(PageNotice.self, name) { $0.page == page }?.text }
    }
}

extension Inspector {
    /// The types of the table rows that the inspector stores in test worlds.
    package static var rows: [any Row.Type] { [PageNotice.self] }

    /// Stores a notice that says what has changed. Redirects to the page at `path` below the inspector's address, which
    /// shows the notice.
    func changed(_ exchange: Exchange, show path: String, saying text: String) throws -> Response {
        let notice = PageNotice(text, for: path)
        try exchange.world.update { $0.put(notice) }
        return changed(exchange, show: "\(path)?notice=\(notice.key)")
    }

    /// Returns the notice whose name is the query field `notice` of the requested page's address; `nil` if there is no
    /// such notice.
    func notice(_ exchange: Exchange) throws -> HTML? {
        let name = exchange.request.queryForm["notice"] ?? ""
        let page = String(exchange.address.path.dropFirst(Inspector.root.count + 1))
        guard !name.isEmpty, let text = try exchange.world.popNotice(name, on: page) else { return nil }
        return .of("p.note.good", ["role": "status"], ShownText.isolated(text, limit: 2_000))
    }

    /// Returns the reasons why a change was refused, to be shown above the form. `nil` if nothing was refused.
    func refusalNote(_ refusal: CallRefusal?) -> HTML? {
        guard let refusal else { return nil }
        let lines = refusal.faults.map { fault in
            HTML.group([
                fault.path.map { .group([.of("code", .text($0)), ": "]) } ?? "",
                .of("span.text", .text(ShownText.source(fault.message))),
            ])
        }
        return .of(
            "div.note.bad", ["role": "alert"], .of("p", .of("strong", "Nothing was changed.")), .list("ul", lines),
            refusal.more.map { .of("p", .text($0)) })
    }
}

extension Exchange {
    /// Returns an ID as a segment of a URL's path. An ID such as `..` gets a prefix, because browsers remove segments
    /// of dots.
    static func segment(_ id: String) -> String {
        let isOdd = id == "." || id == ".." || id.hasPrefix("=")
        return (isOdd ? "%3D" : "") + PercentCoding.encode(Array(id.utf8))
    }

    /// Returns the ID that a segment of the URL's path stands for. `name` is the segment's name in the endpoint's path.
    func identifier(_ name: String) -> String {
        let segment = parameters[name] ?? ""
        return segment.hasPrefix("=") ? String(segment.dropFirst()) : segment
    }
}
