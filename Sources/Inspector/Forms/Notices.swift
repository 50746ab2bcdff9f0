import EmulatorCore
import HTTPServer
import JSON
import Synchronization

/// What is to be said on the next page, after a form has changed something: the page's address names it, and it is said once.
final class Notices: WorldCache {
    private static let limit = 100

    private struct State {
        var count = 0
        var texts: [String: (page: String, text: String)] = [:]
    }

    private let state = Mutex(State())
    let followsSeed = false

    init() {}

    /// The name of the notice, for `?notice=`. Only `page`, a path below the inspector's address, shows it.
    func add(_ text: String, for page: String) -> String {
        state.withLock { state in
            state.count += 1
            state.texts[String(state.count - Notices.limit)] = nil
            state.texts[String(state.count)] = (page, Place.shortened(text, to: 2_000))
            return String(state.count)
        }
    }

    /// The text of that name, which is gone afterwards; `nil` when it is none of that page's.
    func take(_ name: String, on page: String) -> String? {
        state.withLock { state in
            guard state.texts[name]?.page == page else { return nil }
            return state.texts.removeValue(forKey: name)?.text
        }
    }
}

extension Inspector {
    /// After a change: the page at `path` below the inspector's address, which says what has happened.
    func changed(_ exchange: Exchange, show path: String, saying text: String) -> Response {
        changed(exchange, show: "\(path)?notice=\(exchange.world.caches[Notices.self].add(text, for: path))")
    }

    /// What the page's address has it say.
    func notice(_ exchange: Exchange) -> HTML {
        let name = exchange.request.queryForm["notice"] ?? ""
        let page = String(exchange.address.path.dropFirst(Inspector.root.count + 1))
        guard let text = exchange.world.caches[Notices.self].take(name, on: page) else { return .group([]) }
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
