import EmulatorCore
import JSON
import OAuth

// These sections describe a person at Facebook.

extension FacebookProvider {
    package func sections(of account: Account, in exchange: Exchange) -> [InspectedSection] {
        var profile = InspectedItem("Facebook account")
        profile.facts = [InspectedFact("ID", .code(account.facebook.id))]
        let fields = "id,name,first_name,last_name,short_name,email,picture"
        let document = document(account, ProfileField.list(fields), ["public_profile", "email"])
        profile.documents = [InspectedDocument("GET /me?fields=…", .object(document))]
        let access = InspectedGrants<FacebookGrant>(of: account, in: exchange.world).section { _ in
            []
        } _: { grant in
            var item = InspectedItem(apps[grant.app]?.name ?? grant.app)
            item.facts = [InspectedFact("App", .code(grant.app)), InspectedFact("Since", .time(grant.since))]
            item.scopes = grant.granted
            item.actions = apps[grant.app] == nil ? [] : [.revoke(grant.app, of: account, at: name)]
            return item
        }
        return [InspectedSection("Profile", [profile]), access]
    }

    package func account(named subject: String, in world: World) -> String? {
        world.read { tables in tables.account(facebookID: subject)?.id }
    }

    package func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)? {
        try exchange.world.update { $0.endToken(text, FacebookGrant.self) }
    }
}
