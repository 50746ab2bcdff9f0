import Control
import EmulatorCore
import HTTPServer

// The page requests/ID?with=OTHER: two exchanges side by side.

extension Inspector {
    func comparisonPage(_ exchange: Exchange, _ found: FoundExchange, _ other: KnownExchange) -> Response {
        let first = ExchangeDocument(found.known, masksSecrets: control.masksSecrets)
        let second = ExchangeDocument(other, masksSecrets: control.masksSecrets)
        let comparison = Comparison(first, second)
        let (id, with) = (found.known.exchange.id, other.exchange.id)
        let count = comparison.groups.reduce(0) { $0 + $1.different.count }
        let introduction = HTML.tag(
            "p", [], .link(id, to: exchange.inspector("requests/\(id)")), .text(" and "),
            .link(with, to: exchange.inspector("requests/\(with)")),
            .text(count == 0 ? " are the same." : count == 1 ? " differ in one place." : " differ in \(count) places."))
        let isWithheld = first.isWithheld || second.isWithheld
        return page(
            exchange, .signIns, title: "\(id) beside \(with)",
            [introduction]
                + (isWithheld
                    ? [.tag("p", [("class", "note warn")], "What is masked of one of them isn't compared.")] : [])
                + [.tag("div", [("class", "exchange-actions")], comparing(exchange, found, with: with))]
                + (comparison.groups.filter { !$0.different.isEmpty } + comparison.groups.filter(\.different.isEmpty))
                .map {
                    group($0, id, with)
                })
    }

    private func group(_ group: Comparison.Group, _ first: String, _ second: String) -> HTML {
        let same = group.rows.filter(\.isSame)
        let rest = HTML.tag(
            "details", [], .tag("summary", [], same.count == 1 ? "1 the same" : "\(same.count) the same"),
            table(same, "\(group.title), the same", first, second))
        return .tag(
            "section", [("class", "card")], .tag("h2", [], group.title),
            group.different.isEmpty ? .group([]) : table(group.different, group.title, first, second),
            same.isEmpty ? .group([]) : rest)
    }

    private func table(_ rows: [Comparison.Row], _ caption: String, _ first: String, _ second: String) -> HTML {
        let body = rows.prefix(FieldTable.limit).map { row in
            HTML.tag(
                "tr", [], .tag("th", [("scope", "row")], ShownText.isolated(row.name, limit: 200)),
                .tag("td", [("data-label", first)], cell(row.first)),
                .tag("td", [("data-label", second)], cell(row.second)))
        }
        let head = HTML.tag(
            "tr", [], .tag("th", [("scope", "col")], "Name"), .tag("th", [("scope", "col")], first),
            .tag("th", [("scope", "col")], second))
        let rest = rows.count - body.count
        return .group([
            .tag(
                "table", [("class", "exchange-members exchange-compared"), ("aria-label", caption)],
                .tag("thead", [], head), .element("tbody", attributes: [], children: body)),
            rest > 0 ? .tag("p", [("class", "soft small")], "\(rest) more aren't shown here.") : .group([]),
        ])
    }

    private func cell(_ value: String?) -> HTML {
        guard let value else { return .tag("span", [("class", "soft")], "not there") }
        return value.isEmpty ? .tag("span", [("class", "soft")], "empty") : ShownText.code(value, limit: 600)
    }
}
