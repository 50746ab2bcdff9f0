import EmulatorCore
import HTTPServer
import JSON

// The people in the world: the list, a person's page and form.

extension Inspector {
    var peopleEndpoints: [Endpoint] {
        [page("GET", "people") { try people($0) }]
            + formEndpoints("new/person", { personForm(nil, $0) }, missing: { nobody($0) })
            + profileEndpoints(
                "people/:id", { exchange in account(exchange).map { person($0, exchange) } },
                { exchange in account(exchange).map { personForm($0, exchange) } }, missing: { nobody($0) })
    }

    private func people(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.queryForm
        let search = form["q"] ?? ""
        if !search.isEmpty { exchange.world.seed.people.prepareOrder() }
        let (found, count) = exchange.world.read { tables in
            (
                tables.people(search: search, after: form["after"], limit: Inspector.linesShown),
                tables.count(Account.self)
            )
        }
        let rows = found.people.map { account -> HTML.Row in
            [
                exchange.link(path(of: account), ShownText.isolated(account.title)),
                .of("code", ShownText.isolated(account.id)),
                .group([
                    ShownText.isolated(account.email), " ",
                    account.emailVerified ? "" : .badge("not verified", "warn"),
                ]), ShownText.isolated(account.phoneNumber ?? "–"),
            ]
        }
        return try page(
            exchange, .people, title: "People", refusal: nil,
            lead: [
                .soft(Inspector.count(count, "person", "people")), exchange.link("new/person", "New person", ""),
            ],
            about:
                "These people can sign in at every provider. The users in apps' own directories are under App users.",
            [
                self.search(
                    exchange, "people-search", at: "people",
                    .field(
                        "Find people by the beginning of a name, address or ID",
                        .input("q", search, type: "search", ["maxlength": "254"]))
                ),
                rows.isEmpty
                    ? .of("p.empty", search.isEmpty ? "There is nobody here." : "Nobody is found.")
                    : .table("stack.people-list", ["Name", "ID", "Address", "Phone number"], rows),
                paging(exchange, [("q", search)], after: form["after"], next: found.next, at: "people"),
            ])
    }

    private func account(_ exchange: Exchange) -> Account? {
        let id = exchange.identifier("id")
        return exchange.world.read { $0.account(id) }
    }

    private func path(of account: Account) -> String { "people/\(Exchange.segment(account.id))" }

    private func nobody(_ exchange: Exchange) -> Response {
        let id = exchange.identifier("id")
        return missing(
            exchange, .people, "Nobody",
            "There is no account \(Diagnosis.quote(id)) in this world: it was deleted, or is in another world.",
            diagnosis: Diagnosis(exchange.noAccount(id)), to: "people", "All people")
    }

    private func person(_ account: Account, _ exchange: Exchange) -> Profile {
        let path = self.path(of: account)
        let parts = providers.compactMap { provider -> Profile.Part? in
            let sections = (provider as? any KeepsGrants)?.sections(of: account, in: exchange) ?? []
            guard !sections.isEmpty else { return nil }
            return Profile.Part(
                title: provider.facts.title, sections: sections,
                items: InspectedItems(
                    exchange: exchange, masksSecrets: control.masksSecrets, owner: provider.name,
                    providers: providers))
        }
        let facts: [(String, HTML)] =
            [
                ("ID", InspectedItems.code(account.id)), ("Name", ShownText.isolated(account.fullName)),
                ("Address", InspectedItems.code(account.email)),
                ("Address verified", account.emailVerified ? "yes" : "no"),
            ] + (account.phoneNumber.map { [("Phone number", InspectedItems.code($0))] } ?? [])
        return Profile(
            area: .people, path: path, list: "people", name: account.title,
            lead: [
                exchange.link("\(path)/edit", "Edit", "quiet"),
                exchange.link(Inspector.address("", [("q", account.id)]), "Sign-ins", "quiet"),
            ], about: [.facts(facts)], parts: parts,
            deletion: (
                "Delete \(ShownText.plain(account.id))",
                "The account is deleted with everything that it has granted: its tokens stop working, and apps that subscribe to such events are notified. Users that apps have stored for this person, such as Firebase users, stay."
            ),
            delete: {
                _ = try await call("DELETE", "accounts/\(Inspector.segment(account.id))", in: exchange)
            })
    }

    /// Returns the HTML form with which an account is created or changed. The form has a field for each setting that an
    /// account can have in a seed file.
    private func personForm(_ account: Account?, _ exchange: Exchange) -> ProfileForm {
        let path = account.map { self.path(of: $0) }
        let titles = providers.compactMap { provider in
            provider.facts.profile.map { (name: $0.name, title: provider.facts.title) }
        }
        return ProfileForm(
            area: .people, title: account.map { "Edit \($0.id)" } ?? "New person",
            about: account == nil
                ? "Only the ID is required: all other fields have defaults."
                : "A field that you empty gets its default value.",
            path: path.map { "\($0)/edit" } ?? "new/person", back: path ?? "people",
            schema: exchange.world.seed.format.account.schema, values: account?.json.object, key: "id",
            titles: titles, checks: false, save: { try await save($0, account, exchange) })
    }

    private func save(
        _ fields: JSONObject, _ account: Account?, _ exchange: Exchange
    ) async throws -> (path: String, text: String) {
        guard let account else {
            let id = try await call("POST", "accounts", .object(fields), in: exchange)["id"]?.string ?? ""
            return ("people/\(Exchange.segment(id))", "\(id) can sign in now.")
        }
        _ = try await call("PATCH", "accounts/\(Inspector.segment(account.id))", .object(fields), in: exchange)
        return (path(of: account), "\(account.id) is changed.")
    }
}

extension Account {
    var title: String { fullName.isEmpty ? id : fullName }
}
