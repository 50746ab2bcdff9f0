import EmulatorCore
import JOSE
import JSON
import Time

// The JSON Web Token that is sent to a function. Its claims are those that firebase-functions reads. Its signature and
// issuer are those that firebase-admin verifies: it has the same keys as ID tokens, or is unsigned in emulator mode.
// https://cloud.google.com/identity-platform/docs/blocking-functions#getting_user_and_context_information

/// The sign-in about which a blocking function is called.
struct SignInEvent: Sendable {
    /// The sign-in method: `password`, `emailLink`, `phone`, `passkey`, or an identity provider's ID.
    let method: String
    var secondFactor: String?
    var identity: FederatedIdentity?
}

extension FirebaseCall {
    /// The lifetime of the token that is sent to a blocking function, as in the Firebase emulator.
    private static let lifetime = TimeSpan.minutes(10)

    func functionToken(
        _ event: BlockingFunctions.Event, for uri: String, about user: User, _ signIn: SignInEvent
    ) throws -> String {
        var claims = JSONObject([
            "user_record": record(of: user), "sub": user.localId, "sign_in_method": signIn.method, "tenant_id": tenant,
            "sign_in_second_factor": signIn.secondFactor,
        ])
        if let identity = signIn.identity { claims.merge(members(of: identity)) }
        return try signed(event, for: uri, claims)
    }

    /// Makes the token that a blocking function gets before a mail or text message is sent. The token names neither the
    /// user nor the tenant. Its claims are from recordings of production (`blocking/send#reset-mail-echo`,
    /// `blocking/send#link-mail-echo-in-tenant`).
    func functionToken(
        _ event: BlockingFunctions.Event, for uri: String, aboutMessage claims: JSONObject
    ) throws -> String {
        try signed(event, for: uri, claims)
    }

    private func signed(_ event: BlockingFunctions.Event, for uri: String, _ own: JSONObject) throws -> String {
        let (now, eventID) = try update { tables in (tables.now, Base64URL.encode(tables.random.bytes(16))) }
        var claims = JSONObject([
            ("iss", .string(project.issuer)), ("aud", .string(uri)), ("iat", .numericDate(now)),
            ("exp", .numericDate(now + FirebaseCall.lifetime)), ("event_id", .string(eventID)),
            ("event_type", .string(event.rawValue)),
            ("user_agent", .string(BoundedText.shortened(exchange.request.header("User-Agent") ?? "", to: 1_024))),
            // Apps under test are on this machine.
            ("ip_address", "127.0.0.1"),
            ("locale", .string(BoundedText.shortened(exchange.request.header("X-Firebase-Locale") ?? "en", to: 64))),
        ])
        claims.merge(own)
        guard signsTokens else {
            return JWS.unsigned(header: JSONObject(["alg": "none", "typ": "JWT"]), claims: claims)
        }
        // A fault ordered for ID tokens doesn't apply to this one.
        do { return try exchange.world.keys[.firebase].mint(claims, at: now, type: "JWT") } catch {
            throw FirebaseError("INTERNAL_ERROR", status: 500, because: error.description)
        }
    }

    private func members(of identity: FederatedIdentity) -> JSONObject {
        let (attributes, forwarding) = (identity.attributes.object, project.blockingFunctions.forwarding)
        return JSONObject([
            "raw_user_info": identity.rawUserInfo, "sign_in_attributes": attributes.isEmpty ? nil : attributes,
            "oauth_access_token": forwarding.accessToken ? identity.accessToken : nil,
            "oauth_expires_in": forwarding.accessToken ? identity.expiresIn : nil,
            "oauth_id_token": forwarding.idToken ? identity.idToken : nil,
            "oauth_refresh_token": forwarding.refreshToken ? identity.refreshToken : nil,
        ])
    }

    private func record(of user: User) -> JSONObject {
        let factors = user.factors.map(FirebaseCall.factor)
        return JSONObject([
            // Recorded as `blocking/events#phone-sign-in-new`.
            "uid": user.localId, "email": user.email, "email_verified": user.email == nil ? nil : user.emailVerified,
            "display_name": user.displayName, "photo_url": user.photoUrl, "disabled": user.disabled,
            "phone_number": user.phoneNumber, "provider_data": user.providerUserInfo.map(FirebaseCall.provider),
            "multi_factor": factors.isEmpty ? nil : JSONObject(["enrolled_factors": factors]),
            "metadata": JSONObject([
                "last_sign_in_time": (user.lastLoginAt ?? user.createdAt).milliseconds,
                "creation_time": user.createdAt.milliseconds,
            ]), "tokens_valid_after_time": (user.validSince ?? user.createdAt).seconds,
            "custom_claims": user.customClaims.object.isEmpty ? nil : user.customClaims.object, "tenant_id": tenant,
        ])
    }

    private static func provider(_ info: JSONValue) -> JSONValue {
        let names = [
            ("provider_id", "providerId"), ("display_name", "displayName"), ("photo_url", "photoUrl"),
            ("email", "email"), ("uid", "rawId"), ("phone_number", "phoneNumber"),
        ]
        return .object(JSONObject(names.compactMap { name in info[name.1].map { (name.0, $0) } }))
    }

    private static func factor(_ factor: SecondFactor) -> JSONValue {
        var number: String?
        if case .phone(let own) = factor.kind { number = own }
        return .document([
            "uid": factor.id, "factor_id": factor.claim, "display_name": factor.displayName,
            "enrollment_time": factor.enrolledAt.textWithMilliseconds, "phone_number": number,
        ])
    }
}
