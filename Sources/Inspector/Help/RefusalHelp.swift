import EmulatorCore
import HTTPServer
import JSON
import Recordings

/// The place in the built-in documentation that explains why a request was refused.
struct RefusalHelp: Sendable, Equatable {
    /// The title of the documentation page that explains the refusal.
    let title: String
    /// The path, below the inspector's address, of the documentation page that explains why a request was refused. If a
    /// table row of that page explains it, the path ends with `#` and the row's ID.
    let path: String
}

extension Inspector {
    /// Returns the place in the documentation that explains why a recorded request was refused; `nil` if it wasn't
    /// refused, or if the documentation has no page about the provider's errors.
    func help(for exchange: RecordedExchange) -> RefusalHelp? {
        guard exchange.diagnosis != nil, let owner = provider(of: exchange),
            let document = Documents.all["errors/\(owner.name)"]?.value
        else { return nil }
        let row = document.row(about: Refusal(exchange))
        return RefusalHelp(title: document.title, path: "help/errors/\(owner.name)" + (row.map { "#row-\($0)" } ?? ""))
    }

    func provider(of exchange: RecordedExchange) -> (any Provider)? { control.finder.value.find(exchange).provider }
}

/// The facts by which a refusal is looked up in the documentation's tables of errors: its error names, its error texts,
/// and the place where it appears.
struct Refusal: Sendable {
    /// The texts in the response by which the error is looked up: codes such as `invalid_grant`, the first words of the
    /// error texts, and the HTTP status.
    var names: Set<String> = []
    /// The error's texts in the response, such as the value of `error_description`.
    var descriptions: [String] = []
    /// The place where the client gets the error: `page`, `redirect`, or the last segment of the endpoint's path.
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
    /// Returns the number of the table row that explains why a request was refused; `nil` if no row explains it. The
    /// rows of all tables of the documentation page are numbered consecutively, from 1.
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

    /// Returns how well a row of a documentation page's table matches a refusal. `text` is the row without its last
    /// cell. It contains error names in backticks, error texts in quotation marks, and the place where the error
    /// appears.
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
