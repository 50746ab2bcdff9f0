import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth

// POST /_understudy/v1/apple/authorizations: the result of ASAuthorizationController in an app.
// https://developer.apple.com/documentation/authenticationservices/asauthorizationappleidcredential
//
// Quirks: name and address are included only at the person's first consent to the app group. An app whose App ID isn't
// registered gets error 1000, like one without the entitlement on a device.

/// The errors that a native sign-in with Apple can return, with the codes of `ASAuthorizationError.Code`.
enum NativeError: String, CaseIterable {
    case unknown
    case canceled
    case invalidResponse
    case notHandled
    case failed
    case notInteractive

    static let domain = "com.apple.AuthenticationServices.AuthorizationError"

    static let schema = Schema.members(
        "ASAuthorizationError",
        [
            .required(
                "error",
                .members([
                    .required("domain", .choice([domain]), "The error's domain."),
                    .required("code", .integer(1000...1005), "`ASAuthorizationError.Code`."),
                    .required("name", .choice(allCases.map(\.rawValue)), "The code's name."),
                    .required("message", .string, "The reason, for people."),
                ]), "The error.")
        ])

    var code: Int64 { 1000 + Int64(NativeError.allCases.firstIndex(of: self) ?? 0) }

    func response(_ diagnosis: Diagnosis) -> Response {
        let error: JSONValue = [
            "domain": .string(NativeError.domain), "code": .integer(code), "name": .string(rawValue),
            "message": .string(diagnosis.line),
        ]
        return ControlAnswer.ok(["error": error], status: 409).diagnosed(diagnosis)
    }
}

extension AppleProvider {
    var nativeCall: Endpoint {
        let traits = EndpointTraits.native(
            errors: NativeError.allCases.map(\.rawValue), mints: .apple, givesCodes: true)
        return .control(
            "POST", "apple/authorizations",
            "Signs a person in on a device: what ASAuthorizationController would deliver.",
            reads: .body(NativeRequest.self),
            answers: [
                .json("The credential.", AppleProvider.credentialSchema),
                .json(409, "ASAuthorizationError: the person cancelled, or the app can't sign in.", NativeError.schema),
                .refusal(404, "noSuchAccount", "No account has this ID, or none exists."),
                .refusal(500, "signing", "The identity token can't be signed."),
            ], keys: [.apple], traits
        ) { try authorizeNatively($0, $1) }.titled("the native sign-in").remarks(AppleProvider.nativeRemarks)
    }

    /// The JSON schema for the result of a native sign-in with Apple:
    /// <https://developer.apple.com/documentation/authenticationservices/asauthorizationappleidcredential>
    private static let credentialSchema = Schema.members(
        "AppleCredential",
        [
            .required("user", .string, "The person's identifier for the team."),
            .optional("state", .string, "The request's."),
            .required("authorizedScopes", .strings(), "The scopes that the person has granted."),
            .required("authorizationCode", .string, "The code for the server."),
            .required("identityToken", .string, "The identity token."),
            .optional("email", .string, "The address, the first time only."),
            .optional(
                "fullName",
                .members([
                    .required("givenName", .string, "Given name."), .required("familyName", .string, "Family name."),
                ]), "The name, the first time only."),
            .required("realUserStatus", .integer(0...2), "`ASUserDetectionStatus`."),
        ])

    private struct NativeRequest: SchemaObject {
        static let schemaName: String? = "AppleAuthorization"

        let client: String
        let scopes: [String]
        let nonce: String?
        let state: String?
        let account: String?

        init(_ fields: inout Fields) {
            client = fields("client", .text(.nonEmpty), "The App ID, which is the app's bundle ID.")
            scopes = fields(
                "scopes", .set(of: .choice(["fullName", "email"])), default: [], "The scopes that the app asks for.")
            nonce = fields.nullable(
                "nonce", .text(NativeRequest.nonceRule),
                "The value of `request.nonce`: mostly a raw nonce's SHA-256 in lower-case hex.")
            state = fields.nullable("state", .text(.any), "The value of `request.state`.")
            account = fields.nullable("account", .text(.nonEmpty), "The account that is signed in on the device.")
        }

        private static let nonceRule = TextRule(
            about: "a nonce of at most \(AuthorizationRequest.nonceLimit) bytes", pattern: nil
        ) {
            $0.utf8.count <= AuthorizationRequest.nonceLimit
        }
    }

    private func authorizeNatively(_ exchange: Exchange, _ body: NativeRequest) throws -> Response {
        let clientID = body.client
        guard let client = directory.clients[clientID], client.kind == .app else {
            let why =
                directory.clients[clientID] == nil
                ? "no such App ID is configured in the seed\(directory.appHint(for: clientID))"
                : "a Services ID can't sign in natively\(directory.knownApps)"
            return NativeError.unknown.response(Diagnosis(received: "client \(Diagnosis.quote(clientID))", why))
        }
        let requested = body.account
        let decision = try exchange.nativeDecision(
            provider: name, client: client.id, interaction: client.interaction, account: requested)
        switch decision {
        case .cancel:
            return NativeError.canceled.response(Diagnosis("a cancel was ordered as the outcome of the sign-in"))
        case .error(let name, _):
            return (NativeError(rawValue: name) ?? .failed).response(
                Diagnosis("this error was ordered as the outcome of the sign-in"))
        case .nobody, .ask: return AppleProvider.nobody(body)
        case .approve(let account, let outcome): return try signIn(exchange, body, client, account, outcome)
        }
    }

    private static func nobody(_ body: NativeRequest) -> Response {
        let who = body.account.map { "no account \(Diagnosis.quote($0))" } ?? "there is no account to sign in"
        return ControlAnswer.error(404, "noSuchAccount", who, path: "$.account")
    }

    private func signIn(
        _ exchange: Exchange, _ body: NativeRequest, _ client: AppleDirectory.Client, _ account: Account,
        _ outcome: Outcome?
    ) throws -> Response {
        let asked = AppleScope.allCases.filter { scope in
            body.scopes.contains(scope.nativeName)
        }
        let approval = Approval(account: account, asked: Set(asked), outcome: outcome)
        let nonce = body.nonce
        let authorization = try authorize(
            exchange, client: client, approval: approval, redirectURI: nil, nonce: nonce)
        guard let authorization else { return AppleProvider.nobody(body) }
        let status = authorization.isFirst ? account.apple.realUserStatus.rawNumber : 0
        let code = authorization.code
        let token = IDToken(
            issuer: issuer(exchange), client: client, grant: authorization.grant, account: account, nonce: nonce,
            authenticatedAt: authorization.at, issuedAt: authorization.at, code: code,
            realUserStatus: authorization.isFirst ? status : nil)
        do throws(KeyError) {
            let minted = try exchange.mint(.apple, token.claims(settings), at: authorization.at)
            return ControlAnswer.ok(
                credential(
                    authorization, approval, code: code, state: body.state, identityToken: minted,
                    realUserStatus: status)
            )
        } catch {
            return ControlRefusal.signing(error).response
        }
    }

    private func credential(
        _ authorization: Authorization, _ approval: Approval, code: String, state: String?, identityToken: String,
        realUserStatus: Int64
    ) -> JSONValue {
        let subject = AppleIdentifiers.subject(account: approval.account.id, team: authorization.grant.team)
        var credential = JSONObject([("user", .string(subject))])
        credential["state"] = state.map { .string($0) }
        let granted = AppleScope.allCases.filter { approval.scopes.contains($0) }
        credential["authorizedScopes"] = .array(granted.map { .string($0.nativeName) })
        credential["authorizationCode"] = .string(code)
        credential["identityToken"] = .string(identityToken)
        if authorization.isFirst, approval.scopes.contains(.email) {
            credential["email"] = .string(authorization.email)
        }
        if authorization.isFirst, approval.scopes.contains(.name) {
            credential["fullName"] = [
                "givenName": .string(authorization.name.given), "familyName": .string(authorization.name.family),
            ]
        }
        credential["realUserStatus"] = .integer(realUserStatus)
        return .object(credential)
    }
}

// GET /_understudy/v1/apple/credential-state?client=…&user=…: the result of getCredentialState(forUserID:).

enum CredentialState: Int64, CaseIterable {
    case revoked = 0
    case authorized = 1
    case notFound = 2
    case transferred = 3

    var name: String { String(describing: self) }
}

extension AppleProvider {
    private struct Question: SchemaObject {
        let client: String
        let user: String

        init(_ fields: inout Fields) {
            client = fields("client", .text(.nonEmpty), "The App ID.")
            user = fields("user", .text(.nonEmpty), "The credential's `user`.")
        }
    }

    var credentialStateCall: Endpoint {
        .control(
            "GET", "apple/credential-state", "Tells what getCredentialState(forUserID:) would say on a device.",
            reads: .query(Question.self),
            answers: [
                .json(
                    "The state.",
                    .members([
                        .required("state", .choice(CredentialState.allCases.map(\.name)), "The state's name."),
                        .required("rawValue", .integer(0...3), "The state's number."),
                    ])), .refusal(404, "noSuchClient", "There is no such App ID."),
            ]
        ) { credentialState($0, $1) }
    }

    private func credentialState(_ exchange: Exchange, _ question: Question) -> Response {
        let (clientID, user) = (question.client, question.user)
        guard let client = directory.clients[clientID] else {
            let message =
                "no App ID or Services ID \(Diagnosis.quote(clientID)) is seeded\(directory.hint(for: clientID))"
            return ControlAnswer.error(404, "noSuchClient", message)
        }
        let state = credentialState(of: user, client, exchange.world)
        return ControlAnswer.ok(["state": .string(state.name), "rawValue": .integer(state.rawValue)])
    }

    private func credentialState(
        of user: String, _ client: AppleDirectory.Client, _ world: World
    ) -> CredentialState {
        let known = world.read { tables -> CredentialState? in
            let grants = tables.rows(AppleGrant.bySubject, user)
            if grants.contains(where: { $0.team == client.team && $0.group == client.group }) { return .authorized }
            let group = "\(client.team) \(client.group)"
            return tables.rows(EndedGrant.bySubject, user).contains { $0.key.hasSuffix(" \(group)") } ? .revoked : nil
        }
        if let known { return known }
        guard let transfer = client.transfer else { return .notFound }
        return world.account(user, as: .subject(team: transfer.fromTeam)) == nil ? .notFound : .transferred
    }
}
