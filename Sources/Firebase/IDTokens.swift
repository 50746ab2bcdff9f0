import JOSE
import JSON
import OAuth
import EmulatorCore
import Time
import Worlds

// Firebase's ID tokens and refresh tokens.
// https://firebase.google.com/docs/auth/admin/verify-id-tokens#verify_id_tokens_using_a_third-party_jwt_library
//
// Quirks: with SDKs in emulator mode, tokens are unsigned, as the official emulator's are and the Node Admin SDK demands.
// A client that doesn't want a session (returnSecureToken) gets a legacy token, which is good for two weeks. ID tokens are taken
// for five minutes after they have expired.

extension FirebaseCall {
    /// The ID token and the refresh token in the answer to a sign-in.
    struct Tokens: Sendable {
        let idToken: String
        let refreshToken: String
        let expiresIn: String

        var members: JSONObject {
            JSONObject(["idToken": idToken, "refreshToken": refreshToken, "expiresIn": expiresIn])
        }
    }

    private var lifetime: TimeSpan { exchange.world.seed[FirebaseSection.self].idTokenLifetime }

    /// The result of a sign-in with a correct first factor: tokens, or the demand for a second factor.
    enum SignInResult: Sendable {
        case tokens(Tokens)
        case secondFactor(pending: String, factors: [JSONValue])

        var members: JSONObject {
            switch self {
            case .tokens(let tokens): tokens.members
            case .secondFactor(let pending, let factors):
                JSONObject(["mfaPendingCredential": pending, "mfaInfo": factors])
            }
        }
    }

    /// Signs a user in who has passed the first factor. A user who must also pass a second factor gets no tokens yet,
    /// but a pending credential and the list of second factors.
    func signIn(
        _ user: User, provider: String, customClaims: JSONObject = JSONObject(),
        attributes: CustomClaims = CustomClaims()
    ) throws -> SignInResult {
        let begun = try update { tables -> BegunSignIn in
            // A factor may have been enrolled while the first one was judged.
            let current = try tables.current(user)
            let factors = secondFactors(of: current, after: provider)
            guard !factors.isEmpty else {
                return .session(
                    tables.open(current, provider: provider, customClaims: customClaims, attributes: attributes))
            }
            let pending = PendingSecondFactor(
                token: Base64URL.encode(tables.random.bytes(96)), user: user.key, provider: provider,
                begun: tables.now, attributes: attributes)
            tables.put(pending)
            return .secondFactor(pending, factors)
        }
        switch begun {
        case .session(let session): return .tokens(try tokens(session.session, session.user, now: session.at))
        case .secondFactor(let pending, let factors):
            return .secondFactor(
                pending: pending.token,
                factors: factors.map { $0.document(isMasked: true, inEmulatorMode: isInEmulatorMode) })
        }
    }

    private enum BegunSignIn: Sendable {
        case session(OpenedSession)
        case secondFactor(PendingSecondFactor, [SecondFactor])
    }

    /// Returns the user's second factors, one of which must be passed after signing in with `provider`; an empty list
    /// if none is needed. If multi-factor sign-in is on, a factor counts even if users can't enrol its kind any more.
    /// The Firebase emulator does the same; production's behaviour isn't documented.
    func secondFactors(of user: User, after provider: String) -> [SecondFactor] {
        guard !["phone", "custom", "passkey"].contains(provider) else { return [] }
        return mfa.isOn ? user.factors : []
    }

    /// Begins a session of the user. `authTime` is `nil` for a new sign-in. If the session continues an earlier one,
    /// `authTime` is the time of that session's sign-in.
    func openSession(
        _ user: User, provider: String, secondFactor: SecondFactorUse? = nil, authTime: Instant? = nil,
        customClaims: JSONObject = JSONObject(), attributes: CustomClaims = CustomClaims()
    ) throws -> Tokens {
        let opened = try update { tables -> OpenedSession in
            tables.open(
                try tables.current(user), provider: provider, secondFactor: secondFactor, authTime: authTime,
                customClaims: customClaims, attributes: attributes)
        }
        return try tokens(opened.session, opened.user, now: opened.at)
    }

    func tokens(_ session: Session, _ user: User, now: Instant) throws(FirebaseError) -> Tokens {
        let idToken = try mint(claims(session, user, at: now), at: now, type: "JWT")
        return Tokens(idToken: idToken, refreshToken: session.refreshToken, expiresIn: String(lifetime.seconds))
    }

    func mint(_ claims: JSONObject, at time: Instant, type: String? = nil) throws(FirebaseError) -> String {
        do throws(KeyError) {
            return try exchange.mint(.firebase, claims, at: time, type: type, isSigned: signsTokens)
        } catch {
            throw FirebaseError("INTERNAL_ERROR", status: 500, because: error.description)
        }
    }

    // MARK: - Legacy tokens

    static let legacyIssuer = "https://identitytoolkit.google.com/"

    /// Whether the answer has a refresh token, as `returnSecureToken` requests. In emulator mode it always has one, as
    /// in the Firebase emulator. For a user of a tenant it always has one, too; production's behaviour in tenants isn't
    /// documented.
    func wantsSession() throws(FirebaseError) -> Bool {
        guard !isInEmulatorMode, tenant == nil else { return true }
        return try flag("returnSecureToken") ?? false
    }

    /// Signs a user in for an app that wants no refresh token (`returnSecureToken` is false or missing), and returns a
    /// legacy ID token.
    func signInWithoutSession(
        _ user: User, provider: String, customClaims: JSONObject = JSONObject()
    ) throws -> String {
        let user = try update { tables -> User in
            guard var user = tables.find(User.self, user.key) else { throw FirebaseError.userIsGone }
            user.lastLoginAt = tables.now
            tables.put(user)
            return user
        }
        return try legacyToken(user, provider: provider, customClaims: customClaims)
    }

    /// Returns an ID token of the Google Identity Toolkit, the service from which Firebase Authentication came.
    func legacyToken(
        _ user: User, provider: String, customClaims: JSONObject = JSONObject()
    ) throws(FirebaseError) -> String {
        let now = exchange.world.now
        let claims = JSONObject([
            "iss": FirebaseCall.legacyIssuer, "aud": project.id, "iat": JSONValue.numericDate(now),
            "exp": JSONValue.numericDate(now + .days(14)), "user_id": user.localId, "email": user.email,
            "sign_in_provider": provider, "verified": user.email != nil ? user.emailVerified : nil,
            "extra_claims": !customClaims.isEmpty ? customClaims : nil,
        ])
        return try mint(claims, at: now)
    }

    var signsTokens: Bool {
        switch project.idTokenSignature {
        case .rs256: true
        case .none: false
        case .auto: !exchange.isInEmulatorMode
        }
    }

    func claims(_ session: Session, _ user: User, at time: Instant) -> JSONObject {
        var claims = JSONObject()
        // An empty name is left out; what production does isn't documented.
        claims["name"] = user.displayName.flatMap { $0.isEmpty ? nil : .string($0) }
        claims["picture"] = user.photoUrl.flatMap { $0.isEmpty ? nil : .string($0) }
        for member in user.customClaims.object.members + session.customClaims.object.members {
            claims[member.key] = member.value
        }
        claims.merge(
            JSONObject([
                "provider_id": session.provider == "anonymous" ? "anonymous" : nil, "iss": project.issuer,
                "aud": project.id, "auth_time": JSONValue.numericDate(session.authTime), "user_id": user.localId,
                "sub": user.localId, "iat": JSONValue.numericDate(time), "exp": JSONValue.numericDate(time + lifetime),
                // A blocking function may set it for a user without an address. What production does then isn't
                // documented.
                "email": user.email,
                "email_verified": user.email != nil || user.emailVerified && isInEmulatorMode
                    ? user.emailVerified : nil,
                "phone_number": user.phoneNumber,
                "firebase": JSONObject([
                    "identities": identities(of: user), "sign_in_provider": session.provider,
                    "sign_in_second_factor": session.secondFactor?.claim,
                    "second_factor_identifier": session.secondFactor?.id,
                    "sign_in_attributes": session.attributes.object.isEmpty ? nil : session.attributes.object,
                    "tenant": tenant,
                ]),
            ]))
        return claims
    }

    /// Returns the claim `firebase.identities`: the user's IDs by identity provider, followed by the e-mail address and
    /// the phone number.
    private func identities(of user: User) -> JSONObject {
        var identities = JSONObject()
        for link in user.links {
            identities[link.providerId] = .array((identities[link.providerId]?.array ?? []) + [.string(link.rawId)])
        }
        identities["email"] = user.email.map { [.string($0)] }
        identities["phone"] = user.phoneNumber.map { [.string($0)] }
        return identities
    }

    // MARK: - Reading tokens

    /// The user of a verified ID token, with the token's claims about the sign-in.
    struct SignedIn: Sendable {
        let user: User
        let authTime: Instant
        let provider: String
        let secondFactor: SecondFactorUse?
        /// The claim `sign_in_attributes` of the ID token: the non-standard claims of the identity provider.
        let attributes: CustomClaims

        /// Returns the present state of the signed-in user. A transaction that changes the user calls this, because
        /// other requests may have changed the user.
        ///
        /// - Throws: An error if the session has ended, or the user is disabled or deleted.
        func user(in tables: borrowing Transaction) throws(FirebaseError) -> User {
            try tables.user(user.key, signedInAt: authTime)
        }
    }

    /// The time for which ID tokens and custom tokens are still accepted after they have expired. It is also the time
    /// by which `iat` of a custom token may be in the future.
    static let leeway = TimeSpan.seconds(300)

    /// Verifies the ID token of a request, and returns its user.
    func signedIn(
        _ idToken: String?, missing code: String = "MISSING_ID_TOKEN", takesLegacy: Bool = true
    ) throws(FirebaseError) -> SignedIn {
        guard let idToken else { throw FirebaseError(code, because: "idToken is missing") }
        func invalid(_ reason: String) -> FirebaseError { FirebaseError("INVALID_ID_TOKEN", because: reason) }
        let token: JWS
        if let decoded = self.idToken, decoded.text == idToken {
            token = decoded.token
        } else {
            do { token = try JWS(parsing: idToken) } catch {
                throw invalid("idToken can't be read: \(error.description)")
            }
        }
        if let fault = signatureFault(of: token) { throw invalid(fault) }
        let claims = token.claims
        let issuer = claims["iss"]?.string
        let isLegacy = takesLegacy && issuer == FirebaseCall.legacyIssuer
        guard issuer == project.issuer || isLegacy, claims["aud"]?.string == project.id else {
            throw invalid(
                "idToken is of \(Diagnosis.quote(claims["iss"]?.string ?? "no issuer")), not of project \"\(project.id)\""
            )
        }
        guard claims["firebase"]?["tenant"]?.string == tenant else {
            throw FirebaseError(
                "TENANT_ID_MISMATCH",
                because:
                    "idToken is for tenant \(Diagnosis.quote(claims["firebase"]?["tenant"]?.string ?? "none")), but "
                    + "the request is for tenant \(Diagnosis.quote(tenant ?? "none"))")
        }
        guard let localId = claims[isLegacy ? "user_id" : "sub"]?.string,
            let authTime = claims[isLegacy ? "iat" : "auth_time"]?.numericDate, let expires = claims["exp"]?.numericDate
        else { throw invalid("idToken lacks sub, auth_time or exp") }
        let key = User.Key(pool: pool, localId: localId)
        let (user, now) = read { tables in
            (Result { () throws(FirebaseError) in try tables.user(key, signedInAt: authTime) }, tables.now)
        }
        guard expires + FirebaseCall.leeway > now else {
            throw invalid("idToken expired \((now - expires).inWords) ago: refresh it")
        }
        let firebase = claims["firebase"]
        var use: SecondFactorUse?
        if let claim = firebase?["sign_in_second_factor"]?.string,
            let id = firebase?["second_factor_identifier"]?.string
        {
            use = SecondFactorUse(claim: claim, id: id)
        }
        return SignedIn(
            user: try user.get(), authTime: authTime,
            provider: (isLegacy ? claims["sign_in_provider"] : firebase?["sign_in_provider"])?.string ?? "custom",
            secondFactor: use, attributes: CustomClaims(firebase?["sign_in_attributes"]?.object ?? JSONObject()))
    }

    /// Verifies the ID token in the request's body, and returns its user; `nil` if the body has no token.
    func signedInIfGiven() throws(FirebaseError) -> SignedIn? {
        guard let idToken = try text("idToken") else { return nil }
        return try signedIn(idToken)
    }

    func signatureFault(of token: JWS) -> String? {
        if token.algorithm == "none" {
            guard !signsTokens else { return "idToken is unsigned, but this project signs its tokens at this address" }
            return token.signature.isEmpty ? nil : "idToken says alg none, but carries a signature"
        }
        guard let key = exchange.world.keys[.firebase].key(of: token) else {
            return
                "idToken's kid \(Diagnosis.quote(token.keyID ?? "missing")) isn't Firebase's: is it the provider's token?"
        }
        return key.hasSigned(token) ? nil : "idToken's signature isn't Firebase's"
    }

    /// Checks that the user signed in within the seed's `recentLoginWindow`, as sensitive changes require. Anonymous
    /// users are exempt, since they can't sign in again.
    /// <https://firebase.google.com/docs/auth/ios/manage-users#re-authenticate_a_user>
    /// <https://pub.dev/documentation/firebase_auth/latest/firebase_auth/User/delete.html>
    func requireRecent(_ signedIn: SignedIn) throws(FirebaseError) {
        guard signedIn.provider != "anonymous" else { return }
        let window = exchange.world.seed[FirebaseSection.self].recentLoginWindow
        let age = exchange.world.now.wholeSecond - signedIn.authTime
        guard age > window else { return }
        throw FirebaseError(
            "CREDENTIAL_TOO_OLD_LOGIN_AGAIN",
            because:
                "the user signed in \(age.inWords) ago, but this change requires a sign-in in the last \(window.inWords): reauthenticate first"
        )
    }
}

extension TableReading where Self: ~Copyable {
    /// Returns the user with this key, after a check that the user's session, which began at `time`, hasn't ended.
    ///
    /// - Throws: `USER_NOT_FOUND`, `USER_DISABLED`, or `TOKEN_EXPIRED` if the session has ended.
    fileprivate func user(_ key: User.Key, signedInAt time: Instant) throws(FirebaseError) -> User {
        guard let user = find(User.self, key) else {
            throw FirebaseError(
                "USER_NOT_FOUND", because: "the user \"\(key.localId)\" was deleted, or the test world was reset")
        }
        guard !user.disabled else {
            throw FirebaseError("USER_DISABLED", because: "the user \"\(key.localId)\" is disabled")
        }
        guard !user.hasEnded(sessionOf: time) else {
            throw FirebaseError(
                "TOKEN_EXPIRED",
                because:
                    "the sign-in is older than the user's validSince: its tokens were revoked, or the password changed")
        }
        return user
    }

    /// Returns the present state of a user who is signing in. `seen` is the user's state at the time when the
    /// credential was checked. What production answers to a change during a sign-in isn't documented.
    ///
    /// - Throws: `USER_NOT_FOUND` or `USER_DISABLED` if the user has since been deleted or disabled; `TOKEN_EXPIRED` if
    ///   the password has since changed, or the user's sessions have ended.
    func current(_ seen: User) throws(FirebaseError) -> User {
        guard let user = find(User.self, seen.key) else { throw .userIsGone }
        guard seen.disabled || !user.disabled else { throw .userIsDisabled(user) }
        let isReplaced = seen.password != nil && user.password != nil && seen.password != user.password
        let isEnded = user.validSince.map { time in seen.validSince.map { $0 < time } ?? true } ?? false
        guard !isEnded, !isReplaced else {
            throw FirebaseError(
                "TOKEN_EXPIRED",
                because: "while the sign-in was under way, the password changed or the user's sessions were ended")
        }
        return user
    }
}

/// A session that has just begun, and its user with the updated `lastRefreshAt`.
private struct OpenedSession: Sendable {
    let session: Session
    let user: User
    let at: Instant
}

extension Transaction {
    /// Begins a session of a user. `authTime` is the time of the sign-in that the session continues; `nil` for a new
    /// sign-in.
    fileprivate mutating func open(
        _ user: User, provider: String, secondFactor: SecondFactorUse? = nil, authTime: Instant? = nil,
        customClaims: JSONObject, attributes: CustomClaims
    ) -> OpenedSession {
        let now = now
        var user = user
        if authTime == nil { user.lastLoginAt = now }
        user.lastRefreshAt = now
        put(user)
        let session = Session(
            refreshToken: "AMf-vB" + Base64URL.encode(random.bytes(150)), user: user.key, provider: provider,
            authTime: authTime ?? now, secondFactor: secondFactor, customClaims: CustomClaims(customClaims),
            attributes: attributes)
        put(session)
        return OpenedSession(session: session, user: user, at: now)
    }
}
