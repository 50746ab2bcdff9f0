import Control
import EmulatorCore

// JSON Web Tokens in detail: header and claims in tables, each with its meaning, and the check of the signature.

extension Inspector {
    func tokenCards(_ exchange: Exchange, _ found: FoundExchange) -> [HTML] {
        guard !found.tokens.isEmpty else { return [] }
        let cards = found.tokens.enumerated().map { number, entry in
            tokenCard(exchange, entry.token, place: entry.place, number: number)
        }
        let more =
            found.moreTokens > 0
            ? [HTML.tag("p", [("class", "soft")], "\(found.moreTokens) more tokens aren't shown here.")] : []
        let title = HTML.tag("h2", [], found.tokens.count == 1 ? "The token in it" : "The tokens in it")
        let moment = HTML.tag(
            "p", [("class", "soft small")], .text("As it was at the time of this exchange, "),
            ShownText.time(found.known.exchange.time), .text(" by the world's clock."))
        return [title, moment] + cards + more
    }

    func tokenCard(_ exchange: Exchange, _ token: ReadToken, place: String?, number: Int) -> HTML {
        let findings = token.signature + token.missing + (token.header + token.claims).flatMap(\.findings)
        let wrong = findings.filter { $0.holds == false }.count
        let badge =
            wrong == 0
            ? HTML.tag("span", [("class", "badge good")], "nothing wrong")
            : .tag("span", [("class", "badge bad")], wrong == 1 ? "1 thing is wrong" : "\(wrong) things are wrong")
        return .tag(
            "section", [("class", "card exchange-token"), ("aria-labelledby", "token-\(number)")],
            .tag(
                "div", [("class", "row")], .tag("h3", [("id", "token-\(number)")], token.title), badge,
                place.map { .tag("span", [("class", "soft small")], ShownText.isolated($0, limit: 200)) } ?? .group([])),
            .tag("h4", [], "Signature"), findingList(exchange, token.signature),
            memberTable(exchange, "Header", token.header), memberTable(exchange, "Claims", token.claims),
            token.missing.isEmpty
                ? .group([]) : .group([.tag("h4", [], "Missing"), findingList(exchange, token.missing)]))
    }

    private func memberTable(_ exchange: Exchange, _ caption: String, _ members: [ReadMember]) -> HTML {
        guard !members.isEmpty else { return .group([]) }
        var size = 0
        let shown = members.prefix(FieldTable.limit).prefix { member in
            defer { size += min(member.value.utf8.count, 1_000) + min(member.name.utf8.count, 200) }
            return size < 16 << 10
        }
        let rows = shown.map { member in
            HTML.tag(
                "tr", member.findings.contains { $0.holds == false } ? [("class", "exchange-wrong")] : [],
                .tag("th", [("scope", "row")], ShownText.isolated(member.name, limit: 200)),
                .tag("td", [("data-label", "Value")], ShownText.code(member.value, limit: 1_000)),
                .tag("td", [("data-label", "Says")], findingList(exchange, member.findings)))
        }
        let head = HTML.tag(
            "thead", [],
            .tag(
                "tr", [], .tag("th", [("scope", "col")], "Name"), .tag("th", [("scope", "col")], "Value"),
                .tag("th", [("scope", "col")], "Says")))
        let rest = members.count - shown.count
        return .group([
            .tag(
                "table", [("class", "exchange-members")], .tag("caption", [], caption), head,
                .element("tbody", attributes: [], children: rows)),
            rest > 0 ? .tag("p", [("class", "soft small")], "\(rest) more aren't shown here.") : .group([]),
        ])
    }

    /// Returns a list of findings, each with a mark that isn't only a colour, and a link to its exchange.
    func findingList(_ exchange: Exchange, _ findings: [ExplainedPart.Finding]) -> HTML {
        guard !findings.isEmpty else { return .group([]) }
        let items = findings.prefix(FieldTable.limit).map { finding -> HTML in
            let (kind, mark, spoken) =
                switch finding.holds {
                case true?: ("good", "✓", "Right: ")
                case false?: ("bad", "✗", "Wrong: ")
                case nil: ("plain", "", "")
                }
            let link = finding.exchange.map { id in
                HTML.group([.text(" ("), .link(id, to: exchange.inspector("requests/\(id)")), .text(")")])
            }
            return .tag(
                "li", [("class", "exchange-\(kind)")],
                mark.isEmpty ? .group([]) : .tag("span", [("aria-hidden", "true")], mark),
                spoken.isEmpty ? .group([]) : .tag("span", [("class", "spoken")], spoken),
                .tag("span", [], ShownText.isolated(finding.text, limit: 2_000), link ?? .group([])))
        }
        return .element("ul", attributes: [(name: "class", value: "exchange-findings")], children: items)
    }
}
