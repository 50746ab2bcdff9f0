import EmulatorCore

extension Inspector {
    /// Returns a diagnosis, in which "request r12" links to that exchange, and "scenario refresh-revoked" to its page.
    func linked(_ diagnosis: String, _ exchange: Exchange, limit: Int = 2_000) -> HTML {
        let text = ShownText.plain(diagnosis, limit: limit)
        var parts: [HTML] = []
        var rest = text[...]
        while let match = rest.firstMatch(of: #/request (r[0-9]+)|scenario ([a-z0-9-]+)/#) {
            let page = match.1.map { "requests/\($0)" } ?? match.2.map { "orders/scenarios/\($0)" } ?? ""
            parts += [
                .text(String(rest[..<match.range.lowerBound])), .link(String(match.0), to: exchange.inspector(page)),
            ]
            rest = rest[match.range.upperBound...]
        }
        return .element("bdi", attributes: [], children: parts + [.text(String(rest))])
    }

    /// Returns a diagnosis in its parts.
    func reasonParts(_ diagnosis: String, _ exchange: Exchange) -> HTML {
        DiagnosisParts(line: ShownText.plain(diagnosis, limit: 2_000)).html { linked($0, exchange) }
    }
}
