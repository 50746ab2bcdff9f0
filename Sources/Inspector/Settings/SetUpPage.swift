import Control
import EmulatorCore
import HTTPServer
import JSON

// The page `/_understudy/setup`: how to lead a client here, and what is seeded.

extension Inspector {
    func setUpPage(_ exchange: Exchange) async throws -> Response {
        let check = arrivalCheck(exchange, try await arrivals(exchange) { _ in true }, again: "setup", of: nil)
        if exchange.request.queryForm["part"] == "arrival" { return part(check) }
        return page(
            exchange, .setUp, title: "Set up", scripts: ["setup"],
            [
                chosen.isEmpty
                    ? .group([]) : .tag("p", [], "It began with: \(chosen.map(\.title).joined(separator: "; "))."),
                takenOnTrust(exchange.world),
                .tag(
                    "section", [("class", "card setup-check"), ("aria-labelledby", "check-title")],
                    .tag("h2", [("id", "check-title")], "Has anything arrived?"), check,
                    .tag("p", [("class", "orders-unscripted")], .link("Check again", to: exchange.inspector("setup")))),
                tryOut(exchange).map { .group([.tag("h2", [], "Try a sign-in"), $0]) } ?? .group([]),
                .tag("h2", [], "What is to sign in here?"), kinds(exchange),
                .tag("h2", [("id", "clients")], "Clients of the seed"), clients(exchange),
                registered(exchange),
                .tag("h2", [("id", "people")], "People to sign in as"), people(exchange),
                .tag("h2", [("id", "addresses")], "Addresses"), addresses(exchange),
                .tag("h2", [], "The control API"), controlCalls(exchange),
                .tag(
                    "p", [], .text("Ready-made situations are "),
                    .link("scenarios", to: exchange.inspector("orders/scenarios")), .text(".")),
            ])
    }

    private func kinds(_ exchange: Exchange) -> HTML {
        .element(
            "div", attributes: [(name: "class", value: "cards setup-kinds")],
            children: guideGroups(exchange).map { group in
                .tag(
                    "section", [("class", "card")], .tag("h3", [], group.title),
                    .element(
                        "ul", attributes: [],
                        children: group.guides.map { guide in
                            .tag(
                                "li", [], .link(guide.title, to: exchange.inspector("setup/\(guide.id)")),
                                .tag("span", [("class", "soft small")], guide.about))
                        }))
            })
    }

    /// Lists what a provider has accepted though it isn't in the seed; empty if there is nothing.
    private func takenOnTrust(_ world: World) -> HTML {
        let taken = providers.flatMap { ($0 as? any TakesUnseeded)?.takenOnTrust(in: world) ?? [] }
        guard !taken.isEmpty else { return .group([]) }
        return .tag(
            "section", [("class", "note warn")], .tag("h2", [], "Taken on trust"),
            .tag("p", [], "No seed has these, and they were taken all the same. A misspelled name passes as well."),
            .element(
                "ul", attributes: [], children: taken.map { .tag("li", [("class", "text")], ShownText.source($0)) }))
    }

    // MARK: - The seed

    /// The greatest numbers of clients and people in the lists.
    static let listed = (clients: 100, people: 20)

    /// Lists the clients of one provider, or of all.
    func clients(_ exchange: Exchange, of provider: String? = nil, limit: Int = listed.clients) -> HTML {
        let seed = exchange.world.seed
        let sections = provider.map { name in seed.section(named: name).map { [$0] } ?? [] } ?? seed.sections
        let all = sections.flatMap { section in section.seededClients.map { (section: section, client: $0) } }
        guard !all.isEmpty else {
            return .tag(
                "p", [("class", "empty")], .text("No client is seeded. "),
                .link("Add one to this world's seed", to: exchange.inspector("worlds/seed")))
        }
        let signing = Set(
            providers.flatMap {
                (type(of: $0) as? any SignsClientSecrets.Type)?.clientsThatSign(in: exchange.world.seed) ?? []
            })
        let rows = all.prefix(limit).enumerated().map { number, entry -> HTML in
            let id = "client-\(number + 1)"
            let secret = entry.section.secret(ofClient: entry.client.id)
            let isSigned = signing.contains(entry.client.id) && secret == nil
            return .tag(
                "tr", [],
                .tag(
                    "td", [("data-label", "ID")], .tag("code", [("id", id)], ShownText.source(entry.client.id)),
                    .text(" "),
                    copyButton(id, spoken: entry.client.id)),
                .tag("td", [("data-label", "Kind")], ShownText.source(entry.client.kind)),
                .tag(
                    "td", [("data-label", "Secret")],
                    isSigned
                        ? .tag("span", [("class", "soft")], "signed by the client")
                        : shownSecret(secret, "\(id)-secret")),
                .tag(
                    "td", [("data-label", "Where it returns")],
                    .group(
                        places(entry.client.addresses).map {
                            .tag("div", [], .tag("code", [], ShownText.source($0)))
                        })))
        }
        let left = all.count - rows.count
        return .group([
            table(["ID", "Kind", "Secret", "Where it returns"], rows),
            left > 0 ? .tag("p", [("class", "soft")], "And \(left) more, in the seed.") : .group([]),
        ])
    }

    /// Lists the clients that have registered themselves; empty if there are none.
    private func registered(_ exchange: Exchange) -> HTML {
        let limit = Inspector.listed.clients
        let all = providers.compactMap { $0 as? any TakesClients }.flatMap {
            $0.registeredClients(in: exchange.world, limit: limit + 1)
        }
        guard !all.isEmpty else { return .group([]) }
        let rows = all.prefix(limit).map { client -> HTML in
            .tag(
                "tr", [], .tag("td", [("data-label", "ID")], .tag("code", [], ShownText.source(client.id))),
                .tag("td", [("data-label", "Client")], ShownText.source(client.kind)),
                .tag(
                    "td", [("data-label", "Where it returns")],
                    .group(
                        places(client.addresses).map {
                            .tag("div", [], .tag("code", [], ShownText.source($0)))
                        })))
        }
        return .group([
            .tag("h2", [("id", "registered")], "Clients that have registered"),
            table(["ID", "Client", "Where it returns"], rows),
            all.count > limit ? .tag("p", [("class", "soft")], "And more: GET openid/clients.") : .group([]),
        ])
    }

    /// Splits URIs at spaces; any other text stays whole.
    private func places(_ addresses: String) -> [String] {
        addresses.contains("://") ? addresses.split(separator: " ").map(String.init) : [addresses]
    }

    private func shownSecret(_ secret: String?, _ id: String) -> HTML {
        guard let secret else { return .tag("span", [("class", "soft")], "none") }
        guard !control.masksSecrets else { return .tag("code", [], "masked-\(secret.utf8.count)") }
        return .group([
            .tag("code", [("id", id)], ShownText.source(secret)), .text(" "), copyButton(id, spoken: "the secret"),
        ])
    }

    private func people(_ exchange: Exchange) -> HTML {
        let found = exchange.world.read { $0.people(limit: Inspector.listed.people) }
        guard !found.people.isEmpty else { return .tag("p", [("class", "empty")], "Nobody is seeded.") }
        let rows = found.people.map { person -> HTML in
            .tag(
                "tr", [],
                .tag(
                    "td", [("data-label", "ID")],
                    .link(
                        ShownText.source(person.id),
                        to: exchange.inspector("people/\(Exchange.segment(person.id))"))),
                .tag("td", [("data-label", "Name")], .tag("bdi", [], ShownText.source(person.fullName))),
                .tag("td", [("data-label", "Address")], .tag("bdi", [], ShownText.source(person.email))))
        }
        return .group([
            table(["ID", "Name", "Address"], rows),
            found.next == nil
                ? .group([]) : .tag("p", [], .link("All people", to: exchange.inspector(Area.people.rawValue))),
        ])
    }

    private func addresses(_ exchange: Exchange) -> HTML {
        let hosts = Set(providers.flatMap(\.hosts)).sorted()
        let rows = hosts.enumerated().map { number, host -> HTML in
            let id = "address-\(number + 1)"
            return .tag(
                "tr", [], .tag("td", [("data-label", "There")], .tag("code", [], "https://\(host)")),
                .tag(
                    "td", [("data-label", "Here")], .tag("code", [("id", id)], "\(exchange.address.ownBase)/\(host)"),
                    .text(" "), copyButton(id, spoken: host)))
        }
        let ports = control.gauges.listening.map { "\($0.name) at port \($0.port)" }.joined(separator: ", ")
        return .group([
            .tag("p", [], "Replace https:// by this world's address and a slash. The daemon serves \(ports)."),
            table(["There", "Here"], rows),
        ])
    }

    private func table(_ heads: [String], _ rows: [HTML]) -> HTML {
        .tag(
            "table", [("class", "stack setup-table")],
            .tag(
                "thead", [],
                .element("tr", attributes: [], children: heads.map { .tag("th", [("scope", "col")], $0) })),
            .element("tbody", attributes: [], children: rows))
    }

    private func controlCalls(_ exchange: Exchange) -> HTML {
        let root = "\(exchange.address.ownBase)\(ControlAPI.root)/"
        let calls = (control.endpoints + providers.flatMap { $0.endpoints.filter(\.isControl) }).filter {
            $0.path.count > ControlAPI.root.count + 1
        }
        return .group([
            .tag(
                "p", [],
                "What these pages do, tests do by the control API: each page that changes something shows the call that it makes."
            ),
            code(root, "control-root"),
            .tag(
                "details", [], .tag("summary", [], "Its \(calls.count) calls"),
                .element(
                    "ul", attributes: [(name: "class", value: "setup-calls")],
                    children: calls.map {
                        .tag("li", [], .tag("code", [], "\($0.method) \($0.path.dropFirst(ControlAPI.root.count + 1))"))
                    })),
        ])
    }
}
