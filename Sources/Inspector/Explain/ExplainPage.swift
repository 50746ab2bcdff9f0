import Control
import EmulatorCore
import HTTPServer

// The page explain: a value is pasted, and the page says what it is and what is wrong with it. The value is sent in a
// form's body, so that no address, history or log has it.

extension Inspector {
    var explainEndpoints: [Endpoint] {
        [
            page("GET", "explain") { explainPage($0, value: "", rawNonce: "", []) },
            form("explain") { try await explain($0, $1) },
        ]
    }

    private func explain(_ exchange: Exchange, _ form: Form) async throws -> Response {
        let value = form["value"] ?? ""
        let rawNonce = form["rawNonce"] ?? ""
        let isEmpty = value.allSatisfy(\.isWhitespace)
        guard !isEmpty, value.utf8.count + rawNonce.utf8.count <= PastedValue.limit else {
            let message = isEmpty ? "Paste something first." : "\(PastedValue.limit >> 10) kB are read at most."
            return explainPage(
                exchange, value: isEmpty ? "" : String(value.prefix(1_000)), rawNonce: String(rawNonce.prefix(1_000)),
                status: 400, [.tag("p", [("class", "note bad"), ("role", "alert")], message)]
            ).diagnosed(Diagnosis(message))
        }
        let explained = try await control.explain(value, rawNonce: rawNonce, in: exchange.world)
        return explainPage(exchange, value: value, rawNonce: rawNonce, result(exchange, explained))
    }

    private func explainPage(
        _ exchange: Exchange, value: String, rawNonce: String, status: Int = 200, _ result: [HTML]
    ) -> Response {
        let fields: [HTML] = [
            .tag("label", [("for", "value")], "Token, client secret, code, nonce or callback URL"),
            .tag(
                "textarea",
                [
                    ("id", "value"), ("name", "value"), ("rows", "6"), ("required", nil), ("spellcheck", "false"),
                    ("autocomplete", "off"), ("aria-describedby", "value-about"),
                ], value),
            .tag(
                "p", [("id", "value-about"), ("class", "soft small")],
                "Paste anything: the type is detected. A callback may be the whole URL, or the body of the form that was posted."
            ),
            .tag(
                "label", [("for", "raw-nonce")], .text("Raw nonce "),
                .tag("span", [("class", "soft")], "(with an ID token, if you have it)")),
            .tag(
                "input",
                [
                    ("id", "raw-nonce"), ("name", "rawNonce"), ("value", rawNonce), ("spellcheck", "false"),
                    ("autocomplete", "off"),
                ]),
            .tag("div", [("class", "row explain-send")], .tag("button", [], "Explain")),
        ]
        return page(
            exchange, .explain, title: "Explain", status: status,
            [
                .tag(
                    "p", [],
                    "Says what a value is and what is wrong with it: by this world's seed, its keys, its clock and its recording. Nothing of it is kept."
                )
            ] + result + [form(to: "explain", exchange, [("class", "card explain-form")], fields)])
    }

    private func result(_ exchange: Exchange, _ explained: PastedValue) -> [HTML] {
        let badge =
            explained.isSound
            ? HTML.tag("span", [("class", "badge good")], "nothing wrong")
            : .tag("span", [("class", "badge bad")], "something is wrong")
        let title = HTML.tag(
            "div", [("class", "row explain-result")], .tag("h2", [("id", "result")], explained.kind), badge)
        let tokenParts = explained.token.map { Set($0.parts.map(\.heading)) } ?? []
        let parts = explained.parts.filter { !tokenParts.contains($0.heading) }.map { part in
            HTML.tag(
                "section", [("class", "card")], .tag("h3", [], ShownText.isolated(part.heading, limit: 200)),
                findingList(exchange, part.findings))
        }
        let token = explained.token.map { [tokenCard(exchange, $0, place: nil, number: 0)] } ?? []
        return [
            .element(
                "section", attributes: [(name: "aria-labelledby", value: "result")],
                children: [title] + token + parts)
        ]
    }
}
