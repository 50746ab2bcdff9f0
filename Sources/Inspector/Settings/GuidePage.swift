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
            ).diagnosed(Diagnosis("there is no guide of that name"))
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
                            .text("More is in the documentation: "),
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

    /// Returns a part of a page, for the script that requests it.
    func part(_ html: HTML) -> Response {
        Response(
            status: 200, contentType: "text/html;charset=UTF-8",
            headers: Inspector.protection + [(name: "Content-Security-Policy", value: Inspector.policy)],
            body: html.document)
    }

    /// Returns a text to copy.
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

    /// Shows the seed's clients and people to try it with.
    private func clientsCard(_ exchange: Exchange, of provider: String) -> HTML {
        let people = exchange.world.read { $0.rows(Account.self, limit: 3) }
        return .tag(
            "section", [("class", "card")], .tag("h2", [], "With a client of the seed"),
            clients(exchange, of: provider, limit: 5),
            .tag(
                "p", [("class", "soft small")],
                .text("Whoever signs in is chosen on the page, or ordered: "),
                .group(people.map { .group([.tag("code", [], ShownText.source($0.id)), .text(" ")]) }),
                .link("and others", to: exchange.inspector("people")), .text(".")))
    }

    private func libraries(_ guide: SetUpGuide) -> HTML {
        guard !guide.libraries.isEmpty else { return .group([]) }
        let cards = guide.libraries.enumerated().map { number, library in
            HTML.tag(
                "section", [("class", "setup-library")], .tag("h3", [], library.name),
                code(library.code, "library-\(number + 1)"))
        }
        return .element(
            "section", attributes: [(name: "class", value: "card")],
            children: [.tag("h2", [], "In libraries")] + cards)
    }
}

// The guides that lead clients here whatever the provider. They follow docs/clients.md, docs/interception.md and
// docs/ci.md.

extension Inspector {
    /// Returns the guides of all providers, each under its provider's name, and those for any provider.
    func guideGroups(_ exchange: Exchange) -> [(title: String, provider: String?, guides: [SetUpGuide])] {
        let place = setUpPlace(exchange)
        let own = providers.map {
            (title: title($0), provider: String?.some($0.name), guides: $0.setUpGuides(at: place))
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

    /// Returns a port on which the daemon listens: `http`, `https` or `proxy`.
    func listeningPort(_ name: String) -> UInt16? { control.gauges.listening.first { $0.name == name }?.port }

    private func generalGuides(_ exchange: Exchange, _ place: SetUpPlace) -> [SetUpGuide] {
        [addresses(exchange, place), unchanged(exchange), command(exchange), containers(place)]
    }

    private func addresses(_ exchange: Exchange, _ place: SetUpPlace) -> SetUpGuide {
        let host = control.catalog.entries.lazy.compactMap(\.host).first { !$0.contains("*") } ?? "HOST"
        var steps = [
            SetUpGuide.Step(
                "Every endpoint keeps its real host and path. Replace https:// by this world's address and a slash:",
                "\(place.base)/")
        ]
        if let port = listeningPort("http") {
            let world = exchange.world.name == control.worlds.unnamed ? "" : ".\(exchange.world.name)"
            steps.append(
                SetUpGuide.Step(
                    "Clients that drop a path from an address, and browsers, take the subdomain form.",
                    "http://\(host)\(world).localhost:\(port)/"))
        }
        if let port = listeningPort("https") {
            steps.append(
                SetUpGuide.Step("Over TLS, with an authority that your client trusts:", "https://localhost:\(port)/"))
        }
        let variables = providers.flatMap { $0.facts.variables(place.base) }
        if !variables.isEmpty {
            steps.append(
                SetUpGuide.Step(
                    "In the environment, as understudy exec names them:",
                    variables.map { "export \($0.name)=\(ShellWord.quoted($0.value))" }.joined(separator: "\n")))
        }
        return SetUpGuide(
            id: "any", title: "Any client whose addresses can be set", about: "For whatever takes a URL.", steps: steps,
            document: "clients.md"
        ) { _ in true }
    }

    private func unchanged(_ exchange: Exchange) -> SetUpGuide {
        let isUnnamed = exchange.world.name == control.worlds.unnamed
        let user = isUnnamed ? "" : "\(exchange.world.name)@"
        var steps: [SetUpGuide.Step] = []
        if let port = listeningPort("proxy") {
            steps.append(
                SetUpGuide.Step(
                    "This daemon has a proxy, which leads the played hosts here and refuses all others. Whatever asks its "
                        + "environment for a proxy, or has a setting for one, needs no other change:",
                    "export HTTPS_PROXY=http://\(user)localhost:\(port)"))
        } else {
            steps.append(
                SetUpGuide.Step(
                    "An HTTP proxy leads the played hosts to a daemon. This one has none: make a certificate authority of your own, and "
                        + "start one that has.",
                    "understudy ca init\nunderstudy serve --proxy-port 9080\nexport HTTPS_PROXY=http://\(user)localhost:9080"
                ))
        }
        steps += [
            SetUpGuide.Step(
                "The client must trust the authority that signs the daemon's certificate. This says how, for each system, browser "
                    + "and runtime:", "understudy ca install-hint"),
            SetUpGuide.Step(
                "On Linux, one command can be given the real names without any setting, with a daemon of its own. Its requests are "
                    + "in that daemon's inspector, not in this one's.",
                "understudy exec --intercept -- COMMAND"),
        ]
        return SetUpGuide(
            id: "unchanged", title: "Unchanged clients, under the real names",
            about: "For clients with https://… written into them: browsers, apps, libraries.", steps: steps,
            document: "interception.md"
        ) { exchange in
            guard let host = exchange.host else { return false }
            return Address.hostName(of: exchange.request.header("Host") ?? "") == host
        }
    }

    private func command(_ exchange: Exchange) -> SetUpGuide {
        SetUpGuide(
            id: "exec", title: "A test suite, by one command",
            about: "For suites and scripts: a daemon on a free port for one command, and its exit code.",
            steps: [
                SetUpGuide.Step(
                    "The command finds the addresses in its environment: UNDERSTUDY_URL, and the variables of each provider.",
                    "understudy exec -- COMMAND"),
                SetUpGuide.Step(
                    "With a proxy and the authority in its environment, most programs need no setting:",
                    "understudy exec --proxy-port 0 -- COMMAND"),
                SetUpGuide.Step(
                    "That daemon has an inspector of its own for as long as the command runs, at UNDERSTUDY_URL. To look at its "
                        + "requests here instead, give the command this world's address.",
                    "UNDERSTUDY_URL=\(exchange.address.ownBase) COMMAND"),
            ], document: "commands.md"
        ) { _ in true }
    }

    private func containers(_ place: SetUpPlace) -> SetUpGuide {
        SetUpGuide(
            id: "containers", title: "Containers", about: "For services in a network of containers.",
            steps: [
                SetUpGuide.Step(
                    "A container doesn't find this machine at localhost. Let the daemon be one more service, which the others find "
                        + "under its name:",
                    """
                    services:
                      understudy:
                        build: https://github.com/OWNER/understudy.git
                        command: [serve, --host=0.0.0.0, --port=80, --control-host=understudy]
                    """),
                SetUpGuide.Step(
                    "Its addresses are then the ones here, with another beginning:",
                    "\(place.base)/…   is   http://understudy/…"),
                SetUpGuide.Step(
                    "Services that are to sign in unmodified join the network “intercepted” of docker-compose.yml, where the "
                        + "played hosts lead to the daemon."),
            ], document: "interception.md"
        ) { _ in true }
    }
}
