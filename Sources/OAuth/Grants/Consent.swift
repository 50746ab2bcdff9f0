import EmulatorCore

/// The scopes to which a person has consented for a client, where a provider keeps them apart from its grants.
package struct Consent: Row {
    package static let table = Table<Consent>("oauth.consent", indexes: [byAccount])
    static let byAccount = Index<Consent, String>("account") { $0.account }

    /// The most remembered scopes. If there are more, only the latest are kept.
    static let limit = 500

    /// The key of the client at its issuer.
    package let owner: String
    let account: String
    package var scopes: Set<String>

    package var key: String { Consent.key(account, to: owner) }

    static func key(_ account: String, to owner: String) -> String { "\(account) \(owner)" }
}

extension TableReading where Self: ~Copyable {
    /// Whether the person has consented to all of `scopes`. `owner` is the key of the client at its issuer.
    package func hasConsented(_ account: String, to owner: String, scopes: [String]) -> Bool {
        find(Consent.self, Consent.key(account, to: owner))?.scopes.isSuperset(of: scopes) ?? false
    }

    /// Returns a person's consents, at most `limit`, the latest first.
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

    /// Removes a consent, so that the person is asked again. Returns `false` if there was none.
    @discardableResult
    package mutating func forgetConsent(of account: String, to owner: String) -> Bool {
        pop(Consent.self, Consent.key(account, to: owner)) != nil
    }
}
