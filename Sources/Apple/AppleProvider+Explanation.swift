import EmulatorCore
import JOSE
import JSON
import OAuth
import Time

extension AppleProvider {
    package static var explainedValues: [ExplainedValue: String] { [.clientSecret: "An Apple client secret"] }

    package static func isIssuer(_ issuer: String) -> Bool { issuer == "https://\(host)" }

    package static func kind(ofEmail email: String) -> String? {
        email.hasSuffix(AppleIdentifiers.relayDomain) ? "a private relay address" : nil
    }

    package static func explain(rawNonce: String) -> [ExplainedPart] {
        let hash = Hex.encode(Digest.sha256(rawNonce))
        return [ExplainedPart("Nonce", [.init(holds: nil, "send Apple its SHA-256 in lower-case hex: \(hash)")])]
    }

    package static func explain(clientSecret text: String, seed: Seed?, now: Instant) -> [ExplainedPart] {
        let secret: ClientSecret
        do { secret = try ClientSecret(text.filter { !$0.isWhitespace }) } catch {
            return [ExplainedPart("Client secret", [.init(holds: false, "it can't be read: \(error.description)")])]
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
        let unregistered = "team, key and signature not checked: give the registration with --seed"
        let registration = seed.map { registrationFindings(secret, $0) } ?? [.init(holds: nil, unregistered)]
        return [
            ExplainedPart("Client secret", findings.map { .init(holds: $0.holds, $0.text) } + registration),
            ExplainedPart(claims: secret.jws.claims),
        ]
    }

    package static func explain(error: String) -> String? {
        error == "user_cancelled_authorize"
            ? "the person closed Apple's page or chose Cancel: offer the sign-in again, nothing is broken" : nil
    }

    package func issued(_ text: String, in world: World) -> IssuedValue? { world.issued(text, AppleGrant.self) }

    /// Returns the person with this `sub`. After a consent, the grant is found by it.
    package func subject(_ subject: String, of client: String, in world: World) -> KnownSubject? {
        let known = world.read { tables -> KnownSubject? in
            guard let grant = tables.first(AppleGrant.bySubject, subject), let account = tables.account(grant.account)
            else { return nil }
            return KnownSubject(account: account.id, about: "\(account.fullName) at team \(grant.team)")
        }
        // Without a consent, the first accounts are tried, since `sub` is a digest.
        guard known == nil, let team = directory.clients[client]?.team else { return known }
        let accounts = world.read { $0.rows(Account.self, limit: AppleProvider.triedAccounts) }
        let account = accounts.first { AppleIdentifiers.subject(account: $0.id, team: team) == subject }
        return account.map { KnownSubject(account: $0.id, about: "\($0.fullName) at team \(team)") }
    }

    private static let triedAccounts = 500

    private static func registrationFindings(_ secret: ClientSecret, _ seed: Seed) -> [ExplainedPart.Finding] {
        let teams = seed[AppleSection.self].teams
        guard let team = teams.first(where: { $0.id == secret.teamID }) else {
            let known = teams.map(\.id).joined(separator: ", ")
            return [.init(holds: false, "no team \(Diagnosis.quote(secret.teamID ?? "")) is seeded (\(known))")]
        }
        let clients = team.apps.map(\.bundleID) + team.services.map(\.id)
        let clientID = secret.clientID ?? ""
        let client = ExplainedPart.Finding(
            clients.contains(clientID), "sub \(Diagnosis.quote(clientID)) is a client of team \"\(team.id)\"",
            else: "its clients are \(clients.joined(separator: ", "))")
        guard let key = team.keys.first(where: { $0.id == secret.jws.keyID }) else {
            let kid = Diagnosis.quote(secret.jws.keyID ?? "missing")
            let known = team.keys.map(\.id).joined(separator: ", ")
            return [client, .init(holds: false, "kid \(kid) isn't a key of team \"\(team.id)\" (\(known))")]
        }
        guard let publicKey = key.verifying(seed.keys) else { return [client] }
        let signature = secret.signatureFinding(key: publicKey)
        return [client, .init(holds: signature.holds, signature.text)]
    }
}
