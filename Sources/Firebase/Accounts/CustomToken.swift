import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Text
import Time

// The method accounts:signInWithCustomToken (verifyCustomToken):
// https://firebase.google.com/docs/auth/admin/create-custom-tokens
//
// Quirks: a service account signs the token, and its key isn't known here; so the token is decoded and its signature
// isn't checked, as in the official emulator. At the real host the token must have a signature and lasts an hour at
// most; at the daemon's own address it needs none, because Admin SDKs in emulator mode leave it out. Its claims are the
// user's for this session, and may be more than an administrator can set.

extension FirebaseProvider {
    private static let audience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
    /// The names that neither a custom token nor an administrator may use as claims.
    /// <https://firebase.google.com/docs/auth/admin/custom-claims>
    static let reservedClaims: Set<String> = [
        "acr", "amr", "at_hash", "aud", "auth_time", "azp", "cnf", "c_hash", "exp", "firebase", "iat", "iss", "jti",
        "nbf",
        "nonce", "sub",
    ]

    func signInWithCustomToken(_ call: FirebaseCall) throws -> FirebaseAnswer {
        try call.checkRoom()
        guard let text = try call.isInEmulatorMode ? call.text("token") : call.given("token") else {
            throw FirebaseError("MISSING_CUSTOM_TOKEN", because: "token is missing")
        }
        let claims = try FirebaseProvider.customClaims(text, isHosted: !call.isInEmulatorMode)
        if !call.isInEmulatorMode { try checkAssertion(claims, call) }
        let (uid, custom) = try check(claims, call)
        let (user, isNew) = try call.update { tables in
            if var known = tables.user(uid, in: call.pool) {
                known.isCustom = true
                tables.put(known)
                return (known, false)
            }
            try call.requireSignUp()
            try tables.checkRoom(in: call.exchange.world)
            var made = User(localId: uid, in: call.pool, now: tables.now)
            made.isCustom = true
            tables.put(made)
            return (made, true)
        }
        if isNew, call.isInEmulatorMode { call.postEvent(.create, about: user) }
        guard !user.disabled else { throw FirebaseError.userIsDisabled(user) }
        var body = JSONObject(["kind": "identitytoolkit#VerifyCustomTokenResponse", "isNewUser": isNew])
        if try call.wantsSession() {
            body.merge(try call.openSession(user, provider: "custom", customClaims: custom).members)
        } else {
            body["idToken"] = .string(try call.signInWithoutSession(user, provider: "custom", customClaims: custom))
        }
        return FirebaseAnswer(body: body)
    }

    /// Checks the issuer and the times of a custom token. An issuer that is a service account must belong to the call's
    /// project.
    private func checkAssertion(_ claims: JSONObject, _ call: FirebaseCall) throws(FirebaseError) {
        func invalid(_ reason: String) -> FirebaseError { FirebaseError("INVALID_CUSTOM_TOKEN", because: reason) }
        let issuer = claims["iss"]?.string ?? ""
        guard issuer == claims["sub"]?.string else { throw invalid("iss and sub aren't the same service account") }
        guard let issued = claims["iat"]?.numericDate, let expires = claims["exp"]?.numericDate else {
            throw invalid("iat or exp is missing")
        }
        guard issued <= call.exchange.world.now + FirebaseCall.leeway else { throw invalid("iat is in the future") }
        guard expires - issued <= .hours(1) else { throw invalid("exp is more than an hour after iat") }
        let domain = ".iam.gserviceaccount.com"
        guard issuer.hasSuffix(domain), let mark = issuer.lastIndex(ofASCII: "@") else { return }
        let project = issuer[mark...].dropFirst().dropLast(domain.count)
        guard project == call.project.id else {
            throw FirebaseError(
                "CREDENTIAL_MISMATCH",
                diagnosis: Diagnosis(
                    received: "a service account of project \(Diagnosis.quote(String(project)))",
                    expected: "a service account of project \(Diagnosis.quote(call.project.id))",
                    "the Admin SDK's credentials and the app's API key are from different projects"))
        }
    }

    /// Checks the claims of a custom token. Returns the user's ID, and the claims that the user's ID tokens get.
    private func check(
        _ claims: JSONObject, _ call: FirebaseCall
    ) throws(FirebaseError) -> (uid: String, custom: JSONObject) {
        guard claims["aud"]?.string == FirebaseProvider.audience else {
            throw FirebaseError(
                "INVALID_CUSTOM_TOKEN",
                diagnosis: Diagnosis(
                    received: "aud \(Diagnosis.quote(claims["aud"]?.string ?? "missing"))",
                    expected: FirebaseProvider.audience,
                    "the token isn't a custom token, which the Admin SDK creates: is it an ID token?"))
        }
        guard let expires = claims["exp"]?.numericDate, expires + FirebaseCall.leeway > call.exchange.world.now else {
            throw FirebaseError("INVALID_CUSTOM_TOKEN", because: "exp is missing in the custom token, or has passed")
        }
        guard let uid = claims["uid"]?.string ?? claims["user_id"]?.string ?? claims["uid"]?.integer.map(String.init)
        else {
            throw FirebaseError("MISSING_IDENTIFIER", because: "the custom token has no uid")
        }
        guard (1...128).contains(uid.utf16.count) else {
            throw FirebaseError(
                "INVALID_IDENTIFIER", "Invalid user ID length. Expect to have length between 1 and 128.",
                because: "uid has \(uid.utf16.count) characters: 1 to 128 are allowed")
        }
        guard claims["tenant_id"]?.string == call.tenant else {
            let reason = "the token's tenant_id isn't the request's tenant"
            guard !call.isInEmulatorMode else { throw FirebaseError("TENANT_ID_MISMATCH", because: reason) }
            // Recorded as `tenant/custom-token#custom-plain-in-a` and `#custom-tenant-a-in-b`: https://github.com/t-k/fireemu,
            // conformance/auth-tenant-blocking-production.json.
            guard claims["tenant_id"] != nil else { throw .internalError(because: reason) }
            throw FirebaseError(
                "TENANT_ID_MISMATCH", "Specified tenant ID does not match the custom token.", because: reason)
        }
        let extra = claims["claims"]
        guard extra == nil || extra?.object != nil else {
            throw FirebaseError("INVALID_CLAIMS", because: "claims of the custom token must be a JSON object")
        }
        if let name = extra?.object?.keys.first(where: { FirebaseProvider.reservedClaims.contains($0) }) {
            throw FirebaseError(
                "FORBIDDEN_CLAIM", name, because: "the custom claim \"\(name)\" is reserved: choose another name")
        }
        return (uid: uid, custom: extra?.object ?? JSONObject())
    }

    private static func customClaims(_ text: String, isHosted: Bool) throws(FirebaseError) -> JSONObject {
        // The claims alone, as JSON, are enough, as in the official emulator.
        if !isHosted, text.hasPrefix("{"), let object = (try? JSONValue(parsing: text))?.object {
            var claims = object
            if claims["aud"] == nil { claims["aud"] = .string(audience) }
            if claims["exp"] == nil { claims["exp"] = .numericDate(.last) }
            return claims
        }
        guard text.split(separator: ".", omittingEmptySubsequences: false).count == 3 else {
            throw FirebaseError(
                "INVALID_CUSTOM_TOKEN", "Invalid assertion format. 3 dot separated segments required.",
                because: "the custom token isn't a JWT")
        }
        let token: JWS
        do { token = try JWS(parsing: text) } catch {
            throw FirebaseError(
                "INVALID_CUSTOM_TOKEN", because: "the custom token can't be parsed: \(error.description)")
        }
        guard !isHosted || token.algorithm != "none" else {
            throw FirebaseError(
                "INVALID_CUSTOM_TOKEN",
                because: "alg is none: unsigned custom tokens are accepted only in emulator mode")
        }
        guard !isHosted || !token.signature.isEmpty else {
            throw FirebaseError(
                "INVALID_CUSTOM_TOKEN", "Missing signature.",
                because: "the custom token isn't signed: such tokens are accepted only in emulator mode")
        }
        return token.claims
    }
}

// The method v2 accounts:revokeToken:
// https://cloud.google.com/identity-platform/docs/reference/rest/v2/accounts/revokeToken
//
// Quirks: it only works for providers that revoke tokens for Firebase (`RevokingSource`). The type is a name, a number,
// or a number as a text.

extension FirebaseProvider {
    func revokeToken(_ call: FirebaseCall) async throws -> FirebaseAnswer {
        _ = try call.signedIn(call.text("idToken"))
        let providerId = try call.text("providerId") ?? ""
        let revoking = IdentitySources.revoking
        guard revoking.contains(where: { $0.id == providerId }) else {
            throw FirebaseError(
                "INVALID_PROVIDER_ID",
                diagnosis: Diagnosis(
                    received: "providerId \(Diagnosis.quote(providerId))",
                    expected: revoking.map { $0.id }.joined(separator: " or "),
                    "only \(revoking.map { "\($0.title)'s" }.joined(separator: " and ")) tokens can be revoked"))
        }
        let configured = knownSource(providerId, of: call.project, call.pool, in: call.exchange)
        guard let source = configured as? any RevokingSource else {
            throw FirebaseProvider.notConfigured(providerId)
        }
        guard source.isEnabled else {
            throw FirebaseError(
                "OPERATION_NOT_ALLOWED", "The identity provider configuration is disabled.",
                because: "the identity provider \(Diagnosis.quote(providerId)) is disabled (\"enabled\": false)")
        }
        guard let token = try call.text("token") else {
            // Production's message isn't documented.
            throw FirebaseError("INVALID_IDP_RESPONSE", "Missing token.", because: "token is missing")
        }
        switch call.value("tokenType") {
        case "3", "CODE": try await source.revoke(code: token, in: call)
        case "1", "REFRESH_TOKEN": try await source.revoke(token, type: "refresh_token", in: call)
        case "2", "ACCESS_TOKEN": try await source.revoke(token, type: "access_token", in: call)
        case let other:
            throw FirebaseError.wrongType(
                "token_type", "type.googleapis.com/google.cloud.identitytoolkit.v2.RevokeTokenRequest.TokenType",
                .string(other ?? "TOKEN_TYPE_UNSPECIFIED"))
        }
        return FirebaseAnswer.empty
    }
}
