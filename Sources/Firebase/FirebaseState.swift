import JOSE
import JSON
import OAuth
import EmulatorCore
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
    /// Projects and tenants that no seed holds, in the order in which they came into being.
    private var unseeded: [Key] = []
    private var userCount = 0
    private var countings = 0

    /// Projects and tenants of a world that no seed holds.
    static let unseededLimit = 5_000
    /// Users of all projects of a world.
    static let userLimit = 500_000

    /// Makes a project or tenant that no seed holds, unless it is there. `false` when there are too many; those in which
    /// nothing has happened make way.
    mutating func admit(_ key: Key, counting allowance: Allowance) -> Bool {
        guard projects[key] == nil else { return true }
        if unseeded.count >= FirebaseState.unseededLimit { dropEmpty() }
        guard unseeded.count < FirebaseState.unseededLimit else { return false }
        var lease = allowance.take()
        if lease == nil {
            dropEmpty()
            lease = allowance.take()
        }
        guard let lease else { return false }
        projects[key] = ProjectState(lease: lease)
        unseeded.append(key)
        return true
    }

    /// Removes a tenant with its users.
    mutating func remove(_ key: Key) {
        tenants[key] = nil
        projects[key] = nil
        unseeded.removeAll { $0 == key }
    }

    private mutating func dropEmpty() {
        for key in unseeded where projects[key]?.isEmpty ?? true {
            // What an administrator set up stays.
            guard settings[key.project] == nil, key.tenant == nil || tenants[key]?.isImplicit ?? true else { continue }
            projects[key] = nil
            tenants[key] = nil
        }
        unseeded.removeAll { projects[$0] == nil }
    }

    /// Whether the world takes `count` more users. They are counted anew now and then, since that takes a while.
    mutating func hasRoom(for count: Int) -> Bool {
        if countings % 256 == 0 || count > FirebaseState.userLimit - userCount {
            userCount = projects.values.reduce(0) { $0 + $1.users.count }
        }
        countings &+= 1
        guard count <= FirebaseState.userLimit - userCount else { return false }
        userCount += count
        return true
    }
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
    private var emails = UserIndex()
    private var phoneNumbers = UserIndex()
    private var identities: [IdentityKey: String] = [:]
    var sessions = BoundedTable<String, Session>()
    /// Credentials of refused sign-ins and links, which may be used once more.
    var pending = ExpiringTable<String, FederatedIdentity>(limit: 100_000)
    private var spentNonces = BoundedTable<NonceUse, String>()
    var flows = ExpiringTable<String, WebFlow>(limit: 10_000)
    var outbox = Outbox()
    /// First factors that wait for a second one.
    var pendingFactors = ExpiringTable<String, PendingSecondFactor>(limit: 100_000)
    /// Numbers that were proved but are another user's.
    var temporaryProofs = ExpiringTable<String, String>(limit: 100_000)
    /// Enrolments of an authenticator app that wait for their first code.
    var pendingSecrets = ExpiringTable<String, [UInt8]>(limit: 100_000)

    /// Counts a project that no seed holds.
    private let lease: Allowance.Lease?

    fileprivate init(lease: Allowance.Lease) { self.lease = lease }

    init(_ users: [FirebaseSeed.User], now: Instant) {
        lease = nil
        for seed in users { insert(User(seed, now: now)) }
    }

    /// Whether nothing has happened in it that anybody could miss.
    fileprivate var isEmpty: Bool {
        users.isEmpty && sessions.isEmpty && spentNonces.isEmpty && outbox.isEmpty && flows.count == 0
            && pending.count == 0 && pendingFactors.count == 0 && temporaryProofs.count == 0
            && pendingSecrets.count == 0
    }

    // MARK: - Users

    /// The user whose address it is; with several, the oldest.
    func user(email: String) -> User? { emails.oldest(email.lowercased()).flatMap { users[$0] } }

    /// The same for a phone number.
    func user(phoneNumber: String) -> User? { phoneNumbers.oldest(phoneNumber).flatMap { users[$0] } }

    func user(identity: IdentityKey) -> User? { identities[identity].flatMap { users[$0] } }

    mutating func insert(_ user: User) {
        if users[user.localId] == nil { order.append(user.localId) } else { unindex(user.localId) }
        users[user.localId] = user
        if let email = user.email { emails.insert(user, under: email.lowercased()) }
        if let number = user.phoneNumber { phoneNumbers.insert(user, under: number) }
        for link in user.links {
            identities[IdentityKey(provider: link.providerId, rawId: link.rawId)] = user.localId
        }
    }

    mutating func remove(_ localId: String) { remove([localId]) }

    /// All at once, since it goes through all users and sessions.
    mutating func remove(_ localIds: Set<String>) {
        for localId in localIds {
            unindex(localId)
            users[localId] = nil
        }
        order.removeAll { localIds.contains($0) }
        sessions.removeAll { localIds.contains($0.localId) }
    }

    mutating func removeAllUsers() {
        users = [:]
        order = []
        emails.removeAll()
        phoneNumbers.removeAll()
        identities = [:]
        sessions.removeAll()
    }

    private mutating func unindex(_ localId: String) {
        guard let user = users[localId] else { return }
        if let email = user.email { emails.remove(user, under: email.lowercased()) }
        if let number = user.phoneNumber { phoneNumbers.remove(user, under: number) }
        for link in user.links {
            let key = IdentityKey(provider: link.providerId, rawId: link.rawId)
            // An import may have given it to another user.
            if identities[key] == localId { identities[key] = nil }
        }
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

extension Transaction {
    /// Takes the generator out, so that it can be drawn from while something else of the state is being changed. Put it
    /// back.
    mutating func lendRandomness() -> Randomness {
        let random = self.random
        self.random = Randomness(seed: nil)
        return random
    }
}
