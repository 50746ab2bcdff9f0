import Control
import EmulatorCore
import HTTPServer
import JSON

// The page `/_understudy/setup`: how to lead a client here, and what is seeded.

extension Inspector {
    func setUpPage(_ exchange: Exchange) async throws -> Response {
        let check = arrivalCheck(exchange, try await arrivals(exchange) { _ in true }, again: "setup", of: nil)
        if exchange.request.queryForm["part"] == "arrival" { return part(check) }
        let taken = providers.flatMap { ($0 as? any TakesUnseeded)?.takenOnTrust(in: exchange.world) ?? [] }
        let kinds = guideGroups(exchange).map { group in
            let links = group.guides.map { guide in
                HTML.group([
                    exchange.link("setup/\(guide.id)", .text(guide.title)), .of("span.soft.small", .text(guide.about)),
                ])
            }
            return HTML.of("section.card", .of("h3", .text(group.title)), .list("ul", links))
        }
        return page(
            exchange, .setUp, title: "Set up", scripts: ["setup"],
            [
                chosen.isEmpty
                    ? nil
                    : .of("p", "Every test world begins with: \(chosen.map(\.title).joined(separator: "; "))."),
                taken.isEmpty
                    ? nil
                    : .card(
                        "Unknown, but accepted", as: "section.note.warn",
                        .of(
                            "p",
                            "These names are in no seed, but requests with them were accepted. Check for misspelled names."
                        ),
                        .list("ul", taken.map { .of("span.text", .text(ShownText.source($0))) })),
                .card(
                    "Has anything arrived?", as: "section.card.setup-check", check,
                    .of("p.orders-unscripted", exchange.link("setup", "Check again"))),
                tryOut(exchange).map { .group([.of("h2", "Try a sign-in"), $0]) },
                .of("h2", "What kind of app signs in here?"), .of("div.cards.setup-kinds", .group(kinds)),
                .of("h2#clients", "Clients of the seed"), clients(exchange), registered(exchange),
                .of("h2#people", "People to sign in as"), people(exchange), .of("h2#addresses", "Addresses"),
                addresses(exchange), .of("h2", "The control API"), controlCalls(exchange),
                .of("p", "Ready-made situations are ", exchange.link("orders/scenarios", "scenarios"), "."),
            ])
    }

    // MARK: - The seed

    /// The greatest numbers of clients and of people that the set-up page lists.
    static let listed = (clients: 100, people: 20)

    /// Returns a list of the seed's clients, of one provider or of all.
    func clients(_ exchange: Exchange, of provider: String? = nil, limit: Int = listed.clients) -> HTML {
        let seed = exchange.world.seed
        let sections = provider.map { name in seed.section(named: name).map { [$0] } ?? [] } ?? seed.sections
        let all = sections.flatMap { section in section.seededClients.map { (section: section, client: $0) } }
        guard !all.isEmpty else {
            return .of(
                "p.empty", "No client is seeded. ",
                exchange.link("worlds/seed", "Add a client to this world's seed"))
        }
        let signing = Set(
            providers.flatMap { (type(of: $0) as? any SignsClientSecrets.Type)?.clientsThatSign(in: seed) ?? [] })
        let rows = all.prefix(limit).enumerated().map { number, entry -> HTML.Row in
            let (id, client) = ("client-\(number + 1)", entry.client)
            let secret = entry.section.secret(ofClient: client.id)
            let isSigned = signing.contains(client.id) && secret == nil
            return [
                copied(client.id, id, spoken: client.id), .text(ShownText.source(client.kind)),
                isSigned ? .soft("signed by the client") : shownSecret(secret, "\(id)-secret"),
                places(client.addresses),
            ]
        }
        return .group([
            .table("stack.setup-table", ["ID", "Kind", "Secret", "Where it returns"], rows),
            .more(all.count - rows.count, "clients of the seed aren't in this table.") ?? "",
        ])
    }

    private func copied(_ text: String, _ id: String, spoken: String) -> HTML {
        .group([.of("code", ["id": id], .text(ShownText.source(text))), " ", copyButton(id, spoken: spoken)])
    }

    private func shownSecret(_ secret: String?, _ id: String) -> HTML {
        guard let secret else { return .soft("none") }
        return control.masksSecrets
            ? .of("code", "masked-\(secret.utf8.count)") : copied(secret, id, spoken: "the secret")
    }

    /// Returns a list of the clients that have registered themselves at run time; `nil` if there are none.
    private func registered(_ exchange: Exchange) -> HTML? {
        let limit = Inspector.listed.clients
        let all = providers.compactMap { $0 as? any TakesClients }.flatMap {
            $0.registeredClients(in: exchange.world, limit: limit + 1)
        }
        guard !all.isEmpty else { return nil }
        let rows = all.prefix(limit).map { client -> HTML.Row in
            [
                .of("code", .text(ShownText.source(client.id))), .text(ShownText.source(client.kind)),
                places(client.addresses),
            ]
        }
        return .group([
            .of("h2#registered", "Clients that have registered"),
            .table("stack.setup-table", ["ID", "Client", "Where it returns"], rows),
            all.count > limit ? .of("p.soft", "And more: GET openid/clients.") : "",
        ])
    }

    /// Returns a text of URIs, separated by spaces, as HTML with one URI a line. A text without URIs isn't split.
    private func places(_ addresses: String) -> HTML {
        let places = addresses.contains("://") ? addresses.split(separator: " ").map(String.init) : [addresses]
        return .group(places.map { .of("div", .of("code", .text(ShownText.source($0)))) })
    }

    private func people(_ exchange: Exchange) -> HTML {
        let found = exchange.world.read { $0.people(limit: Inspector.listed.people) }
        guard !found.people.isEmpty else { return .of("p.empty", "Nobody is seeded.") }
        let rows = found.people.map { person -> HTML.Row in
            [
                exchange.link("people/\(Exchange.segment(person.id))", .text(ShownText.source(person.id))),
                .of("bdi", .text(ShownText.source(person.fullName))), .of("bdi", .text(ShownText.source(person.email))),
            ]
        }
        return .group([
            .table("stack.setup-table", ["ID", "Name", "Address"], rows),
            found.next == nil ? "" : .of("p", exchange.link(Area.people.path, "All people")),
        ])
    }

    private func addresses(_ exchange: Exchange) -> HTML {
        let rows = Set(providers.flatMap(\.hosts)).sorted().enumerated().map { number, host -> HTML.Row in
            [
                .of("code", "https://\(host)"),
                copied("\(exchange.address.ownBase)/\(host)", "address-\(number + 1)", spoken: host),
            ]
        }
        let ports = control.gauges.listening.map { "\($0.name) at port \($0.port)" }.joined(separator: ", ")
        return .group([
            .of(
                "p",
                "To send a request to this test world instead of a provider, replace https:// in its URL by \(exchange.address.ownBase)/. Ports of the daemon: \(ports)."
            ),
            .table("stack.setup-table", ["There", "Here"], rows),
        ])
    }

    private func controlCalls(_ exchange: Exchange) -> HTML {
        let calls = control.calls.filter { $0.path.count > ControlAPI.root.count + 1 }
        let names = calls.map { "\($0.method) \($0.path.dropFirst(ControlAPI.root.count + 1))" }
        return .group([
            .of(
                "p",
                "With the control API, tests can do most of what people can do on these pages. The pages in the section \"Orders\" show the matching API calls."
            ), code("\(exchange.address.ownBase)\(ControlAPI.root)/", "control-root"),
            .of(
                "details", .of("summary", "Its \(names.count) calls"),
                .list("ul.setup-calls", names.map { .of("code", .text($0)) })),
        ])
    }
}
