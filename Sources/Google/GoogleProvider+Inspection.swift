import EmulatorCore
import JSON
import OAuth

// These sections describe a person at Google.

extension GoogleProvider {
    package func sections(of account: Account, in exchange: Exchange) -> [InspectedSection] {
        var profile = InspectedItem("Google Account")
        profile.facts = [InspectedFact("sub", .code(account.google.sub))]
        if let domain = account.google.hostedDomain { profile.facts.append(InspectedFact("hd", .code(domain))) }
        profile.documents = [InspectedDocument("GET /v1/userinfo", userInfo(of: account))]
        let apps = InspectedGrants<GoogleGrant>(of: account, in: exchange.world).section {
            $0.details.scopes.names
        } _: { grant in
            var item = InspectedItem(clients[grant.client]?.name ?? grant.client)
            item.facts = [
                InspectedFact("Client", .code(grant.client)), InspectedFact("Since", .time(grant.since)),
            ]
            if let expires = grant.expires { item.facts.append(InspectedFact("Ends", .time(expires))) }
            item.scopes = grant.scopes.sorted()
            item.actions = clients[grant.client] == nil ? [] : [.revoke(grant.client, of: account, at: name)]
            return item
        }
        return [InspectedSection("Profile", [profile]), apps]
    }

    /// Returns the person's user info with all scopes.
    private func userInfo(of account: Account) -> JSONValue {
        var body = JSONObject([("sub", .string(account.google.sub))])
        for (name, value) in GoogleScopes(["email", "profile"]).profile(of: account) { body[name] = value }
        body["hd"] = account.google.hostedDomain.map { .string($0) }
        return .object(body)
    }

    package func account(named subject: String, in world: World) -> String? {
        world.read { tables in tables.first(Account.byIdentifier, "google.sub:\(subject)")?.id }
    }

    package func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)? {
        try exchange.world.update { $0.endToken(text, GoogleGrant.self) }
    }
}
