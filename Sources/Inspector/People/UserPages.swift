import EmulatorCore
import HTTPServer

// The users of apps: directories, the users of each, a user's page and form.

extension Inspector {
    var userEndpoints: [Endpoint] {
        [
            page("GET", "users") { try directories($0) }, page("GET", "users/:directory") { try directory($0) },
        ]
            + formEndpoints(
                "new/user/:directory",
                { exchange in try foundDirectory(exchange).map { userForm($0.directory, nil) } },
                missing: { noDirectory($0) })
            + profileEndpoints(
                "users/:directory/:id", { try user($0) },
                { exchange in
                    guard let (directory, _) = try foundDirectory(exchange) else { return nil }
                    return directory.user(exchange.identifier("id")).map { userForm(directory, $0) }
                }, missing: { try noUser($0) })
    }

    /// Returns the user directory that the page's URL names, with the provider that keeps it; `nil` if there is none.
    private func foundDirectory(
        _ exchange: Exchange
    ) throws -> (directory: any UserDirectory, provider: any Provider)? {
        let id = exchange.identifier("directory")
        for case let provider as any HasUserDirectories in providers where id.hasPrefix("\(provider.name):") {
            return try provider.userDirectory(id, in: exchange).map { ($0, provider) }
        }
        return nil
    }

    private func path(of id: String) -> String { "users/\(Exchange.segment(id))" }

    private func noDirectory(_ exchange: Exchange) -> Response {
        missing(
            exchange, .users, "No such users",
            "This test world has no users of this project: apps have used it only in other worlds, or not at all.",
            to: "users",
            "All app users")
    }

    private func noUser(_ exchange: Exchange) throws -> Response {
        guard let (directory, _) = try foundDirectory(exchange) else { return noDirectory(exchange) }
        let summary = directory.summary
        return missing(
            exchange, .users, "No such user", "There is no such user: the user was deleted.", to: path(of: summary.id),
            "All users of \(summary.title)")
    }

    // MARK: - Lists

    /// Answers with the list of user directories, such as Firebase projects, at all providers.
    private func directories(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.queryForm
        var lists: [HTML?] = []
        for case let provider as any HasUserDirectories in providers {
            let name = provider.name
            guard form["of"] == nil || form["of"] == name else { continue }
            let found = try provider.userDirectories(
                after: form["of"] == name ? form["after"] : nil, limit: Inspector.linesShown, in: exchange)
            guard !found.directories.isEmpty || form["of"] == name else { continue }
            lists += [
                .of("h2", .text(provider.facts.title)), cards(found.directories, exchange),
                paging(exchange, [("of", name)], after: form["after"], next: found.next, at: "users"),
            ]
        }
        if lists.isEmpty { lists = [.of("p.empty", "No app has users in this world yet.")] }
        return try page(
            exchange, .users, title: "App users", refusal: nil,
            about:
                "Apps' own users: a user is added when a person first signs in to an app. The people who sign in are under People.",
            lists)
    }

    private func cards(_ directories: [UserDirectorySummary], _ exchange: Exchange) -> HTML {
        .of(
            "div.cards",
            .group(
                directories.map { directory in
                    .of(
                        "a.card.people-directory", ["href": exchange.inspector(path(of: directory.id))],
                        .of("strong", ShownText.isolated(directory.title)),
                        .of("span.soft.small", ShownText.isolated(directory.kind)),
                        .of("span.soft.small", .text(Inspector.count(directory.users, "user", "users"))))
                }))
    }

    /// Answers with the list of users in one user directory, such as a Firebase project.
    private func directory(_ exchange: Exchange) throws -> Response {
        guard let (directory, _) = try foundDirectory(exchange) else { return noDirectory(exchange) }
        let (form, summary) = (exchange.request.queryForm, directory.summary)
        let (search, path) = (form["q"] ?? "", path(of: summary.id))
        let found = directory.users(search: search, after: form["after"], limit: Inspector.linesShown)
        let parts = directory.parts(after: form["part"], limit: Inspector.linesShown)
        let rows = found.users.map { user -> HTML.Row in
            [
                .group([
                    exchange.link("\(path)/\(Exchange.segment(user.id))", ShownText.isolated(user.title)), " ",
                    user.isDisabled ? .badge("disabled", "bad") : "",
                ]),
                .group([
                    ShownText.isolated(user.email ?? "–"), " ",
                    user.email == nil || user.isEmailVerified ? "" : .badge("not verified", "warn"),
                ]), .group(user.methods.flatMap { [InspectedItems.code($0), " "] }), InspectedItems.code(user.id),
                user.lastSignIn.map { ShownText.time($0) } ?? "–",
            ]
        }
        return try page(
            exchange, .users, title: ShownText.plain(summary.title), refusal: nil,
            lead: [
                .soft("\(summary.kind) · \(Inspector.count(summary.users, "user", "users"))"),
                summary.whole.map { exchange.link(self.path(of: $0), "All of the project", "quiet") },
                exchange.link("new/user/\(Exchange.segment(summary.id))", "New user", ""),
            ],
            [
                self.search(
                    exchange, "people-search", at: path,
                    .field(
                        "Find users by the beginning of an address, user ID or phone number",
                        .input("q", search, type: "search", ["maxlength": "254"]))),
                rows.isEmpty
                    ? .of("p.empty", search.isEmpty ? "No user has signed in yet." : "No user is found.")
                    : .table(
                        "stack.people-list", ["Name", "Address", "Signs in with", "User ID", "Last sign-in"], rows),
                paging(exchange, [("q", search)], after: form["after"], next: found.next, at: path),
            ]
                + (parts.directories.isEmpty
                    ? []
                    : [
                        .of("h2", "Tenants"), cards(parts.directories, exchange),
                        paging(exchange, [], after: form["part"], next: parts.next, at: path, cursor: "part"),
                    ]))
    }

    // MARK: - One user

    private func user(_ exchange: Exchange) throws -> Profile? {
        guard let (directory, provider) = try foundDirectory(exchange),
            let user = directory.user(exchange.identifier("id"))
        else { return nil }
        let (summary, list) = (directory.summary, path(of: directory.summary.id))
        let path = "\(list)/\(Exchange.segment(user.line.id))"
        let items = InspectedItems(
            exchange: exchange, masksSecrets: control.masksSecrets, owner: provider.name, providers: providers, level: 3
        )
        return Profile(
            area: .users, path: path, list: list, name: user.line.title,
            lead: [
                user.line.isDisabled ? .badge("disabled", "bad") : "", exchange.link("\(path)/edit", "Edit", "quiet"),
                exchange.link(list, .group(["All of ", ShownText.isolated(summary.title)]), "quiet"),
            ], about: [items.facts(user.facts)], actions: user.actions,
            parts: [Profile.Part(title: nil, sections: user.sections, items: items)],
            deletion: (
                "Delete the user", "The user is deleted with all sessions. Signing in again creates a new user."
            ),
            delete: { try await directory.delete(user.line.id) })
    }

    private func userForm(_ directory: any UserDirectory, _ user: InspectedUser?) -> ProfileForm {
        let summary = directory.summary
        let list = path(of: summary.id)
        let path = user.map { "\(list)/\(Exchange.segment($0.line.id))" }
        return ProfileForm(
            area: .users, title: user.map { "Edit \($0.line.title)" } ?? "New user of \(summary.title)",
            about: user == nil
                ? "With an address and a password, the user can sign in." : "A field that you empty is removed.",
            path: path.map { "\($0)/edit" } ?? "new/user/\(Exchange.segment(summary.id))", back: path ?? list,
            schema: directory.fields, values: user?.values, key: directory.keyField, checks: true
        ) { fields in
            guard let user, let path else {
                return ("\(list)/\(Exchange.segment(try await directory.add(fields)))", "The user is made.")
            }
            try await directory.change(user.line.id, fields)
            return (path, "The user is changed.")
        }
    }
}
