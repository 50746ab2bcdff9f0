import HTTPServer
import JOSE
import EmulatorCore
import Time

extension AppleProvider {
    /// Checks `client_id` and `client_secret` of a form completely. Another body has neither, and Apple answers
    /// `invalid_client`, as to an empty one (<https://developer.apple.com/forums/thread/707610>).
    func authenticate(_ exchange: Exchange, _ form: Form) throws(AppleError) -> AppleDirectory.Client {
        func refuse(_ diagnosis: Diagnosis) -> AppleError { AppleError(.invalidClient, nil, diagnosis) }
        guard let clientID = form["client_id"], !clientID.isEmpty else {
            throw refuse(missingClientID(exchange.request))
        }
        guard let client = directory.clients[clientID], let team = directory.teams[client.team] else {
            throw refuse(
                Diagnosis(
                    received: "client_id \(Diagnosis.quote(clientID))",
                    "no such App ID or Services ID is seeded\(directory.hint(for: clientID))"))
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

    /// Returns why `client_id` may be missing although the client has sent it.
    private func missingClientID(_ request: Request) -> Diagnosis {
        if request.header("Authorization")?.lowercased().hasPrefix("basic ") ?? false {
            return Diagnosis(
                received: "client credentials in an Authorization header",
                expected: "client_id and client_secret in the form",
                "Apple knows client_secret_post only: configure the client library for it, at every endpoint")
        }
        guard request.contentType != "application/x-www-form-urlencoded" else {
            return Diagnosis("client_id is missing: send the App ID or Services ID")
        }
        let type = request.header("Content-Type").map { Diagnosis.quote($0) } ?? "no Content-Type"
        return Diagnosis(
            received: request.hasJSONBody ? "a JSON body" : "a body with \(type)",
            expected: "application/x-www-form-urlencoded",
            "send the parameters as a form; Apple reads nothing else")
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
