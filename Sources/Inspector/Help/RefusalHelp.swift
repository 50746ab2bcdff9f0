import EmulatorCore
import HTTPServer
import JSON
import Recordings

/// The place in the documentation that explains a refusal.
struct RefusalHelp: Sendable, Equatable {
    /// The title of the page.
    let title: String
    /// The path below the inspector's address, with the row of the table if there is one about this refusal.
    let path: String
}

extension Inspector {
    /// Returns the documentation of an exchange's refusal; `nil` if nothing was refused, or the refusal isn't
    /// documented.
    func help(for exchange: RecordedExchange) -> RefusalHelp? {
        guard exchange.diagnosis != nil, let owner = provider(of: exchange),
            let document = Documents.all["errors/\(owner.name)"]?.value
        else { return nil }
        let row = document.row(about: Refusal(exchange))
        return RefusalHelp(title: document.title, path: "help/errors/\(owner.name)" + (row.map { "#row-\($0)" } ?? ""))
    }

    /// Returns the provider whose endpoint answered; `nil` if there is none.
    func provider(of exchange: RecordedExchange) -> (any Provider)? { control.finder.value.find(exchange).provider }
}

/// The name and place of a refusal, in the words of the documentation's tables.
struct Refusal: Sendable {
    /// The names: `invalid_grant`, or the first word of a message.
    var names: Set<String> = []
    /// The texts of `error_description` and the like.
    var descriptions: [String] = []
    /// The place: `page`, `redirect`, or the last segment of the path.
    private(set) var place = ""

    init(_ exchange: RecordedExchange) {
        // A redirect has its error in the parameters of Location.
        for finding in exchange.responseFindings where finding.place.hasPrefix("response.headers") {
            if finding.name == "error" { names.insert(finding.value) }
            if finding.name == "error_description" { add(finding.value) }
        }
        if let object = try? JSONValue(parsing: exchange.response.body, limits: .answer) {
            let error = object["error"] ?? [:]
            if let name = error.string { names.insert(name) }
            for member in ["name", "status", "type", "code"] {
                if let value = error[member] { names.insert(value.string ?? value.text) }
            }
            for text in [object["error_description"], object["message"], error["message"]] {
                if let text = text?.string { add(text) }
            }
        }
        let isPage = exchange.response.header("Content-Type")?.hasPrefix("text/html") ?? false
        let isRedirect = exchange.response.header("Location") != nil
        let last = exchange.path.split(separator: "/").last.map(String.init) ?? ""
        place = isRedirect ? "redirect" : isPage ? "page" : last
        if isPage { descriptions.append(String(decoding: exchange.response.body, as: UTF8.self)) }
        names.insert("\(exchange.response.status)")
    }

    private mutating func add(_ text: String) {
        descriptions.append(text)
        // Firebase writes "WEAK_PASSWORD : Password should be …".
        names.insert(String(text.prefix { $0 != " " }))
    }
}

extension Document {
    /// Returns the number of the row about the refusal; `nil` if there is none.
    func row(about refusal: Refusal) -> Int? {
        var number = 0
        var best: (row: Int, score: Int)?
        for case .table(_, let rows) in blocks {
            for cells in rows {
                number += 1
                let score = Document.score(cells.dropLast().joined(separator: " "), refusal)
                if score > best?.score ?? 1 { best = (number, score) }
            }
        }
        return best?.row
    }

    /// Returns how well a row's first cells match: its names in code, its texts in quotation marks, and the place of
    /// the refusal.
    private static func score(_ text: String, _ refusal: Refusal) -> Int {
        let code = text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter {
            $0.offset % 2 == 1
        }
        let quoted = text.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { $0.element.prefix { $0 != "…" } }
        var score = 0
        let names = code.map { String($0.element.prefix { $0 != " " && $0 != ":" }) }
        // A page has the name of its error in its text.
        let isNamed = names.contains { name in
            refusal.names.contains(name)
                || refusal.place == "page" && refusal.descriptions.contains { $0.contains(name) }
        }
        if isNamed { score += 4 }
        for quotation in quoted where quotation.count > 3 {
            let isFound = refusal.descriptions.contains {
                $0.contains(quotation) || $0.contains(HTML.escape(String(quotation)))
            }
            score += isFound ? 8 : -1
        }
        let words = text.split { !$0.isLetter && !$0.isNumber }
        if score > 0, words.contains(where: { $0 == refusal.place }) { score += 2 }
        return score
    }
}
