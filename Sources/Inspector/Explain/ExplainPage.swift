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
            let message =
                isEmpty
                ? "Paste something first."
                : "The value is too long: at most \(PastedValue.limit >> 10) kB are accepted."
            return explainPage(
                exchange, value: isEmpty ? "" : String(value.prefix(1_000)), rawNonce: String(rawNonce.prefix(1_000)),
                status: 400, [.note("bad", .text(message))]
            ).diagnosed(Diagnosis(message))
        }
        let explained = try await control.explain(value, rawNonce: rawNonce, in: exchange.world)
        let tokenParts = explained.token.map { Set($0.parts.map(\.heading)) } ?? []
        let result = HTML.of(
            "section", ["aria-labelledby": "result"],
            .of(
                "div.row.explain-result", .of("h2#result", .text(explained.kind)),
                explained.isSound ? .badge("nothing wrong", "good") : .badge("something is wrong", "bad")),
            explained.token.map { tokenCard(exchange, $0, place: nil, number: 0) },
            .group(findingCards(exchange, explained.parts.filter { !tokenParts.contains($0.heading) })))
        return explainPage(exchange, value: value, rawNonce: rawNonce, [result])
    }

    private func explainPage(
        _ exchange: Exchange, value: String, rawNonce: String, status: Int = 200, _ result: [HTML?]
    ) -> Response {
        let introduction = HTML.of(
            "p",
            "Explains a value, and checks it against this test world's seed, keys, clock and recorded requests. The value isn't stored."
        )
        let form = form(
            to: "explain", exchange, ["class": "card explain-form"],
            .of("label", ["for": "value"], "Token, client secret, code, nonce or callback URL"),
            .textarea(
                "value", value, rows: 6,
                ["id": "value", "required": true, "autocomplete": "off", "aria-describedby": "value-about"]),
            .of(
                "p.soft.small#value-about",
                "Paste a value: its type is detected. For a callback, paste the whole URL, or the body of the posted form."
            ),
            .of("label", ["for": "raw-nonce"], "Raw nonce ", .soft("(with an ID token, if you have it)")),
            .input("rawNonce", rawNonce, ["id": "raw-nonce", "spellcheck": "false"]),
            .of("div.row.explain-send", .button("Explain")))
        return page(exchange, .explain, title: "Explain", status: status, [introduction] + result + [form])
    }
}
