import EmulatorCore
import HTTPServer
import JOSE
import JSON

/// What is to be said on the next page, after a form has changed something: the page's address names it, and it is said once. It lies in
/// the world's tables, since another replica may answer for that page.
struct PageNotice: Row {
    static let table = Table<PageNotice>("inspector.notice", limit: 100)

    /// The name of the notice, for `?notice=`.
    let key: String
    /// A path below the inspector's address. Only this page shows it.
    let page: String
    let text: String

    init(_ text: String, for page: String) {
        // Not the world's randomness: a form must not change what the world's next code is.
        var randomness = Randomness(seed: nil)
        key = Base64URL.encode(randomness.bytes(9))
        self.page = page
        self.text = Place.shortened(text, to: 2_000)
    }
}

extension World {
    /// The text of the notice of that name, which is gone afterwards; `nil` when it is none of that page's.
    fileprivate func takeNotice(_ name: String, on page: String) throws -> String? {
        // A page that is shown again changes nothing.
        guard read({ $0.find(PageNotice.self, name) }) != nil else { return nil }
        return try update { tables in tables.pop(PageNotice.self, name) { $0.page == page }?.text }
    }
}

extension Inspector {
    /// The types of the rows that its pages put into worlds.
    package static var rows: [any Row.Type] { [PageNotice.self] }
}

extension Inspector {
    /// After a change: the page at `path` below the inspector's address, which says what has happened.
    func changed(_ exchange: Exchange, show path: String, saying text: String) throws -> Response {
        let notice = PageNotice(text, for: path)
        try exchange.world.update { $0.put(notice) }
        return changed(exchange, show: "\(path)?notice=\(notice.key)")
    }

    /// What the page's address has it say.
    func notice(_ exchange: Exchange) throws -> HTML {
        let name = exchange.request.queryForm["notice"] ?? ""
        let page = String(exchange.address.path.dropFirst(Inspector.root.count + 1))
        guard !name.isEmpty, let text = try exchange.world.takeNotice(name, on: page) else { return .group([]) }
        return .tag("p", [("class", "note good"), ("role", "status")], ShownText.isolated(text, limit: 2_000))
    }

    /// That something wasn't done, and why.
    func refusal(_ message: String?) -> HTML {
        guard let message else { return .group([]) }
        return .tag(
            "p", [("class", "note bad"), ("role", "alert")], .tag("strong", [], "Nothing was changed. "),
            ShownText.isolated(message, limit: 2_000))
    }
}

extension Exchange {
    /// The segment of an address for an ID, whatever characters it has. Browsers take away segments of dots.
    static func segment(_ id: String) -> String {
        let isOdd = id == "." || id == ".." || id.hasPrefix("=")
        return (isOdd ? "%3D" : "") + PercentCoding.encode(Array(id.utf8))
    }

    /// The ID that a segment of the address stands for.
    func identifier(_ name: String) -> String {
        let segment = parameters[name] ?? ""
        return segment.hasPrefix("=") ? String(segment.dropFirst()) : segment
    }
}
