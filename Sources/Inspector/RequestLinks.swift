import EmulatorCore

extension Inspector {
    /// A diagnosis, in which "request r12" leads to that exchange.
    func linked(_ diagnosis: String, _ exchange: Exchange, limit: Int = 2_000) -> HTML {
        let text = ShownText.plain(diagnosis, limit: limit)
        var parts: [HTML] = []
        var rest = text[...]
        while let match = rest.firstMatch(of: #/request (r[0-9]+)/#) {
            parts += [
                .text(String(rest[..<match.range.lowerBound])),
                .link(String(match.0), to: exchange.inspector("requests/\(match.1)")),
            ]
            rest = rest[match.range.upperBound...]
        }
        return .element("bdi", attributes: [], children: parts + [.text(String(rest))])
    }
}
