import Dispatch
import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

// Server-to-server notifications.
//
// Quirks: `events` is a JSON text inside the JSON; `is_private_email` in it is the text "true"; `event_time` is in
// milliseconds. All app groups of a team share one endpoint; `aud` names the client of an event.

/// An event in a person's Apple Account. Apple notifies the server of the app's developer team of such events.
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
    let grant: AppleGrant
}

extension AppleProvider {
    /// Sends the notification of an event, in the background, to the server of the app's developer team, if the seed
    /// has a notification URL for the team. A failure is logged.
    func sendNotification(of event: AppleEvent, in exchange: Exchange) throws {
        do {
            if let notification = try notification(event, in: exchange) {
                exchange.send(notification.message, pauses: AppleNotification.pauses)
            }
        } catch let error as KeyError {
            exchange.log(
                "a notification of \(event.kind.rawValue) can't be signed",
                detail: "account \(event.account), client \(event.client): \(error.description)")
        }
    }

    /// Returns the signed notification of an event; `nil` if the seed has no notification URL for the developer team.
    func notification(_ event: AppleEvent, in exchange: Exchange) throws -> AppleNotification? {
        guard let url = directory.teams[event.grant.team]?.notificationsURL else { return nil }
        let (now, jti) = try exchange.world.update { ($0.now, Hex.encode($0.random.bytes(16))) }
        let team = event.grant.team
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
        let payload = try exchange.world.keys[.apple].mint(claims, at: now)
        return AppleNotification(url: url, payload: payload, events: events)
    }

    // MARK: - POST /_understudy/v1/apple/notifications

    var notificationCall: Endpoint {
        .control(
            "POST", "apple/notifications",
            "Makes something happen to a person's account, sends Apple's server-to-server notification and tells what became of it.",
            reads: .body(NotificationOrder.self),
            answers: [
                .json(
                    "The event has happened.",
                    OutgoingMessage.Delivery.schema(beside: [
                        .optional("events", .map(of: .any), "The content of the notification."),
                        .optional("payload", .string, "The notification, a signed JSON Web Token."),
                    ])),
                .refusal(404, "noSuchClient", "There is no such client."),
                .refusal(404, "noSuchAccount", "There is no such account."),
                .refusal(409, "noConsent", "The person hasn't authorized the client."),
                .refusal(409, "noRelayAddress", "The person shares the address."),
                .refusal(500, "signing", "The notification can't be signed; the event has happened."),
            ], keys: [.apple]
        ) { try await notify($0, $1) }
    }

    private struct NotificationOrder: SchemaObject {
        static let schemaName: String? = "AppleNotification"

        let kind: AppleEvent.Kind
        let account: String
        let client: String

        init(_ fields: inout Fields) {
            kind = fields("type", .choice(AppleEvent.Kind.self), "The event.")
            account = fields("account", .text(.nonEmpty), "The ID of the account.")
            client = fields("client", .text(.nonEmpty), "The client's ID.")
        }
    }

    /// Causes the event that a test has requested, sends Apple's notification of the event, and returns the result of
    /// the delivery.
    private func notify(_ exchange: Exchange, _ body: NotificationOrder) async throws -> Response {
        let (kind, accountID, clientID) = (body.kind, body.account, body.client)
        guard let client = directory.clients[clientID] else {
            let message =
                "no App ID or Services ID \(Diagnosis.quote(clientID)) is seeded\(directory.hint(for: clientID))"
            return ControlAnswer.error(404, "noSuchClient", message, path: "$.client")
        }
        let (found, isPerson) = exchange.world.read {
            ($0.grant(accountID, to: client), $0.account(accountID) != nil)
        }
        let noConsent = ControlAnswer.error(
            409, "noConsent",
            "account \(Diagnosis.quote(accountID)) has no current consent for \(Diagnosis.quote(clientID)): sign in first",
            path: "$.account")
        guard let found else {
            guard isPerson else {
                return ControlAnswer.error(404, "noSuchAccount", exchange.noAccount(accountID), path: "$.account")
            }
            return noConsent
        }
        let event = AppleEvent(kind: kind, account: accountID, client: clientID, grant: found)
        switch kind {
        case .emailDisabled, .emailEnabled:
            guard !found.sharesEmail else {
                let message = "account \(Diagnosis.quote(accountID)) shares its address, so there is no relay to switch"
                return ControlAnswer.error(409, "noRelayAddress", message, path: "$.account")
            }
            let isChanged = try exchange.world.update { tables in
                tables.change(AppleGrant.self, found.key) { $0.forwardsMail = kind == .emailEnabled }
            }
            guard isChanged else { return noConsent }
        case .consentRevoked:
            let reason = exchange.cause("the person removed \(Diagnosis.quote(found.client))")
            guard try exchange.world.update({ $0.revoke(found, because: reason) }) else { return noConsent }
        case .accountDeleted:
            let reason = exchange.cause("the account was deleted")
            let ended = try exchange.world.update { $0.endAllGrants(of: accountID, because: reason) }
            try sendDeletionNotifications(for: ended.filter { $0.key != found.key }, in: exchange)
            guard ended.contains(where: { $0.key == found.key }) else { return noConsent }
        }
        do {
            guard let notification = try notification(event, in: exchange) else {
                let reason =
                    "team \"\(client.team)\" has no notificationsURL in the seed: the event has happened, and nobody was told"
                return ControlAnswer.ok(["delivered": false, "attempts": 0, "failure": .string(reason)])
            }
            let delivery = await exchange.post(notification.message, pauses: AppleNotification.pauses)
            return ControlAnswer.ok(notification.json(delivery))
        } catch let error as KeyError {
            let message = "the notification can't be signed: \(error.description); the event itself has happened"
            return ControlAnswer.error(500, "signing", message)
        }
    }

    /// Ends all Apple consents of a deleted account. The returned function notifies the developer teams whose clients
    /// had the consents; it is `nil` if there were none.
    package func accountDeleted(
        _ account: String, because reason: String, from tables: inout Transaction
    ) -> (@Sendable (_ exchange: Exchange) throws -> Void)? {
        let ended = tables.endAllGrants(of: account, because: reason)
        guard !ended.isEmpty else { return nil }
        return { exchange in try sendDeletionNotifications(for: ended, in: exchange) }
    }

    /// Notifies the developer teams that a person's account was deleted. `ended` contains the consents that the person
    /// had given to the teams' clients.
    private func sendDeletionNotifications(for ended: [AppleGrant], in exchange: Exchange) throws {
        for grant in ended {
            let event = AppleEvent(kind: .accountDeleted, account: grant.account, client: grant.client, grant: grant)
            try sendNotification(of: event, in: exchange)
        }
    }
}

extension Transaction {
    fileprivate mutating func endAllGrants(of account: String, because reason: String) -> [AppleGrant] {
        let ended = grants(AppleGrant.self, of: account)
        for grant in ended { revoke(grant, because: reason) }
        return ended
    }
}

/// A server-to-server notification of Apple's that is ready to be sent.
struct AppleNotification: Sendable {
    /// The pauses between attempts to deliver a notification. After the first attempt, there are three more.
    static let pauses: [DispatchTimeInterval] = [.milliseconds(500), .seconds(1), .seconds(2)]

    let url: String
    /// The notification as a signed JSON Web Token.
    let payload: String
    /// The content of the notification's `events`, for the response of the control API.
    let events: JSONValue

    var message: OutgoingMessage {
        OutgoingMessage(
            to: url, contentType: "application/json",
            body: JSONValue.object(JSONObject([("payload", .string(payload))])).serialized())
    }

    /// Returns the result of delivering the notification, for the response of the control API.
    func json(_ delivery: OutgoingMessage.Delivery) -> JSONValue {
        var object = delivery.json(of: message)
        object["events"] = events
        object["payload"] = .string(payload)
        return .object(object)
    }
}
