import JOSE

/// What a seed says of things elsewhere in it, checked once all files are merged.
struct SeedReferences {
    let root: SeedNode
    private(set) var faults: [SeedFault] = []

    init(_ root: SeedNode) { self.root = root }

    mutating func check() {
        checkAccounts()
        checkInteraction(root["interaction"])
        checkOutcomes()
        checkApple()
        checkGitHub()
        checkFirebase()
    }

    private func names(_ list: SeedNode?, _ key: String) -> [String] {
        (list?.items ?? []).compactMap { $0[key]?.string }
    }

    private mutating func expect(_ node: SeedNode?, among known: [String], _ what: String, in place: String = "") {
        guard let node, let name = node.string, !known.contains(name) else { return }
        let hint = Spelling.hint(name, among: known)
        faults.append(SeedFault(node, "no \(what) \"\(name)\"\(place)" + hint))
    }

    private mutating func checkUnique(_ items: [SeedNode], key: String, what: String) {
        var first: [String: SeedNode] = [:]
        for node in items.compactMap({ $0[key] }) {
            if let earlier = first[node.value.text] {
                let place = SeedReferences.place(of: earlier, from: node)
                faults.append(
                    SeedFault(node, "\(node.value.text) is already the \(key) of another \(what), at \(place)"))
            } else {
                first[node.value.text] = node
            }
        }
    }

    private mutating func checkAccounts() {
        let accounts = root["accounts"]?.items ?? []
        let orgs = names(root["github"]?["orgs"], "login")
        for account in accounts {
            for org in account["github"]?["orgs"]?.items ?? [] {
                expect(org, among: orgs, "organization", in: " in github.orgs")
            }
        }
        checkUnique(accounts.compactMap { $0["github"] }, key: "login", what: "person")
        checkUnique(accounts.compactMap { $0["github"] }, key: "id", what: "person")
        checkUnique(accounts.compactMap { $0["google"] }, key: "sub", what: "person")
        checkUnique(accounts.compactMap { $0["facebook"] }, key: "id", what: "person")
    }

    private mutating func checkInteraction(_ interaction: SeedNode?) {
        expect(interaction?["account"], among: names(root["accounts"], "id"), "account", in: " in accounts")
        if let interaction, interaction["outcome"]?.string == Outcome.Kind.error.rawValue,
            interaction["error"]?.string == nil
        {
            faults.append(SeedFault(interaction, "the outcome \"error\" needs the error's name, in \"error\""))
        }
    }

    private mutating func checkOutcomes() {
        for outcome in root["outcomes"]?.items ?? [] {
            expect(outcome["account"], among: names(root["accounts"], "id"), "account", in: " in accounts")
            if outcome["outcome"]?.string == Outcome.Kind.error.rawValue, outcome["error"]?.string == nil {
                faults.append(SeedFault(outcome, "the outcome \"error\" needs the error's name, in \"error\""))
            }
        }
    }

    private mutating func checkApple() {
        let teams = root["apple"]?["teams"]?.items ?? []
        let teamIDs = teams.compactMap { $0["id"]?.string }
        var clients: [String: SeedNode] = [:]
        for team in teams {
            let place = " in team \"\(team["id"]?.string ?? "")\""
            let apps = names(team["apps"], "bundleID")
            for app in team["apps"]?.items ?? [] {
                expect(app["primaryApp"], among: apps, "app", in: place)
                expect(app["transfer"]?["fromTeam"], among: teamIDs, "team", in: " in apple.teams")
                checkInteraction(app["interaction"])
                claim(app["bundleID"], as: "client_id", in: &clients)
            }
            for service in team["services"]?.items ?? [] {
                expect(service["primaryApp"], among: apps, "app", in: place)
                checkInteraction(service["interaction"])
                claim(service["id"], as: "client_id", in: &clients)
            }
        }
    }

    /// For names that share one space over several lists: App IDs and Services IDs of all teams, API keys of all projects.
    private mutating func claim(_ node: SeedNode?, as what: String, in taken: inout [String: SeedNode]) {
        guard let node, let name = node.string else { return }
        if let earlier = taken[name] {
            let place = SeedReferences.place(of: earlier, from: node)
            faults.append(SeedFault(node, "\(what) \"\(name)\" is already taken at \(place)"))
        } else {
            taken[name] = node
        }
    }

    /// The path of `node`, with its file where that is another one than `other`'s.
    private static func place(of node: SeedNode, from other: SeedNode) -> String {
        node.origin.file == other.origin.file ? node.origin.path : "\(node.origin.file): \(node.origin.path)"
    }

    private mutating func checkGitHub() {
        let github = root["github"]
        let accounts = root["accounts"]?.items ?? []
        let orgs = github?["orgs"]?.items ?? []
        var clients: [String: SeedNode] = [:]
        let apps = (github?["oauthApps"]?.items ?? []) + (github?["githubApps"]?.items ?? [])
        for app in apps {
            claim(app["clientID"], as: "client ID", in: &clients)
            checkInteraction(app["interaction"])
            let callbacks = (app["callbackURLs"]?.items ?? []) + (app["exactCallbackURLs"]?.items ?? [])
            if callbacks.count > 10 {
                faults.append(SeedFault(callbacks[10], "an app has at most ten callback URLs"))
            }
        }
        let logins =
            names(github?["orgs"], "login") + accounts.compactMap { $0["github"]?["login"]?.string ?? $0["id"]?.string }
        for installation in apps.flatMap({ $0["installations"]?.items ?? [] }) {
            expect(installation, among: logins, "person or organization")
        }
        for org in orgs {
            for list in ["owners", "publicMembers", "pendingMembers"] {
                for member in org[list]?.items ?? [] { checkMember(member, of: org, accounts) }
            }
            for app in org["approvedApps"]?.items ?? [] {
                expect(app, among: clients.keys.sorted(), "app", in: " in github.oauthApps")
            }
            for team in org["teams"]?.items ?? [] {
                for member in (team["members"]?.items ?? []) + (team["maintainers"]?.items ?? []) {
                    checkMember(member, of: org, accounts)
                }
            }
        }
    }

    /// People say themselves which organizations they belong to; an organization only says how.
    private mutating func checkMember(_ node: SeedNode, of org: SeedNode, _ accounts: [SeedNode]) {
        guard let name = node.string, let login = org["login"]?.string else { return }
        guard let account = accounts.first(where: { $0["id"]?.string == name }) else {
            return expect(node, among: accounts.compactMap { $0["id"]?.string }, "account", in: " in accounts")
        }
        let orgs = (account["github"]?["orgs"]?.items ?? []).compactMap(\.string)
        if !orgs.contains(login) {
            faults.append(SeedFault(node, "account \"\(name)\" doesn't have \"\(login)\" among its github.orgs"))
        }
    }

    private mutating func checkFirebase() {
        let projects = root["firebase"]?["projects"]?.items ?? []
        var keys: [String: SeedNode] = [:]
        for project in projects {
            for key in project["apiKeys"]?.items ?? [] { claim(key, as: "API key", in: &keys) }
            guard let providers = project["providers"] else { continue }
            checkFirebaseApple(providers["apple.com"])
            expect(
                providers["github.com"]?["clientID"],
                among: names(root["github"]?["oauthApps"], "clientID")
                    + names(root["github"]?["githubApps"], "clientID"),
                "OAuth app", in: " in github.oauthApps")
            for client in providers["google.com"]?["clientIDs"]?.items ?? [] {
                expect(client, among: names(root["google"]?["clients"], "clientID"), "client", in: " in google.clients")
            }
            expect(
                providers["facebook.com"]?["appID"], among: names(root["facebook"]?["apps"], "appID"), "app",
                in: " in facebook.apps")
        }
    }

    private mutating func checkFirebaseApple(_ provider: SeedNode?) {
        guard let provider else { return }
        let teams = root["apple"]?["teams"]?.items ?? []
        expect(provider["teamID"], among: teams.compactMap { $0["id"]?.string }, "team", in: " in apple.teams")
        for bundleID in provider["bundleIDs"]?.items ?? [] {
            expect(
                bundleID, among: teams.flatMap { names($0["apps"], "bundleID") }, "app", in: " in any of apple.teams")
        }
        expect(
            provider["servicesID"], among: teams.flatMap { names($0["services"], "id") }, "service",
            in: " in any of apple.teams")
        if let team = teams.first(where: { $0["id"]?.string == provider["teamID"]?.string }) {
            let place = " in team \"\(team["id"]?.string ?? "")\""
            expect(provider["keyID"], among: names(team["keys"], "id"), "key", in: place)
        }
    }
}
