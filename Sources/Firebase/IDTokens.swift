import JOSE
import OAuth
import Stage

// Firebase's ID tokens and refresh tokens.
// https://firebase.google.com/docs/auth/admin/verify-id-tokens#verify_id_tokens_using_a_third-party_jwt_library
//
// Quirks: with SDKs in emulator mode, tokens are unsigned, as the official emulator's are and the Node Admin SDK demands.

extension FirebaseCall {
    /// What a sign-in answers with.
    struct Tokens: Sendable {
        let idToken: String
        let refreshToken: String
        let expiresIn: String

        func add(to body: inout JSONObject) {
            body["idToken"] = .string(idToken)
            body["refreshToken"] = .string(refreshToken)
            body["expiresIn"] = .string(expiresIn)
        }
    }

    private var lifetime: Int64 {
        (Durations.milliseconds(exchange.world.seed.firebase.idTokenLifetime) ?? 3_600_000) / 1000
    }

    /// Begins a session.
    func signIn(_ user: User, provider: String) throws(FirebaseError) -> Tokens {
        let (session, refreshToken, user, now) = withState { state, context in
            var user = state.users[user.localId] ?? user
            user.lastLoginAt = context.now
            user.lastRefreshAt = context.now
            state.insert(user)
            let session = ProjectState.Session(
                localId: user.localId, provider: provider, authTime: context.seconds)
            let refreshToken = "AMf-vB" + Base64URL.encode(context.random.bytes(150))
            state.sessions[refreshToken] = session
            return (session, refreshToken, user, context.now)
        }
        return try tokens(session, user, refreshToken: refreshToken, now: now)
    }

    func tokens(
        _ session: ProjectState.Session, _ user: User, refreshToken: String, now: Int64
    ) throws(FirebaseError) -> Tokens {
        let claims = claims(session, user, seconds: now / 1000)
        do throws(KeyError) {
            let idToken =
                signsTokens
                ? try exchange.world.keys[.firebase].mint(claims, at: now, withType: true)
                : FirebaseCall.unsigned(claims)
            return Tokens(idToken: idToken, refreshToken: refreshToken, expiresIn: String(lifetime))
        } catch {
            throw FirebaseError("INTERNAL_ERROR", status: 500, because: error.description)
        }
    }

    private var signsTokens: Bool {
        switch project.idTokenSignature {
        case .rs256: true
        case .none: false
        case .auto: exchange.address.form != .prefix
        }
    }

    private static func unsigned(_ claims: JSONObject) -> String {
        let header = Base64URL.encode(JSONValue.object(JSONObject([("alg", "none"), ("typ", "JWT")])).serialized())
        return "\(header).\(Base64URL.encode(JSONValue.object(claims).serialized()))."
    }

    private func claims(_ session: ProjectState.Session, _ user: User, seconds: Int64) -> JSONObject {
        var claims = JSONObject()
        claims["name"] = user.displayName.map { .string($0) }
        claims["picture"] = user.photoUrl.map { .string($0) }
        for member in user.customClaims.members { claims[member.key] = member.value }
        if session.provider == "anonymous" { claims["provider_id"] = "anonymous" }
        claims["iss"] = .string(project.issuer)
        claims["aud"] = .string(project.id)
        claims["auth_time"] = .integer(session.authTime)
        claims["user_id"] = .string(user.localId)
        claims["sub"] = .string(user.localId)
        claims["iat"] = .integer(seconds)
        claims["exp"] = .integer(seconds + lifetime)
        var identities = JSONObject()
        for link in user.links {
            let known = identities[link.providerId]?.array ?? []
            identities[link.providerId] = .array(known + [.string(link.rawId)])
        }
        if let email = user.email {
            claims["email"] = .string(email)
            claims["email_verified"] = .bool(user.emailVerified)
            identities["email"] = [.string(email)]
        }
        if let phoneNumber = user.phoneNumber {
            claims["phone_number"] = .string(phoneNumber)
            identities["phone"] = [.string(phoneNumber)]
        }
        claims["firebase"] = ["identities": .object(identities), "sign_in_provider": .string(session.provider)]
        return claims
    }

    // MARK: - Reading them back

    /// Someone who is signed in.
    struct SignedIn: Sendable {
        let user: User
        /// Seconds.
        let authTime: Int64
        let provider: String
    }

    /// The user of the body's `idToken`. What production says to a token past its `exp` isn't documented.
    func signedIn(_ idToken: String?) throws(FirebaseError) -> SignedIn {
        guard let idToken else { throw FirebaseError("MISSING_ID_TOKEN", because: "idToken is missing") }
        func invalid(_ reason: String) -> FirebaseError { FirebaseError("INVALID_ID_TOKEN", because: reason) }
        let token: JWS
        do { token = try JWS(parsing: idToken) } catch {
            throw invalid("idToken can't be read: \(error.description)")
        }
        if let fault = signatureFault(of: token) { throw invalid(fault) }
        let claims = token.claims
        guard claims["iss"]?.string == project.issuer, claims["aud"]?.string == project.id else {
            throw invalid(
                "idToken is of \(Diagnosis.quote(claims["iss"]?.string ?? "no issuer")), not of project \"\(project.id)\""
            )
        }
        guard let localId = claims["sub"]?.string, let authTime = claims["auth_time"]?.integer,
            let expires = claims["exp"]?.integer
        else { throw invalid("idToken lacks sub, auth_time or exp") }
        let (user, now) = withState { state, context in (state.users[localId], context.seconds) }
        guard expires > now else { throw invalid("idToken expired \(now - expires) seconds ago: refresh it") }
        guard let user else {
            throw FirebaseError("USER_NOT_FOUND", because: "the user \"\(localId)\" was deleted; was the world reset?")
        }
        guard !user.disabled else {
            throw FirebaseError("USER_DISABLED", because: "the user \"\(localId)\" is disabled")
        }
        guard authTime >= user.validSince else {
            throw FirebaseError(
                "TOKEN_EXPIRED",
                because: "the sign-in is older than validSince: its tokens were revoked, or the password changed")
        }
        return SignedIn(
            user: user, authTime: authTime, provider: claims["firebase"]?["sign_in_provider"]?.string ?? "custom")
    }

    private func signatureFault(of token: JWS) -> String? {
        if token.algorithm == "none" {
            guard !signsTokens else { return "idToken is unsigned, but this project's tokens are signed here" }
            return token.signature.isEmpty ? nil : "idToken says alg none, but carries a signature"
        }
        guard let key = exchange.world.keys[.firebase].published.first(where: { $0.id == token.keyID }) else {
            return
                "idToken's kid \(Diagnosis.quote(token.keyID ?? "missing")) isn't Firebase's: is it the provider's token?"
        }
        let isGenuine = token.algorithm == "RS256" && token.verify(with: key.key, algorithm: .rs256) == .valid
        return isGenuine ? nil : "idToken's signature isn't Firebase's"
    }

    /// Sensitive changes want a sign-in within the last minutes.
    /// <https://firebase.google.com/docs/auth/ios/manage-users#re-authenticate_a_user>
    func requireRecent(_ signedIn: SignedIn) throws(FirebaseError) {
        let window = (Durations.milliseconds(exchange.world.seed.firebase.recentLoginWindow) ?? 300_000) / 1000
        let age = exchange.world.seconds - signedIn.authTime
        guard age > window else { return }
        throw FirebaseError(
            "CREDENTIAL_TOO_OLD_LOGIN_AGAIN",
            because:
                "the sign-in was \(age) seconds ago, and this change wants one within \(window): reauthenticate first")
    }
}
