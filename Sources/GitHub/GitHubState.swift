import OAuth
import EmulatorCore
import Time

/// What GitHub remembers in one world.
struct GitHubState: WorldSlot, Sendable {
    /// A person's authorization of an app.
    struct GrantKey: Hashable, Sendable {
        let account: String
        let client: String
    }

    struct Grant: Sendable {
        let id: Int
        /// All that was ever granted and not revoked.
        var scopes: GitHubScopes
        let createdAt: Instant
        var updatedAt: Instant
        /// The living tokens of each set of scopes, oldest first.
        var tokens: [GitHubScopes: [String]] = [:]
        /// When the latest tokens of each set were made, ten at most.
        var made: [GitHubScopes: [Instant]] = [:]

        fileprivate mutating func widen(by more: GitHubScopes, now: Instant) {
            if !more.isEmpty { scopes = scopes.union(more) }
            updatedAt = now
        }

        /// Notes a new token; the one that it pushes out, if any.
        fileprivate mutating func add(_ token: String, _ scopes: GitHubScopes, now: Instant) -> String? {
            made[scopes, default: []].append(now)
            if made[scopes, default: []].count > GitHubState.tokensPerSet { made[scopes]?.removeFirst() }
            tokens[scopes, default: []].append(token)
            let isFull = tokens[scopes, default: []].count > GitHubState.tokensPerSet
            return isFull ? tokens[scopes]?.removeFirst() : nil
        }
    }

    struct Token: Sendable {
        let id: Int
        let text: String
        let grant: GrantKey
        let scopes: GitHubScopes
        let createdAt: Instant
        let expires: Instant?
        let refreshToken: String?
        /// Whether the device flow brought it: then a refresh needs no client secret.
        let isFromDevice: Bool
        var usedAt: Instant
    }

    struct RefreshToken: Sendable {
        let accessToken: String
        let expires: Instant
    }

    struct Code: Sendable {
        let grant: GrantKey
        let redirectURI: String
        let scopes: GitHubScopes
        let wantsRefreshToken: Bool
        let challenge: CodeChallenge?
        /// Set by an ordered outcome: the exchange is refused as if the person's address weren't verified.
        let isUnverified: Bool
        /// The exchange that redeemed it.
        var usedBy: String?
    }

    /// Requests of one person or app in the running hour.
    struct Rate: Sendable {
        var used = 0
        var resetsAt: Instant
    }

    struct DocumentKey: Hashable, Sendable {
        let account: String
        let isPrivate: Bool
        let api: String
    }

    static let tokensPerSet = 10
    static let hour = TimeSpan.hours(1)
    private static let year = TimeSpan.days(365)

    private(set) var grants: [GrantKey: Grant] = [:]
    /// Codes, used or not, are remembered for ten minutes after they expire, so that refusals can say which it was.
    var codes = ExpiringTable<String, Code>(rememberingExpired: .minutes(10))
    private(set) var tokens = BoundedTable<String, Token>()
    private(set) var refreshTokens = BoundedTable<String, RefreshToken>()
    /// Why a token stopped working, for diagnoses: the latest thousand.
    private var endings = Endings()
    var devices = DeviceTable()
    var sessions = ExpiringTable<String, Session>(limit: 100_000)
    var rates = BoundedTable<String, Rate>(limit: 100_000)
    /// `/user` as it was last served, by who it shows to whom: sign-ins ask for the same document again and again.
    var documents: [DocumentKey: (account: Account, body: RESTBody)] = [:]
    private var lastID = 0

    private mutating func nextID() -> Int {
        lastID += 1
        return 1_000_000 + lastID
    }

    // MARK: - Grants

    /// Begins a grant, or widens the one there is.
    mutating func consent(_ key: GrantKey, scopes: GitHubScopes, now: Instant) {
        let fresh = grants[key] == nil ? nextID() : 0
        let unmade = Grant(id: fresh, scopes: .none, createdAt: now, updatedAt: now)
        grants[key, default: unmade].widen(by: scopes, now: now)
    }

    /// Ends a grant with every token and code of it.
    mutating func end(_ key: GrantKey, because reason: String) {
        guard let grant = grants.removeValue(forKey: key) else { return }
        for token in grant.tokens.values.joined() { forget(token, because: reason) }
        codes.removeAll { $0.grant == key }
    }

    /// Whether ten tokens of this set were made within the last hour, which makes GitHub ask the person again.
    func isInAHurry(_ key: GrantKey, scopes: GitHubScopes, now: Instant) -> Bool {
        guard let made = grants[key]?.made[scopes], made.count >= GitHubState.tokensPerSet else { return false }
        return made[0] > now - GitHubState.hour
    }

    // MARK: - Tokens

    mutating func add(
        _ text: String, grant key: GrantKey, scopes: GitHubScopes, expires: Instant?,
        refresh: (text: String, expires: Instant)?, isFromDevice: Bool, now: Instant
    ) {
        consent(key, scopes: scopes, now: now)
        tokens[text] = Token(
            id: nextID(), text: text, grant: key, scopes: scopes, createdAt: now, expires: expires,
            refreshToken: refresh?.text, isFromDevice: isFromDevice, usedAt: now)
        if let refresh { refreshTokens[refresh.text] = RefreshToken(accessToken: text, expires: refresh.expires) }
        if let evicted = grants[key]?.add(text, scopes, now: now) {
            forget(evicted, because: "an eleventh token for the same person, app and scopes revoked it (max_for_app)")
        }
    }

    /// Ends one token and its refresh token.
    mutating func revoke(_ text: String, because reason: String) {
        guard let token = tokens[text] else { return }
        forget(text, because: reason)
        grants[token.grant]?.tokens[token.scopes]?.removeAll { $0 == text }
    }

    private mutating func forget(_ text: String, because reason: String) {
        guard let token = tokens.removeValue(forKey: text) else { return }
        endings.note(text, reason)
        if let refresh = token.refreshToken {
            refreshTokens[refresh] = nil
            endings.note(refresh, reason)
        }
    }

    /// The client that a token was given to, whether or not it still works.
    func client(of text: String) -> String? { tokens[text]?.grant.client }

    /// A token that works now; marks it as used. One that nobody used for a year is revoked.
    mutating func use(_ text: String, now: Instant) -> Token? {
        guard let token = tokens[text] else { return nil }
        if token.usedAt < now - GitHubState.year {
            revoke(text, because: "nobody used it for a year")
            return nil
        }
        if let expires = token.expires, expires <= now { return nil }
        tokens[text]?.usedAt = now
        return token
    }

    /// Why a token that doesn't work doesn't, in a sentence after "the token".
    func failure(of text: String, now: Instant) -> String {
        if let token = tokens[text], let expires = token.expires, expires <= now {
            return "expired \((now - expires).seconds) seconds ago: refresh it"
        }
        if let refresh = refreshTokens[text], refresh.expires <= now { return "expired: the person must sign in again" }
        if let reason = endings.reason(of: text) { return "no longer works: \(reason)" }
        if GitHubToken.kind(of: text) == nil {
            return "doesn't look like one of GitHub's: they begin with gho_, ghu_ …"
        }
        return "isn't one that this world has given out; was the world reset?"
    }

    /// Why the latest thousand tokens ended.
    private struct Endings: Sendable {
        private var reasons: [String: String] = [:]
        private var order: [String] = []
        private var next = 0

        func reason(of token: String) -> String? { reasons[token] }

        mutating func note(_ token: String, _ reason: String) {
            reasons[token] = reason
            if order.count < 1000 {
                order.append(token)
            } else {
                reasons[order[next]] = nil
                order[next] = token
                next = (next + 1) % order.count
            }
        }
    }
}

extension TableReading where Self: ~Copyable {
    /// The person with this login, without case.
    func account(gitHubLogin login: String) -> Account? {
        first(Account.byIdentifier, "github.login:\(login.lowercased())")
    }
}
