import Control
import EmulatorCore
import HTTPServer
import JSON

// The pages `/_understudy/worlds`, where worlds are made, opened, reset and deleted, and `/_understudy/worlds/seed`,
// where the seed of this world can be merged into or replaced.

extension Inspector {
    var worldEndpoints: [Endpoint] {
        [
            page("GET", "worlds") { try await worldsPage($0) }, form("worlds") { try await makeWorld($0, $1) },
            form("worlds/reset") { exchange, form in
                let name = form["name"] ?? ""
                return try await change(
                    exchange, "POST", "worlds/\(Inspector.segment(name))/reset",
                    saying: "The world \(name) was reset.")
            },
            form("worlds/delete") { try await deleteWorld($0, $1) },
            page("GET", "worlds/seed") { try seedPage($0) }, form("worlds/seed") { try await changeSeed($0, $1) },
        ]
    }

    private func worldForm(_ sent: Form? = nil) -> SchemaForm {
        var form = SchemaForm(schema(of: "POST", "worlds"), sent: sent) { _ in true }
        form.labels = ["listen": "A port of its own", "smtp": "A port for mail", "asOf": "As of the day"]
        return form
    }

    private func worldsPage(
        _ exchange: Exchange, _ form: SchemaForm? = nil, refusal: CallRefusal? = nil
    ) async throws -> Response {
        let all = try control.worlds.list()
        let query = exchange.request.queryForm
        let (search, after) = (query["search"] ?? "", query["after"] ?? "")
        let found = all.filter { search.isEmpty || $0.name.contains(search) }
        let rest = found.drop { !after.isEmpty && $0.name <= after }
        let shown = Array(rest.prefix(Inspector.linesShown))
        // Refusals are counted where the recording is searched, not on a worker.
        let counts = try await control.worlds.budget.recordings.search(in: shown.map(\.recording)) {
            shown.map { world in
                let exchanges = world.recording.exchanges
                return (requests: exchanges.count, refused: exchanges.count { $0.diagnosis != nil })
            }
        }
        let rows = zip(shown, counts).map { row(exchange, $0, $1.requests, refused: $1.refused) }
        // A refusal of the form stands at its fields.
        return try page(
            exchange, .worlds, title: "Worlds", refusal: refusal, scripts: ["orders"], lead: [.badge("\(all.count)")],
            about:
                "A world is a separate sandbox, with its own people, codes, tokens, clock, faults and recorded requests. It is created when a request first names it, and deleted after an hour without use.",
            [
                all.count > Inspector.linesShown || !search.isEmpty
                    ? self.search(
                        exchange, "row", at: "worlds",
                        .field("Name", hint: "all or part of a world's name", .input("search", search, type: "search")))
                    : nil,
                .of(
                    "div#worlds-list", ["data-follow": true],
                    rows.isEmpty
                        ? .of("p.empty", "No world matches this name.")
                        : .table("stack", ["World", "Address", "Requests", "Refused", "Last used", ""], rows)),
                rest.count > shown.count
                    ? .of(
                        "p",
                        exchange.link(
                            Inspector.address("worlds", [("search", search), ("after", shown.last?.name ?? "")]),
                            "The next worlds"))
                    : nil,
                .card(
                    "New world",
                    self.form(
                        to: "worlds", exchange, [:],
                        .group(
                            (form ?? worldForm()).controls([])),
                        .of("p", .button("Create")))),
            ])
    }

    private func row(_ exchange: Exchange, _ world: ListedWorld, _ requests: Int, refused: Int) -> HTML.Row {
        let isThis = world.name == exchange.world.name
        let base = base(of: world.name, port: world.held?.port(.http), exchange)
        return HTML.Row(
            ["class": isThis ? "orders-this" : nil],
            .group([
                .link(world.name, to: "\(base)\(Inspector.root)/"), isThis ? " " : "",
                isThis ? .badge("this one", "info") : "",
            ]), .of("code", .text(base)), "\(requests)", refused == 0 ? "0" : .badge("\(refused)", "bad"),
            world.idle < 2 ? "just now" : "\(Inspector.words(Int64(world.idle))) ago",
            .of(
                "div.row",
                action(exchange, "worlds/reset", "Reset", "quiet.small", spoken: world.name, ["name": world.name]),
                world.name == control.worlds.unnamed
                    ? nil
                    : action(
                        exchange, "worlds/delete", "Delete", "danger.small", spoken: world.name, ["name": world.name])))
    }

    private func base(of name: String, port: UInt16?, _ exchange: Exchange) -> String {
        guard name != exchange.world.name else { return exchange.address.ownBase }
        return exchange.address.base(
            ofWorld: name, isUnnamed: name == control.worlds.unnamed, port: control.ports.fixed(name) ?? port,
            main: control.ports.main)
    }

    // MARK: - Changes

    private func makeWorld(_ exchange: Exchange, _ sent: Form) async throws -> Response {
        var form = worldForm(sent)
        let order = form.patch()
        return try await trying {
            let made = try await call("POST", "worlds", .object(order), in: exchange)
            return try changed(
                exchange, show: "worlds",
                saying: "The world \(order["name"]?.string ?? "") is at \(made["url"]?.string ?? "its name").")
        } refused: {
            form.faults = $0.faults
            return try await worldsPage(exchange, form, refusal: $0)
        }
    }

    private func deleteWorld(_ exchange: Exchange, _ form: Form) async throws -> Response {
        let name = form["name"] ?? ""
        guard name != exchange.world.name else {
            // The page itself would create the world again.
            let refusal = CallRefusal(
                status: 409,
                message:
                    "this page belongs to the world to be deleted, and would create it again: delete the world from another world's page"
            )
            return try await worldsPage(exchange, refusal: refusal)
        }
        return try await change(
            exchange, "DELETE", "worlds/\(Inspector.segment(name))", saying: "The world \(name) was deleted.")
    }

    private func change(
        _ exchange: Exchange, _ method: String, _ path: String, saying text: String
    ) async throws -> Response {
        try await trying {
            _ = try await call(method, path, in: exchange)
            return try changed(exchange, show: "worlds", saying: text)
        } refused: {
            try await worldsPage(exchange, refusal: $0)
        }
    }

    // MARK: - The seed

    /// The greatest number of bytes of a seed that its page shows. The whole seed can be downloaded.
    private static let shownSeed = 64 << 10

    private func seedPage(_ exchange: Exchange, _ form: Form? = nil, refusal: CallRefusal? = nil) throws -> Response {
        let text = exchange.world.seed.document.indented()
        let query = exchange.request.queryForm
        let isWhole = query["edit"] == "whole" && !control.masksSecrets
        // A link on a provider's page names what the seed lacks.
        let edited = form?["seed"] ?? (isWhole ? text : query["merge"] ?? "")
        let replaces = form.map { $0["mode"] == "replace" } ?? isWhole
        let shown: [HTML?] =
            control.masksSecrets
            ? [
                .of(
                    "p.soft",
                    "The seed isn't shown, because it has secrets and the daemon runs with --mask-secrets. The control API's GET seed returns it."
                )
            ]
            : [
                .of(
                    "p",
                    .of(
                        "a.button.quiet.small",
                        ["href": "\(exchange.address.ownBase)\(ControlAPI.root)/seed", "download": "seed.json"],
                        "Download it")),
                .of(
                    "pre.orders-seed", ["tabindex": "0", "aria-label": "The seed"],
                    .text(
                        ShownText.source(String(decoding: text.utf8.prefix(Inspector.shownSeed), as: UTF8.self)))),
                text.utf8.count > Inspector.shownSeed
                    ? .of(
                        "p.soft",
                        "Only the beginning of the seed is shown: \(Inspector.shownSeed) of \(text.utf8.count) bytes.")
                    : nil,
            ]
        return try page(
            exchange, .worlds, title: "This world's seed", refusal: refusal, scripts: ["orders"],
            [
                .card(
                    "Change it",
                    self.form(
                        to: "worlds/seed", exchange, [:],
                        .field(
                            "Seed", hint: "JSON, as in a seed file",
                            .textarea("seed", edited, rows: isWhole ? 24 : 10)),
                        .of(
                            "fieldset", .of("legend", "What to do with the seed"),
                            .choice(
                                "Merge this JSON into the seed, like another seed file. The world keeps all its data.",
                                "mode", value: "merge", isChosen: !replaces),
                            .choice(
                                "Replace the seed. The world starts again from the new seed.", "mode", value: "replace",
                                isChosen: replaces)),
                        .of(
                            "p.row", .button("Change the seed"),
                            control.masksSecrets
                                ? nil : exchange.link("worlds/seed?edit=whole", "Edit the whole seed", "quiet"))),
                    .small(
                        "An example: {\"accounts\": [{\"id\": \"max\", \"email\": \"max@example.org\"}]}. Mistakes are shown with their paths, as understudy seed check shows them."
                    )), .of("h2", "As it is"),
            ] + shown)
    }

    private func changeSeed(_ exchange: Exchange, _ form: Form) async throws -> Response {
        let replaces = form["mode"] == "replace"
        return try await trying {
            _ = try await call(
                replaces ? "PUT" : "POST", "seed", bytes: Array((form["seed"] ?? "").utf8), in: exchange)
            return try changed(
                exchange, show: "worlds/seed",
                saying: replaces
                    ? "The seed was replaced, and the world has started again from the new seed."
                    : "The change was merged into the seed."
            )
        } refused: {
            try seedPage(exchange, form, refusal: $0)
        }
    }
}
