import EmulatorCore
import HTTPServer
import JSON

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

// The form in which people are made and changed. It has the fields of the seed.

extension Inspector {
    private func form(for account: Account?, _ exchange: Exchange, sent: Form? = nil) -> SchemaForm {
        SchemaForm(
            exchange.world.seed.format.account.schema, values: account?.json.object, fixed: "id", sent: sent)
    }

    /// The providers' titles for the groups of their fields.
    private var groupTitles: [String: String] {
        let titles = providers.compactMap { provider -> (String, String)? in
            provider.facts.profile.map { ($0.name, provider.facts.title) }
        }
        return Dictionary(titles, uniquingKeysWith: { first, _ in first })
    }

    func newPerson(_ exchange: Exchange) -> Response { formPage(nil, form(for: nil, exchange), exchange) }

    func editPerson(_ exchange: Exchange) throws -> Response {
        let id = exchange.identifier("id")
        guard let account = exchange.world.read({ $0.account(id) }) else { return try person(exchange) }
        return formPage(account, form(for: account, exchange), exchange)
    }

    private func formPage(
        _ account: Account?, _ fields: SchemaForm, _ exchange: Exchange, status: Int = 200
    ) -> Response {
        let path = account.map { "people/\(Exchange.segment($0.id))" }
        let buttons = HTML.tag(
            "div", [("class", "row people-save")], .tag("button", [], account == nil ? "Make" : "Save"),
            .tag("a", [("class", "button quiet"), ("href", exchange.inspector(path ?? "people"))], "Cancel"))
        let response = page(
            exchange, .people, title: account.map { ShownText.plain("Edit \($0.id)") } ?? "New person", status: status,
            [
                .tag(
                    "p", [("class", "soft")],
                    account == nil
                        ? "Only the ID must be given: everything else follows from it."
                        : "An emptied field gets its default back."),
                form(
                    to: path.map { "\($0)/edit" } ?? "new/person", exchange, [("class", "people-form")],
                    fields.controls(titles: groupTitles) + [buttons]),
            ])
        guard let fault = fields.faults.first else { return response }
        return response.diagnosed(Diagnosis("\(fault.path.map { "\($0): " } ?? "")\(fault.message)"))
    }

    func addPerson(_ exchange: Exchange, _ sent: Form) async throws -> Response {
        var fields = form(for: nil, exchange, sent: sent)
        let body = fields.patch()
        guard fields.faults.isEmpty else { return formPage(nil, fields, exchange, status: 400) }
        do {
            let made = try await call("POST", "accounts", .object(body), in: exchange)
            let id = made["id"]?.string ?? ""
            return try changed(exchange, show: "people/\(Exchange.segment(id))", saying: "\(id) can sign in now.")
        } catch let error as CallRefusal {
            fields.faults = error.fields
            return formPage(nil, fields, exchange, status: error.status)
        }
    }

    func changePerson(_ exchange: Exchange, _ sent: Form) async throws -> Response {
        let id = exchange.identifier("id")
        guard let account = exchange.world.read({ $0.account(id) }) else { return try person(exchange) }
        var fields = form(for: account, exchange, sent: sent)
        let patch = fields.patch()
        guard fields.faults.isEmpty else { return formPage(account, fields, exchange, status: 400) }
        fields.findConflicts()
        guard fields.faults.isEmpty else { return formPage(account, fields, exchange, status: 409) }
        let path = "people/\(Exchange.segment(id))"
        guard !patch.isEmpty else { return changed(exchange, show: path) }
        do {
            _ = try await call(
                "PATCH", "accounts/\(PercentCoding.encode(Array(id.utf8)))", .object(patch), in: exchange)
            return try changed(exchange, show: path, saying: "\(id) is changed.")
        } catch let error as CallRefusal {
            fields.faults = error.fields
            return formPage(account, fields, exchange, status: error.status)
        }
    }
}

extension CallRefusal {
    /// The issues, for the fields of a form.
    var fields: [SchemaForm.Fault] {
        issues.isEmpty ? [(path: path, message: message)] : issues.map { (path: $0.path, message: $0.message) }
    }
}
