import EmulatorCore

/// The scopes to which a person has consented for a client, at a provider whose grants don't say.
package struct Consent: Row {
    package static let table = Table<Consent>("oauth.consent", indexes: [byAccount])
    static let byAccount = Index<Consent, String>("account") { $0.account }

    /// How many scopes are remembered. With more, only the latest are.
    static let limit = 500

    /// The client at its issuer.
    package let owner: String
    let account: String
    package var scopes: Set<String>

    package var key: String { Consent.key(account, to: owner) }

    static func key(_ account: String, to owner: String) -> String { "\(account) \(owner)" }
}

extension TableReading where Self: ~Copyable {
    /// Whether the person has consented to all of `scopes`. `owner` is the client at its issuer.
    package func hasConsented(_ account: String, to owner: String, scopes: [String]) -> Bool {
        find(Consent.self, Consent.key(account, to: owner))?.scopes.isSuperset(of: scopes) ?? false
    }

    /// What a person has consented to, at most `limit` of it, the latest first.
    package func consents(of account: String, limit: Int) -> [Consent] {
        newest(Consent.byAccount, account, limit: limit)
    }
}

extension Transaction {
    package mutating func consent(_ account: String, to owner: String, scopes: [String]) {
        guard !hasConsented(account, to: owner, scopes: scopes) else { return }
        let known = find(Consent.self, Consent.key(account, to: owner))
        let all = (known?.scopes ?? []).union(scopes)
        put(Consent(owner: owner, account: account, scopes: all.count > Consent.limit ? Set(scopes) : all))
    }

    /// The person is asked again. `false` when there was nothing to forget.
    @discardableResult
    package mutating func forgetConsent(of account: String, to owner: String) -> Bool {
        pop(Consent.self, Consent.key(account, to: owner)) != nil
    }
}
