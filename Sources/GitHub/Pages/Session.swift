import HTTPServer
import JOSE
import EmulatorCore
import Time

/// A person's session with a browser.
struct Session: Row {
    static let table = Table<Session>("github.session", limit: 100_000, indexes: [byAccount]) { $0.expires }
    static let byAccount = Index<Session, String>("account") { $0.account }

    /// The value of the cookie.
    let key: String
    let account: String
    let expires: Instant
    /// A token in every form, so that no other site can post one.
    let authenticityToken: String
    /// Whether the person has just chosen the account, for the present request.
    var isFresh = true

    /// The session's ID in orders, because the cookie's value is a secret.
    var id: String { Hex.encode(Array(Digest.sha256(key).prefix(8))) }
}

/// A session with its person.
struct SignedIn: Sendable {
    let id: String
    let account: Account
    let authenticityToken: String
    let isFresh: Bool

    func holds(_ token: String?) -> Bool {
        constantTimeEquals(Array((token ?? "").utf8), Array(authenticityToken.utf8))
    }
}

extension GitHubProvider {
    static let cookie = "understudy_github_session"
    private static let sessionLifetime = TimeSpan.days(14)

    func session(_ exchange: Exchange) -> SignedIn? {
        guard let id = Cookies(exchange.request.header("Cookie") ?? "")[GitHubProvider.cookie] else { return nil }
        return exchange.world.read { tables in
            guard let session = tables.find(Session.self, id), session.expires > tables.now,
                let account = tables.account(session.account)
            else { return nil }
            return SignedIn(
                id: id, account: account, authenticityToken: session.authenticityToken, isFresh: session.isFresh)
        }
    }

    /// Signs `account` in, and redirects to `path` on github.com.
    func signIn(_ account: String, _ exchange: Exchange, then path: String) throws -> Response {
        let id = try exchange.world.update(for: account) { tables in
            let session = Session(
                key: Hex.encode(tables.random.bytes(16)), account: account,
                expires: tables.now + GitHubProvider.sessionLifetime,
                authenticityToken: Hex.encode(tables.random.bytes(16)))
            tables.put(session)
            return session.key
        }
        guard let id else {
            return Pages.problem(
                exchange, 422, "Nobody by that name", Diagnosis("there is \(exchange.noAccount(account))"))
        }
        var response = Response.redirect(to: Pages.base(exchange) + GitHubProvider.local(path))
        response.headers.append(
            (name: "Set-Cookie", value: "\(GitHubProvider.cookie)=\(id); \(cookieAttributes(exchange))"))
        return response
    }

    func signOut(_ exchange: Exchange) throws -> Response {
        var response = Response.redirect(to: Pages.base(exchange) + "/login")
        if let session = session(exchange) { try exchange.world.update { $0.remove(Session.self, session.id) } }
        response.headers.append(
            (name: "Set-Cookie", value: "\(GitHubProvider.cookie)=; Max-Age=0; \(cookieAttributes(exchange))"))
        return response
    }

    private func cookieAttributes(_ exchange: Exchange) -> String {
        "Path=\(exchange.address.cookiePath); HttpOnly; SameSite=Lax"
    }

    /// Returns a path on github.com; `/` for anything that could lead elsewhere.
    static func local(_ path: String?) -> String {
        guard let path, path.hasPrefix("/"), !path.hasPrefix("//"), !path.contains("\\"),
            !path.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F })
        else { return "/" }
        return path
    }
}

extension Transaction {
    /// Whether the person has just chosen the account, which counts for one request.
    mutating func useFreshness(of session: String) -> Bool {
        guard var known = find(Session.self, session), known.isFresh else { return false }
        known.isFresh = false
        put(known)
        return true
    }
}
