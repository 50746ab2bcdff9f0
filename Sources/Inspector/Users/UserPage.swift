import EmulatorCore
import HTTPServer
import JSON

// The page of a user of an app: ways to sign in, second factors, passkeys and sessions, and an administrator's actions.

extension Inspector {
    private typealias Found = (directory: any UserDirectory, user: InspectedUser, path: String, items: InspectedItems)

    private func found(_ exchange: Exchange) throws -> Found? {
        guard let (directory, provider) = try foundDirectory(exchange),
            let user = directory.user(exchange.identifier("id"))
        else { return nil }
        let path = "\(Inspector.path(of: directory.summary))/\(Exchange.segment(user.line.id))"
        let items = InspectedItems(
            exchange: exchange, masksSecrets: control.masksSecrets, owner: provider.name, providers: providers, level: 3
        )
        return (directory, user, path, items)
    }

    func user(_ exchange: Exchange) throws -> Response {
        guard let found = try found(exchange) else { return try noUser(exchange) }
        return try user(found, exchange)
    }

    private func noUser(_ exchange: Exchange) throws -> Response {
        guard let (directory, _) = try foundDirectory(exchange) else { return noDirectory(exchange) }
        let reason = "There is no such user: it was deleted since."
        let path = Inspector.path(of: directory.summary)
        return page(
            exchange, .users, title: "No such user", status: 404,
            [
                .tag("p", [("class", "note bad"), ("role", "alert")], reason),
                .tag("p", [], .link("All users of \(directory.summary.title)", to: exchange.inspector(path))),
            ]
        ).diagnosed(Diagnosis(reason))
    }

    private func user(
        _ found: Found, _ exchange: Exchange, status: Int = 200, refusal message: String? = nil
    ) throws -> Response {
        let (user, path, summary) = (found.user, found.path, found.directory.summary)
        let lead = [
            user.line.isDisabled ? HTML.tag("span", [("class", "badge bad")], "disabled") : .group([]),
            .tag("a", [("class", "button quiet"), ("href", exchange.inspector("\(path)/edit"))], "Edit"),
            .tag(
                "a", [("class", "button quiet"), ("href", exchange.inspector(Inspector.path(of: summary)))],
                .text("All of "), ShownText.isolated(summary.title)),
        ]
        let deletion = HTML.tag(
            "details", [("class", "card people-deletion")], .tag("summary", [], "Delete this user"),
            .tag("p", [], "The user goes with all sessions. Whoever signs in again is a new user."),
            form(to: "\(path)/delete", exchange, [], [.tag("button", [("class", "danger")], "Delete the user")]))
        let sections = user.sections.map { section in
            HTML.tag(
                "section", [("class", "people-section")], .tag("h2", [], section.title),
                .tag("div", [], found.items.items(section)))
        }
        let response = page(
            exchange, .users, title: ShownText.plain(user.line.title), status: status, lead: lead,
            [
                try notice(exchange), refusal(message),
                form(to: "\(path)/act", exchange, [("id", InspectedItems.form), ("hidden", nil)], []),
                .tag(
                    "div", [("class", "card")], found.items.facts(user.facts),
                    found.items.buttons(user.actions, of: user.line.title)),
            ] + sections + [deletion])
        return message.map { response.diagnosed(Diagnosis($0)) } ?? response
    }

    func actOnUser(_ exchange: Exchange, _ form: Form) async throws -> Response {
        guard let found = try found(exchange) else { return try noUser(exchange) }
        let key = form[InspectedItems.field] ?? ""
        let actions = found.user.actions + found.user.sections.flatMap(\.actions)
        guard let action = actions.first(where: { found.items.key(of: $0) == key }) else {
            return try user(found, exchange, status: 409, refusal: Inspector.notOffered)
        }
        do {
            return try changed(exchange, show: found.path, saying: try await carryOut(action, in: exchange))
        } catch let error as InspectedRefusal {
            return try user(found, exchange, status: error.status, refusal: error.message)
        }
    }

    func deleteUser(_ exchange: Exchange) async throws -> Response {
        guard let found = try found(exchange) else { return try noUser(exchange) }
        do {
            try await found.directory.delete(found.user.line.id)
            return try changed(
                exchange, show: Inspector.path(of: found.directory.summary),
                saying: "\(found.user.line.title) is deleted.")
        } catch let error as InspectedRefusal {
            return try user(found, exchange, status: error.status, refusal: error.message)
        }
    }

    // MARK: - Forms

    private func formPage(
        _ directory: any UserDirectory, _ user: InspectedUser?, _ fields: SchemaForm, _ exchange: Exchange,
        status: Int = 200
    ) -> Response {
        let list = Inspector.path(of: directory.summary)
        let path = user.map { "\(list)/\(Exchange.segment($0.line.id))" }
        let target = path.map { "\($0)/edit" } ?? "new/user/\(Exchange.segment(directory.summary.id))"
        let buttons = HTML.tag(
            "div", [("class", "row people-save")], .tag("button", [], user == nil ? "Make" : "Save"),
            .tag("a", [("class", "button quiet"), ("href", exchange.inspector(path ?? list))], "Cancel"))
        let title = user.map { "Edit \($0.line.title)" } ?? "New user of \(directory.summary.title)"
        let response = page(
            exchange, .users, title: ShownText.plain(title), status: status,
            [
                .tag(
                    "p", [("class", "soft")],
                    user == nil
                        ? "With an address and a password, the user can sign in." : "An emptied field is taken away."),
                form(to: target, exchange, [("class", "people-form")], fields.controls(titles: [:]) + [buttons]),
            ])
        guard let fault = fields.faults.first else { return response }
        return response.diagnosed(Diagnosis("\(fault.path.map { "\($0): " } ?? "")\(fault.message)"))
    }

    func newUser(_ exchange: Exchange) throws -> Response {
        guard let (directory, _) = try foundDirectory(exchange) else { return noDirectory(exchange) }
        return formPage(
            directory, nil, SchemaForm(directory.fields, values: nil, fixed: directory.keyField), exchange)
    }

    func editUser(_ exchange: Exchange) throws -> Response {
        guard let found = try found(exchange) else { return try noUser(exchange) }
        let fields = SchemaForm(
            found.directory.fields, values: found.user.values, fixed: found.directory.keyField)
        return formPage(found.directory, found.user, fields, exchange)
    }

    func addUser(_ exchange: Exchange, _ sent: Form) async throws -> Response {
        guard let (directory, _) = try foundDirectory(exchange) else { return noDirectory(exchange) }
        var fields = SchemaForm(directory.fields, values: nil, fixed: directory.keyField, sent: sent)
        let body = fields.patch()
        fields.check(body, against: directory.fields)
        guard fields.faults.isEmpty else { return formPage(directory, nil, fields, exchange, status: 400) }
        do {
            let id = try await directory.add(body)
            let path = "\(Inspector.path(of: directory.summary))/\(Exchange.segment(id))"
            return try changed(exchange, show: path, saying: "The user is made.")
        } catch let error as InspectedRefusal {
            fields.faults = [(path: error.path, message: error.message)]
            return formPage(directory, nil, fields, exchange, status: error.status)
        }
    }

    func changeUser(_ exchange: Exchange, _ sent: Form) async throws -> Response {
        guard let found = try found(exchange) else { return try noUser(exchange) }
        let (directory, user) = (found.directory, found.user)
        var fields = SchemaForm(directory.fields, values: user.values, fixed: directory.keyField, sent: sent)
        let patch = fields.patch()
        fields.check(patch, against: directory.fields)
        guard fields.faults.isEmpty else { return formPage(directory, user, fields, exchange, status: 400) }
        fields.findConflicts()
        guard fields.faults.isEmpty else { return formPage(directory, user, fields, exchange, status: 409) }
        guard !patch.isEmpty else { return changed(exchange, show: found.path) }
        do {
            try await directory.change(user.line.id, patch)
            return try changed(exchange, show: found.path, saying: "The user is changed.")
        } catch let error as InspectedRefusal {
            fields.faults = [(path: error.path, message: error.message)]
            return formPage(directory, user, fields, exchange, status: error.status)
        }
    }
}
