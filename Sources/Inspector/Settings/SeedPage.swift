import Control
import EmulatorCore
import HTTPServer
import JSON

// The page `/_understudy/worlds/seed`: the seed of this world, which can be merged into or replaced.

extension Inspector {
    /// The number of bytes of a seed on the page. The whole can be downloaded.
    private static let shownSeed = 64 << 10

    func seedPage(
        _ exchange: Exchange, _ form: Form? = nil, status: Int = 200, refusal: CallRefusal? = nil
    ) throws -> Response {
        let text = exchange.world.seed.document.indented()
        let wantsWhole = exchange.request.queryForm["edit"] == "whole"
        let answer = page(
            exchange, .worlds, title: "This world's seed", status: status, scripts: ["orders"],
            [
                worldTabs(exchange, "worlds/seed"), try notice(exchange), refusalNote(refusal),
                editor(exchange, form, whole: wantsWhole && !control.masksSecrets ? text : nil),
                .tag("h2", [], "As it is"), shown(exchange, text),
            ])
        return refused(answer, refusal)
    }

    private func shown(_ exchange: Exchange, _ text: String) -> HTML {
        let url = "\(exchange.address.ownBase)\(ControlAPI.root)/seed"
        let download = HTML.tag(
            "p", [],
            .tag("a", [("href", url), ("download", "seed.json"), ("class", "button quiet small")], "Download it"))
        guard !control.masksSecrets else {
            return .group([
                .tag(
                    "p", [("class", "soft")],
                    "It holds secrets, and the daemon was started to show none (--mask-secrets). GET seed of the control API gives it."
                )
            ])
        }
        let bytes = text.utf8.count
        let isWhole = bytes <= Inspector.shownSeed
        let beginning = isWhole ? text : String(decoding: text.utf8.prefix(Inspector.shownSeed), as: UTF8.self)
        return .group([
            download,
            .tag(
                "pre", [("tabindex", "0"), ("aria-label", "The seed"), ("class", "orders-seed")],
                ShownText.source(beginning)),
            isWhole
                ? .group([])
                : .tag("p", [("class", "soft")], "That was the beginning: \(Inspector.shownSeed) of \(bytes) bytes."),
        ])
    }

    private func editor(_ exchange: Exchange, _ form: Form?, whole: String?) -> HTML {
        // A link on a provider's page names what the seed lacks.
        let missing = exchange.request.queryForm["merge"] ?? ""
        let fallback = Form(fields: [Form.Field(name: "seed", value: whole ?? missing)])
        let values = form ?? fallback
        return .tag(
            "section", [("class", "card")], .tag("h2", [], "Change it"),
            self.form(
                to: "worlds/seed", exchange, [],
                [
                    OrderField.text(
                        "Seed", "seed", values, hint: "JSON, as in a seed's file", rows: whole == nil ? 10 : 24),
                    .tag(
                        "fieldset", [], .tag("legend", [], "What to do with it"),
                        OrderField.choice(
                            "Merge it in, as another file would be. The world goes on with all that it has.", "mode",
                            values,
                            value: "merge", isFallback: whole == nil),
                        OrderField.choice(
                            "Replace the seed. The world begins afresh.", "mode", values, value: "replace",
                            isFallback: whole != nil)),
                    .tag(
                        "p", [("class", "row")], OrderField.button("Change the seed"),
                        control.masksSecrets
                            ? .group([])
                            : .tag(
                                "a",
                                [
                                    ("class", "button quiet"),
                                    ("href", "\(exchange.inspector("worlds/seed"))?edit=whole"),
                                ], "Edit the whole seed")),
                ]),
            .tag(
                "p", [("class", "soft small")],
                "An example: {\"accounts\": [{\"id\": \"max\", \"email\": \"max@example.org\"}]}. Mistakes are shown with their paths, as "
                    + "understudy seed check shows them."))
    }

    func changeSeed(_ exchange: Exchange, _ form: Form) async throws -> Response {
        let method = form["mode"] == "replace" ? "PUT" : "POST"
        let text = form["seed"] ?? ""
        do {
            _ = try await call(method, "seed", bytes: Array(text.utf8), in: exchange)
            return try changed(
                exchange, show: "worlds/seed",
                saying: method == "PUT"
                    ? "The seed was replaced, and the world has begun afresh." : "It was merged into the seed.")
        } catch let error as CallRefusal {
            return try seedPage(exchange, form, status: error.status, refusal: error)
        }
    }
}
