import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

/// A person's grant to an app, with the declined permissions.
struct FacebookGrant: GrantToClient {
    struct CodeDetails: Codable, Sendable {
        /// The time of the consent.
        let issuedAt: Instant
        /// The nonce, if an ID token is requested.
        let nonce: String?
        let isOpenID: Bool
        /// The nonce that shows an app that the person signed in again for it.
        var authNonce: String?
    }

    struct TokenDetails: Codable, Sendable {
        /// The time of the consent.
        let issuedAt: Instant
        /// The nonce of the sign-in that issued the token.
        var authNonce: String?
    }

    static let tables = GrantTables<FacebookGrant>("facebook", rememberingTokens: .days(30))

    let account: String
    let app: String
    /// The time of the first consent.
    let since: Instant
    /// The permissions, in the order in which they were granted.
    private(set) var granted = [FacebookPermission.always]
    private(set) var declined: [String] = []

    init(account: String, app: String, since: Instant) {
        self.account = account
        self.app = app
        self.since = since
    }

    var client: String { app }

    /// Grants the permissions of `asked` that are in `approved`, and declines the others.
    mutating func answer(_ asked: [String], approving approved: [String]) {
        for permission in asked where !granted.contains(permission) {
            guard approved.contains(permission) else {
                if !declined.contains(permission) { declined.append(permission) }
                continue
            }
            declined.removeAll { $0 == permission }
            granted.append(permission)
        }
    }

    /// Withdraws a permission. The public profile can't be withdrawn.
    mutating func decline(_ permission: String) {
        guard permission != FacebookPermission.always, granted.contains(permission) else { return }
        granted.removeAll { $0 == permission }
        declined.append(permission)
    }
}

/// A token whose app the person has removed, because Facebook has an error for these.
struct RemovedToken: Row {
    static let table = Table<RemovedToken>("facebook.removedToken", limit: 1_000)

    /// The token itself.
    let key: String
    let app: String
}

extension Transaction {
    /// Removes the app: all tokens of the grant stop working. Returns `false` if the grant had ended before.
    mutating func remove(_ grant: FacebookGrant, because reason: String) -> Bool {
        guard find(FacebookGrant.self, grant.key) != nil else { return false }
        for token in end(grant, because: reason) { put(RemovedToken(key: token.key, app: grant.app)) }
        return true
    }

    /// Records a person's answer to a request for permissions, and returns the new or changed grant.
    mutating func consent(
        _ account: String, to app: String, asked: [String], approving approved: [String]
    ) -> FacebookGrant {
        var grant =
            self.grant(FacebookGrant.self, of: account, to: app)
            ?? FacebookGrant(account: account, app: app, since: now)
        grant.answer(asked, approving: approved)
        put(grant)
        return grant
    }

    /// Makes an access token for a consent at `issuedAt`.
    mutating func makeAccessToken(
        _ grant: FacebookGrant, issuedAt: Instant, lasting lifetime: TimeSpan = FacebookToken.lifetime,
        authNonce: String? = nil
    ) -> String {
        give(
            FacebookToken.access(from: &random), .access, of: grant, lasting: lifetime,
            FacebookGrant.TokenDetails(issuedAt: issuedAt, authNonce: authNonce))
    }
}

/// Makes codes and tokens in Facebook's form.
enum FacebookToken {
    /// The lifetime of a long-lived token, about sixty days.
    static let lifetime = TimeSpan.seconds(5_183_944)
    /// The lifetime of a token from a browser.
    static let shortLifetime = TimeSpan.hours(2)
    /// The time for which an app may read a person's data after the consent.
    static let dataAccess = TimeSpan.days(90)
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    static func code(from random: inout Randomness) -> String { "AQ" + Base64URL.encode(random.bytes(150)) }

    static func access(from random: inout Randomness) -> String { "EAA" + random.text(180, from: alphabet) }
}

/// The permissions.
enum FacebookPermission {
    /// The permission that every sign-in grants.
    static let always = "public_profile"

    /// The permissions, with the descriptions of those that have one. The dialog ignores others.
    private static let known = Dictionary(
        uniqueKeysWithValues: TextTable.rows(Texts.permissions).map { ($0[0], $0[1]) })

    /// Returns the valid permissions of a request, each once.
    static func asked(_ names: [String]) -> [String] {
        var seen: Set<String> = [always]
        return [always] + names.filter { known[$0] != nil && seen.insert($0).inserted }
    }

    /// Returns the unknown names in a request.
    static func unknown(_ names: [String]) -> [String] { names.filter { known[$0] == nil } }

    /// Returns the names in a scope, which are separated by commas or blanks.
    static func names(ofScope scope: String) -> [String] {
        scope.split { $0 == "," || $0 == " " }.map(String.init)
    }

    static func descriptions(of permissions: [String]) -> [String] {
        permissions.map { name in
            known[name].flatMap { $0.isEmpty ? nil : "\($0) (\(name))" } ?? name
        }
    }
}

// GET and DELETE https://graph.facebook.com/me/permissions, and DELETE /me/permissions/NAME
//
// Quirks: permissions belong to a person and an app, for all tokens. A declined or revoked permission is requested
// again only with auth_type=rerequest. Without a permission's name, the whole grant is revoked; then all its tokens are
// refused with code 190 and subcode 458.

extension FacebookProvider {
    func permissions(_ exchange: Exchange) throws(GraphError) -> Response {
        let grant = try person(exchange).grant
        return FacebookProvider.json(
            FacebookProvider.permissions(
                of: grant, named: parameter("permission", exchange), having: parameter("status", exchange)))
    }

    static func permissions(
        of grant: FacebookGrant, named name: String? = nil, having status: String? = nil
    ) -> JSONValue {
        let all = grant.granted.map { ($0, "granted") } + grant.declined.map { ($0, "declined") }
        let shown = all.filter { (name ?? $0.0) == $0.0 && (status ?? $0.1) == $0.1 }
        return ["data": .array(shown.map { ["permission": .string($0.0), "status": .string($0.1)] })]
    }

    /// Handles the JavaScript SDK's POST with `method=delete`.
    func postPermissions(_ exchange: Exchange) throws -> Response {
        if parameter("method", exchange)?.lowercased() == "delete" { return try revoke(exchange) }
        throw unserved(exchange)
    }

    func revoke(_ exchange: Exchange) throws -> Response {
        let grant = try person(exchange).grant
        let reason = exchange.cause("the permissions of the app were deleted")
        let isChanged = try exchange.world.update { tables in
            if let permission = exchange.parameters["permission"] {
                return tables.change(FacebookGrant.self, grant.key) { $0.decline(permission) }
            }
            return tables.remove(grant, because: reason)
        }
        guard isChanged else { throw GraphError.notAuthorized(app: grant.app) }
        return FacebookProvider.json(["success": true])
    }
}
