import EmulatorCore
import HTTPServer
import JSON

// The page `/_understudy/worlds`: the worlds, which can be made, opened, reset and deleted.

extension Inspector {
    /// A world in the page's list.
    private struct Listed: Sendable {
        let world: ListedWorld
        let requests: Int
        let refused: Int
    }

    private static let worldsOnPage = 50

    func worldsPage(
        _ exchange: Exchange, _ form: Form = Form(fields: []), status: Int = 200, refusal: CallRefusal? = nil
    ) async throws -> Response {
        let all = try control.worlds.list()
        let query = exchange.request.queryForm
        let search = query["search"] ?? ""
        let found = search.isEmpty ? all : all.filter { $0.name.contains(search) }
        let after = query["after"] ?? ""
        let rest = found.drop { $0.name <= after }
        let shown = Array((after.isEmpty ? found[...] : rest).prefix(Inspector.worldsOnPage))
        let more = (after.isEmpty ? found.count : rest.count) > shown.count
        // Refusals are counted where the recording is searched, not on a worker.
        let listed = try await control.worlds.budget.recordings.search(in: shown.map(\.recording)) {
            shown.map { entry in
                let exchanges = entry.recording.exchanges
                return Listed(
                    world: entry, requests: exchanges.count,
                    refused: exchanges.count { $0.diagnosis != nil })
            }
        }
        let answer = page(
            exchange, .worlds, title: "Worlds", status: status, scripts: ["orders"],
            lead: [.tag("span", [("class", "badge")], "\(all.count)")],
            [
                worldTabs(exchange, "worlds"),
                .tag(
                    "p", [],
                    "A world is a sandbox of its own: its people, codes, tokens, clock, orders and requests are nobody else's. It "
                        + "is made when it is first named, and goes when nobody has used it for an hour."),
                try notice(exchange), refusalNote(refusal),
                all.count > Inspector.worldsOnPage || !search.isEmpty ? searchForm(exchange, query) : .group([]),
                .tag("div", [("id", "worlds-list"), ("data-follow", nil)], table(exchange, listed)),
                more ? next(exchange, search, listed.last?.world.name ?? "") : .group([]),
                newWorld(exchange, form),
            ])
        return refused(answer, refusal)
    }

    func worldTabs(_ exchange: Exchange, _ current: String) -> HTML {
        tabs(
            exchange, "Worlds", [("worlds", "All worlds"), ("worlds/seed", "This world's seed")], current: current)
    }

    private func searchForm(_ exchange: Exchange, _ query: Form) -> HTML {
        .element(
            "form",
            attributes: [
                (name: "method", value: "get"), (name: "action", value: exchange.inspector("worlds")),
                (name: "class", value: "row"), (name: "role", value: "search"),
            ],
            children: [
                OrderField.line("Name", "search", query, hint: "or a part of it"), OrderField.button("Search", "quiet"),
            ])
    }

    private func next(_ exchange: Exchange, _ search: String, _ last: String) -> HTML {
        let fields = [Form.Field(name: "search", value: search), Form.Field(name: "after", value: last)]
        return .tag(
            "p", [],
            .link("The next worlds", to: "\(exchange.inspector("worlds"))?\(Form(fields: fields).encoded)"))
    }

    // MARK: - The list

    private func table(_ exchange: Exchange, _ worlds: [Listed]) -> HTML {
        guard !worlds.isEmpty else { return .tag("p", [("class", "empty")], "No world has such a name.") }
        let heads = ["World", "Address", "Requests", "Refused", "Last used", "Actions"].map { name -> HTML in
            .tag("th", [("scope", "col")], name)
        }
        return .tag(
            "table", [("class", "stack")], .tag("thead", [], .element("tr", attributes: [], children: heads)),
            .element("tbody", attributes: [], children: worlds.map { row(exchange, $0) }))
    }

    private func row(_ exchange: Exchange, _ listed: Listed) -> HTML {
        let world = listed.world
        let isThis = world.name == exchange.world.name
        let isUnnamed = world.name == control.worlds.unnamed
        let base = base(of: world.name, port: world.held?.port(.http), exchange)
        return .tag(
            "tr", isThis ? [("class", "orders-this")] : [],
            .tag(
                "td", [("data-label", "World")], .link(world.name, to: "\(base)\(Inspector.root)/"),
                isThis ? .group([.text(" "), .tag("span", [("class", "badge info")], "this one")]) : .group([])),
            .tag("td", [("data-label", "Address")], .tag("code", [], base)),
            .tag("td", [("data-label", "Requests")], "\(listed.requests)"),
            .tag(
                "td", [("data-label", "Refused")],
                listed.refused == 0 ? .text("0") : .tag("span", [("class", "badge bad")], "\(listed.refused)")),
            .tag(
                "td", [("data-label", "Last used")],
                listed.world.idle < 2 ? "just now" : "\(Inspector.words(Int64(listed.world.idle))) ago"),
            .tag(
                "td", [],
                .tag(
                    "div", [("class", "row")],
                    form(
                        to: "worlds/reset", exchange, [("class", "inline")],
                        [.hidden("name", world.name), OrderField.button("Reset", spoken: world.name, "quiet small")]),
                    isUnnamed
                        ? .group([])
                        : form(
                            to: "worlds/delete", exchange, [("class", "inline")],
                            [
                                .hidden("name", world.name),
                                OrderField.button("Delete", spoken: world.name, "danger small"),
                            ]))))
    }

    /// Returns the URL of a world for this client.
    func base(of world: World, _ exchange: Exchange) -> String {
        base(of: world.name, port: world.port(.http), exchange)
    }

    private func base(of name: String, port: UInt16?, _ exchange: Exchange) -> String {
        guard name != exchange.world.name else { return exchange.address.ownBase }
        return exchange.address.base(
            ofWorld: name, isUnnamed: name == control.worlds.unnamed,
            port: control.ports.fixed(name) ?? port, main: control.ports.main)
    }

    private func newWorld(_ exchange: Exchange, _ form: Form) -> HTML {
        .tag(
            "section", [("class", "card")], .tag("h2", [], "New world"),
            self.form(
                to: "worlds", exchange, [],
                [
                    .tag(
                        "div", [("class", "fields")],
                        OrderField.line(
                            "Name", "name", form, hint: "letters, digits, - _ and .",
                            [("required", nil), ("maxlength", "64")]),
                        OrderField.line(
                            "A port of its own", "listen", form, hint: "none if empty, 0 takes a free one",
                            [("inputmode", "numeric")])),
                    .tag("p", [], OrderField.button("Create")),
                ]))
    }

    // MARK: - Changes

    func makeWorld(_ exchange: Exchange, _ form: Form) async throws -> Response {
        var order = JSONObject([("name", OrderValue.text("name", form) ?? "")])
        order["listen"] = OrderValue.number("listen", form)
        do {
            let made = try await call("POST", "worlds", .object(order), in: exchange)
            return try changed(
                exchange, show: "worlds",
                saying: "The world \(form["name"] ?? "") is at \(made["url"]?.string ?? "its name").")
        } catch let error as CallRefusal {
            return try await worldsPage(exchange, form, status: error.status, refusal: error)
        }
    }

    func resetWorld(_ exchange: Exchange, _ form: Form) async throws -> Response {
        try await change(
            exchange, "POST", "worlds/\(Inspector.segment(form["name"]))/reset",
            saying: "The world \(form["name"] ?? "") has begun afresh.")
    }

    func deleteWorld(_ exchange: Exchange, _ form: Form) async throws -> Response {
        guard form["name"] != exchange.world.name else {
            // The page itself would create the world again.
            let refusal = CallRefusal(
                status: 409,
                message: "this page is in that world, and would make it anew: delete it from another world",
                path: nil, issues: [], more: nil)
            return try await worldsPage(exchange, status: 409, refusal: refusal)
        }
        return try await change(
            exchange, "DELETE", "worlds/\(Inspector.segment(form["name"]))",
            saying: "The world \(form["name"] ?? "") was deleted.")
    }

    private func change(_ exchange: Exchange, _ method: String, _ path: String, saying text: String) async throws
        -> Response
    {
        do {
            _ = try await call(method, path, in: exchange)
            return try changed(exchange, show: "worlds", saying: text)
        } catch let error as CallRefusal {
            return try await worldsPage(exchange, status: error.status, refusal: error)
        }
    }

    private static func segment(_ text: String?) -> String { PercentCoding.encode(Array((text ?? "").utf8)) }
}

extension Inspector {
    /// The pages of the clock, of the worlds with their seeds, and of how to lead clients here.
    var settingsEndpoints: [Endpoint] {
        [
            page("GET", "clock") { try clockPage($0) },
            form("clock") { try await setClock($0, $1) },
            page("GET", "worlds") { try await worldsPage($0) },
            form("worlds") { try await makeWorld($0, $1) },
            form("worlds/reset") { try await resetWorld($0, $1) },
            form("worlds/delete") { try await deleteWorld($0, $1) },
            page("GET", "worlds/seed") { try seedPage($0) },
            form("worlds/seed") { try await changeSeed($0, $1) },
            page("GET", "setup") { try await setUpPage($0) },
            page("GET", "setup/:guide") { try await guidePage($0) },
        ]
    }
}
