import EmulatorCore
import Time

/// A set of users in which addresses, numbers and identities are unique: a project's own users, or those of one of its
/// tenants. <https://cloud.google.com/identity-platform/docs/multi-tenancy>
struct UserPool: TableKey {
    let project: String
    /// The tenant's ID; `nil` for the project's own users.
    let tenant: String?

    var keyText: String { String(keyParts: project, tenant) }
}

/// A row that belongs to a pool of users, and is removed with it.
protocol PoolRow: Row {
    static var byPool: Index<Self, UserPool> { get }
    var pool: UserPool { get }
}

/// The data behind a token that a client has, until the token is used or expires.
protocol TokenRow: PoolRow where Key == String {
    var token: String { get }
    var expires: Instant { get }
}

extension TokenRow {
    var key: String { token }
}

extension UserPool {
    /// The types of the rows that belong to a pool. Sessions belong to their users.
    static var rowTypes: [any PoolRow.Type] {
        [
            User.self, SpentNonce.self, PendingCredential.self, WebFlow.self, KeptAnswer.self, OutOfBandCode.self,
            PhoneCode.self, TemporaryProof.self, PendingSecondFactor.self, PendingSecret.self, OAuthIdpConfig.self,
            ProviderConfig.self, PasskeyChallenge.self,
        ]
    }

    /// Whether the pool has no rows.
    func isEmpty(_ tables: borrowing Transaction) -> Bool {
        for type in UserPool.rowTypes where holdsRows(type, tables) { return false }
        return true
    }

    private func holdsRows<R: PoolRow>(_ type: R.Type, _ tables: borrowing Transaction) -> Bool {
        tables.count(R.byPool, self) > 0
    }

    /// Removes the pool's rows.
    func removeAll(_ tables: inout Transaction) {
        for type in UserPool.rowTypes { removeRows(type, &tables) }
    }

    private func removeRows<R: PoolRow>(_ type: R.Type, _ tables: inout Transaction) {
        tables.remove(R.byPool, self)
    }
}

extension TableReading where Self: ~Copyable {
    /// Returns the row of the token in this pool, unless it has expired.
    func valid<R: TokenRow>(_ type: R.Type, _ token: String, in pool: UserPool) -> R? {
        guard let row = find(type, token), row.pool == pool, row.expires > now else { return nil }
        return row
    }
}

extension Transaction {
    /// Adds a row of a pool, unless the pool's tenant has been deleted meanwhile.
    mutating func put<R: PoolRow>(_ row: R) {
        guard row.pool.tenant == nil || find(Tenant.self, row.pool) != nil else { return }
        tables.put(row)
    }

    /// Removes the row of the token in this pool and returns it, unless it has expired.
    mutating func pop<R: TokenRow>(_ type: R.Type, _ token: String, in pool: UserPool) -> R? {
        let now = self.now
        return pop(type, token) { $0.pool == pool && $0.expires > now }
    }
}
