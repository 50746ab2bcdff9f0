import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Recordings
import Synchronization
import Time

/// An Apple client secret: a JSON Web Token that the client signs with its team's key.
///
/// Apple answers every failed check with the same `invalid_client`. The `Finding` of a check says what is wrong. Apple
/// doesn't document the order of its checks; here the header is checked first, and the signature last.
package struct ClientSecret: Sendable {
    /// The longest lifetime of a client secret that Apple allows: six months.
    package static let maximumLifetime = TimeSpan.seconds(15_777_000)
    package static let audience = "https://appleid.apple.com"
    /// The longest time by which the clock of a client secret's signer may be ahead of this server's.
    static let clockTolerance = TimeSpan.minutes(5)

    /// The result of one check of a client secret: a sentence, and whether the secret has passed the check.
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

    /// Returns the findings about the `iat` and `exp` of the client secret.
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

/// A cache of client secrets whose signature has been checked. The signature stays valid, so when a client sends a
/// secret again, only its times are checked.
final class ClientSecretCache: Sendable {
    struct Checked: Sendable {
        let client: String
        let issuedAt: Instant
        let expiresAt: Instant
    }

    private static let limit = 1024
    /// The longest client secret that is cached, in bytes. Longer ones don't occur in practice, and are checked each
    /// time.
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

extension AppleProvider {
    /// Authenticates a client by the parameters `client_id` and `client_secret`, with all of Apple's rules for client
    /// secrets. A body that isn't a form counts as an empty form, to which Apple answers `invalid_client`
    /// (<https://developer.apple.com/forums/thread/707610>).
    func authenticate(_ exchange: Exchange, _ form: Form) throws(AppleError) -> AppleDirectory.Client {
        func refuse(_ diagnosis: Diagnosis) -> AppleError { AppleError(.invalidClient, nil, diagnosis) }
        guard let clientID = form["client_id"], !clientID.isEmpty else {
            throw refuse(missingClientID(exchange.request))
        }
        guard let client = directory.clients[clientID], let team = directory.teams[client.team] else {
            throw refuse(
                Diagnosis(
                    received: "client_id \(Diagnosis.quote(clientID))",
                    "no such App ID or Services ID is configured in the seed\(directory.hint(for: clientID))"))
        }
        guard let text = form["client_secret"], !text.isEmpty else {
            throw refuse(Diagnosis("client_secret is missing: send an ES256 JWT signed with the team's key"))
        }
        let now = exchange.world.now
        if let checked = secrets.find(text), checked.client == clientID,
            checked.issuedAt <= now + ClientSecret.clockTolerance,
            checked.expiresAt > now
        {
            return client
        }
        guard !text.hasPrefix("-----BEGIN") else {
            throw refuse(
                Diagnosis(
                    received: "a client_secret that is a key in PEM, as in a .p8 file",
                    expected: "an ES256 JWT signed with the team's private key",
                    "keep the private key secret: sign a JWT with it, and send the JWT as client_secret"))
        }
        let secret: ClientSecret
        do { secret = try ClientSecret(text) } catch {
            throw refuse(Diagnosis(expected: "an ES256 JWT", "client_secret can't be read: \(error.description)"))
        }
        let otherAudience = settings.issuer == .request ? issuer(exchange) : nil
        var findings = secret.headerFindings()
        findings += [secret.issuerFinding(team: team.id), secret.subjectFinding(clientID: clientID)]
        findings += [secret.audienceFinding(alsoAccepting: otherAudience)] + secret.timeFindings(now: now)
        if findings.allSatisfy(\.holds) { findings.append(signatureFinding(secret, team)) }
        let wrong = findings.filter { !$0.holds }
        guard wrong.isEmpty else {
            throw refuse(Diagnosis("client_secret: " + wrong.map(\.text).joined(separator: "; ")))
        }
        if let issuedAt = secret.issuedAt, let expiresAt = secret.expiresAt {
            secrets.remember(text, .init(client: clientID, issuedAt: issuedAt, expiresAt: expiresAt))
        }
        return client
    }

    /// Returns the error message about a missing `client_id`. If the client sent its credentials in an `Authorization`
    /// header or in a body that isn't a form, the message says that Apple doesn't read them there.
    private func missingClientID(_ request: Request) -> Diagnosis {
        if request.header("Authorization")?.lowercased().hasPrefix("basic ") ?? false {
            return Diagnosis(
                received: "client credentials in an Authorization header",
                expected: "client_id and client_secret in the form",
                "Apple supports only client_secret_post: configure the client library to use it at every endpoint")
        }
        guard request.contentType != "application/x-www-form-urlencoded" else {
            return Diagnosis("client_id is missing: send the App ID or Services ID")
        }
        let type = request.header("Content-Type").map { Diagnosis.quote($0) } ?? "no Content-Type"
        return Diagnosis(
            received: request.hasJSONBody ? "a JSON body" : "a body with \(type)",
            expected: "application/x-www-form-urlencoded",
            "send the parameters as a form: Apple reads no other kind of body")
    }

    private func signatureFinding(_ secret: ClientSecret, _ team: AppleDirectory.Team) -> ClientSecret.Finding {
        guard let keyID = secret.jws.keyID, let key = team.keys[keyID] else {
            let owner = directory.teams.values.first { $0.keys[secret.jws.keyID ?? ""] != nil }
            let place = owner.map { "belongs to team \"\($0.id)\"" } ?? "isn't registered"
            return .init(
                false, "kid \(Diagnosis.quote(secret.jws.keyID ?? "")) \(place): use a key of team \"\(team.id)\"")
        }
        return secret.signatureFinding(key: key)
    }
}

extension AppleProvider {
    package static func clientsThatSign(in seed: Seed) -> [String] {
        seed[AppleSection.self].teams.flatMap(\.clientIDs)
    }

    /// Makes a client secret for a client at Apple, signed with a key of its team; `nil` if the seed has no such client
    /// at Apple.
    package static func clientSecret(
        for wanted: ClientSecretRequest, seed: Seed
    ) throws(ClientSecretRequest.Refusal) -> String? {
        guard let team = seed[AppleSection.self].teams.first(where: { $0.clientIDs.contains(wanted.client) }) else {
            return nil
        }
        let limit = ClientSecret.maximumLifetime
        guard wanted.lifetime <= limit else {
            throw ClientSecretRequest.Refusal(
                "a client secret that lasts \(wanted.lifetime): Apple allows \(limit.seconds)s at most (six months)")
        }
        let key = try signingKey(of: team, named: wanted.keyID, seed)
        let expiry = wanted.now + wanted.lifetime
        // A secret that has expired was signed an hour before.
        let issue = wanted.lifetime > .zero ? wanted.now : expiry - .hours(1)
        do {
            return try JWS.mint(
                header: JSONObject([("alg", "ES256"), ("kid", .string(key.id))]),
                claims: JSONObject([
                    ("iss", .string(team.id)), ("iat", .integer(issue.seconds)), ("exp", .integer(expiry.seconds)),
                    ("aud", .string(ClientSecret.audience)), ("sub", .string(wanted.client)),
                ]), key: key.key, algorithm: .es256)
        } catch {
            throw ClientSecretRequest.Refusal("key \"\(key.id)\": \(error)")
        }
    }

    private static func signingKey(
        of team: AppleSection.Team, named id: String?, _ seed: Seed
    ) throws(ClientSecretRequest.Refusal) -> (id: String, key: Key) {
        let known = team.keys.map(\.id)
        if let id, !known.contains(id) {
            throw ClientSecretRequest.Refusal(
                "team \"\(team.id)\" has no key \"\(id)\" (\(known.joined(separator: ", ")))"
                    + Spelling.hint(id, among: known))
        }
        for key in team.keys where id == nil || key.id == id {
            if let pem = key.privateKey, let read = seed.keys[pem] { return (id: key.id, key: read) }
        }
        guard let id = id ?? known.first else {
            throw ClientSecretRequest.Refusal(
                "team \"\(team.id)\" has no key: add one to its \"keys\", with an \"id\" and a \"privateKeyFile\"")
        }
        throw ClientSecretRequest.Refusal(
            "the seed has the public half only of key \"\(id)\" of team \"\(team.id)\": add its \"privateKeyFile\"")
    }
}

extension AppleSection.Team {
    fileprivate var clientIDs: [String] { apps.map(\.bundleID) + services.map(\.id) }
}
