import EmulatorCore
import HTTPServer

// The page of a person: each provider's data about them, what they have granted, and where they are signed in.

extension Inspector {
    private func account(_ exchange: Exchange) -> Account? {
        let id = exchange.identifier("id")
        return exchange.world.read { $0.account(id) }
    }

    private func path(of account: Account) -> String { "people/\(Exchange.segment(account.id))" }

    /// Returns the sections of each provider.
    private func views(
        of account: Account, _ exchange: Exchange
    ) -> [(title: String, sections: [InspectedSection], items: InspectedItems)] {
        providers.compactMap { provider in
            let sections = (provider as? any KeepsGrants)?.sections(of: account, in: exchange) ?? []
            guard !sections.isEmpty else { return nil }
            let items = InspectedItems(
                exchange: exchange, masksSecrets: control.masksSecrets, owner: provider.name, providers: providers)
            return (provider.facts.title, sections, items)
        }
    }

    func person(_ exchange: Exchange) throws -> Response {
        guard let account = account(exchange) else { return nobody(exchange) }
        return try person(account, exchange)
    }

    private func nobody(_ exchange: Exchange) -> Response {
        page(
            exchange, .people, title: "Nobody", status: 404,
            [
                .tag(
                    "p", [("class", "note bad"), ("role", "alert")],
                    ShownText.isolated(
                        "There is no account \(Diagnosis.quote(exchange.identifier("id"))) here: it was deleted, or it is in another world."
                    )), .tag("p", [], .link("All people", to: exchange.inspector("people"))),
            ]
        ).diagnosed(Diagnosis(exchange.noAccount(exchange.identifier("id"))))
    }

    private func person(
        _ account: Account, _ exchange: Exchange, status: Int = 200, refusal message: String? = nil
    ) throws -> Response {
        let views = views(of: account, exchange)
        let path = path(of: account)
        let query = Form(fields: [Form.Field(name: "q", value: account.id)]).encoded
        let lead = [
            HTML.tag("a", [("class", "button quiet"), ("href", exchange.inspector("\(path)/edit"))], "Edit"),
            .tag("a", [("class", "button quiet"), ("href", exchange.inspector() + "?\(query)")], "Sign-ins"),
        ]
        let about = InspectedItems(exchange: exchange, masksSecrets: control.masksSecrets, owner: "", providers: [])
            .facts(
                [
                    InspectedFact("ID", .code(account.id)), InspectedFact("Name", account.fullName),
                    InspectedFact("Address", .code(account.email)),
                    InspectedFact("Address verified", account.emailVerified),
                ] + (account.phoneNumber.map { [InspectedFact("Phone number", .code($0))] } ?? []))
        let jumps = HTML.element(
            "nav", attributes: [(name: "class", value: "row people-jumps"), (name: "aria-label", value: "Providers")],
            children: views.map { .tag("a", [("href", "#\($0.items.owner)")], $0.title) })
        let parts = views.map { view in
            HTML.tag(
                "section", [("class", "people-provider"), ("id", view.items.owner)], .tag("h2", [], view.title),
                .group(view.sections.map { view.items.section($0) }))
        }
        let response = page(
            exchange, .people, title: ShownText.plain(account.fullName.isEmpty ? account.id : account.fullName),
            status: status, lead: lead,
            [try notice(exchange), refusal(message), .tag("div", [("class", "card")], about), jumps]
                + [form(to: "\(path)/act", exchange, [("id", InspectedItems.form), ("hidden", nil)], [])] + parts
                + [deletion(account, exchange)])
        return message.map { response.diagnosed(Diagnosis($0)) } ?? response
    }

    private func deletion(_ account: Account, _ exchange: Exchange) -> HTML {
        .tag(
            "details", [("class", "card people-deletion")], .tag("summary", [], "Delete this person"),
            .tag(
                "p", [],
                "The account goes with everything that it has granted: tokens stop working, and apps that are told of it get their notifications. The users of apps stay."
            ),
            form(
                to: "\(path(of: account))/delete", exchange, [],
                [.tag("button", [("class", "danger")], .text("Delete "), ShownText.isolated(account.id))]))
    }

    // MARK: - Forms

    /// Does a button's action, which is looked up among those that the page offers now.
    func act(_ exchange: Exchange, _ form: Form) async throws -> Response {
        guard let account = account(exchange) else { return nobody(exchange) }
        let key = form[InspectedItems.field] ?? ""
        for view in views(of: account, exchange) {
            for action in view.sections.flatMap(\.actions) where view.items.key(of: action) == key {
                do {
                    let told = try await carryOut(action, in: exchange)
                    return try changed(exchange, show: path(of: account), saying: told)
                } catch let error as InspectedRefusal {
                    return try person(account, exchange, status: error.status, refusal: error.message)
                }
            }
        }
        return try person(account, exchange, status: 409, refusal: Inspector.notOffered)
    }

    static let notOffered =
        "What the button was for isn't there any more: somebody has changed it since the page was opened. The page now shows how things are."

    func deletePerson(_ exchange: Exchange) async throws -> Response {
        guard let account = account(exchange) else { return nobody(exchange) }
        do {
            _ = try await call("DELETE", "accounts/\(PercentCoding.encode(Array(account.id.utf8)))", in: exchange)
            return try changed(exchange, show: "people", saying: "\(account.id) is deleted.")
        } catch let error as CallRefusal {
            return try person(account, exchange, status: error.status, refusal: error.message)
        }
    }
}
