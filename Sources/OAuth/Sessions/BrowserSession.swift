import EmulatorCore
import HTTPServer
import JOSE
import Time

/// Who is signed in with a browser at an issuer, from one authorization to the next:
/// <https://openid.net/specs/openid-connect-core-1_0.html#Terminology>, "Session".
package struct BrowserSession: Row {
    package static let table = Table<BrowserSession>(
        "oauth.session", limit: 100_000, indexes: [byID, byAccount]
    ) { $0.expires }
    static let byID = Index<BrowserSession, String>("id") { $0.id }
    static let byAccount = Index<BrowserSession, String>("account") { $0.account }

    /// The cookie's value.
    package let key: String
    /// `sid`, which clients learn.
    package let id: String
    package let issuer: String
    package let account: String
    package let authenticatedAt: Instant
    package let expires: Instant
    /// The clients that have got an ID token in it, in the order in which they came.
    package var clients: [Visit]
    /// Of more clients, those that came first aren't told of its end: where any client is taken, there is no end of them.
    static let clientLimit = 1_000

    package struct Visit: Codable, Sendable {
        /// The client's.
        package let id: String
        /// What `iss` said in the client's last ID token: it may follow the request, and a logout token must say the same.
        package var issuer: String
    }
}

extension Exchange {
    /// The session of the request's browser at `issuer`, if it has one.
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

    /// `Set-Cookie`, that the browser keep the session or forget it.
    package static func cookie(
        _ session: BrowserSession?, at issuer: String, for exchange: Exchange
    ) -> (name: String, value: String) {
        let value = session?.key ?? "; Max-Age=0"
        // A client may renew its tokens from a frame on its own site, which needs SameSite=None, and that needs TLS.
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

    /// At most `limit` sessions of a person at any server, the newest first.
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

    /// Notes that a client gets an ID token in the session with a `sid`, if it is still there. `iss` is what the token says.
    package mutating func note(_ client: String, told iss: String, inSession id: String?, at issuer: String) {
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

    /// Ends a session; as it was when it ended, or `nil` when it had ended before.
    package mutating func end(_ session: BrowserSession) -> BrowserSession? { pop(BrowserSession.self, session.key) }

    /// Ends all sessions of a person, forgets what the person has consented to, and refuses the devices that the person has connected.
    package mutating func endSignIns(of account: String) {
        for device in rows(DeviceAuthorization.byAccount, account) {
            change(DeviceAuthorization.self, device.key) { $0.decision = .denied }
        }
        remove(BrowserSession.byAccount, account)
        remove(Consent.byAccount, account)
    }
}
