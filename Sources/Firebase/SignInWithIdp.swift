import HTTPServer
import JSON
import OAuth
import EmulatorCore

// The methods accounts:signInWithIdp and verifyAssertion:
// https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/signInWithIdp
//
// Quirks: it signs in, links (idToken), reauthenticates (autoCreate false) and finishes the web flow (requestUri with a
// code). With returnIdpCredential, a refused link has status 200 with errorMessage and the credential, because the iOS
// SDK makes its updated credential from it. Whether an address is believed depends on the provider, not on its token's
// claims. Production's answers were recorded in September 2026: https://github.com/t-k/fireemu,
// conformance/auth-federation-production.json.

extension FirebaseProvider {
    /// Returns the error for an identity provider that a project doesn't have. `openID` are the IDs of its OpenID
    /// providers, for the case that the ID is misspelled.
    static func notConfigured(_ provider: String, takesFakes: Bool = false, openID: [String] = []) -> FirebaseError {
        let known = IdentitySources.all.map { $0.id }
        let name = Diagnosis.quote(provider)
        let site = "\(provider.lowercased()).com"
        // An ID that Firebase knows isn't misspelled.
        let similar =
            ProviderConfig.knownIDs.contains(provider) ? nil : Spelling.nearest(to: provider, among: known + openID)
        let isMissing: String =
            if !known.contains(provider), let near = known.contains(site) ? site : similar {
                "the project has no provider \(name): did you mean \(Diagnosis.quote(near))?"
            } else if known.contains(provider) || provider.hasPrefix(OAuthIdpConfig.prefix) {
                "the project has no provider \(name) in the seed: add it there"
            } else {
                "Understudy doesn't support the provider \(name): it supports \(known.joined(separator: ", ")) and "
                    + "OpenID providers (\(OAuthIdpConfig.prefix)NAME)"
            }
        // The fake credentials: https://firebase.google.com/docs/emulator-suite/connect_auth#third-party_authentication
        let reason =
            takesFakes
            ? "the credential isn't one of the Emulator Suite's fake ones (unsigned, or claims as JSON), so it must be "
                + "verified; \(isMissing)"
            : isMissing
        return FirebaseError(
            "OPERATION_NOT_ALLOWED", "The identity provider configuration is not found.", because: reason)
    }

    static func noCredential(_ credential: Credential) -> FirebaseError {
        FirebaseError(
            "INVALID_CREDENTIAL_OR_PROVIDER_ID",
            "Invalid IdP response/credential: http://localhost?providerId=\(credential.providerId)",
            because:
                "postBody lacks the credential that the provider \"\(credential.providerId)\" needs, such as id_token "
                + "or access_token")
    }

    func signInWithIdp(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        try call.checkRoom()
        let signedIn = try call.signedInIfGiven()
        let identity = try await identity(call)
        let note = try noteOnUnchecked(identity, call)
        let request = IdpRequest(
            identity: identity, signedIn: signedIn,
            returnsCredential: try call.flag("returnIdpCredential") ?? false,
            createsUsers: try call.flag("autoCreate") ?? true)
        let event = SignInEvent(method: identity.providerId, identity: identity)
        let (decision, agreed) = try await call.decide(event, asksForFactor: signedIn == nil) {
            tables, creation in
            request.decide(&tables, creation, call)
        } who: {
            if case .done(let user, let isNew, _) = $0 { (user: user, isNew: isNew) } else { nil }
        }
        switch decision {
        case .refused(let error, let pendingToken):
            guard request.returnsCredential, let pendingToken else { throw error }
            var body = document(of: identity, call)
            body["errorMessage"] = .string(error.code)
            body["pendingToken"] = .string(pendingToken)
            return FirebaseAnswer(body: body, diagnosis: error.diagnosis)
        case .unconfirmed(let owner, let pendingToken):
            var body = document(of: identity, call)
            body["needConfirmation"] = true
            body["localId"] = .string(owner.localId)
            body["emailVerified"] = false
            let known = owner.links.map { JSONValue.string($0.providerId) }
            if !known.isEmpty { body["verifiedProvider"] = .array(known) }
            body["pendingToken"] = .string(pendingToken)
            let diagnosis = Diagnosis(
                "the e-mail address belongs to user \"\(owner.localId)\", and \(identity.providerId) isn't trusted to "
                    + "verify addresses: sign in as that user and link the provider, or sign in with a trusted provider"
            )
            return FirebaseAnswer(body: body, diagnosis: diagnosis, note: note)
        case .done(let decided, let isNew, let pendingToken):
            let (user, claims) = (agreed?.user ?? decided, agreed?.claims ?? JSONObject())
            var body = document(of: identity, call)
            if user.email != nil {
                body["emailVerified"] = .bool(user.emailVerified)
            } else if call.isInEmulatorMode {
                body["emailVerified"] = nil
            }
            body["localId"] = .string(user.localId)
            if isNew { body["isNewUser"] = true }
            body["tenantId"] = call.tenant.map { .string($0) }
            body["pendingToken"] = .string(pendingToken)
            if let signedIn {
                let tokens = try call.openSession(
                    user, provider: identity.providerId, secondFactor: signedIn.secondFactor,
                    customClaims: claims, attributes: identity.attributes)
                body.merge(tokens.members)
            } else {
                let result = try call.signIn(
                    user, provider: identity.providerId, customClaims: claims, attributes: identity.attributes)
                body.merge(result.members)
            }
            return FirebaseAnswer(body: body, note: note)
        }
    }

    /// Returns the members of the answer that describe the person at the identity provider. In production,
    /// `emailVerified` is there even if the person has no e-mail address (as in the recording
    /// `accounts/new#without-email`).
    private func document(of identity: FederatedIdentity, _ call: FirebaseCall) -> JSONObject {
        var body = identity.document
        if body["emailVerified"] == nil, !call.isInEmulatorMode { body["emailVerified"] = false }
        return body
    }

    // MARK: - The credential

    private func identity(_ call: FirebaseCall) async throws -> FederatedIdentity {
        if let pendingToken = try call.text("pendingToken") {
            // The SDK sends the original tokens, too; the pending token replaces them. Production takes it more than
            // once.
            let pending = call.read { $0.valid(PendingCredential.self, pendingToken, in: call.pool) }
            guard let pending else {
                throw FirebaseError("INVALID_PENDING_TOKEN", because: "pendingToken is unknown or has expired")
            }
            return pending.identity
        }
        guard let requestURI = try call.text("requestUri") else {
            throw FirebaseError("MISSING_REQUEST_URI", because: "requestUri is missing: send http://localhost")
        }
        guard FirebaseProvider.hasScheme(requestURI) else {
            throw FirebaseError(
                "INVALID_REQUEST_URI", because: "requestUri isn't an absolute URL: send http://localhost")
        }
        let postBody = try call.text("postBody")
        var fields = Credential.fields(of: postBody ?? "")
        let isToken = fields["id_token"] != nil
        var flow: WebFlow?
        if let mark = requestURI.firstIndex(where: { $0 == "?" || $0 == "#" }) {
            let parts = requestURI[mark...].split { $0 == "?" || $0 == "#" }
            for field in parts.flatMap({ Form(parsing: $0).fields }) where fields[field.name] == nil {
                fields[field.name] = field.value
            }
        }
        // An ID token in postBody may be from the client's own flow; one in the URL at the end of a flow is from ours.
        let isFlow = fields["code"] != nil || (!isToken && fields["id_token"] != nil)
        if isFlow, fields["state"] != nil { flow = try finish(call, &fields) }
        guard let providerId = fields["providerId"], !providerId.isEmpty else {
            if postBody == nil, fields.isEmpty {
                throw FirebaseError(
                    "INVALID_IDP_RESPONSE", "A system error has occurred - missing or invalid postBody",
                    because: "postBody is missing: send providerId and a credential")
            }
            throw FirebaseError(
                "INVALID_CREDENTIAL_OR_PROVIDER_ID", "Invalid IdP response/credential: \(requestURI)",
                because: "postBody has no providerId")
        }
        let credential = Credential(
            providerId: providerId, fields: fields, redirectURI: fields["code"] == nil ? nil : flow?.redirectURI,
            flowNonce: flow?.nonce)
        let isConfigured = configuredSource(providerId, of: call.project, call.pool, in: call.exchange) != nil
        if let fake = try fakeIdentity(credential, call, isConfigured: isConfigured) { return fake }
        let source = try source(providerId, of: call.project, call.pool, in: call.exchange)
        return try await source.identity(of: credential, in: call)
    }

    /// Whether a URL begins with a scheme, which may be an app's own.
    /// <https://www.rfc-editor.org/rfc/rfc3986#section-3.1>
    private static func hasScheme(_ url: String) -> Bool {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")), let first = url.utf8.first else { return false }
        func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
        let others = Set("0123456789+-.".utf8)
        return isLetter(first) && url.utf8[..<colon].allSatisfy { isLetter($0) || others.contains($0) }
            && url.utf8.index(after: colon) < url.utf8.endIndex
    }

    /// Returns the pending sign-in to which the response's `state` belongs. The pending sign-in is deleted, so a
    /// `state` works only once.
    private func finish(_ call: FirebaseCall, _ fields: inout [String: String]) throws -> WebFlow {
        let state = fields["state"] ?? ""
        guard let flow = try call.update({ $0.pop(WebFlow.self, state, in: call.pool) }) else {
            throw FirebaseError.invalidIdP(
                "Invalid state.",
                Diagnosis("state in requestUri belongs to no pending sign-in: a sign-in can be completed only once"))
        }
        let sessionID = try call.text("sessionId")
        guard flow.isBegunWith(sessionID) else {
            // Production's message isn't documented.
            throw FirebaseError.invalidIdP(
                "The session ID does not match.",
                Diagnosis(
                    "sessionId differs from the one with which the sign-in began: send the sessionId that "
                        + "accounts:createAuthUri returned"
                ))
        }
        fields["providerId"] = flow.providerId
        return flow
    }
}
