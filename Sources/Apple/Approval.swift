import JOSE
import OAuth
import EmulatorCore
import Time

/// A person's yes, with what they chose on the way.
struct Approval: Sendable {
    let account: Account
    let sharesEmail: Bool
    let name: Account.Name
    let scopes: Set<AppleScope>

    /// The person's own settings, where an ordered outcome says nothing else.
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

/// What an approval brought about: a grant, and a code for it.
struct Authorization: Sendable {
    let grant: AppleState.Grant
    let account: Account
    let name: Account.Name
    let codeName: TokenName
    /// Whether this is the first time that the person authorizes the app group.
    let isFirst: Bool
    let at: Instant

    var code: String { AppleToken.code.text(codeName) }

    /// The address that the client sees: the person's own, or the relay's.
    var email: String { grant.email(of: account) }
}

extension AppleState.Grant {
    func email(of account: Account) -> String {
        sharesEmail ? account.email : AppleIdentifiers.relayAddress(account: account.id, team: key.team)
    }
}

extension AppleProvider {
    /// Records consent and makes a code.
    func authorize(
        _ exchange: Exchange, client: AppleDirectory.Client, approval: Approval, redirectURI: String?, nonce: String?
    ) -> Authorization? {
        exchange.world.update { state in
            let now = state.clock.now
            let key = AppleState.GrantKey(account: approval.account.id, team: client.team, group: client.group)
            let consent = state[AppleState.self].consent(
                key, client: client.id, scopes: approval.scopes, sharesEmail: approval.sharesEmail)
            guard let grant = state[AppleState.self].grants[consent.number] else { return nil }
            let name = state.random.tokenName()
            let code = AppleState.Code(
                grant: consent.number, client: client.id, redirectURI: redirectURI, nonce: nonce,
                authenticatedAt: now, usedBy: exchange.spentBy)
            state[AppleState.self].codes.insert(code, as: name, expires: now + settings.codeLifetime, now: now)
            return Authorization(
                grant: grant, account: approval.account, name: approval.name, codeName: name,
                isFirst: consent.isFirst, at: now)
        }
    }
}
