import EmulatorCore
import JOSE
import JSON
import Time

/// A JSON Web Token with which a client authenticates: <https://datatracker.ietf.org/doc/html/rfc7523#section-3>.
struct ClientAssertion: Sendable {
    /// The most that the client's clock may be ahead of ours. Not documented.
    private static let clockTolerance = TimeSpan.minutes(1)
    /// The longest lifetime of an assertion, because its `jti` is remembered for as long. Not documented.
    private static let maximumLifetime = TimeSpan.days(1)

    private let claims: JSONObject

    init(_ token: JWS) { claims = token.claims }

    /// Returns the error in the claims, as a sentence; `nil` if there is none.
    func fault(audiences: [String], now: Instant) -> String? {
        let subject = claims["sub"]?.string
        guard subject != nil, claims["iss"]?.string == subject else {
            return "iss and sub must both be the client_id"
        }
        let audience = claims["aud"]?.array ?? claims["aud"].map { [$0] } ?? []
        guard audience.contains(where: { $0.string.map(audiences.contains) ?? false }) else {
            let found = claims["aud"].map { Diagnosis.quote($0.string ?? $0.text) } ?? "missing"
            return "aud is \(found): set it to \(Diagnosis.quote(audiences.first ?? ""))"
        }
        if let name = ["exp", "iat", "nbf"].first(where: { claims[$0]?.isInMilliseconds ?? false }) {
            return "\(name) is in milliseconds: JWT times are seconds since 1970"
        }
        guard let expires = claims["exp"]?.numericDate else {
            return "exp is missing, or not a whole number of seconds since 1970"
        }
        guard expires > now else { return "it expired \((now - expires).inWords) ago: sign a new one" }
        guard expires <= now + ClientAssertion.maximumLifetime else {
            return "exp is more than \(ClientAssertion.maximumLifetime.seconds) s ahead: let it live for minutes"
        }
        for name in ["iat", "nbf"] {
            guard let claim = claims[name] else { continue }
            guard let time = claim.numericDate, time <= now + ClientAssertion.clockTolerance else {
                return "\(name) lies in the future: check the clock of the machine that signs, and this world's"
            }
        }
        guard let id = claims["jti"]?.string, !id.isEmpty, id.utf8.count <= 256 else {
            return "jti is missing or longer than 256 bytes: give each assertion an identifier of its own"
        }
        return nil
    }

    /// Records that the assertion is used. Returns `false` if it was used before.
    func use(in exchange: Exchange) throws -> Bool {
        guard let subject = claims["sub"]?.string, let id = claims["jti"]?.string,
            let expires = claims["exp"]?.numericDate
        else { return false }
        let host = exchange.address.host ?? ""
        return try exchange.world.update { tables in
            let row = UsedAssertion(key: "\(host) \(subject) \(id)", expires: expires)
            if let used = tables.find(UsedAssertion.self, row.key), used.expires > tables.now { return false }
            tables.put(row)
            return true
        }
    }
}

/// The ID of a used assertion, kept until the assertion expires.
struct UsedAssertion: Row {
    static let table = Table<UsedAssertion>("oauth.assertion", limit: 100_000) { $0.expires }

    let key: String
    let expires: Instant
}
