import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time
import Worlds

/// A person's signed-in session in one browser, at one issuer. OpenID Connect calls it a Session:
/// <https://openid.net/specs/openid-connect-core-1_0.html#Terminology>.
package struct BrowserSession: Row {
    package static let table = Table<BrowserSession>(
        "oauth.session", limit: 100_000, indexes: [byID, byAccount]
    ) { $0.expires }
    static let byID = Index<BrowserSession, String>("id") { $0.id }
    static let byAccount = Index<BrowserSession, String>("account") { $0.account }

    /// The value of the session's cookie.
    package let key: String
    /// The session's `sid`, which clients get in ID tokens.
    package let id: String
    package let issuer: String
    package let account: String
    package let authenticatedAt: Instant
    package let expires: Instant
    /// The clients to which the person has signed in during this session, sorted by the time of the first sign-in.
    package var clients: [Visit]
    /// The greatest number of clients that are notified when a session ends. If the session has more clients, those
    /// with the earliest first sign-in aren't notified.
    static let clientLimit = 1_000

    package struct Visit: Codable, Sendable {
        package let id: String
        /// The `iss` that the client last got in the session. The client's logout token must have the same `iss`.
        package var issuer: String
    }
}

extension Exchange {
    /// Returns the browser session at an issuer to which the request's cookie belongs; `nil` if there is none.
    package func session(at issuer: String) -> BrowserSession? {
        guard let key = Cookies(request.header("Cookie") ?? "")[BrowserSession.cookie(issuer)] else { return nil }
        return world.read { tables in
            guard let session = tables.find(BrowserSession.self, key),
                session.issuer == issuer, session.expires > tables.now, tables.account(session.account) != nil
            else { return nil }
            return session
        }
    }
}

extension BrowserSession {
    static func cookie(_ issuer: String) -> String { "understudy_session_\(issuer)" }

    /// Returns the header `Set-Cookie` that stores a browser session's cookie. If the session is `nil`, the header
    /// removes the cookie.
    package static func cookie(
        _ session: BrowserSession?, at issuer: String, for exchange: Exchange
    ) -> (name: String, value: String) {
        let value = session?.key ?? "; Max-Age=0"
        // A client may renew its tokens in a frame on its own site. That needs SameSite=None, which needs TLS.
        let isSecure = exchange.request.isSecure || exchange.address.form == .real
        let site = isSecure ? "Secure; SameSite=None" : "SameSite=Lax"
        return (
            name: "Set-Cookie",
            value: "\(cookie(issuer))=\(value); Path=\(exchange.address.cookiePath); HttpOnly; \(site)"
        )
    }
}

extension TableReading where Self: ~Copyable {
    package func session(withID id: String, at issuer: String) -> BrowserSession? {
        first(BrowserSession.byID, id).flatMap { $0.issuer == issuer && $0.expires > now ? $0 : nil }
    }

    package func sessions(of account: String, at issuer: String) -> [BrowserSession] {
        rows(BrowserSession.byAccount, account).filter { $0.issuer == issuer && $0.expires > now }
    }

    /// Returns a person's browser sessions at all issuers, at most `limit`, the newest first.
    package func sessions(of account: String, limit: Int) -> [BrowserSession] {
        newest(BrowserSession.byAccount, account, limit: limit).filter { $0.expires > now }
    }
}

extension Transaction {
    package mutating func beginSession(
        of account: String, at issuer: String, for lifetime: TimeSpan
    ) -> BrowserSession {
        let session = BrowserSession(
            key: Hex.encode(random.bytes(16)), id: Hex.encode(random.bytes(16)), issuer: issuer, account: account,
            authenticatedAt: now, expires: now + lifetime, clients: [])
        put(session)
        return session
    }

    /// Records that the person signs in to a client in the session with this `sid`, if the session still exists. `iss`
    /// is the issuer that the client is told.
    package mutating func recordVisit(to client: String, told iss: String, inSession id: String?, at issuer: String) {
        guard let id, var known = session(withID: id, at: issuer) else { return }
        if let place = known.clients.firstIndex(where: { $0.id == client }) {
            guard known.clients[place].issuer != iss else { return }
            known.clients[place].issuer = iss
        } else {
            known.clients.append(BrowserSession.Visit(id: client, issuer: iss))
            if known.clients.count > BrowserSession.clientLimit { known.clients.removeFirst() }
        }
        put(known)
    }

    /// Ends a browser session and returns it, or returns `nil` if it had ended before.
    package mutating func end(_ session: BrowserSession) -> BrowserSession? { pop(BrowserSession.self, session.key) }

    /// Ends all browser sessions of a person, removes the person's consents, and denies the devices that the person has
    /// approved.
    package mutating func endSignIns(of account: String) {
        denyDevices(of: account)
        remove(BrowserSession.byAccount, account)
        remove(Consent.byAccount, account)
    }
}
