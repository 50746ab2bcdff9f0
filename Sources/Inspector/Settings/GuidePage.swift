import Control
import EmulatorCore
import HTTPServer

// The page `/_understudy/setup/KIND`: how to lead a kind of client here, with this world's own addresses.

extension Inspector {
    func guidePage(_ exchange: Exchange) async throws -> Response {
        let id = exchange.parameters["guide"] ?? ""
        let groups = guideGroups(exchange)
        let group = groups.first { group in group.guides.contains { $0.id == id } }
        guard let guide = group?.guides.first(where: { $0.id == id }) else {
            return page(
                exchange, .setUp, title: "No such client", status: 404,
                [
                    .tag("p", [("class", "error")], "There is no guide \(ShownText.source(Diagnosis.quote(id)))."),
                    .tag("p", [], .link("All kinds of clients", to: exchange.inspector("setup"))),
                ]
            ).diagnosed(Diagnosis("there is no set-up guide with this name"))
        }
        let again = "setup/\(guide.id)"
        let check = arrivalCheck(exchange, try await arrivals(exchange, guide.isArrival), again: again, of: guide.title)
        if exchange.request.queryForm["part"] == "arrival" { return part(check) }
        let steps = guide.steps.enumerated().map { number, step in
            HTML.tag(
                "li", [], .tag("p", [], step.text), step.code.map { code($0, "step-\(number + 1)") } ?? .group([]),
                values(step, "step-\(number + 1)"))
        }
        return page(
            exchange, .setUp, title: guide.title, scripts: ["setup"],
            [
                .tag("p", [], guide.about),
                .tag(
                    "div", [("class", "setup-guide")],
                    .tag(
                        "div", [],
                        .tag(
                            "section", [("class", "card")], .tag("h2", [], "What to do"),
                            .element("ol", attributes: [(name: "class", value: "setup-steps")], children: steps)),
                        group?.provider.map { clientsCard(exchange, of: $0) } ?? .group([]), libraries(guide),
                        .tag(
                            "p", [("class", "soft small")],
                            .text("Read more in the documentation: "),
                            .link(
                                "docs/\(guide.document)", to: exchange.inspector("help/\(guide.document.dropLast(3))")))
                    ),
                    .tag(
                        "section", [("class", "card setup-check"), ("aria-labelledby", "check-title")],
                        .tag("h2", [("id", "check-title")], "Has it arrived?"), check,
                        .tag(
                            "p", [("class", "orders-unscripted")], .link("Check again", to: exchange.inspector(again))))
                ),
                .tag("p", [], .link("All kinds of clients", to: exchange.inspector("setup"))),
            ])
    }

    /// Returns a fragment of a page, for a script that updates the page with it.
    func part(_ html: HTML) -> Response {
        Response(
            status: 200, contentType: "text/html;charset=UTF-8",
            headers: Inspector.protection + [(name: "Content-Security-Policy", value: Inspector.policy)],
            body: html.document)
    }

    /// Returns a block of code with a button that copies it.
    func code(_ text: String, _ id: String) -> HTML {
        .tag(
            "div", [("class", "setup-code")],
            .tag("pre", [("id", id), ("tabindex", "0"), ("aria-label", "To copy")], ShownText.source(text)),
            copyButton(id, spoken: id))
    }

    private func values(_ step: SetUpGuide.Step, _ id: String) -> HTML {
        guard !step.values.isEmpty else { return .group([]) }
        let rows = step.values.enumerated().map { number, value -> HTML in
            let id = "\(id)-\(number + 1)"
            return .tag(
                "tr", [], .tag("th", [("scope", "row")], value.name),
                .tag("td", [], .tag("code", [("id", id)], ShownText.source(value.value))),
                .tag("td", [("class", "setup-copy")], copyButton(id, spoken: value.name)))
        }
        return .tag("table", [("class", "setup-values")], .element("tbody", attributes: [], children: rows))
    }

    /// Returns a card with the seed's clients of a provider, and with accounts to sign in with.
    private func clientsCard(_ exchange: Exchange, of provider: String) -> HTML {
        let people = exchange.world.read { $0.rows(Account.self, limit: 3) }
        return .tag(
            "section", [("class", "card")], .tag("h2", [], "Use a client from the seed"),
            clients(exchange, of: provider, limit: 5),
            .tag(
                "p", [("class", "soft small")],
                .text("Choose on the sign-in page who signs in, or choose a user in advance: "),
                .group(people.map { .group([.tag("code", [], ShownText.source($0.id)), .text(" ")]) }),
                .link("and others", to: exchange.inspector("people")), .text(".")))
    }

    private func libraries(_ guide: SetUpGuide) -> HTML {
        guard !guide.libraries.isEmpty else { return .group([]) }
        let cards = guide.libraries.enumerated().map { number, library in
            HTML.tag(
                "section", [("class", "setup-library")], .tag("h3", [], library.text),
                code(library.code ?? "", "library-\(number + 1)"))
        }
        return .element(
            "section", attributes: [(name: "class", value: "card")],
            children: [.tag("h2", [], "In libraries")] + cards)
    }
}

// The guides that lead clients here whatever the provider, in Assets. They follow docs/clients.md, docs/interception.md
// and docs/ci.md.

extension Inspector {
    /// Returns the set-up guides in groups: one for each provider, and one with the guides for any provider.
    func guideGroups(_ exchange: Exchange) -> [(title: String, provider: String?, guides: [SetUpGuide])] {
        let place = setUpPlace(exchange)
        let own = providers.map {
            (title: $0.facts.title, provider: String?.some($0.name), guides: $0.setUpGuides(at: place))
        }
        return own.filter { !$0.guides.isEmpty } + [
            (title: "Whatever the provider", provider: nil, guides: generalGuides(exchange, place))
        ]
    }

    func setUpPlace(_ exchange: Exchange) -> SetUpPlace {
        let base = exchange.address.ownBase
        let rest = String(base.drop { $0 != "/" }.dropFirst(2))
        // The world's own port leads to it without a path.
        let port = control.ports.fixed(exchange.world.name) ?? exchange.world.port(.http)
        let host = rest.prefix { $0 != "/" && $0 != ":" }
        let authority = rest.contains("/") ? port.map { "\(host):\($0)" } : rest
        return SetUpPlace(base: base, authority: authority, seed: exchange.world.seed)
    }

    /// Returns the port on which the daemon listens for the protocol `name`: `http`, `https`, `proxy` or `smtp`.
    func listeningPort(_ name: String) -> UInt16? { control.gauges.listening.first { $0.name == name }?.port }

    private func generalGuides(_ exchange: Exchange, _ place: SetUpPlace) -> [SetUpGuide] {
        let world = exchange.world.name == control.worlds.unnamed ? nil : exchange.world.name
        let variables = providers.flatMap { $0.facts.variables(place.base) }.map {
            "export \($0.name)=\(ShellWord.quoted($0.value))"
        }
        func port(_ name: String) -> String? { listeningPort(name).map { "\($0)" } }
        return SetUpGuide.read(
            Texts.setup, at: place,
            [
                "host": control.catalog.entries.lazy.compactMap(\.host).first { !$0.contains("*") } ?? "HOST",
                "world": world.map { ".\($0)" } ?? "", "user": world.map { "\($0)@" } ?? "", "http": port("http"),
                "https": port("https"), "proxy": port("proxy"), "noProxy": port("proxy") == nil ? "" : nil,
                "variables": variables.isEmpty ? nil : variables.joined(separator: "\n"),
            ],
            arrivals: [
                "unchanged": { exchange in
                    guard let host = exchange.host else { return false }
                    return Address.hostName(of: exchange.request.header("Host") ?? "") == host
                }
            ])
    }
}
