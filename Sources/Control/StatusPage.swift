import HTTPServer
import JOSE
import JSON
import EmulatorCore

/// `/`: what is running, what is seeded, and how to point a client here.
package struct StatusPage: Sendable {
    let providers: [any Provider]
    let version: String
    /// The scenarios that every world begins with.
    let chosen: [Scenario]
    let scenarios: Lazy<[Scenario]>
    let masksSecrets: Bool

    package init(
        providers: [any Provider], version: String, chosen: [Scenario], scenarios: Lazy<[Scenario]>,
        masksSecrets: Bool
    ) {
        self.providers = providers
        self.version = version
        self.chosen = chosen
        self.scenarios = scenarios
        self.masksSecrets = masksSecrets
    }

    /// A page for people; for programs, which don't accept HTML, the JSON by which they recognize an emulator.
    package func response(_ exchange: Exchange) -> Response {
        // Scripts of any origin may ask for the mark, but not read the page.
        guard exchange.request.header("Origin") == nil,
            exchange.request.header("Accept")?.contains("text/html") ?? false
        else { return mark(exchange) }
        return page(exchange)
    }

    private func mark(_ exchange: Exchange) -> Response {
        var document = JSONObject()
        for provider in providers {
            for (name, value) in type(of: provider).emulatorStatus.members { document[name] = value }
        }
        document["understudy"] = [
            "version": .string(version), "statusPage": "this address, for clients that accept text/html",
        ]
        return ControlAnswer.ok(.object(document))
    }

    private func page(_ exchange: Exchange) -> Response {
        let accounts = exchange.world.read { $0.rows(Account.self, limit: 100) }
        let hosts = Set(providers.flatMap(\.hosts)).sorted()
        return Page.response(
            title: "Understudy", banner: "For tests only. Nothing here is secret, and nobody's real account is used.",
            [
                .tag("h1", [("class", "wide")], "Understudy \(version) is running"),
                .tag("p", [("class", "soft")], "A stand-in identity provider. World: \(exchange.world.name)."),
                chosen.isEmpty
                    ? .group([])
                    : .tag("p", [], "It began with: \(chosen.map(\.title).joined(separator: "; "))."),
                .tag("h2", [], "Last failures"), failures(exchange.world),
                takenOnTrust(exchange.world),
                .tag("h2", [], "Point a client here"),
                .tag("p", [], "Replace https:// by this daemon's address and a slash:"),
                .element(
                    "table", attributes: [],
                    children: hosts.map { host in
                        .tag(
                            "tr", [], .tag("td", [], .tag("code", [], "https://\(host)")),
                            .tag("td", [], .tag("code", [], "\(exchange.address.ownBase)/\(host)")))
                    }),
                .tag("h2", [], "People"),
                .element(
                    "table", attributes: [],
                    children: accounts.map { account in
                        .tag(
                            "tr", [], .tag("td", [], .tag("code", [], account.id)), .tag("td", [], account.fullName),
                            .tag("td", [], account.email))
                    }),
                .tag("h2", [], "Clients"), clients(exchange.world.seed),
                .tag("h2", [], "Order what happens next"),
                .tag(
                    "p", [],
                    "The control API is at \(exchange.address.ownBase)\(ControlAPI.root)/: health, reset, clock, outcomes, "
                        + "faults, scenarios, requests, verify, accounts, tokens, worlds."),
                .tag("h2", [], "Ready-made situations"),
                .element("ul", attributes: [], children: scenarios.value.map { link(to: $0, exchange) }),
            ])
    }

    private func link(to scenario: Scenario, _ exchange: Exchange) -> HTML {
        let address = "\(exchange.address.ownBase)\(ControlAPI.root)/scenarios/\(scenario.name)"
        return .tag("li", [], .tag("a", [("href", address)], scenario.title))
    }

    /// What no seed holds and a provider has taken all the same; nothing where there is nothing of the kind.
    private func takenOnTrust(_ world: World) -> HTML {
        let taken = providers.flatMap { $0.takenOnTrust(in: world) }
        guard !taken.isEmpty else { return .group([]) }
        return .group([
            .tag("h2", [], "Taken on trust"),
            .element("ul", attributes: [], children: taken.map { .tag("li", [], $0) }),
        ])
    }

    private static let shownFailures = 10

    /// What was refused or broken last, and why.
    private func failures(_ world: World) -> HTML {
        let failures = world.recording.exchanges.filter { $0.diagnosis != nil }.suffix(StatusPage.shownFailures)
        guard !failures.isEmpty else {
            return .tag("p", [("class", "soft")], "Nothing has been refused in this world.")
        }
        return .element(
            "table", attributes: [],
            children: failures.reversed().map { exchange in
                let mask = masksSecrets ? Mask(exchange) : nil
                let line = exchange.diagnosis ?? ""
                let status = String(exchange.response.status)
                let place = "\(exchange.request.method) \(exchange.host ?? "")\(exchange.path)"
                return .tag(
                    "tr", [], .tag("td", [], .tag("code", [], exchange.id)),
                    .tag("td", [], .text("\(status) "), .tag("code", [], mask?.apply(to: place) ?? place)),
                    .tag("td", [], mask?.apply(to: line) ?? line))
            })
    }

    private func clients(_ seed: Seed) -> HTML {
        .element(
            "table", attributes: [],
            children: seed.sections.flatMap(\.seededClients).map { client in
                .tag(
                    "tr", [], .tag("td", [], .tag("code", [], client.id)), .tag("td", [], client.kind),
                    .tag("td", [], client.addresses))
            })
    }
}
