import EmulatorCore
import Time
import Worlds

/// A provider that stores the grants of people to clients, together with the codes and tokens of each grant.
package protocol KeepsOAuthGrants: KeepsGrants {
    /// The database row type of the provider's grants.
    static var grants: any OAuthGrant.Type { get }
    /// Returns the index key for finding the account whose `sub` in the provider's tokens is `subject`.
    static func identifier(ofSubject subject: String) -> String
}

extension KeepsOAuthGrants {
    package static func identifier(ofSubject subject: String) -> String { "\(facts.name).sub:\(subject)" }

    package func issued(_ text: String, in world: World) -> IssuedValue? { world.issued(text, Self.grants) }

    package func ended(_ text: String, in world: World) -> EndedValue? { world.ended(text, Self.grants) }

    package func endToken(_ text: String, in exchange: Exchange) throws -> (kind: String, client: String)? {
        try exchange.world.update { $0.endToken(text, Self.grants) }
    }

    /// Returns the client to which the request's access token was issued.
    package func client(of exchange: Exchange) -> String? {
        exchange.request.accessToken().flatMap { exchange.world.client(ofToken: $0, Self.grants) }
    }

    package func accountDeleted(
        _ account: String, because reason: String, from tables: inout Transaction
    ) -> (@Sendable (_ exchange: Exchange) throws -> Void)? {
        tables.endGrants(Self.grants, of: account, because: reason)
        return nil
    }

    package func account(named subject: String, in world: World) -> String? {
        world.read { $0.first(Account.byIdentifier, Self.identifier(ofSubject: subject))?.id }
    }

    package func subject(_ subject: String, of client: String, in world: World) -> KnownSubject? {
        world.subject(identifier: Self.identifier(ofSubject: subject))
    }
}

/// A grant at a provider that keeps at most one grant for each person and client.
package protocol GrantToClient: OAuthGrant {}

extension GrantToClient {
    package var key: String { Self.key(account, client) }

    static func key(_ account: String, _ client: String) -> String { "\(account) \(client)" }
}

extension TableReading where Self: ~Copyable {
    package func grant<Grant: GrantToClient>(_ type: Grant.Type, of account: String, to client: String) -> Grant? {
        find(Grant.self, Grant.key(account, client))
    }
}

extension Transaction {
    /// Stores a token of a grant, and returns the token's text. Without a `lifetime`, the token lasts until it is
    /// revoked.
    package mutating func give<Grant: OAuthGrant>(
        _ text: String, _ kind: Token<Grant>.Kind, of grant: Grant, lasting lifetime: TimeSpan?,
        _ details: Grant.TokenDetails
    ) -> String {
        put(
            Token<Grant>(
                text, kind, grant: grant.key, client: grant.client, expires: lifetime.map { now + $0 }, details: details
            ))
        return text
    }
}
