import Apple
import HTTPClient
import FoundationEssentials
import GitHub
import JOSE
import JSON
import EmulatorCore
import Time

/// What `understudy explain` says of a token, a nonce or a client secret: findings, each of which holds or doesn't.
public struct Explanation: Sendable {
    /// One sentence about one thing.
    public struct Finding: Sendable {
        /// Whether it is as it should be; `nil` for a mere statement.
        public let holds: Bool?
        /// The sentence, without a full stop.
        public let text: String
    }

    /// In the order in which things were looked at, under headings.
    public private(set) var sections: [(heading: String, findings: [Finding])] = []

    /// Whether nothing was found to be wrong.
    public var isClean: Bool { sections.allSatisfy { $0.findings.allSatisfy { $0.holds ?? true } } }

    /// Examines everything that is given.
    ///
    /// - Parameters:
    ///   - rawNonce: the text whose SHA-256 the app sent to the provider.
    ///   - token: a GitHub token, whose form and checksum are looked at, or an ID token.
    ///   - jwks: a JSON Web Key Set, as text, to check the ID token's signature with.
    ///   - seeds: whose teams and keys a client secret is checked against; none are needed.
    ///   - now: seconds since 1970, to the end of the year 9999; the machine's time by default.
    /// - Throws: ``StartError`` when a seed can't be used.
    public init(
        idToken: String? = nil, rawNonce: String? = nil, clientSecret: String? = nil, token: String? = nil,
        jwks: String? = nil, seeds: [SeedInput] = [],
        now: Int64? = nil
    ) throws {
        let now = now.map { Instant(seconds: $0) ?? ($0 < 0 ? .first : .last) } ?? MachineClock.now
        for text in [idToken, token].compactMap({ $0?.filter { !$0.isWhitespace } }) {
            if let kind = GitHubToken.kind(of: text) {
                explainGitHubToken(text, kind, isMeantAsIDToken: text == idToken)
            } else {
                explainToken(text, rawNonce: rawNonce, jwks: jwks, now: now)
            }
        }
        if idToken == nil, token == nil, let rawNonce { tellNonce(rawNonce) }
        if let clientSecret {
            let seed = seeds.isEmpty ? nil : try SeedInput.load(seeds)
            explainSecret(clientSecret, seed: seed, now: now)
        }
    }

    /// Reads a key set from a file, or from an http or https URL.
    ///
    /// - Throws: ``StartError`` when it can't be read.
    public static func readKeySet(_ place: String) throws -> String {
        do {
            if place.hasPrefix("http://") || place.hasPrefix("https://") {
                let answer = try OutgoingRequest.send("GET", to: place)
                guard answer.status == 200 else { throw StartError(description: "\(place) answered \(answer.status)") }
                return String(decoding: answer.body, as: UTF8.self)
            }
            return try File.text(at: place)
        } catch let error as StartError {
            throw error
        } catch let error as OutgoingRequest.Failure {
            throw StartError(description: error.description)
        } catch {
            throw StartError(description: "\(error)")
        }
    }

    // MARK: - ID tokens

    private mutating func explainToken(_ text: String, rawNonce: String?, jwks: String?, now: Instant) {
        let token: JWS
        do { token = try JWS(parsing: text) } catch {
            return add("ID token", [Finding(holds: false, text: "it can't be read: \(error.description)")])
        }
        var findings: [Finding] = []
        let algorithm = token.algorithm ?? "missing"
        findings.append(
            judge(algorithm == "RS256", "alg is \(Diagnosis.quote(algorithm))", else: "providers sign with RS256"))
        let issuer = token.claims["iss"]?.string ?? "missing"
        findings.append(Finding(holds: nil, text: "iss is \(Diagnosis.quote(issuer))" + Explanation.owner(of: issuer)))
        for name in ["aud", "sub"] {
            let value = token.claims[name]?.string
            findings.append(
                judge(value != nil, "\(name) is \(Diagnosis.quote(value ?? "missing"))", else: "it must be a string"))
        }
        findings += timeFindings(token.claims, now: now)
        if let email = token.claims["email"]?.string {
            let isRelay = email.hasSuffix("@privaterelay.appleid.com")
            let verified = token.claims["email_verified"].map { ", email_verified is \($0.text)" } ?? ""
            findings.append(
                Finding(
                    holds: nil,
                    text: "email is \(Diagnosis.quote(email))\(isRelay ? ", a private relay address" : "")\(verified)"))
        }
        add("ID token", findings)
        add("Signature", [signatureFinding(token, jwks)])
        let nonce = token.claims["nonce"]?.string
        if rawNonce != nil || nonce != nil {
            let comparison = NonceComparison(tokenNonce: nonce, rawNonce: rawNonce)
            let isUnknown = comparison == .rawNonceMissing
            add(
                "Nonce",
                [
                    isUnknown
                        ? Finding(holds: nil, text: "not checked: give the text that was hashed with --raw-nonce")
                        : Finding(holds: comparison == .matches, text: comparison.explanation)
                ])
        }
        add("Claims", token.claims.members.map { Finding(holds: nil, text: "\($0.key): \($0.value.text)") })
    }

    private static func owner(of issuer: String) -> String {
        switch issuer {
        case "https://appleid.apple.com": ", Apple"
        case "https://accounts.google.com", "accounts.google.com": ", Google"
        case "https://www.facebook.com", "https://limited.facebook.com": ", Facebook"
        case _ where issuer.hasPrefix("https://securetoken.google.com/"): ", Firebase Authentication"
        default: ""
        }
    }

    private func timeFindings(_ claims: JSONObject, now: Instant) -> [Finding] {
        if ["iat", "exp"].contains(where: { claims[$0]?.isInMilliseconds ?? false }) {
            return [Finding(holds: false, text: "iat or exp is in milliseconds: JWT times are seconds since 1970")]
        }
        guard let issued = claims["iat"]?.numericDate, let expires = claims["exp"]?.numericDate else {
            let text = "iat or exp is missing, or not a whole number of seconds from 1970 to the year 9999"
            return [Finding(holds: false, text: text)]
        }
        return [
            judge(
                issued <= now + .minutes(1), "it was issued \(Explanation.span(now - issued))", else: "a clock is wrong"
            ),
            judge(expires > now, "it expires \(Explanation.span(now - expires))", else: "get a new one"),
        ]
    }

    /// How long ago something was, in whole seconds.
    private static func span(_ age: TimeSpan) -> String {
        let length = TimeSpan.seconds(age.length.seconds)
        return age < .zero ? "in \(length)" : "\(length) ago"
    }

    private func signatureFinding(_ token: JWS, _ jwks: String?) -> Finding {
        guard let jwks else { return Finding(holds: nil, text: "not checked: give the provider's keys with --jwks") }
        guard let keys = (try? JSONValue(parsing: jwks, limits: .answer))?["keys"]?.array else {
            return Finding(holds: false, text: "the key set isn't a JSON object with \"keys\"")
        }
        guard let algorithm = token.algorithm.flatMap({ Algorithm(rawValue: $0) }) else {
            return Finding(holds: false, text: "the token's alg can't be checked: \(token.algorithm ?? "missing")")
        }
        let keyID = token.keyID ?? ""
        guard let member = keys.first(where: { $0["kid"]?.string == keyID }) else {
            let known = keys.compactMap { $0["kid"]?.string }.joined(separator: ", ")
            return Finding(
                holds: false,
                text: "kid \(Diagnosis.quote(keyID)) isn't in the key set (\(known)): fetch it again, keys rotate")
        }
        do {
            let verdict = token.verify(with: try Key(jwk: member), algorithm: algorithm)
            return judge(
                verdict == .valid, "checked with key \(Diagnosis.quote(keyID))", else: "it isn't that key's signature")
        } catch {
            return Finding(holds: false, text: "key \(Diagnosis.quote(keyID)) can't be used: \(error)")
        }
    }

    private mutating func tellNonce(_ rawNonce: String) {
        let hash = Hex.encode(Digest.sha256(rawNonce))
        add("Nonce", [Finding(holds: nil, text: "send Apple its SHA-256 in lower-case hex: \(hash)")])
    }

    // MARK: - GitHub's tokens

    private mutating func explainGitHubToken(_ text: String, _ kind: GitHubToken.Kind, isMeantAsIDToken: Bool) {
        var findings = [Finding(holds: nil, text: "it begins with \(kind.rawValue): \(kind.about)")]
        if isMeantAsIDToken {
            findings.append(
                Finding(
                    holds: false,
                    text: "it isn't an ID token: GitHub issues none; send it as the access token, without a nonce"))
        }
        let length = kind.rawValue.utf8.count + kind.length + GitHubToken.checksumLength
        switch GitHubToken.checksumHolds(in: text) {
        case nil:
            findings.append(
                Finding(
                    holds: false,
                    text: "it has \(text.utf8.count) characters where \(length) are expected: was it cut off?"))
        case true?:
            findings.append(Finding(holds: true, text: "its checksum, the last six characters, fits"))
        case false?:
            findings.append(
                Finding(
                    holds: false,
                    text:
                        "its checksum, the last six characters, doesn't fit: it was mistyped or made up, as the samples "
                        + "in documentation are, or minted with \"tokenChecksum\": \"invalid\""))
        }
        findings.append(Finding(holds: nil, text: "whether it works, only the server knows: GET /user says"))
        add("GitHub token", findings)
    }

    // MARK: - Client secrets

    private mutating func explainSecret(_ text: String, seed: Seed?, now: Instant) {
        let secret: ClientSecret
        do { secret = try ClientSecret(text.filter { !$0.isWhitespace }) } catch {
            return add("Client secret", [Finding(holds: false, text: "it can't be read: \(error.description)")])
        }
        var findings = secret.headerFindings()
        findings.append(
            ClientSecret.Finding(
                secret.teamID?.utf8.count == 10,
                "iss is \(Diagnosis.quote(secret.teamID ?? "missing")): it must be the Team ID, ten characters"))
        findings.append(
            ClientSecret.Finding(
                secret.clientID != nil,
                "sub is \(Diagnosis.quote(secret.clientID ?? "missing")): it must be the client_id"))
        findings += [secret.audienceFinding()] + secret.timeFindings(now: now)
        if secret.jws.signature.count != 64, ECDSASignature.raw(fromDER: secret.jws.signature) != nil {
            findings.append(
                .init(
                    false, "the signature is ASN.1 DER: JOSE wants the 64 bytes r and s joined (RFC 7518 section 3.4)"))
        } else if secret.jws.signature.count != 64 {
            findings.append(
                .init(false, "the signature has \(secret.jws.signature.count) bytes: an ES256 signature has 64"))
        }
        var told = findings.map { Finding(holds: $0.holds, text: $0.text) }
        told +=
            seed.map { registrationFindings(secret, $0) } ?? [
                Finding(holds: nil, text: "team, key and signature not checked: give the registration with --seed")
            ]
        add("Client secret", told)
        add("Claims", secret.jws.claims.members.map { Finding(holds: nil, text: "\($0.key): \($0.value.text)") })
    }

    private func registrationFindings(_ secret: ClientSecret, _ seed: Seed) -> [Finding] {
        let teams = seed[AppleSection.self].teams
        guard let team = teams.first(where: { $0.id == secret.teamID }) else {
            let known = teams.map(\.id).joined(separator: ", ")
            return [Finding(holds: false, text: "no team \(Diagnosis.quote(secret.teamID ?? "")) is seeded (\(known))")]
        }
        let clients = team.apps.map(\.bundleID) + team.services.map(\.id)
        let clientID = secret.clientID ?? ""
        var findings = [
            judge(
                clients.contains(clientID), "sub \(Diagnosis.quote(clientID)) is a client of team \"\(team.id)\"",
                else: "its clients are \(clients.joined(separator: ", "))")
        ]
        guard let key = team.keys.first(where: { $0.id == secret.jws.keyID }) else {
            let known = team.keys.map(\.id).joined(separator: ", ")
            findings.append(
                Finding(
                    holds: false,
                    text:
                        "kid \(Diagnosis.quote(secret.jws.keyID ?? "missing")) isn't a key of team \"\(team.id)\" (\(known))"
                ))
            return findings
        }
        if let publicKey = seed.keys[key.publicKey] {
            let finding = secret.signatureFinding(key: publicKey)
            findings.append(Finding(holds: finding.holds, text: finding.text))
        }
        return findings
    }

    // MARK: -

    private mutating func add(_ heading: String, _ findings: [Finding]) {
        sections.append((heading: heading, findings: findings))
    }

    /// `text`, with `remedy` behind it when it doesn't hold.
    private func judge(_ holds: Bool, _ text: String, else remedy: String) -> Finding {
        Finding(holds: holds, text: holds ? text : "\(text): \(remedy)")
    }
}
