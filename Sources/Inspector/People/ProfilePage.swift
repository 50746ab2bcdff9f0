import EmulatorCore
import HTTPServer
import JSON

// The page of somebody, with what they have and what can be done about it, and the form in which they are made and
// changed. People and users of apps have the same.

/// The contents of the page about an account (a person who can sign in at every provider), or about a user of an app.
struct Profile: Sendable {
    /// A part of the page about an account or a user. It shows the data of one provider, or of the app's user
    /// directory.
    struct Part: Sendable {
        /// The heading above the data: the title of the provider to which they belong. It is `nil` on a page that shows
        /// the data of only one provider.
        let title: String?
        let sections: [InspectedSection]
        let items: InspectedItems
    }

    let area: Area
    /// The path of the account's or user's page, and the path of the list of accounts or users.
    let path, list: String
    let name: String
    let lead: [HTML]
    let about: [HTML?]
    /// The actions on the account or user that belong to no section of the page.
    var actions: [InspectedAction] = []
    let parts: [Part]
    let deletion: (button: String, about: String)
    let delete: @Sendable () async throws -> Void
}

/// The HTML form with which an account or a user is created or changed.
struct ProfileForm: Sendable {
    let area: Area
    let title, about: String
    /// Two paths: the form is posted to the first, and its "Cancel" link leads to the second.
    let path, back: String
    let schema: Schema
    /// The present values of the form's fields; `nil` if the form creates an account or a user.
    let values: JSONObject?
    /// The name of the form field for an ID. The form has this field only if it creates an account or a user, because
    /// IDs can't be changed.
    let key: String
    /// The providers' titles, shown above the groups of fields that belong to a provider.
    var titles: [(name: String, title: String)] = []
    /// Whether the form checks the fields before it saves them. This isn't needed if the control API saves the fields,
    /// because it checks them itself.
    let checks: Bool
    /// Saves the form's fields. Returns the path of the page to show next, and the notice to show on it.
    let save: @Sendable (JSONObject) async throws -> (path: String, text: String)

    func fields(_ sent: Form? = nil) -> SchemaForm {
        var form = SchemaForm(schema, values: values, sent: sent) { values == nil || $0.name != key }
        form.labels = ["given": "Given name", "family": "Family name"]
        return form
    }
}

extension Inspector {
    /// Returns the endpoints for the pages of accounts or users, at `path` below the inspector's address.
    func profileEndpoints(
        _ path: String, _ find: @escaping @Sendable (Exchange) throws -> Profile?,
        _ edit: @escaping @Sendable (Exchange) throws -> ProfileForm?,
        missing: @escaping @Sendable (Exchange) throws -> Response
    ) -> [Endpoint] {
        [
            page("GET", path) { try find($0).map { [exchange = $0] in try show($0, exchange) } ?? missing($0) },
            form("\(path)/act") { exchange, form in
                guard let profile = try find(exchange) else { return try missing(exchange) }
                return try await act(on: profile, exchange, form[InspectedItems.field] ?? "")
            },
            form("\(path)/delete") { exchange, _ in
                guard let profile = try find(exchange) else { return try missing(exchange) }
                return try await trying {
                    try await profile.delete()
                    return try changed(exchange, show: profile.list, saying: "\(profile.name) is deleted.")
                } refused: {
                    try show(profile, exchange, refusal: $0)
                }
            },
        ] + formEndpoints("\(path)/edit", edit, missing: missing)
    }

    /// Returns the two endpoints of a form that creates or changes an account or a user: one shows the form, and the
    /// other takes the input.
    func formEndpoints(
        _ path: String, _ find: @escaping @Sendable (Exchange) throws -> ProfileForm?,
        missing: @escaping @Sendable (Exchange) throws -> Response
    ) -> [Endpoint] {
        [
            page("GET", path) { exchange in
                guard let form = try find(exchange) else { return try missing(exchange) }
                return show(form, form.fields(), exchange)
            },
            form(path) { exchange, sent in
                guard let form = try find(exchange) else { return try missing(exchange) }
                return try await save(form, sent, exchange)
            },
        ]
    }

    private func show(_ profile: Profile, _ exchange: Exchange, refusal: CallRefusal? = nil) throws -> Response {
        let titled = profile.parts.filter { $0.title != nil }
        let jumps = HTML.of(
            "nav.row.people-jumps", ["aria-label": "Providers"],
            .group(titled.map { .of("a", ["href": "#\($0.items.owner)"], .text($0.title ?? "")) }))
        let parts = profile.parts.map { part in
            let sections = HTML.group(part.sections.map { part.items.section($0) })
            return part.title.map { .of("section.people-provider#\(part.items.owner)", .of("h2", .text($0)), sections) }
                ?? sections
        }
        return try page(
            exchange, profile.area, title: ShownText.plain(profile.name), refusal: refusal, lead: profile.lead,
            [
                .of(
                    "div.card", .group(profile.about.compactMap { $0 }),
                    profile.parts.first?.items.buttons(profile.actions, of: profile.name)),
                titled.isEmpty ? nil : jumps,
                form(to: "\(profile.path)/act", exchange, ["id": InspectedItems.form, "hidden": true]),
                .group(parts),
                .of(
                    "details.card.people-deletion",
                    .of("summary", "Delete this \(profile.area.path == "people" ? "person" : "user")"),
                    .of("p", .text(profile.deletion.about)),
                    action(exchange, "\(profile.path)/delete", profile.deletion.button, "danger")),
            ])
    }

    /// Carries out the action whose button was pressed on an account's or user's page. `key` is the value that the
    /// button sent. An action that the page doesn't offer any more is refused.
    private func act(on profile: Profile, _ exchange: Exchange, _ key: String) async throws -> Response {
        let offered = profile.parts.lazy.flatMap { part in
            (profile.actions + part.sections.flatMap(\.actions)).filter { part.items.key(of: $0) == key }
        }
        guard let action = offered.first else {
            let message =
                "this action is no longer possible: somebody has changed the account or user since the page was opened. The page now shows the current state"
            return try show(profile, exchange, refusal: CallRefusal(status: 409, message: message))
        }
        return try await trying {
            try changed(exchange, show: profile.path, saying: try await carryOut(action, in: exchange))
        } refused: {
            try show(profile, exchange, refusal: $0)
        }
    }

    // MARK: - Forms

    private func show(_ form: ProfileForm, _ fields: SchemaForm, _ exchange: Exchange, status: Int = 200) -> Response {
        let titled = Set(form.titles.map(\.name))
        let own = form.schema.fields.map(\.name).filter { !titled.contains($0) }
        let sections: [SchemaForm.Section] = form.titles.map { ($0.title, true, [$0.name]) }
        let response = page(
            exchange, form.area, title: ShownText.plain(form.title), status: status, about: form.about,
            [
                self.form(
                    to: form.path, exchange, ["class": "people-form"],
                    .group(fields.controls([(nil, false, own)] + sections)),
                    .of(
                        "div.row.people-save", .button(form.values == nil ? "Make" : "Save"),
                        exchange.link(form.back, "Cancel", "quiet")))
            ])
        return fields.diagnosis.map { response.diagnosed($0) } ?? response
    }

    private func save(_ form: ProfileForm, _ sent: Form, _ exchange: Exchange) async throws -> Response {
        var fields = form.fields(sent)
        let patch = fields.patch()
        if form.checks { fields.check(patch, against: form.schema) }
        guard fields.faults.isEmpty else { return show(form, fields, exchange, status: 400) }
        fields.findConflicts()
        guard fields.faults.isEmpty else { return show(form, fields, exchange, status: 409) }
        guard form.values == nil || !patch.isEmpty else { return changed(exchange, show: form.back) }
        return try await trying {
            let (path, text) = try await form.save(patch)
            return try changed(exchange, show: path, saying: text)
        } refused: { refusal in
            fields.faults = refusal.faults
            return show(form, fields, exchange, status: refusal.status)
        }
    }
}

// The lists of people, users and worlds share these functions.

extension Inspector {
    /// The greatest number of accounts, users, user directories or test worlds on one page of a list.
    static let linesShown = 50

    /// Returns a search form whose results are shown by the page at `path`.
    func search(_ exchange: Exchange, _ selector: String, at path: String, _ fields: HTML...) -> HTML {
        .of(
            "form.\(selector)", ["method": "get", "action": exchange.inspector(path), "role": "search"],
            .group(fields), .button("Search", "quiet"))
    }

    /// Returns links to the first and the next page of a long list; `nil` if all fits on one page.
    func paging(
        _ exchange: Exchange, _ fields: [(String, String)], after: String?, next: String?, at path: String,
        cursor: String = "after"
    ) -> HTML? {
        func link(_ text: HTML, _ more: [(String, String)]) -> HTML {
            exchange.link(Inspector.address(path, fields.filter { !$0.1.isEmpty } + more), text, "quiet")
        }
        let links =
            (after == nil ? [] : [link("First page", [])]) + (next.map { [link("Next page", [(cursor, $0)])] } ?? [])
        return links.isEmpty ? nil : .of("nav.row.people-paging", ["aria-label": "Pages"], .group(links))
    }

    static func address(_ path: String, _ fields: [(String, String)]) -> String {
        let query = Form(fields: fields.map { Form.Field(name: $0.0, value: $0.1) }).encoded
        return path + (query.isEmpty ? "" : "?\(query)")
    }

    /// Returns a number with its unit: "1 user", "100,000 users".
    static func count(_ count: Int, _ one: String, _ many: String) -> String {
        let digits = Array(String(count))
        let grouped = digits.enumerated().reduce("") { text, digit in
            let isGroup = digit.offset > 0 && (digits.count - digit.offset) % 3 == 0
            return text + (isGroup ? "," : "") + String(digit.element)
        }
        return "\(grouped) \(count == 1 ? one : many)"
    }
}
