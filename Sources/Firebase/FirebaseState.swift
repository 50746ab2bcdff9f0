import JOSE
import OAuth
import Stage
import Time

/// What Firebase remembers in one world.
struct FirebaseState: WorldSlot, Sendable {
    /// A project's own users, or those of one of its tenants.
    struct Key: Hashable, Sendable {
        let project: String
        let tenant: String?
    }

    var projects: [Key: ProjectState] = [:]
    var tenants: [Key: Tenant] = [:]
    /// What was changed of a project's settings at run time.
    var settings: [String: ProjectSettings] = [:]
}

/// What one project remembers.
struct ProjectState: Sendable {
    struct IdentityKey: Hashable, Sendable {
        let provider: String
        let rawId: String
    }

    /// A sign-in, kept for as long as its refresh token is used.
    struct Session: Sendable {
        let localId: String
        /// `sign_in_provider`
        let provider: String
        let authTime: Instant
        var secondFactor: SecondFactorUse?
        /// Claims of the custom token that began it.
        var customClaims = JSONObject()
    }

    /// One use of a nonce. The record outlives accounts and provider settings.
    struct NonceUse: Hashable, Sendable {
        let provider: String
        let subject: String
        let nonce: String
    }

    private(set) var users: [String: User] = [:]
    /// The users' IDs in the order in which they came.
    private(set) var order: [String] = []
    private var emails: [String: Set<String>] = [:]
    private var identities: [IdentityKey: String] = [:]
    var sessions: [String: Session] = [:]
    /// Credentials of refused sign-ins and links, which may be used once more.
    var pending = ExpiringTable<String, FederatedIdentity>()
    private var spentNonces: [NonceUse: String] = [:]
    var flows = ExpiringTable<String, WebFlow>()
    var outbox = Outbox()
    /// First factors that wait for a second one.
    var pendingFactors = ExpiringTable<String, PendingSecondFactor>()
    /// Numbers that were proved but are another user's.
    var temporaryProofs = ExpiringTable<String, String>()
    /// Enrolments of an authenticator app that wait for their first code.
    var pendingSecrets = ExpiringTable<String, [UInt8]>()

    init(_ users: [FirebaseSeed.User], now: Instant) {
        for seed in users { insert(User(seed, now: now)) }
    }

    // MARK: - Users

    /// The user whose address it is; with several, the oldest.
    func user(email: String) -> User? {
        (emails[email.lowercased()] ?? []).compactMap { users[$0] }.min {
            ($0.createdAt, $0.localId) < ($1.createdAt, $1.localId)
        }
    }

    func user(identity: IdentityKey) -> User? { identities[identity].flatMap { users[$0] } }

    func user(phoneNumber: String) -> User? { users.values.first { $0.phoneNumber == phoneNumber } }

    mutating func insert(_ user: User) {
        if users[user.localId] == nil { order.append(user.localId) } else { unindex(user.localId) }
        users[user.localId] = user
        if let email = user.email { emails[email.lowercased(), default: []].insert(user.localId) }
        for link in user.links {
            identities[IdentityKey(provider: link.providerId, rawId: link.rawId)] = user.localId
        }
    }

    mutating func remove(_ localId: String) {
        unindex(localId)
        users[localId] = nil
        order.removeAll { $0 == localId }
        sessions = sessions.filter { $0.value.localId != localId }
    }

    mutating func removeAllUsers() {
        users = [:]
        order = []
        emails = [:]
        identities = [:]
        sessions = [:]
    }

    private mutating func unindex(_ localId: String) {
        guard let user = users[localId] else { return }
        if let email = user.email?.lowercased() {
            emails[email]?.remove(localId)
            if emails[email]?.isEmpty ?? false { emails[email] = nil }
        }
        for link in user.links { identities[IdentityKey(provider: link.providerId, rawId: link.rawId)] = nil }
    }

    static func localId(_ random: inout Randomness) -> String {
        random.text(28, from: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8))
    }

    // MARK: - Nonces

    /// The request that presented the nonce first, if one did; else notes this one.
    mutating func spend(_ use: NonceUse, request: String) -> String? {
        if let earlier = spentNonces[use] { return earlier }
        spentNonces[use] = request
        return nil
    }
}

extension WorldState {
    /// Takes the generator out, so that it can be drawn from while something else of the state is being changed. Put it
    /// back.
    mutating func lendRandomness() -> Randomness {
        let random = self.random
        self.random = Randomness(seed: nil)
        return random
    }
}
