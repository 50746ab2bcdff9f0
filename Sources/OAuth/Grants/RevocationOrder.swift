import EmulatorCore
import HTTPServer
import JSON
import Worlds

/// The body of the control call `POST /_understudy/v1/PROVIDER/revocations`, by which a test removes an app from a
/// person's connected apps. At the real provider, people do this in their settings.
package struct RevocationOrder: SchemaObject {
    package static let schemaName: String? = "RevocationOrder"

    private static let everything = "*"

    /// The ID of the account that removes the app; `nil` means all accounts.
    package let account: String?
    /// The ID of the client that loses its access; `nil` means every client.
    package let client: String?

    package init(_ fields: inout Fields) {
        let account = fields(
            "account", .text(.nonEmpty), "The ID of the account that removes the app; * is all accounts.")
        let client = fields(
            "client", .text(.nonEmpty), "The client that is removed; * is every one that the person uses.")
        self.account = account == RevocationOrder.everything ? nil : account
        self.client = client == RevocationOrder.everything ? nil : client
    }
}

extension Endpoint {
    /// Makes the control call `POST /_understudy/v1/PROVIDER/revocations`, by which a test removes an app from a
    /// person's connected apps. `told` describes additional members of the JSON response.
    package static func revocations(
        of provider: String, _ about: String, told: [Schema.Field] = [], keys: [KeyOwner] = [],
        _ respond: @escaping @Sendable (Exchange, RevocationOrder) async throws -> Response
    ) -> Endpoint {
        .control(
            "POST", "\(provider)/revocations", about, reads: .body(RevocationOrder.self),
            answers: [
                .json(
                    "The result of the removal.",
                    .members(
                        [
                            .required("revoked", .boolean, "Whether anything was removed."),
                            .optional("grants", .count, "The number of grants that have ended."),
                        ] + told)), .refusal(404, "noSuchClient", "There is no such client."),
                .refusal(404, "noSuchAccount", "There is no such account."),
                .refusal(409, "noGrant", "The account hasn't authorized the client."),
            ], keys: keys, nil, respond)
    }
}

extension TableReading where Self: ~Copyable {
    /// Returns the grants to be ended at a test's request. Grants without a person are never among them.
    package func grants<Grant: OAuthGrant>(
        _ type: Grant.Type, for order: RevocationOrder, to isClient: (Grant) -> Bool
    ) -> [Grant] {
        let all = order.account.map { grants(type, of: $0) } ?? self.all(type)
        return all.filter { !$0.account.isEmpty && isClient($0) }
    }
}

extension Exchange {
    /// Ends grants at a test's request, and returns the response of the control API.
    ///
    /// - Parameters:
    ///   - noClient: Returns an error message if no client has the given ID, and otherwise `nil`.
    ///   - isOf: Returns whether a grant belongs to the client with the given ID.
    ///   - end: Ends one grant. Returns `false` if a concurrent request has already ended the grant.
    package func revoke<Grant: OAuthGrant>(
        _ type: Grant.Type, _ order: RevocationOrder, noClient: (String) -> String?,
        isOf: (Grant, String) -> Bool = { $0.client == $1 }, end: (Grant) throws -> Bool
    ) rethrows -> Response {
        if let client = order.client, let message = noClient(client) {
            return ControlAnswer.error(404, "noSuchClient", message, path: "$.client")
        }
        let (isPerson, grants) = world.read { tables in
            (
                order.account.map { tables.account($0) != nil } ?? true,
                tables.grants(type, for: order) { grant in order.client.map { isOf(grant, $0) } ?? true }
            )
        }
        guard isPerson else {
            return ControlAnswer.error(404, "noSuchAccount", noAccount(order.account ?? ""), path: "$.account")
        }
        let ended = try grants.count { try end($0) }
        if ended == 0, let account = order.account, let client = order.client {
            let message =
                "account \(Diagnosis.quote(account)) hasn't authorized \(Diagnosis.quote(client)): sign in first"
            return ControlAnswer.error(409, "noGrant", message, path: "$.account")
        }
        return ControlAnswer.ok(["revoked": .bool(ended > 0), "grants": .integer(Int64(ended))])
    }

    /// Ends grants at a test's request, at a provider that doesn't notify clients of revocations. `lasts` returns
    /// `false` for a grant that has already ended by itself.
    package func revoke<Grant: OAuthGrant, Client>(
        _ type: Grant.Type, _ order: RevocationOrder, among clients: RegisteredClients<Client>,
        lasts: (Grant, inout Transaction) -> Bool = { _, _ in true }
    ) throws -> Response {
        try revoke(type, order) {
            clients[$0] == nil ? "no client \(Diagnosis.quote($0)) is seeded" : nil
        } end: { grant in
            let reason = cause("the person removed \(Diagnosis.quote(grant.client))")
            return try world.update { tables in
                guard let grant = tables.find(Grant.self, grant.key), lasts(grant, &tables) else { return false }
                tables.end(grant, because: reason)
                return true
            }
        }
    }
}

/// The reason why a code or a token stopped working before its expiry, kept for later error messages.
package struct EndedCredential<Grant: OAuthGrant>: Row {
    package static var table: Table<Self> { Grant.tables.ended }

    /// The code or token that stopped working.
    package let key: String
    /// The reason why the code or token stopped working, as a clause such as "the person removed the app".
    package let reason: String
    /// The account of the person whose grant the code or token belonged to.
    package let account: String?

    package init(_ text: String, of account: String?, because reason: String) {
        key = text
        self.account = account
        self.reason = reason
    }
}

extension Exchange {
    /// Returns why a token can't be used, as a clause for an error message. If `client` isn't `nil`, a token that was
    /// issued to a different client can't be used.
    package func reason<Grant: OAuthGrant>(
        againstUsing text: String, _ kind: Token<Grant>.Kind, _ type: Grant.Type, of client: String? = nil
    ) -> String {
        let name = kind == .access ? "the access token" : "the refresh token"
        let known = world.read { tables -> String? in
            guard let token = tables.find(Token<Grant>.self, text) else {
                if tables.find(AuthorizationCode<Grant>.self, text) != nil {
                    return "\(name) is an authorization code: redeem it"
                }
                return tables.find(EndedCredential<Grant>.self, text)?.reason
            }
            if let client, token.client != client {
                return "\(name) was given to \(Diagnosis.quote(token.client)), not to \(Diagnosis.quote(client))"
            }
            return tables.reason(againstUsing: text, kind, type)
        }
        return known ?? reason(againstUnknown: text, called: name)
    }

    /// Returns why an unknown authorization code can't be redeemed, as a clause for an error message.
    package func reason<Grant: OAuthGrant>(againstUnknownCode text: String, _ type: Grant.Type) -> String {
        let known = world.read { tables -> String? in
            if let token = tables.find(Token<Grant>.self, text) {
                return "the code is \(token.kind == .access ? "an access" : "a refresh") token"
            }
            return tables.find(EndedCredential<Grant>.self, text)?.reason
        }
        return known ?? reason(againstUnknown: text, called: "the code")
    }

    /// Whether this test world has never issued a code or token with this text, or has forgotten it.
    package func knowsNothing<Grant: OAuthGrant>(of text: String, _ type: Grant.Type) -> Bool {
        world.read { tables in
            tables.find(Token<Grant>.self, text) == nil && tables.find(AuthorizationCode<Grant>.self, text) == nil
                && tables.find(EndedCredential<Grant>.self, text) == nil
        }
    }

    /// Returns the error for a code or token. If the error is `invalid_grant`, and the test world doesn't know the code
    /// or token, the error says what the unknown text may be.
    package func explained<Grant: OAuthGrant>(
        _ refusal: OAuthRefusal, _ text: String, called name: String, _ type: Grant.Type
    ) -> OAuthRefusal {
        guard knowsNothing(of: text, type), refusal.name == "invalid_grant" else { return refusal }
        return OAuthRefusal(
            refusal.name, status: refusal.status, description: refusal.description,
            Diagnosis(reason(againstUnknown: text, called: name)))
    }
}
