import EmulatorCore
import HTTPServer

// The users of apps: directories, and the users of each.

extension Inspector {
    var userEndpoints: [Endpoint] {
        [
            page("GET", "users") { try directories($0) }, page("GET", "users/:directory") { try directory($0) },
            page("GET", "users/:directory/:id") { try user($0) },
            page("GET", "users/:directory/:id/edit") { try editUser($0) },
            page("GET", "new/user/:directory") { try newUser($0) },
            form("new/user/:directory") { exchange, form in try await addUser(exchange, form) },
            form("users/:directory/:id/edit") { exchange, form in try await changeUser(exchange, form) },
            form("users/:directory/:id/act") { exchange, form in try await actOnUser(exchange, form) },
            form("users/:directory/:id/delete") { exchange, _ in try await deleteUser(exchange) },
        ]
    }

    /// Returns the directory that the address names, with its provider.
    func foundDirectory(_ exchange: Exchange) throws -> (directory: any UserDirectory, provider: any Provider)? {
        let id = exchange.identifier("directory")
        for case let provider as any HasUserDirectories in providers where id.hasPrefix("\(provider.name):") {
            return try provider.userDirectory(id, in: exchange).map { ($0, provider) }
        }
        return nil
    }

    static func path(of directory: UserDirectorySummary) -> String { "users/\(Exchange.segment(directory.id))" }

    func noDirectory(_ exchange: Exchange) -> Response {
        let reason = "There are no such users here: nobody has used the project yet, or it is in another world."
        return page(
            exchange, .users, title: "No such users", status: 404,
            [
                .tag("p", [("class", "note bad"), ("role", "alert")], reason),
                .tag("p", [], .link("All app users", to: exchange.inspector("users"))),
            ]
        ).diagnosed(Diagnosis(reason))
    }

    /// Answers with the directories of all providers that have any.
    private func directories(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.queryForm
        var lists: [HTML] = []
        for case let provider as any HasUserDirectories in providers {
            let name = provider.name
            guard form["of"] == nil || form["of"] == name else { continue }
            let found = try provider.userDirectories(
                after: form["of"] == name ? form["after"] : nil, limit: Inspector.linesShown, in: exchange)
            guard !found.directories.isEmpty || form["of"] == name else { continue }
            lists += [
                .tag("h2", [], provider.facts.title), Inspector.cards(found.directories, exchange),
                Inspector.paging(
                    found.next == nil && form["after"] == nil ? [] : [("of", name)], after: form["after"],
                    next: found.next, at: "users", exchange),
            ]
        }
        if lists.isEmpty { lists = [.tag("p", [("class", "empty")], "No app has users here yet.")] }
        return page(
            exchange, .users, title: "App users",
            [
                try notice(exchange),
                .tag(
                    "p", [("class", "soft")],
                    "Whom apps know: they came into being when somebody signed in to an app. The people who sign in are under People."
                ),
            ] + lists)
    }

    static func cards(_ directories: [UserDirectorySummary], _ exchange: Exchange) -> HTML {
        let cards = directories.map { directory in
            HTML.tag(
                "a", [("class", "card people-directory"), ("href", exchange.inspector(path(of: directory)))],
                .tag("strong", [], ShownText.isolated(directory.title)),
                .tag("span", [("class", "soft small")], ShownText.isolated(directory.kind)),
                .tag("span", [("class", "soft small")], count(directory.users)))
        }
        return .element("div", attributes: [(name: "class", value: "cards")], children: cards)
    }

    private static func count(_ users: Int) -> String { users == 1 ? "1 user" : "\(grouped(users)) users" }

    /// Answers with the users of one directory.
    private func directory(_ exchange: Exchange) throws -> Response {
        guard let (directory, _) = try foundDirectory(exchange) else { return noDirectory(exchange) }
        let (form, summary) = (exchange.request.queryForm, directory.summary)
        let (search, path) = (form["q"] ?? "", Inspector.path(of: summary))
        let found = directory.users(search: search, after: form["after"], limit: Inspector.linesShown)
        let parts = directory.parts(after: form["part"], limit: Inspector.linesShown)
        let make = HTML.tag(
            "a", [("class", "button"), ("href", exchange.inspector("new/user/\(Exchange.segment(summary.id))"))],
            "New user")
        let list: HTML =
            found.users.isEmpty
            ? .tag("p", [("class", "empty")], search.isEmpty ? "Nobody has signed in yet." : "No user is found.")
            : table(found.users, at: path, exchange)
        let whole = summary.whole.map { whole in
            HTML.tag(
                "a", [("class", "button quiet"), ("href", exchange.inspector("users/\(Exchange.segment(whole))"))],
                "All of the project")
        }
        let tenants =
            parts.directories.isEmpty
            ? []
            : [
                HTML.tag("h2", [], "Tenants"), Inspector.cards(parts.directories, exchange),
                Inspector.paging([], after: form["part"], next: parts.next, at: path, exchange, cursor: "part"),
            ]
        return page(
            exchange, .users, title: ShownText.plain(summary.title),
            lead: [
                .tag("span", [("class", "soft")], "\(summary.kind) · \(Inspector.count(summary.users))")
            ] + (whole.map { [$0] } ?? []) + [make],
            [
                try notice(exchange),
                Inspector.search("Address, user ID or phone number begins with", search, at: path, exchange), list,
                Inspector.paging([("q", search)], after: form["after"], next: found.next, at: path, exchange),
            ] + tenants)
    }

    private func table(_ users: [InspectedUser.Line], at path: String, _ exchange: Exchange) -> HTML {
        let rows = users.map { user in
            HTML.tag(
                "tr", [],
                .tag(
                    "td", [],
                    .tag(
                        "a", [("href", exchange.inspector("\(path)/\(Exchange.segment(user.id))"))],
                        ShownText.isolated(user.title)), .text(" "),
                    user.isDisabled ? .tag("span", [("class", "badge bad")], "disabled") : .group([])),
                .tag(
                    "td", [("data-label", "Address")], ShownText.isolated(user.email ?? "–"), .text(" "),
                    user.email == nil || user.isEmailVerified
                        ? .group([]) : .tag("span", [("class", "badge warn")], "not verified")),
                .tag(
                    "td", [("data-label", "Signs in with")],
                    .group(user.methods.flatMap { [InspectedItems.code($0), .text(" ")] })),
                .tag("td", [("data-label", "User ID")], InspectedItems.code(user.id)),
                .tag("td", [("data-label", "Last sign-in")], user.lastSignIn.map { ShownText.time($0) } ?? .text("–")))
        }
        return Inspector.table(["Name", "Address", "Signs in with", "User ID", "Last sign-in"], rows)
    }
}
