import HTTPServer
import JOSE
import JSON
import OAuth
import EmulatorCore
import Time

// Server-to-server notifications.
// https://developer.apple.com/documentation/signinwithapple/processing-changes-for-sign-in-with-apple-accounts
//
// Quirks: `events` is a JSON text inside the JSON; `is_private_email` in it is the text "true"; `event_time` is in
// milliseconds. One endpoint serves a team's app groups; `aud` says which client an event is for.

/// Something that happened to a person's account.
struct AppleEvent: Sendable {
    enum Kind: String, Sendable, CaseIterable {
        case emailDisabled = "email-disabled"
        case emailEnabled = "email-enabled"
        case consentRevoked = "consent-revoked"
        case accountDeleted = "account-deleted"
    }

    let kind: Kind
    let account: String
    let client: String
    let grant: AppleState.Grant
}

extension AppleProvider {
    /// The notification of an event, signed; `nil` when the team has no endpoint.
    func notification(_ event: AppleEvent, in exchange: Exchange) -> AppleNotification? {
        guard let url = directory.teams[event.grant.key.team]?.notificationsURL else { return nil }
        let (now, jti) = exchange.world.update { ($0.clock.now, Hex.encode($0.random.bytes(16))) }
        let team = event.grant.key.team
        var members = JSONObject([
            ("type", .string(event.kind == .accountDeleted ? settings.accountDeletedEvent : event.kind.rawValue)),
            ("sub", .string(AppleIdentifiers.subject(account: event.account, team: team))),
            ("event_time", .integer(now.milliseconds)),
        ])
        if event.kind == .emailDisabled || event.kind == .emailEnabled {
            members["email"] = .string(AppleIdentifiers.relayAddress(account: event.account, team: team))
            members["is_private_email"] = "true"
        }
        let events = JSONValue.object(members)
        let claims = JSONObject([
            ("iss", .string(issuer(exchange))), ("aud", .string(event.client)), ("iat", .numericDate(now)),
            ("jti", .string(jti)), ("events", .string(events.text)),
        ])
        guard let payload = try? exchange.world.keys[.apple].mint(claims, at: now) else { return nil }
        return AppleNotification(url: url, payload: payload, events: events)
    }

    // MARK: - POST /_understudy/v1/apple/notifications

    private static let notificationBody = Shape.object([
        .required("type", .choice(AppleEvent.Kind.allCases.map(\.rawValue)), "What happened."),
        .required("account", .text(.nonEmpty), "To whom."),
        .required("client", .text(.nonEmpty), "For which client."),
    ])

    /// Makes the event happen, sends the notification and answers with what became of it.
    func notify(_ exchange: Exchange) async -> Response {
        let body: JSONValue
        do { body = try exchange.body(AppleProvider.notificationBody) } catch { return error.response }
        let accountID = body["account"]?.string ?? ""
        let clientID = body["client"]?.string ?? ""
        guard let kind = AppleEvent.Kind(rawValue: body["type"]?.string ?? ""), let client = directory.clients[clientID]
        else {
            let message =
                "no App ID or Services ID \(Diagnosis.quote(clientID)) is seeded\(directory.hint(for: clientID))"
            return ControlAnswer.error(404, "noSuchClient", message, path: "$.client")
        }
        let key = AppleState.GrantKey(account: accountID, team: client.team, group: client.group)
        let found = exchange.world.update { state -> (number: Int, grant: AppleState.Grant)? in
            let number = state[AppleState.self].grantNumber(key)
            return number.flatMap { number in state[AppleState.self].grants[number].map { (number, $0) } }
        }
        guard let found else {
            let message =
                "account \(Diagnosis.quote(accountID)) has no current consent for \(Diagnosis.quote(clientID)): sign in first"
            return ControlAnswer.error(409, "noConsent", message, path: "$.account")
        }
        let event = AppleEvent(kind: kind, account: accountID, client: clientID, grant: found.grant)
        switch kind {
        case .emailDisabled, .emailEnabled:
            guard !found.grant.sharesEmail else {
                let message = "account \(Diagnosis.quote(accountID)) shares its address, so there is no relay to switch"
                return ControlAnswer.error(409, "noRelayAddress", message, path: "$.account")
            }
            exchange.world.update { $0[AppleState.self].setForwarding(kind == .emailEnabled, for: found.number) }
        case .consentRevoked:
            exchange.world.update { $0[AppleState.self].end(found.number) }
        case .accountDeleted:
            endAllGrants(of: accountID, in: exchange, besides: found.number)
        }
        guard let notification = notification(event, in: exchange) else {
            let message = "team \"\(client.team)\" has no notificationsURL in the seed; the event itself has happened"
            return ControlAnswer.error(409, "noNotificationsURL", message)
        }
        return ControlAnswer.ok(await notifier.deliver(notification).json(of: notification))
    }

    /// An account that goes takes its grants with it; each client's team is told. `besides` is told by the caller.
    package func accountDeleted(_ account: String, in exchange: Exchange) {
        endAllGrants(of: account, in: exchange, besides: nil)
    }

    private func endAllGrants(of account: String, in exchange: Exchange, besides told: Int?) {
        let ended = exchange.world.update { state -> [(number: Int, grant: AppleState.Grant)] in
            let ended = state[AppleState.self].grants.filter { $0.value.key.account == account }
            for number in ended.keys { state[AppleState.self].end(number) }
            return ended.sorted { $0.key < $1.key }.map { (number: $0.key, grant: $0.value) }
        }
        for (number, grant) in ended where number != told {
            let event = AppleEvent(kind: .accountDeleted, account: account, client: grant.client, grant: grant)
            if let notification = notification(event, in: exchange) { notifier.send(notification) }
        }
    }
}
