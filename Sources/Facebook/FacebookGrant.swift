import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

/// A person's grant to a Facebook app: the permissions that the person has granted and declined.
struct FacebookGrant: GrantToClient {
    struct CodeDetails: Codable, Sendable {
        /// The time of the sign-in that issued the authorization code.
        let issuedAt: Instant
        /// The nonce for the ID token of the sign-in; `nil` if the request has none.
        let nonce: String?
        let isOpenID: Bool
        /// The parameter `auth_nonce` of the sign-in, with which an app can check that the person signed in again;
        /// `nil` if the request has none.
        var authNonce: String?
    }

    struct TokenDetails: Codable, Sendable {
        /// The time from which the app's access to data is counted: that of the sign-in, or of the call of
        /// `FB.getLoginStatus` that issued the access token.
        let issuedAt: Instant
        /// The parameter `auth_nonce` of the sign-in that issued the access token; `nil` if the sign-in had none, or if
        /// something else issued the access token.
        var authNonce: String?
    }

    static let tables = GrantTables<FacebookGrant>("facebook", rememberingTokens: .days(30))

    static func size(ofCode details: CodeDetails) -> Int {
        (details.nonce?.utf8.count ?? 0) + (details.authNonce?.utf8.count ?? 0)
    }

    static func size(ofToken details: TokenDetails) -> Int { details.authNonce?.utf8.count ?? 0 }

    let account: String
    let app: String
    /// The time at which the person first signed in to the app.
    let since: Instant
    /// The granted permissions, in the order in which they were granted.
    private(set) var granted = [FacebookPermission.always]
    private(set) var declined: [String] = []

    init(account: String, app: String, since: Instant) {
        self.account = account
        self.app = app
        self.since = since
    }

    var client: String { app }

    /// Records the person's answer to a request for permissions. Of the permissions in `asked`, those in `approved` are
    /// granted, and all others are declined, except those that were granted before.
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

    /// Withdraws a granted permission. The permission `public_profile` can't be withdrawn.
    mutating func decline(_ permission: String) {
        guard permission != FacebookPermission.always, granted.contains(permission) else { return }
        granted.removeAll { $0 == permission }
        declined.append(permission)
    }
}

/// An access token that stopped working because the grant was revoked, by the person or the app. It is kept because
/// Facebook has an error of its own for such tokens.
struct RemovedToken: Row {
    static let table = Table<RemovedToken>("facebook.removedToken", limit: 1_000)

    /// The text of the access token.
    let key: String
    let app: String
}

extension Transaction {
    /// Removes an app from a person's Facebook account: all tokens of the grant stop working. Returns `false` if the
    /// grant had ended before.
    mutating func remove(_ grant: FacebookGrant, because reason: String) -> Bool {
        guard find(FacebookGrant.self, grant.key) != nil else { return false }
        for token in end(grant, because: reason) { put(RemovedToken(key: token.key, app: grant.app)) }
        return true
    }

    /// Stores a person's answer to an app's request for permissions, and returns the new or changed grant.
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

    /// Makes an access token of Facebook. `issuedAt` is the time of the sign-in, from which the app's access to data is
    /// counted.
    mutating func makeAccessToken(
        _ grant: FacebookGrant, issuedAt: Instant, lasting lifetime: TimeSpan = FacebookToken.lifetime,
        authNonce: String? = nil
    ) -> String {
        give(
            FacebookToken.access(from: &random), .access, of: grant, lasting: lifetime,
            FacebookGrant.TokenDetails(issuedAt: issuedAt, authNonce: authNonce))
    }
}

/// The forms and lifetimes of Facebook's authorization codes and access tokens.
enum FacebookToken {
    /// The lifetime of a long-lived access token of Facebook, about sixty days.
    static let lifetime = TimeSpan.seconds(5_183_944)
    /// The lifetime of an access token of Facebook that a browser gets.
    static let shortLifetime = TimeSpan.hours(2)
    /// The time for which an app can read a person's data after the person's sign-in.
    static let dataAccess = TimeSpan.days(90)
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    static func code(from random: inout Randomness) -> String { "AQ" + Base64URL.encode(random.bytes(150)) }

    static func access(from random: inout Randomness) -> String { "EAA" + random.text(180, from: alphabet) }
}

/// The permissions of Facebook Login, which are its scopes.
enum FacebookPermission {
    /// The permission that every Facebook sign-in grants.
    static let always = "public_profile"

    /// The known permissions of Facebook Login, each with its description or an empty text. The login dialog ignores
    /// unknown ones.
    private static let known = Dictionary(
        uniqueKeysWithValues: TextTable.rows(Texts.permissions).map { ($0[0], $0[1]) })

    /// Returns the known permissions that a request asks for, each once, with `public_profile` first.
    static func asked(_ names: [String]) -> [String] {
        var seen: Set<String> = [always]
        return [always] + names.filter { known[$0] != nil && seen.insert($0).inserted }
    }

    /// Returns those names in a request's `scope` that aren't permissions of Facebook Login.
    static func unknown(_ names: [String]) -> [String] { names.filter { known[$0] == nil } }

    /// Returns the names in Facebook's parameter `scope`. They are separated by commas or spaces.
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

    /// Handles a POST request with `method=delete`, by which Facebook's SDK for JavaScript revokes permissions.
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
