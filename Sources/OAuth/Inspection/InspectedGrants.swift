import EmulatorCore
import HTTPServer
import JSON
import Time
import Worlds

// Providers describe grants, tokens and sessions with these types, for the pages about a world's people.

/// The newest grants of a person with their newest tokens, as the inspector (the web pages for developers) shows them.
package struct InspectedGrants<Grant: OAuthGrant>: Sendable {
    package struct Entry: Sendable {
        package let grant: Grant
        package let tokens: [Token<Grant>]
        package let moreTokens: Int
    }

    package let entries: [Entry]
    package let more: Int
    package let now: Instant

    /// Reads a person's newest grants and tokens. `lasts` returns whether a grant is still valid, because ended grants
    /// stay stored for some time.
    package init(
        of account: Account, in world: World, lasts: @Sendable (Grant, Instant) -> Bool = { _, _ in true }
    ) {
        let limit = InspectedSection.limit
        let (entries, more, now) = world.read { tables in
            let grants = tables.newest(Grant.tables.byAccount, account.id, limit: limit)
            var entries: [Entry] = []
            for grant in grants where lasts(grant, tables.now) {
                let tokens = tables.newest(Grant.tables.tokensByGrant, grant.key, limit: limit)
                let more = tables.count(Grant.tables.tokensByGrant, grant.key) - tokens.count
                entries.append(Entry(grant: grant, tokens: tokens, moreTokens: more))
            }
            return (entries, tables.count(Grant.tables.byAccount, account.id) - grants.count, tables.now)
        }
        self.entries = entries
        self.now = now
        self.more = more
    }

    /// Returns the section "Apps with access" of the inspector (the web pages for developers). `describe` returns an
    /// item for a grant, which describes the grant and the client. This method adds the grant's tokens to the item.
    package func section(
        scopes: (Token<Grant>) -> [String], works: (Token<Grant>) -> Bool = { _ in true },
        _ describe: (Grant) -> InspectedItem
    ) -> InspectedSection {
        let items = entries.map { entry in
            var item = describe(entry.grant)
            item.tokens = entry.tokens.map { token in
                InspectedToken(
                    token.kind.name, token.key, scopes: scopes(token), expires: token.expires,
                    works: !token.hasExpired(at: now) && works(token))
            }
            item.moreTokens = entry.moreTokens
            return item
        }
        return InspectedSection(
            "Apps with access", about: items.isEmpty ? "None: the person hasn't signed in to an app here." : nil, items,
            more: more)
    }
}

extension InspectedItem {
    /// Describes a grant for the inspector's pages. `name` is the client's display name; `nil` if the seed doesn't have
    /// the client any more. `provider` is the provider's name.
    package init(
        _ grant: some OAuthGrant, named name: String?, kind: String? = nil, called noun: String = "Client",
        since: Instant, scopes: [String], of account: Account, at provider: String
    ) {
        self.init(name ?? grant.client, kind: kind)
        facts = [InspectedFact(noun, .code(grant.client)), InspectedFact("Since", .time(since))]
        self.scopes = scopes
        actions = name == nil ? [] : [.revoke(grant.client, of: account, at: provider)]
    }
}

extension Token.Kind {
    package var name: String { self == .access ? "access token" : "refresh token" }
}

extension InspectedAction {
    /// Makes the inspector's button that ends an app's access to an account. At the real provider, people do this in
    /// their settings.
    package static func revoke(_ client: String, of account: Account, at provider: String) -> InspectedAction {
        InspectedAction(
            "Revoke access", isDestructive: true, calling: "POST", "\(provider)/revocations",
            ["account": .string(account.id), "client": .string(client)])
    }
}

extension Transaction {
    /// Ends one token. Its grant and the other tokens of the grant stay unchanged.
    package mutating func endToken<Grant: OAuthGrant>(
        _ text: String, _ type: Grant.Type
    ) -> (kind: String, client: String)? {
        pop(Token<Grant>.self, text).map { ($0.kind.name, $0.client) }
    }
}

// MARK: - Browsers

extension InspectedSection {
    /// Returns the inspector's section about the browsers in which a person is signed in.
    package static func browsers(_ items: [InspectedItem], more: Int = 0) -> InspectedSection {
        InspectedSection(
            "Signed-in browsers", about: items.isEmpty ? "None." : nil, items, more: more)
    }
}
