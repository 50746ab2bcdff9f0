import JOSE
import JSON
import EmulatorCore
import Synchronization
import Time

/// A client secret: a JSON Web Token that the client signs with its team's key.
/// <https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret>
///
/// The checks are Apple's. Their order isn't documented, so they go from the outside to the inside. Each of them ends
/// in the same `invalid_client`, so the findings say which one failed.
package struct ClientSecret: Sendable {
    /// The longest lifetime: six months.
    package static let maximumLifetime = TimeSpan.seconds(15_777_000)
    package static let audience = "https://appleid.apple.com"
    /// The most that the signer's clock may be ahead of ours. Not documented.
    static let clockTolerance = TimeSpan.minutes(5)

    /// A statement that holds or doesn't.
    package struct Finding: Sendable {
        package let holds: Bool
        package let text: String

        package init(_ holds: Bool, _ text: String) {
            self.holds = holds
            self.text = text
        }
    }

    package let jws: JWS
    package var teamID: String? { jws.claims["iss"]?.string }
    package var clientID: String? { jws.claims["sub"]?.string }
    var issuedAt: Instant? { jws.claims["iat"]?.numericDate }
    var expiresAt: Instant? { jws.claims["exp"]?.numericDate }

    package init(_ text: String) throws(JWS.Malformed) { jws = try JWS(parsing: text) }

    /// Returns the findings about the header.
    package func headerFindings() -> [Finding] {
        let algorithm = jws.algorithm ?? "missing"
        return [
            Finding(
                algorithm == "ES256",
                algorithm == "ES256"
                    ? "alg is ES256" : "alg is \(Diagnosis.quote(algorithm)): sign the secret with ES256"),
            Finding(
                jws.keyID != nil,
                jws.keyID.map { "kid is \(Diagnosis.quote($0))" }
                    ?? "the header has no kid: set it to the ID of the key that signs"),
        ]
    }

    /// Returns the findings about the times at `now`.
    package func timeFindings(now: Instant) -> [Finding] {
        if ["iat", "exp"].contains(where: { jws.claims[$0]?.isInMilliseconds ?? false }) {
            return [Finding(false, "iat or exp is in milliseconds: JWT times are seconds since 1970")]
        }
        guard let issuedAt, let expiresAt else {
            let names = [issuedAt == nil ? "iat" : nil, expiresAt == nil ? "exp" : nil].compactMap { $0 }
            return [
                Finding(
                    false,
                    "\(names.joined(separator: " and ")) missing, or not a whole number of seconds from 1970 to the year 9999"
                )
            ]
        }
        var findings: [Finding] = []
        let future = issuedAt > now + ClientSecret.clockTolerance
        findings.append(
            Finding(
                !future,
                future
                    ? "iat is \((issuedAt - now).inWords) in the future: check the clock of the machine that signs, and this world's"
                    : "iat is past"))
        let expired = expiresAt <= now
        findings.append(
            Finding(
                !expired,
                expired ? "it expired \((now - expiresAt).inWords) ago: sign a new one" : "it hasn't expired"))
        let tooLong = expiresAt - issuedAt > ClientSecret.maximumLifetime
        findings.append(
            Finding(
                !tooLong,
                tooLong
                    ? "exp is \((expiresAt - issuedAt).seconds) s after iat: Apple allows \(ClientSecret.maximumLifetime.seconds) s (six months)"
                    : "exp is within six months of iat"))
        return findings
    }

    package func audienceFinding(alsoAccepting other: String? = nil) -> Finding {
        let audience = jws.claims["aud"]?.string
        if audience == ClientSecret.audience || (audience != nil && audience == other) {
            return Finding(true, "aud is \(Diagnosis.quote(audience ?? ""))")
        }
        let found = audience.map { Diagnosis.quote($0) } ?? (jws.claims["aud"] == nil ? "missing" : "not a string")
        return Finding(false, "aud is \(found): set it to \"\(ClientSecret.audience)\"")
    }

    package func subjectFinding(clientID expected: String) -> Finding {
        guard clientID != expected else { return Finding(true, "sub is the client_id") }
        let found = clientID.map { Diagnosis.quote($0) } ?? "missing"
        return Finding(false, "sub is \(found): it must be the client_id, \(Diagnosis.quote(expected))")
    }

    package func issuerFinding(team expected: String) -> Finding {
        guard teamID != expected else { return Finding(true, "iss is the client's team") }
        let found = teamID.map { Diagnosis.quote($0) } ?? "missing"
        return Finding(false, "iss is \(found): it must be the Team ID that owns the client, \"\(expected)\"")
    }

    package func signatureFinding(key: Key) -> Finding {
        switch jws.verify(with: key, algorithm: .es256) {
        case .valid: Finding(true, "the signature is the key's")
        case .derEncoded:
            Finding(false, "the signature is ASN.1 DER: JOSE wants the 64 bytes r and s joined (RFC 7518 section 3.4)")
        case .wrongLength(let found, let expected):
            Finding(false, "the signature has \(found) bytes, not \(expected): it isn't an ES256 signature")
        case .invalid:
            Finding(false, "the signature isn't this key's: sign with the private key that belongs to the kid")
        case .wrongKeyType: Finding(false, "the registered key isn't a P-256 key")
        }
    }
}

/// A cache of secrets whose signature has been checked. The signature stays valid, so a repeated secret only needs the
/// checks of its times.
final class ClientSecretCache: Sendable {
    struct Checked: Sendable {
        let client: String
        let issuedAt: Instant
        let expiresAt: Instant
    }

    private static let limit = 1024
    /// The most bytes of a cached secret. Longer ones aren't used in practice, and are checked each time.
    private static let longest = 2048
    private let checked = Mutex<[String: Checked]>([:])

    func find(_ secret: String) -> Checked? { checked.withLock { $0[secret] } }

    func remember(_ secret: String, _ entry: Checked) {
        guard secret.utf8.count <= ClientSecretCache.longest else { return }
        checked.withLock { checked in
            if checked.count >= ClientSecretCache.limit { checked.removeAll(keepingCapacity: true) }
            checked[secret] = entry
        }
    }
}
