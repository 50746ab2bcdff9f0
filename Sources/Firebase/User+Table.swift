import EmulatorCore
import JOSE
import Time

extension User: PoolRow {
    struct Key: TableKey {
        let pool: UserPool
        let localId: String

        var keyText: String { String(keyParts: pool.project, pool.tenant, localId) }
    }

    /// An identity at a provider, within a pool.
    struct Identity: TableKey {
        let pool: UserPool
        let providerId: String
        let rawId: String

        var keyText: String { String(keyParts: pool.project, pool.tenant, providerId, rawId) }
    }

    static let table = Table<User>("firebase.user", indexes: [byPool, byIdentity, byPasskey], sortedBy: order)

    var key: Key { Key(pool: pool, localId: localId) }

    static let byPool = Index<User, UserPool>("pool") { $0.pool }
    static let byIdentity = Index<User, Identity>(
        "identity",
        each: { user in
            user.links.map { Identity(pool: user.pool, providerId: $0.providerId, rawId: $0.rawId) }
        })
    /// The users of a pool by their IDs, and by age those who share an address, a number or a provider.
    static let order = SortedIndex<User>("order") { user in
        let age = "\(String(user.createdAt.milliseconds + 1_000_000_000_000_000))\(user.localId)"
        var texts = [place(.localId, user.pool) + user.localId]
        if let email = user.email { texts.append(place(.email, user.pool, email) + age) }
        for email in Set(user.links.compactMap { $0.email?.lowercased() }).sorted() where email != user.email {
            texts.append(place(.providerEmail, user.pool, email) + age)
        }
        if let number = user.phoneNumber { texts.append(place(.phoneNumber, user.pool, number) + age) }
        for provider in Set(user.links.map(\.providerId)).sorted() {
            texts.append(place(.provider, user.pool, provider) + age)
        }
        return texts
    }

    enum Field: String {
        case localId
        case email
        /// The address at a provider, where it isn't the user's own.
        case providerEmail
        case phoneNumber
        /// The provider of one of the user's identities.
        case provider
    }

    /// Returns the common prefix of the texts of all users in a pool who have this value.
    static func place(_ field: Field, _ pool: UserPool, _ value: String? = nil) -> String {
        value.map { "\(place(field, pool, beginningWith: $0))\0\u{1}" } ?? place(field, pool, beginningWith: "")
    }

    /// Returns the common prefix of the texts of all users in a pool whose value begins so. An ID ends its text, and
    /// holds no zero.
    static func place(_ field: Field, _ pool: UserPool, beginningWith value: String) -> String {
        // A zero within the value must not be taken for its end.
        let escaped = value.utf8.contains(0) ? value.replacing("\0", with: "\0\u{2}") : value
        return "\(field.rawValue)\0\(pool.project)\0\(pool.tenant ?? "")\0\(escaped)"
    }

    fileprivate static func place(email: String, in pool: UserPool) -> String {
        place(.email, pool, email.lowercased())
    }

    fileprivate static func place(providerEmail: String, in pool: UserPool) -> String {
        place(.providerEmail, pool, providerEmail.lowercased())
    }

    fileprivate static func place(phoneNumber: String, in pool: UserPool) -> String {
        place(.phoneNumber, pool, phoneNumber)
    }

    fileprivate static func place(provider: String, in pool: UserPool) -> String { place(.provider, pool, provider) }

    fileprivate static func place(localId: String, in pool: UserPool) -> String { place(.localId, pool) + localId }

    static func randomID(_ random: inout Randomness) -> String {
        random.text(28, from: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8))
    }
}

extension TableReading where Self: ~Copyable {
    func user(_ localId: String, in pool: UserPool) -> User? { find(User.self, User.Key(pool: pool, localId: localId)) }

    /// Returns the user with this address; the oldest, if there are several.
    func user(email: String, in pool: UserPool) -> User? {
        rows(User.order, prefix: User.place(email: email, in: pool), limit: 1).first?.row
    }

    /// Returns the oldest user who has this address at a provider, and another one here.
    func user(providerEmail: String, in pool: UserPool) -> User? {
        rows(User.order, prefix: User.place(providerEmail: providerEmail, in: pool), limit: 1).first?.row
    }

    /// Returns the user with this phone number; the oldest, if there are several.
    func user(phoneNumber: String, in pool: UserPool) -> User? {
        rows(User.order, prefix: User.place(phoneNumber: phoneNumber, in: pool), limit: 1).first?.row
    }

    /// Returns all users with this address, the oldest first.
    func users(email: String, in pool: UserPool) -> [User] {
        rows(User.order, prefix: User.place(email: email, in: pool), limit: .max).map(\.row)
    }

    /// Returns all users with this phone number, the oldest first.
    func users(phoneNumber: String, in pool: UserPool) -> [User] {
        rows(User.order, prefix: User.place(phoneNumber: phoneNumber, in: pool), limit: .max).map(\.row)
    }

    /// Returns at most `limit` users who have an identity at the provider, the oldest first.
    func users(withProvider provider: String, in pool: UserPool, limit: Int) -> [User] {
        rows(User.order, prefix: User.place(provider: provider, in: pool), limit: limit).map(\.row)
    }

    /// Returns the user with this identity. An import can give it to several; then it is the one who got it last.
    func user(_ identity: User.Identity) -> User? { last(User.byIdentity, identity) }

    /// Returns at most `limit` users, ordered by their IDs, after the ID `localId`.
    func users(of pool: UserPool, after localId: String, limit: Int) -> [User] {
        let prefix = User.place(localId: "", in: pool)
        return rows(User.order, prefix: prefix, after: prefix + localId, limit: limit).map(\.row)
    }
}

extension Transaction {
    /// Deletes a user. Their sessions end, and their codes stop working.
    mutating func delete(_ user: User) {
        remove(User.self, user.key)
        for session in rows(Session.byUser, user.key) {
            put(EndedSession(refreshToken: session.refreshToken, user: user.key))
        }
        remove(Session.byUser, user.key)
        remove(OutOfBandCode.byUser, user.key)
        guard count(User.byPool, user.pool) == 0 else { return }
        change(UnseededPool.self, user.pool) { $0.mayBeEmpty = true }
    }

    /// Deletes at most `limit` users of a pool, and returns how many it deleted.
    mutating func deleteUsers(of pool: UserPool, limit: Int) -> Int {
        let users = rows(User.byPool, pool, limit: limit)
        for user in users { delete(user) }
        return users.count
    }
}
