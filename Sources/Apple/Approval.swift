import JOSE
import OAuth
import EmulatorCore
import Time

/// A person's consent, with the choices on the way.
struct Approval: Sendable {
    let account: Account
    let sharesEmail: Bool
    let name: Account.Name
    let scopes: Set<AppleScope>

    /// Makes an approval. The person's own settings apply, unless an ordered outcome says otherwise.
    init(account: Account, asked scopes: Set<AppleScope>, outcome: Outcome? = nil) {
        self.account = account
        sharesEmail = outcome?.shareEmail ?? account.apple.shareEmail
        name = outcome?.name ?? account.name
        let granted = outcome?.scopes.map { Set($0) }
        self.scopes = scopes.filter {
            granted?.contains($0.rawValue) ?? true || granted?.contains($0.nativeName) ?? false
        }
    }

    init(account: Account, sharesEmail: Bool, name: Account.Name, scopes: Set<AppleScope>) {
        self.account = account
        self.sharesEmail = sharesEmail
        self.name = name
        self.scopes = scopes
    }
}

/// The result of an approval: a grant, and a code for it.
struct Authorization: Sendable {
    let grant: AppleGrant
    let account: Account
    let name: Account.Name
    let code: String
    /// Whether this is the first time that the person authorizes the app group.
    let isFirst: Bool
    let at: Instant

    /// The address that the client sees: the person's own, or the relay address.
    var email: String { grant.email(of: account) }
}

extension AppleProvider {
    /// Records consent and makes a code; `nil` if the account doesn't exist any more.
    func authorize(
        _ exchange: Exchange, client: AppleDirectory.Client, approval: Approval, redirectURI: String?, nonce: String?,
        challenge: CodeChallenge? = nil
    ) throws -> Authorization? {
        let authorization = try exchange.world.update(for: approval.account.id) { tables in
            let now = tables.now
            let consent = tables.consent(
                approval.account.id, to: client, scopes: approval.scopes, sharesEmail: approval.sharesEmail)
            let code = AppleToken.code.make(from: &tables.random)
            tables.put(
                AuthorizationCode<AppleGrant>(
                    code, grant: consent.grant.key, client: client.id, redirectURI: redirectURI,
                    challenge: challenge, expires: now + settings.codeLifetime, usedBy: exchange.spentBy,
                    details: AppleGrant.CodeDetails(nonce: nonce, authenticatedAt: now)))
            return Authorization(
                grant: consent.grant, account: approval.account, name: approval.name, code: code,
                isFirst: consent.isFirst, at: now)
        }
        if let authorization { try mailPerson(of: authorization, for: client, exchange) }
        return authorization
    }
}
