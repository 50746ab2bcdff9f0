import EmulatorCore
import JOSE
import JSON
import Time

// The JSON Web Token that is sent to a function. Its claims are those that firebase-functions reads. Its signature and
// issuer are those that firebase-admin verifies: it has the same keys as ID tokens, or is unsigned in emulator mode.
// https://cloud.google.com/identity-platform/docs/blocking-functions#getting_user_and_context_information

/// The sign-in about which a function is asked.
struct SignInEvent: Sendable {
    /// The method: `password`, `emailLink`, `phone`, `passkey`, or a provider's ID.
    let method: String
    var secondFactor: String?
    var identity: FederatedIdentity?
}

extension FirebaseCall {
    /// The lifetime of the token, as in the official emulator.
    private static let lifetime = TimeSpan.minutes(10)

    func functionToken(
        _ event: BlockingFunctions.Event, for uri: String, about user: User, _ signIn: SignInEvent
    ) throws -> String {
        var claims = JSONObject([
            ("user_record", .object(record(of: user))), ("sub", .string(user.localId)),
            ("sign_in_method", .string(signIn.method)),
        ])
        claims["tenant_id"] = tenant.map { .string($0) }
        claims["sign_in_second_factor"] = signIn.secondFactor.map { .string($0) }
        if let identity = signIn.identity { add(identity, to: &claims) }
        return try signed(event, for: uri, claims)
    }

    /// Mints the token for an event about a message: it names neither the user nor the tenant. Recorded as
    /// `blocking/send#reset-mail-echo` and `#link-mail-echo-in-tenant`.
    func functionToken(
        _ event: BlockingFunctions.Event, for uri: String, aboutMessage claims: JSONObject
    ) throws -> String {
        try signed(event, for: uri, claims)
    }

    private func signed(
        _ event: BlockingFunctions.Event, for uri: String, _ own: JSONObject
    ) throws -> String {
        let (now, eventID) = try update { tables in (tables.now, Base64URL.encode(tables.random.bytes(16))) }
        var claims = JSONObject([
            ("iss", .string(project.issuer)), ("aud", .string(uri)), ("iat", .numericDate(now)),
            ("exp", .numericDate(now + FirebaseCall.lifetime)), ("event_id", .string(eventID)),
            ("event_type", .string(event.rawValue)),
            ("user_agent", .string(Place.shortened(exchange.request.header("User-Agent") ?? "", to: 1_024))),
            // Apps under test are on this machine.
            ("ip_address", "127.0.0.1"),
            ("locale", .string(Place.shortened(exchange.request.header("X-Firebase-Locale") ?? "en", to: 64))),
        ])
        claims.merge(own)
        guard signsTokens else {
            return JWS.unsigned(header: JSONObject([("alg", "none"), ("typ", "JWT")]), claims: claims)
        }
        // A fault ordered for ID tokens doesn't apply to this one.
        do { return try exchange.world.keys[.firebase].mint(claims, at: now, type: "JWT") } catch {
            throw FirebaseError("INTERNAL_ERROR", status: 500, because: error.description)
        }
    }

    private func add(_ identity: FederatedIdentity, to claims: inout JSONObject) {
        claims["raw_user_info"] = .string(identity.rawUserInfo)
        let attributes = identity.attributes.object
        if !attributes.members.isEmpty { claims["sign_in_attributes"] = .object(attributes) }
        let forwarding = project.blockingFunctions.forwarding
        if forwarding.accessToken {
            claims["oauth_access_token"] = identity.accessToken.map { .string($0) }
            claims["oauth_expires_in"] = identity.expiresIn.map { .integer($0) }
        }
        if forwarding.idToken { claims["oauth_id_token"] = identity.idToken.map { .string($0) } }
        if forwarding.refreshToken { claims["oauth_refresh_token"] = identity.refreshToken.map { .string($0) } }
    }

    private func record(of user: User) -> JSONObject {
        var record = JSONObject([("uid", .string(user.localId))])
        record["email"] = user.email.map { .string($0) }
        // Recorded as `blocking/events#phone-sign-in-new`.
        if user.email != nil { record["email_verified"] = .bool(user.emailVerified) }
        record["display_name"] = user.displayName.map { .string($0) }
        record["photo_url"] = user.photoUrl.map { .string($0) }
        record["disabled"] = .bool(user.disabled)
        record["phone_number"] = user.phoneNumber.map { .string($0) }
        record["provider_data"] = .array(user.providerUserInfo.map(FirebaseCall.provider))
        if !user.factors.isEmpty {
            record["multi_factor"] = ["enrolled_factors": .array(user.factors.map(FirebaseCall.factor))]
        }
        record["metadata"] = [
            "last_sign_in_time": .integer((user.lastLoginAt ?? user.createdAt).milliseconds),
            "creation_time": .integer(user.createdAt.milliseconds),
        ]
        record["tokens_valid_after_time"] = .integer((user.validSince ?? user.createdAt).seconds)
        if !user.customClaims.object.isEmpty { record["custom_claims"] = .object(user.customClaims.object) }
        record["tenant_id"] = tenant.map { .string($0) }
        return record
    }

    private static func provider(_ info: JSONValue) -> JSONValue {
        let names = [
            ("provider_id", "providerId"), ("display_name", "displayName"), ("photo_url", "photoUrl"),
            ("email", "email"), ("uid", "rawId"), ("phone_number", "phoneNumber"),
        ]
        return .object(JSONObject(names.compactMap { name in info[name.1].map { (name.0, $0) } }))
    }

    private static func factor(_ factor: SecondFactor) -> JSONValue {
        var info = JSONObject([("uid", .string(factor.id)), ("factor_id", .string(factor.claim))])
        info["display_name"] = factor.displayName.map { .string($0) }
        info["enrollment_time"] = .string(factor.enrolledAt.textWithMilliseconds)
        if case .phone(let number) = factor.kind { info["phone_number"] = .string(number) }
        return .object(info)
    }
}
