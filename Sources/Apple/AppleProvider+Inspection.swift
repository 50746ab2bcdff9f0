import EmulatorCore
import JSON
import OAuth
import Time

// These sections describe a person at Apple.

extension AppleProvider {
    package func sections(of account: Account, in exchange: Exchange) -> [InspectedSection] {
        let grants = InspectedGrants<AppleGrant>(of: account, in: exchange.world)
        let teams = settings.teams.prefix(InspectedSection.limit)
        let profiles = teams.map { team in profile(of: account, at: team.id, grants) }
        let apps = grants.section { token in
            scopes(of: grants.entries.first { $0.grant.key == token.grant }?.grant)
        } _: { grant in
            item(grant, of: account)
        }
        return [
            InspectedSection("Profile", [person(account, grants)]),
            InspectedSection(
                "For each team", about: "All clients of a team know the person by the same identifier.", profiles,
                more: settings.teams.count - profiles.count), apps,
        ]
    }

    /// Returns the account with this `sub`, if the person has signed in: identifiers are digests.
    package func account(named subject: String, in world: World) -> String? {
        world.read { tables in tables.first(AppleGrant.bySubject, subject)?.account }
    }

    package func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)? {
        guard AppleToken.access.fits(text) || AppleToken.refresh.fits(text) else { return nil }
        return try exchange.world.update { $0.endToken(text, AppleGrant.self) }
    }

    private func person(_ account: Account, _ grants: InspectedGrants<AppleGrant>) -> InspectedItem {
        var item = InspectedItem("Apple Account")
        item.facts = [
            InspectedFact("Name", account.fullName), InspectedFact("Address", .code(account.email)),
            InspectedFact("Shares the address", account.apple.shareEmail),
            InspectedFact("Real user status", account.apple.realUserStatus.rawValue),
        ]
        if let grant = grants.entries.first?.grant {
            item.actions = [
                event(.accountDeleted, "Delete the Apple Account", grant, isDestructive: true)
            ]
        }
        return item
    }

    private func profile(
        of account: Account, at team: String, _ grants: InspectedGrants<AppleGrant>
    ) -> InspectedItem {
        var item = InspectedItem(team, kind: "team")
        let subject = AppleIdentifiers.subject(account: account.id, team: team)
        item.facts = [
            InspectedFact("sub", .code(subject)),
            InspectedFact("Relay address", .code(AppleIdentifiers.relayAddress(account: account.id, team: team))),
        ]
        if let grant = grants.entries.first(where: { $0.grant.team == team })?.grant {
            item.facts.append(InspectedFact("Apps see", .code(grant.email(of: account))))
        }
        let transfers = Set(
            directory.clients.values.filter { $0.team == team }.compactMap(\.transfer?.fromTeam)
        ).sorted()
        for former in transfers {
            let subject = AppleIdentifiers.transferSubject(account: account.id, from: former, to: team)
            item.facts.append(InspectedFact("transfer_sub from \(former)", .code(subject)))
        }
        return item
    }

    private func scopes(of grant: AppleGrant?) -> [String] {
        AppleScope.allCases.filter { grant?.scopes.contains($0) ?? false }.map(\.rawValue)
    }

    private func item(_ grant: AppleGrant, of account: Account) -> InspectedItem {
        var item = InspectedItem(grant.client, kind: "team \(grant.team)")
        item.facts = [
            InspectedFact("Since", .time(grant.since)), InspectedFact("Address", .code(grant.email(of: account))),
        ]
        item.scopes = scopes(of: grant)
        if grant.group != grant.client {
            item.facts.append(InspectedFact("Shares its consent with", .code(grant.group)))
        }
        if !grant.sharesEmail {
            item.marks.append(grant.forwardsMail ? ("mail is forwarded", .good) : ("mail isn't forwarded", .warn))
            item.actions.append(
                grant.forwardsMail
                    ? event(.emailDisabled, "Stop forwarding mail", grant)
                    : event(.emailEnabled, "Forward mail again", grant))
        }
        item.actions.append(.revoke(grant.client, of: account, at: name))
        return item
    }

    /// Returns the action that causes an event, which Apple reports to the team's server.
    private func event(
        _ kind: AppleEvent.Kind, _ label: String, _ grant: AppleGrant, isDestructive: Bool = false
    ) -> InspectedAction {
        InspectedAction(
            label, isDestructive: isDestructive, calling: "POST", "apple/notifications",
            [
                "type": .string(kind.rawValue), "account": .string(grant.account), "client": .string(grant.client),
            ])
    }
}
