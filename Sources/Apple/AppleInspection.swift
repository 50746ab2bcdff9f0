import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Recordings
import Time

// These sections describe a person at Apple.

extension AppleProvider {
    package func sections(of account: Account, in exchange: Exchange) -> [InspectedSection] {
        let grants = InspectedGrants<AppleGrant>(of: account, in: exchange.world)
        let teams = settings.teams.prefix(InspectedSection.limit)
        let profiles = teams.map { team in profile(of: account, at: team.id, grants) }
        let apps = grants.section { token in
            scopes(of: grants.entries.first { $0.grant.key == token.grant }?.grant)
        } _: { grant in
            item(grant, of: account)
        }
        return [
            InspectedSection("Profile", [person(account, grants)]),
            InspectedSection(
                "For each team", about: "All clients of a team know the person by the same identifier.", profiles,
                more: settings.teams.count - profiles.count), apps,
        ]
    }

    /// Returns the ID of the account with this `sub` at Apple, if the person has a current consent at the developer
    /// team. Other people can't be found, because a `sub` is a digest.
    package func account(named subject: String, in world: World) -> String? {
        world.read { tables in tables.first(AppleGrant.bySubject, subject)?.account }
    }

    private func person(_ account: Account, _ grants: InspectedGrants<AppleGrant>) -> InspectedItem {
        var item = InspectedItem("Apple Account")
        item.facts = [
            InspectedFact("Name", account.fullName), InspectedFact("Address", .code(account.email)),
            InspectedFact("Shares the address", account.apple.shareEmail),
            InspectedFact("Real user status", account.apple.realUserStatus.rawValue),
        ]
        if let grant = grants.entries.first?.grant {
            item.actions = [
                event(.accountDeleted, "Delete the Apple Account", grant, isDestructive: true)
            ]
        }
        return item
    }

    private func profile(
        of account: Account, at team: String, _ grants: InspectedGrants<AppleGrant>
    ) -> InspectedItem {
        var item = InspectedItem(team, kind: "team")
        let subject = AppleIdentifiers.subject(account: account.id, team: team)
        item.facts = [
            InspectedFact("sub", .code(subject)),
            InspectedFact("Relay address", .code(AppleIdentifiers.relayAddress(account: account.id, team: team))),
        ]
        if let grant = grants.entries.first(where: { $0.grant.team == team })?.grant {
            item.facts.append(InspectedFact("Apps see", .code(grant.email(of: account))))
        }
        let transfers = Set(
            directory.clients.values.filter { $0.team == team }.compactMap(\.transfer?.fromTeam)
        ).sorted()
        for former in transfers {
            let subject = AppleIdentifiers.transferSubject(account: account.id, from: former, to: team)
            item.facts.append(InspectedFact("transfer_sub from \(former)", .code(subject)))
        }
        return item
    }

    private func scopes(of grant: AppleGrant?) -> [String] {
        AppleScope.allCases.filter { grant?.scopes.contains($0) ?? false }.map(\.rawValue)
    }

    private func item(_ grant: AppleGrant, of account: Account) -> InspectedItem {
        var item = InspectedItem(grant.client, kind: "team \(grant.team)")
        item.facts = [
            InspectedFact("Since", .time(grant.since)), InspectedFact("Address", .code(grant.email(of: account))),
        ]
        item.scopes = scopes(of: grant)
        if grant.group != grant.client {
            item.facts.append(InspectedFact("Shares its consent with", .code(grant.group)))
        }
        if !grant.sharesEmail {
            item.marks.append(grant.forwardsMail ? ("mail is forwarded", .good) : ("mail isn't forwarded", .warn))
            item.actions.append(
                grant.forwardsMail
                    ? event(.emailDisabled, "Stop forwarding mail", grant)
                    : event(.emailEnabled, "Forward mail again", grant))
        }
        item.actions.append(.revoke(grant.client, of: account, at: name))
        return item
    }

    private func event(
        _ kind: AppleEvent.Kind, _ label: String, _ grant: AppleGrant, isDestructive: Bool = false
    ) -> InspectedAction {
        InspectedAction(
            label, isDestructive: isDestructive, calling: "POST", "apple/notifications",
            [
                "type": .string(kind.rawValue), "account": .string(grant.account), "client": .string(grant.client),
            ])
    }
}

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

    /// Returns the person with this `sub` at Apple. Among people who haven't consented, only the 500 accounts that were
    /// added first are searched.
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

extension AppleProvider {
    /// Returns a remark for developers if a recorded authorization response has a code but no name of the person,
    /// although the request had the scope `name`.
    static func remarks(on exchange: RecordedExchange, in flow: [RecordedExchange]) -> [String] {
        guard (200..<300).contains(exchange.response.status) else { return [] }
        let names = Set(exchange.responseFindings.map(\.name))
        guard names.contains("code"), !names.contains("user") else { return [] }
        let scopes = exchange.requestFindings.first { $0.name == "scope" }?.value.split(separator: " ") ?? []
        return scopes.contains("name") ? [onlyOnce] : []
    }

    /// A remark for developers: Apple sends a person's name only at the first sign-in.
    /// <https://developer.apple.com/documentation/signinwithapple/authenticating-users-with-sign-in-with-apple>
    private static let onlyOnce =
        "Apple sends the name and, natively, the address only the first time that a person authorizes one of the apps that "
        + "share a primary App ID: keep them then. To see the first time again, revoke the app for this person, or reset the world."

    static func nativeRemarks(on exchange: RecordedExchange, in flow: [RecordedExchange]) -> [String] {
        guard (200..<300).contains(exchange.response.status),
            let asked = exchange.request.jsonBody?["scopes"]?.array, !asked.isEmpty,
            let answer = try? JSONValue(parsing: exchange.response.body, limits: .answer)
        else { return [] }
        let wantsName = asked.contains("fullName") && answer["fullName"] == nil
        let wantsEmail = asked.contains("email") && answer["email"] == nil
        return wantsName || wantsEmail ? [onlyOnce] : []
    }
}
