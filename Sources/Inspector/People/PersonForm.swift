import EmulatorCore
import HTTPServer
import JSON

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
