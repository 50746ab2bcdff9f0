import EmulatorCore
import Time

/// Users who share addresses, numbers and identities with nobody else: a project's own, or those of one of its tenants.
/// <https://cloud.google.com/identity-platform/docs/multi-tenancy>
struct UserPool: TableKey {
    let project: String
    /// `nil` for the project's own users.
    let tenant: String?

    var keyText: String { String(keyParts: project, tenant) }
}

/// A row that belongs to a pool of users, and goes when the pool does.
protocol PoolRow: Row {
    static var byPool: Index<Self, UserPool> { get }
    var pool: UserPool { get }
}

/// What a token that was given out stands for, until it is used or its time is over.
protocol TokenRow: PoolRow where Key == String {
    var token: String { get }
    var expires: Instant { get }
}

extension TokenRow {
    var key: String { token }
}

extension UserPool {
    /// What belongs to a pool. Sessions belong to their users.
    static var rowTypes: [any PoolRow.Type] {
        [
            User.self, SpentNonce.self, PendingCredential.self, WebFlow.self, KeptAnswer.self, OutOfBandCode.self,
            PhoneCode.self, TemporaryProof.self, PendingSecondFactor.self, PendingSecret.self, OAuthIdpConfig.self,
            PasskeyChallenge.self,
        ]
    }

    /// Whether it holds nothing.
    func isEmpty(_ tables: borrowing Transaction) -> Bool {
        for type in UserPool.rowTypes where holdsRows(type, tables) { return false }
        return true
    }

    private func holdsRows<R: PoolRow>(_ type: R.Type, _ tables: borrowing Transaction) -> Bool {
        tables.count(R.byPool, self) > 0
    }

    /// Removes what belongs to it.
    func removeAll(_ tables: inout Transaction) {
        for type in UserPool.rowTypes { removeRows(type, &tables) }
    }

    private func removeRows<R: PoolRow>(_ type: R.Type, _ tables: inout Transaction) {
        tables.remove(R.byPool, self)
    }
}

extension TableReading where Self: ~Copyable {
    /// What the token stands for in this pool, unless its time is over.
    func valid<R: TokenRow>(_ type: R.Type, _ token: String, in pool: UserPool) -> R? {
        guard let row = find(type, token), row.pool == pool, row.expires > now else { return nil }
        return row
    }
}

extension Transaction {
    /// Adds what belongs to a pool. What comes when its tenant has been deleted isn't kept, as if it had come before.
    mutating func put<R: PoolRow>(_ row: R) {
        guard row.pool.tenant == nil || find(Tenant.self, row.pool) != nil else { return }
        tables.put(row)
    }

    /// Removes what the token stands for in this pool and returns it, unless its time is over.
    mutating func pop<R: TokenRow>(_ type: R.Type, _ token: String, in pool: UserPool) -> R? {
        let now = self.now
        return pop(type, token) { $0.pool == pool && $0.expires > now }
    }
}
