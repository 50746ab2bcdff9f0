import Control
import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Recordings
import Worlds

// The page requests/ID?with=OTHER: two exchanges side by side.

extension Inspector {
    func comparisonPage(_ exchange: Exchange, _ found: FoundExchange, _ other: KnownExchange) -> Response {
        let first = ExchangeDocument(found.known, masksSecrets: control.masksSecrets)
        let second = ExchangeDocument(other, masksSecrets: control.masksSecrets)
        let comparison = Comparison(first, second)
        let (id, with) = (found.known.exchange.id, other.exchange.id)
        let count = comparison.groups.reduce(0) { $0 + $1.different.count }
        let different = comparison.groups.filter { !$0.different.isEmpty }
        let words = count == 0 ? "are the same" : "differ in \(count == 1 ? "one place" : "\(count) places")"
        return page(
            exchange, .signIns, title: "\(id) beside \(with)",
            [
                .of(
                    "p", exchange.link("requests/\(id)", .text(id)), " and ",
                    exchange.link("requests/\(with)", .text(with)), " \(words)."),
                first.isWithheld || second.isWithheld
                    ? .note("warn", "Masked parts aren't compared.") : nil,
                .of("div.exchange-actions", comparing(exchange, found, with: with)),
            ] + (different + comparison.groups.filter(\.different.isEmpty)).map { group($0, id, with) })
    }

    private func group(_ group: Comparison.Group, _ first: String, _ second: String) -> HTML {
        let same = group.rows.filter(\.isSame)
        return .card(
            group.title,
            group.different.isEmpty ? nil : table(group.different, group.title, first, second),
            same.isEmpty
                ? nil
                : .of(
                    "details", .of("summary", "\(same.count) the same"),
                    table(same, "\(group.title), the same", first, second)))
    }

    private func table(_ rows: [Comparison.Row], _ label: String, _ first: String, _ second: String) -> HTML {
        let shown = rows.prefix(FieldTable.limit).map { row -> HTML.Row in
            [ShownText.isolated(row.name, limit: 200), cell(row.first), cell(row.second)]
        }
        return .group([
            .table(
                "exchange-members.exchange-compared", ["Name", first, second], label: label, headed: true, shown),
            .more(rows.count - shown.count) ?? "",
        ])
    }

    private func cell(_ value: String?) -> HTML {
        guard let value else { return .soft("not there") }
        return value.isEmpty ? .soft("empty") : ShownText.code(value, limit: 600)
    }
}

/// A comparison of two recorded requests and their responses, value by value.
struct Comparison {
    struct Row {
        let name: String
        let first: String?
        let second: String?

        var isSame: Bool {
            guard let first, let second else { return false }
            return first.utf8.elementsEqual(second.utf8)
        }
    }

    struct Group {
        let title: String
        let rows: [Row]

        var different: [Row] { rows.filter { !$0.isSame } }
    }

    /// The greatest number of values that a comparison takes from each of two recorded requests under one heading, such
    /// as "Response headers".
    private static let limit = 300

    let groups: [Group]

    init(_ first: ExchangeDocument, _ second: ExchangeDocument) {
        let parts = [first, second].map(Comparison.parts)
        groups = Comparison.titles.map { title in
            Group(title: title, rows: Comparison.rows(parts[0][title] ?? [], parts[1][title] ?? []))
        }.filter { !$0.rows.isEmpty }
    }

    /// The key of a field in a comparison: its name, and a number because the name may occur several times.
    private struct Key: Hashable {
        let name: String
        let number: Int
    }

    /// Returns the rows that compare two lists of fields, in the order of the first list, followed by the fields that
    /// only the second list has. If a name occurs several times, its first occurrences are compared with each other,
    /// then its second ones, and so on.
    private static func rows(_ first: [(String, String)], _ second: [(String, String)]) -> [Row] {
        func numbered(_ fields: [(String, String)]) -> [(key: Key, value: String)] {
            var seen: [String: Int] = [:]
            return fields.prefix(limit).map { name, value in
                seen[name, default: 0] += 1
                return (Key(name: name, number: seen[name] ?? 0), value)
            }
        }
        let (left, right) = (numbered(first), numbered(second))
        let others = Dictionary(uniqueKeysWithValues: right.map { ($0.key, $0.value) })
        let known = Set(left.map(\.key))
        return left.map { Row(name: $0.key.name, first: $0.value, second: others[$0.key]) }
            + right.filter { !known.contains($0.key) }.map { Row(name: $0.key.name, first: nil, second: $0.value) }
    }

    // MARK: - Parts of an exchange

    private static let titles = [
        "Outcome", "Query", "Request body", "Request headers", "Response headers", "Response body", "Token header",
        "Claims",
    ]

    private static func parts(_ document: ExchangeDocument) -> [String: [(String, String)]] {
        let exchange = document.known.exchange
        var outcome = [
            ("Method", exchange.request.method), ("Host", exchange.host ?? ""),
            ("Path", document.shown(encoded: exchange.path)), ("Status", String(exchange.response.status)),
        ]
        if let diagnosis = document.diagnosis { outcome.append(("Diagnosis", diagnosis)) }
        if let note = document.note { outcome.append(("Note", note)) }
        if let client = document.known.client { outcome.append(("Client", client)) }
        if let fault = exchange.fault { outcome.append(("Ordered", document.shown(fault))) }
        let tokens = document.foundTokens.prefix(FoundExchange.tokenLimit)
        func members(_ object: (JWS) -> JSONObject) -> [(String, String)] {
            tokens.flatMap { found in
                object(found.token).members.map {
                    ("\(found.finding.name): \($0.key)", $0.value.string ?? $0.value.text)
                }
            }
        }
        let query = document.isWithheld ? [] : exchange.request.queryForm.fields
        return [
            "Outcome": outcome, "Query": query.map { ($0.name, document.shown($0.value)) },
            "Request body": requestBody(document),
            "Request headers": headers(document, exchange.request.headers),
            "Response headers": headers(document, exchange.response.headers),
            "Response body": body(document, exchange.response.body, exchange.response.header("Content-Type")),
            "Token header": members(\.header), "Claims": members(\.claims),
        ]
    }

    /// The daemon's own response headers, which are left out when two recorded requests are compared.
    private static let said = [
        Diagnosis.headerName, Note.headerName, Evidence.headerName, "Understudy-Request",
    ]

    /// Returns the headers that are compared, with their names in lower case, because case doesn't matter in HTTP.
    private static func headers(
        _ document: ExchangeDocument, _ headers: [(name: String, value: String)]
    ) -> [(String, String)] {
        document.shown(headers: headers).filter { !said.contains($0.name) }.map {
            ($0.name.lowercased(), $0.value)
        }
    }

    /// Returns the fields of a request's body, followed by the fields of forms and URLs that are nested in them.
    private static func requestBody(_ document: ExchangeDocument) -> [(String, String)] {
        let exchange = document.known.exchange
        let fields = body(document, exchange.request.body, exchange.request.header("Content-Type"))
        guard !document.isWithheld else { return fields }
        let start = "request.body."
        let names = Set(fields.map(\.0))
        let inner = exchange.requestFindings.prefix(limit).filter { finding in
            finding.place.hasPrefix(start) && !names.contains(String(finding.place.dropFirst(start.count)))
        }
        return fields + inner.map { (String($0.place.dropFirst(start.count)), document.shown($0.value)) }
    }

    private static func body(_ document: ExchangeDocument, _ body: [UInt8], _ type: String?) -> [(String, String)] {
        guard !body.isEmpty else { return [] }
        switch document.shown(body: body, type: type) {
        case .withheld: return []
        case .bytes(let bytes): return [("Bytes", Hex.encode(Array(bytes.prefix(256))))]
        case .text(let text):
            let bytes = Array(text.utf8)
            if bytes.holdsJSON, let value = try? JSONValue(parsing: bytes) {
                var leaves: [(String, String)] = []
                add(value, at: "", to: &leaves)
                return leaves
            }
            guard type?.mediaType == "application/x-www-form-urlencoded" else { return [("Text", text)] }
            return Form(parsing: bytes).fields.map { ($0.name, $0.value) }
        }
    }

    /// Adds each value that is nested in a JSON value to `leaves`, with its path.
    private static func add(_ value: JSONValue, at path: String, to leaves: inout [(String, String)]) {
        guard leaves.count < limit else { return }
        switch value {
        case .object(let object) where !object.isEmpty:
            for (key, value) in object.members {
                add(value, at: BoundedText.extended(path, path.isEmpty ? key : ".\(key)"), to: &leaves)
            }
        case .array(let items) where !items.isEmpty:
            for (number, item) in items.prefix(limit).enumerated() {
                add(item, at: BoundedText.extended(path, "[\(number)]"), to: &leaves)
            }
        default: leaves.append((path, value.string ?? value.text))
        }
    }
}
