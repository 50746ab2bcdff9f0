import EmulatorCore
import JOSE
import OAuth
import Time
import Worlds

// This file has people's grants to apps, with their codes and tokens.
//
// Quirks: an app may have ten tokens for the same person and scopes; the eleventh revokes the oldest. If ten were made
// within an hour, GitHub asks the person again. A token that isn't used for a year is revoked.

/// A person's authorization of a GitHub app.
struct GitHubGrant: GrantToClient {
    struct CodeDetails: Codable, Sendable {
        let scopes: GitHubScopes
        let wantsRefreshToken: Bool
        /// Whether redeeming the code fails as if the person's email address weren't verified, because a test or the
        /// seed has requested this outcome.
        let isUnverified: Bool
    }

    struct TokenDetails: Codable, Sendable {
        let id: Int
        let scopes: GitHubScopes
        let createdAt: Instant
        /// The related token: for an access token its refresh token, and for a refresh token its access token.
        let counterpart: String?
        /// Whether the token was issued in the device flow. Its refresh then needs no client secret.
        let isFromDevice: Bool
        var usedAt: Instant
    }

    /// The access tokens of one grant with equal scopes. GitHub limits the number of tokens in such a set.
    struct TokenSet: TableKey {
        let grant: String
        let scopes: GitHubScopes

        var keyText: String { String(keyParts: grant, scopes.joined(by: " ")) }
    }

    static let tables = GrantTables<GitHubGrant>("github", rememberingTokens: unusedLimit, tokenIndexes: [tokensBySet])
    static let tokensBySet = Index<Token<GitHubGrant>, TokenSet>("set") { $0.kind == .access ? $0.set : nil }
    static let tokensPerSet = 10
    /// The period in which an app can get ten tokens with equal scopes for a person. For further tokens, GitHub asks
    /// the person for consent again.
    static let ratePeriod = TimeSpan.hours(1)
    /// The time after which GitHub revokes an unused token.
    static let unusedLimit = TimeSpan.days(365)
    /// The shortest time after which a token's use is recorded again, so that most API calls don't change the token.
    static let useGranularity = TimeSpan.minutes(1)

    let account: String
    let client: String
    let createdAt: Instant
    /// All scopes that the person has granted to the app and not revoked.
    var scopes: GitHubScopes
}

/// The creation times of revoked tokens from the last hour, at most ten, for one grant and set of scopes. GitHub's
/// limit of ten new tokens an hour counts revoked tokens, too.
struct TokenTimes: Row {
    static let table = Table<TokenTimes>("github.tokenTimes", indexes: [byGrant]) { row in
        row.times.last.map { $0 + GitHubGrant.ratePeriod }
    }
    static let byGrant = Index<TokenTimes, String>("grant") { $0.tokenSet.grant }

    let tokenSet: GitHubGrant.TokenSet
    var times: [Instant] = []

    var key: GitHubGrant.TokenSet { tokenSet }
}

extension Token<GitHubGrant> {
    fileprivate var set: GitHubGrant.TokenSet { GitHubGrant.TokenSet(grant: grant, scopes: details.scopes) }
}

/// The number of the most recently issued token. Tokens are numbered across all people and apps.
struct LastTokenID: WorldValue {
    static let name = "github.lastTokenID"

    private var number = 1_000_000

    init() {}

    mutating func next() -> Int {
        number += 1
        return number
    }
}

// MARK: - Grants

extension TableReading where Self: ~Copyable {
    func grant(_ account: String, to app: GitHubSection.App) -> GitHubGrant? {
        grant(GitHubGrant.self, of: account, to: app.clientID)
    }
}

extension Transaction {
    /// Makes a person's grant to a GitHub app, or adds scopes to the existing grant.
    mutating func consent(_ account: String, to app: GitHubSection.App, scopes: GitHubScopes) -> GitHubGrant {
        guard var grant = grant(account, to: app) else {
            let grant = GitHubGrant(account: account, client: app.clientID, createdAt: now, scopes: scopes)
            put(grant)
            return grant
        }
        if !grant.scopes.covers(scopes) {
            grant.scopes = grant.scopes.union(scopes)
            put(grant)
        }
        return grant
    }

    mutating func revoke(_ grant: GitHubGrant, because reason: String) {
        end(grant, because: reason)
        remove(TokenTimes.byGrant, grant.key)
    }
}

// MARK: - Tokens

extension TableReading where Self: ~Copyable {
    /// Whether the app has got ten tokens with these scopes within the last hour, so that GitHub asks the person for
    /// consent again.
    func exceedsTokenRate(_ grant: GitHubGrant, scopes: GitHubScopes) -> Bool {
        let set = GitHubGrant.TokenSet(grant: grant.key, scopes: scopes)
        let working = newest(GitHubGrant.tokensBySet, set, limit: GitHubGrant.tokensPerSet).map(\.details.createdAt)
        let revoked = find(TokenTimes.self, set)?.times ?? []
        let start = now - GitHubGrant.ratePeriod
        return (working + revoked).count { $0 > start } >= GitHubGrant.tokensPerSet
    }

    /// Returns why a token doesn't work. The text continues a sentence that begins with "the token".
    func failure(of text: String) -> String {
        if let token = find(Token<GitHubGrant>.self, text) {
            let kind = token.kind == .access ? "an access token" : "a refresh token"
            guard let expires = token.expires, expires <= now else {
                return "was given to \"\(token.client)\" as \(kind)"
            }
            return token.kind == .access
                ? "expired \((now - expires).inWords) ago: refresh it"
                : "expired: the person must sign in again"
        }
        if let ended = find(EndedCredential<GitHubGrant>.self, text) { return "no longer works: \(ended.reason)" }
        if GitHubToken.kind(of: text) == nil {
            return "doesn't look like a GitHub token: those begin with gho_, ghu_ …"
        }
        return "is unknown in this world: another world issued it, it ended long ago, or the world was reset"
    }
}

extension Transaction {
    /// Stores a new access token. GitHub allows ten tokens for a person, an app and equal scopes, so an eleventh token
    /// revokes the oldest.
    mutating func add(_ token: Token<GitHubGrant>) {
        put(token)
        if count(GitHubGrant.tokensBySet, token.set) > GitHubGrant.tokensPerSet,
            let oldest = first(GitHubGrant.tokensBySet, token.set)
        {
            // Ten newer tokens exist, so the time of this one doesn't count any more.
            end(
                oldest,
                because:
                    "the token was revoked when an eleventh was issued for the same user, app and scopes (max_for_app)")
        }
    }

    /// Ends a token together with the related refresh or access token. An ended access token still counts for GitHub's
    /// limit of ten new tokens an hour.
    mutating func revoke(_ token: Token<GitHubGrant>, because reason: String) {
        for text in [token.key, token.details.counterpart] {
            guard let text, let known = find(Token<GitHubGrant>.self, text), known.kind == .access,
                known.details.createdAt > now - GitHubGrant.ratePeriod
            else { continue }
            var made = find(TokenTimes.self, known.set) ?? TokenTimes(tokenSet: known.set)
            made.times = (made.times + [known.details.createdAt]).sorted().suffix(GitHubGrant.tokensPerSet)
            put(made)
        }
        end(token, because: reason)
    }

    private mutating func end(_ token: Token<GitHubGrant>, because reason: String) {
        let account = find(GitHubGrant.self, token.grant)?.account
        for text in [token.key, token.details.counterpart] {
            guard let text, pop(Token<GitHubGrant>.self, text) != nil else { continue }
            put(EndedCredential<GitHubGrant>(text, of: account, because: reason))
        }
    }

    /// Looks up an access token that a request contains. If the token is valid, returns it with the person who granted
    /// it, and records the time of the use, at most once a minute. Otherwise returns `nil`. A token that wasn't used
    /// for a year is revoked.
    mutating func use(_ text: String) -> (token: Token<GitHubGrant>, account: Account)? {
        guard let known = find(Token<GitHubGrant>.self, text), known.kind == .access else { return nil }
        guard known.details.usedAt >= now - GitHubGrant.unusedLimit else {
            revoke(known, because: "the token wasn't used for a year")
            return nil
        }
        guard var used = working(text, .access, GitHubGrant.self) else { return nil }
        if now >= used.token.details.usedAt + GitHubGrant.useGranularity {
            used.token.details.usedAt = now
            put(used.token)
        }
        return (used.token, used.account)
    }
}

extension Exchange {
    /// Whether the text looks like a GitHub token or a placeholder for one, but this test world has never issued it.
    func hasNeverGiven(_ text: String) -> Bool {
        (GitHubToken.kind(of: text) != nil || isPlaceholder(text)) && knowsNothing(of: text, GitHubGrant.self)
    }

    /// Returns why a token doesn't work, as a sentence in which the token is called `name`.
    func failure(of text: String, called name: String) -> String {
        if text.isEmpty || hasNeverGiven(text) { return reason(againstUnknown: text, called: name) }
        return "\(name) \(world.read { $0.failure(of: text) })"
    }
}

extension TableReading where Self: ~Copyable {
    /// Returns the account with this GitHub login. Upper and lower case make no difference.
    func account(gitHubLogin login: String) -> Account? {
        first(Account.byIdentifier, "github.login:\(login.lowercased())")
    }
}

/// The form of GitHub's tokens: a prefix for the kind, random characters, and their checksum.
///
/// The checksum is CRC-32 of the random characters, in base 62 with the alphabet `0-9A-Za-z`, six digits.
package enum GitHubToken {
    package enum Kind: String, CaseIterable, Sendable {
        case personal = "ghp_"
        case oauthApp = "gho_"
        case gitHubAppUser = "ghu_"
        case installation = "ghs_"
        case refresh = "ghr_"

        /// The number of random characters in a GitHub token. A prefix stands in front of them, and a checksum of six
        /// characters follows.
        package var length: Int { self == .refresh ? 70 : 30 }

        /// The kind of the GitHub token, in words that can follow "it is".
        package var about: String {
            switch self {
            case .personal: "a personal access token"
            case .oauthApp: "an OAuth app's access token"
            case .gitHubAppUser: "a GitHub App's user access token"
            case .installation: "a GitHub App's installation access token"
            case .refresh: "a refresh token"
            }
        }
    }

    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    package static let checksumLength = 6

    /// Makes a GitHub token. If `isGenuine` is `false`, the token's checksum is wrong, so that secret scanners ignore
    /// the token.
    static func make(_ kind: Kind, from random: inout Randomness, isGenuine: Bool = true) -> String {
        let body = random.text(kind.length, from: alphabet)
        var sum = checksum(of: Array(body.utf8))
        if !isGenuine, let last = sum.popLast() { sum.append(last == alphabet[0] ? alphabet[1] : alphabet[0]) }
        return kind.rawValue + body + String(decoding: sum, as: UTF8.self)
    }

    /// Returns the checksum of a GitHub token's random characters: six digits of base 62.
    package static func checksum(of random: [UInt8]) -> [UInt8] {
        var rest = Int(CRC32.checksum(random))
        var digits: [UInt8] = []
        for _ in 0..<checksumLength {
            digits.append(alphabet[rest % 62])
            rest /= 62
        }
        return digits.reversed()
    }

    /// Returns the kind of a GitHub token by its prefix; `nil` if the text has none of the known prefixes.
    package static func kind(of text: String) -> Kind? { Kind.allCases.first { text.hasPrefix($0.rawValue) } }

    /// Whether the checksum of a GitHub token is right; `nil` if the text doesn't have the length of such a token.
    package static func checksumHolds(in text: String) -> Bool? {
        guard let kind = kind(of: text) else { return nil }
        let body = Array(text.utf8.dropFirst(kind.rawValue.utf8.count))
        guard body.count == kind.length + checksumLength else { return nil }
        return Array(body.suffix(checksumLength)) == checksum(of: Array(body.prefix(kind.length)))
    }
}
