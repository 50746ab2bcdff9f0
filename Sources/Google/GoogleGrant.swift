import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

/// A person's grant to a Google client. Its scopes accumulate from one consent to the next.
struct GoogleGrant: GrantToClient {
    struct CodeDetails: Codable, Sendable {
        let token: TokenDetails
        /// Whether redeeming the authorization code also brings a refresh token.
        let givesRefreshToken: Bool
        /// The origin of the page that opened the pop-up for which the code was issued; `nil` for any other code.
        var popupOrigin: String?
    }

    /// The details of one authorization at Google. The tokens of the authorization have the scopes that the person
    /// granted in it. With `include_granted_scopes=true`, they also have all scopes that the person had granted to the
    /// client before.
    struct TokenDetails: Codable, Sendable {
        var scopes: GoogleScopes
        /// The `nonce` of the authorization request. Only the first ID token of the sign-in has it; ID tokens from
        /// refreshes don't.
        var nonce: String?
        /// The time in the claim `auth_time`, at which the person signed in at Google; `nil` if ID tokens don't have
        /// the claim.
        var authTime: Instant?
        var methods: [String]?
        /// Whether the sign-in gives offline access. It does in each of these cases: the authorization request has
        /// `access_type=offline`; the client is an installed app or a device; an app requests a code for its backend.
        let isOffline: Bool
    }

    static let tables = GrantTables<GoogleGrant>("google", tokenIndexes: [refreshTokens])
    static let refreshTokens = Index<Token<GoogleGrant>, String>("refresh") { $0.kind == .refresh ? $0.grant : nil }
    /// The greatest number of refresh tokens of a Google grant. One token more revokes the oldest.
    static let refreshTokenLimit = 100
    /// The lifetime of a grant to an app in testing: seven days from the consent. In Google's answers,
    /// `refresh_token_expires_in` is 604799 seconds, one less than seven days. A grant with only the scopes for sign-in
    /// doesn't expire.
    static let testingLifetime = TimeSpan.seconds(604_799)
    /// The greatest number of scopes in a person's grant. If there are more, only those of the latest consent are kept.
    static let scopeLimit = 500

    static func size(ofCode details: CodeDetails) -> Int { size(ofToken: details.token) }

    static func size(ofToken details: TokenDetails) -> Int {
        details.scopes.names.reduce(details.nonce?.utf8.count ?? 0) { $0 + $1.utf8.count }
    }

    let account: String
    let client: String
    /// The time of the person's first consent.
    let since: Instant
    var scopes: Set<String>
    /// The time at which the grant to an app in testing expires; `nil` for a grant that doesn't expire.
    var expires: Instant?

    func hasEnded(at now: Instant) -> Bool { expires.map { $0 <= now } ?? false }
}

extension TableReading where Self: ~Copyable {
    func hasConsented(_ account: String, to client: String, scopes: GoogleScopes) -> Bool {
        grant(GoogleGrant.self, of: account, to: client).map {
            $0.scopes.isSuperset(of: scopes.names) && !$0.hasEnded(at: now)
        } ?? false
    }
}

extension Transaction {
    /// Makes a person's grant to a Google client, or adds scopes to the existing grant. If `isAsked` is true, the
    /// person was asked for consent, and the lifetime of a grant to an app in testing begins again.
    mutating func consent(
        _ account: String, to client: GoogleClient, scopes: GoogleScopes, isAsked: Bool = false
    ) -> GoogleGrant {
        var known = grant(GoogleGrant.self, of: account, to: client.id)
        if let grant = known, endIfExpired(grant) { known = nil }
        var grant = known ?? GoogleGrant(account: account, client: client.id, since: now, scopes: [])
        let lifetime = client.publishingStatus == .testing ? GoogleGrant.testingLifetime : nil
        guard known == nil || isAsked && lifetime != nil || !grant.scopes.isSuperset(of: scopes.names) else {
            return grant
        }
        grant.scopes.formUnion(scopes.names)
        if grant.scopes.count > GoogleGrant.scopeLimit { grant.scopes = Set(scopes.names) }
        grant.expires = GoogleScopes(grant.scopes).optional.isEmpty ? nil : lifetime.map { now + $0 }
        put(grant)
        return grant
    }

    /// Ends a grant, with its codes and tokens, if it has expired. Returns `false` if it hasn't expired.
    mutating func endIfExpired(_ grant: GoogleGrant) -> Bool {
        guard grant.hasEnded(at: now) else { return false }
        end(grant, because: "the app's publishing status is testing, in which the user's consent ends after seven days")
        return true
    }

    mutating func makeAccessToken(_ grant: GoogleGrant, _ details: GoogleGrant.TokenDetails) -> String {
        give(
            GoogleToken.access.make(from: &random), .access, of: grant, lasting: GoogleToken.accessLifetime, details)
    }

    mutating func makeRefreshToken(_ grant: GoogleGrant, _ details: GoogleGrant.TokenDetails) -> String {
        if count(GoogleGrant.refreshTokens, grant.key) >= GoogleGrant.refreshTokenLimit,
            let oldest = first(GoogleGrant.refreshTokens, grant.key)
        {
            remove(Token<GoogleGrant>.self, oldest.key)
            let limit = GoogleGrant.refreshTokenLimit
            put(
                EndedCredential<GoogleGrant>(
                    oldest.key, of: grant.account,
                    because: "the client got \(limit) newer refresh tokens for the user after this token, and Google "
                        + "keeps only \(limit)"))
        }
        var details = details
        details.nonce = nil
        return give(GoogleToken.refresh.make(from: &random), .refresh, of: grant, lasting: nil, details)
    }
}

/// The kinds of Google's codes and tokens, and their formats. Google documents no format; only the first characters of
/// each kind are known.
enum GoogleToken {
    case code
    case access
    case refresh

    /// The lifetime of Google's access tokens: `expires_in` is 3599, not 3600.
    static let accessLifetime = TimeSpan.seconds(3599)

    func make(from random: inout Randomness) -> String {
        switch self {
        case .code: "4/0A" + Base64URL.encode(random.bytes(52))
        case .access: "ya29.a0" + Base64URL.encode(random.bytes(120))
        case .refresh: "1//0" + Base64URL.encode(random.bytes(72))
        }
    }
}

/// A list of Google scopes, in the order in which they were requested:
/// <https://developers.google.com/identity/protocols/oauth2/scopes>.
///
/// Quirks: `email` and `profile` may be requested by these short names, and are written as URLs in responses. Responses
/// with one of these scopes also have `openid`, even if it wasn't requested.
struct GoogleScopes: Codable, Sendable {
    private static let prefix = "https://www.googleapis.com/auth/"

    let names: [String]

    /// Makes a list of Google scopes from their names. Repeated names are dropped.
    init(_ names: some Sequence<String>) {
        var seen: Set<String> = []
        self.names = names.map(GoogleScopes.fullName).filter { seen.insert($0).inserted }
    }

    /// Reads the names of Google scopes, separated by spaces.
    init(text: String) { self.init(text.split(separator: " ").map(String.init)) }

    var text: String { names.joined(separator: " ") }

    func contains(_ name: String) -> Bool { names.contains(GoogleScopes.fullName(name)) }

    // MARK: - Granting

    /// Whether a scope may exist at Google: it is `openid` or a URL. Any URL is accepted, because this project has no
    /// list of Google's scopes.
    private static func isKnown(_ name: String) -> Bool {
        name == "openid" || name.hasPrefix("https://") || name.hasPrefix("http://")
    }

    /// Google's error description about unknown scopes; `nil` if all scopes are known.
    var fault: String? {
        let invalid = names.filter { !GoogleScopes.isKnown($0) }
        guard !invalid.isEmpty else { return nil }
        let valid = names.filter(GoogleScopes.isKnown)
        let known = valid.isEmpty ? "" : "valid=[\(valid.joined(separator: ", "))], "
        return "Some requested scopes were invalid. {\(known)invalid=[\(invalid.joined(separator: ", "))]}"
    }

    /// The scopes with `openid` added, if `email` or `profile` is among them.
    var withSignIn: GoogleScopes {
        contains("email") || contains("profile") ? GoogleScopes(names + ["openid"]) : self
    }

    /// Returns those of the requested scopes that a person grants; all if `granted` is `nil`. Google's page lets the
    /// person deselect each scope except `openid`, `email` and `profile`:
    /// <https://developers.google.com/identity/protocols/oauth2/resources/granular-permissions>.
    func granted(_ granted: [String]?) -> GoogleScopes {
        guard let granted = granted.map({ Set(GoogleScopes($0).names) }) else { return self }
        return GoogleScopes(names.filter { GoogleScopes.isOfSignIn($0) || granted.contains($0) })
    }

    /// The scopes for sign-in among these scopes: `openid`, `email` and `profile`. A person can't deselect them on
    /// Google's consent page.
    var ofSignIn: GoogleScopes { GoogleScopes(names.filter(GoogleScopes.isOfSignIn)) }

    /// The scopes that a person may deselect on Google's consent page.
    var optional: [String] { names.filter { !GoogleScopes.isOfSignIn($0) } }

    /// Returns these scopes together with `others`, which the person has granted before.
    func adding(_ others: some Sequence<String>) -> GoogleScopes { GoogleScopes(names + others.sorted()) }

    func isSubset(of others: GoogleScopes) -> Bool { Set(names).isSubset(of: others.names) }

    /// Returns the parameter `scope` of Google's authorization response. If the short names `email` and `profile` were
    /// requested, they come first. All scopes follow, with URLs in place of the short names.
    func callbackText(asked: String) -> String {
        let short = asked.split(separator: " ").filter { $0 == "email" || $0 == "profile" }.map(String.init)
        var seen: Set<String> = []
        let shown = short.filter { seen.insert($0).inserted && contains($0) }
        return (shown + names).joined(separator: " ")
    }

    // MARK: - Data that scopes allow

    var descriptions: [String] { names.map { GoogleScopes.description(of: $0) } }

    static func description(of name: String) -> String {
        switch name {
        case "openid": "who the person is at Google"
        case fullName("email"): "the primary address"
        case fullName("profile"): "name and picture"
        default: name
        }
    }

    /// Returns the data about a person that the scopes allow a client to see. They are claims of an ID token and
    /// members of a profile.
    func profile(of account: Account) -> [(name: String, value: JSONValue)] {
        var shown: [(name: String, value: JSONValue)] = []
        if contains("email") {
            shown += [("email", .string(account.email)), ("email_verified", .bool(account.emailVerified))]
        }
        if contains("profile") {
            shown += [
                ("name", .string(account.fullName)), ("picture", .string(account.google.picture)),
                ("given_name", .string(account.name.given)), ("family_name", .string(account.name.family)),
            ]
        }
        return shown
    }

    private static func isOfSignIn(_ name: String) -> Bool {
        ["openid", fullName("email"), fullName("profile")].contains(name)
    }

    private static func fullName(_ name: String) -> String {
        ["email", "profile"].contains(name) ? "\(prefix)userinfo.\(name)" : name
    }
}

// POST https://oauth2.googleapis.com/revoke
//
// Quirks: either token ends the whole grant. An older address accepts GET.

extension GoogleProvider {
    func revokeByPost(_ exchange: Exchange) throws -> Response {
        let body = exchange.request.bodyForm
        return try revoke(exchange, body["token"] == nil ? exchange.request.queryForm : body)
    }

    func revoke(_ exchange: Exchange, _ form: Form) throws -> Response {
        let text = form["token"] ?? ""
        // A missing or empty token is treated as invalid. Not documented.
        let moment = exchange.cause("revoked it")
        let isRevoked = try exchange.world.update { tables in
            guard let token = tables.find(Token<GoogleGrant>.self, text), !token.hasExpired(at: tables.now),
                let grant = tables.find(GoogleGrant.self, token.grant), !tables.endIfExpired(grant)
            else { return false }
            tables.end(grant, because: "\(grant.client) \(moment)")
            return true
        }
        guard isRevoked else {
            let reason = exchange.reason(againstUsing: text, .access, GoogleGrant.self)
            return GoogleError(
                "invalid_token", "Token expired or revoked", Diagnosis("the token can't be revoked: \(reason)")
            ).jsonResponse
        }
        return GoogleProvider.json([:])
    }
}

// POST /_understudy/v1/google/revocations: people remove an app under "Third-party apps & services".
// https://support.google.com/accounts/answer/13533235

extension GoogleProvider {
    func revokeByOrder(_ exchange: Exchange, _ order: RevocationOrder) throws -> Response {
        try exchange.revoke(GoogleGrant.self, order, among: clients) { grant, tables in !tables.endIfExpired(grant) }
    }
}
