import EmulatorCore
import HTTPServer
import JSON
import Time
import Worlds

// The endpoint POST https://securetoken.googleapis.com/v1/token:
// https://cloud.google.com/identity-platform/docs/use-rest-api#section-refresh-token
//
// Quirks: it takes a form or JSON, in camel case or with underscores; the answer always has underscores. access_token
// and id_token are the same.

extension FirebaseProvider {
    func token(_ exchange: Exchange) throws -> Response {
        do {
            let project = try project(of: exchange)
            var body = JSONObject()
            if exchange.request.hasJSONBody {
                body = try FirebaseCall.body(of: exchange)
            } else {
                for field in exchange.request.bodyForm.fields {
                    body[
                        field.name == "grant_type"
                            ? "grantType" : field.name == "refresh_token" ? "refreshToken" : field.name] =
                        .string(field.value)
                }
            }
            let tenant = FirebaseProvider.tenantID(ofRefreshTokenIn: body, of: project, in: exchange)
            let call = try scoped(exchange, project, tenant: tenant, body)
            return FirebaseProvider.json(.object(try refresh(call)))
        } catch let error as FirebaseError {
            return error.response(.status)
        }
    }

    /// Returns the tenant to which the session of a refresh token belongs; `nil` if the token is unknown or its user
    /// has no tenant.
    private static func tenantID(
        ofRefreshTokenIn body: JSONObject, of project: Project, in exchange: Exchange
    ) -> String? {
        guard let token = body["refreshToken"]?.string else { return nil }
        let user = exchange.world.read { $0.find(Session.self, token)?.user ?? $0.find(EndedSession.self, token)?.user }
        return user?.pool.project == project.id ? user?.pool.tenant : nil
    }

    private func refresh(_ call: FirebaseCall) throws -> JSONObject {
        guard let grantType = try call.text("grantType") else {
            throw FirebaseError("MISSING_GRANT_TYPE", because: "grant_type is missing: send refresh_token")
        }
        guard grantType == "refresh_token" else {
            throw FirebaseError(
                "INVALID_GRANT_TYPE",
                diagnosis: Diagnosis(
                    received: "grant_type \(Diagnosis.quote(grantType))", expected: "refresh_token",
                    "send grant_type=refresh_token"))
        }
        guard let refreshToken = try call.text("refreshToken") else {
            throw FirebaseError("MISSING_REFRESH_TOKEN", because: "refresh_token is missing")
        }
        let (session, user, now) = try call.update { tables -> (Session, User, Instant) in
            guard let session = tables.find(Session.self, refreshToken), session.user.pool == call.pool else {
                throw tables.refusal(ofRefreshToken: refreshToken, call)
            }
            guard var user = tables.find(User.self, session.user) else { throw FirebaseError.userIsGone }
            user.lastRefreshAt = tables.now
            tables.put(user)
            return (session, user, tables.now)
        }
        guard !user.disabled else { throw FirebaseError.userIsDisabled(user) }
        guard !user.hasEnded(sessionOf: session.authTime) else {
            throw FirebaseError(
                "TOKEN_EXPIRED",
                because: "the session is older than the user's validSince (it was revoked, or the password changed): "
                    + "sign in again")
        }
        let tokens = try call.tokens(session, user, now: now)
        return JSONObject([
            "access_token": tokens.idToken, "expires_in": tokens.expiresIn, "token_type": "Bearer",
            "refresh_token": tokens.refreshToken, "id_token": tokens.idToken, "user_id": user.localId,
            "project_id": call.project.number,
        ])
    }
}

extension TableReading where Self: ~Copyable {
    fileprivate func refusal(ofRefreshToken token: String, _ call: FirebaseCall) -> FirebaseError {
        guard let ended = find(EndedSession.self, token), ended.user.pool == call.pool else {
            return FirebaseError(
                "INVALID_REFRESH_TOKEN",
                because: "the refresh token is unknown (the test world was reset, or the user signed out): "
                    + "sign in again")
        }
        let localId = Diagnosis.quote(ended.user.localId)
        // SDKs don't know the official emulator's code: only production's makes them sign out.
        guard !call.isInEmulatorMode else {
            return FirebaseError("INVALID_REFRESH_TOKEN", because: "the user \(localId) was deleted")
        }
        guard find(User.self, ended.user) != nil else {
            return FirebaseError("USER_NOT_FOUND", because: "the user \(localId) was deleted")
        }
        return FirebaseError(
            "TOKEN_EXPIRED",
            because: "the refresh token belongs to an earlier user with the ID \(localId), who was deleted: "
                + "sign in again")
    }
}

/// A session of a signed-in Firebase user. The session lasts as long as its refresh token works.
struct Session: Row {
    static let table = Table<Session>(
        "firebase.session", byteLimit: 256 << 20, indexes: [byUser], size: { $0.customClaims.size + $0.attributes.size }
    )
    static let byUser = Index<Session, User.Key>("user") { $0.user }

    let refreshToken: String
    let user: User.Key
    /// The value of the claim `sign_in_provider` in the session's ID tokens.
    let provider: String
    let authTime: Instant
    var secondFactor: SecondFactorUse?
    /// The claims of the custom token with which the session began, or those that a blocking function added. The
    /// session's ID tokens get them.
    var customClaims = CustomClaims()
    /// The value of the claim `sign_in_attributes` in the session's ID tokens: the non-standard claims of an identity
    /// provider.
    var attributes = CustomClaims()

    var key: String { refreshToken }
}

/// The refresh token of a session that ended when its user was deleted.
struct EndedSession: Row {
    static let table = Table<EndedSession>("firebase.endedSession", limit: 10_000)

    let refreshToken: String
    let user: User.Key

    var key: String { refreshToken }
}

/// Claims that are added to a user's ID tokens, for example by an administrator or a custom token. They are stored as a
/// JSON text, which keeps their order.
struct CustomClaims: Codable, Sendable {
    let object: JSONObject
    /// The claims as JSON text; `nil` if there are none. A JSON text from a request is kept unchanged.
    let text: String?

    /// The approximate size in bytes.
    var size: Int { text == nil ? 0 : JSONValue.object(object).weight }

    init(_ object: JSONObject = JSONObject()) {
        self.object = object
        text = object.isEmpty ? nil : JSONValue.object(object).text
    }

    /// Parses the JSON text of custom claims. Returns `nil` if the text isn't a JSON object.
    init?(parsing text: String) {
        guard let object = (try? JSONValue(parsing: text))?.object else { return nil }
        self.object = object
        self.text = text
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        // A stored text is read even if a request could not have it.
        let value =
            text.isEmpty ? JSONValue.object(JSONObject()) : try? JSONValue(parsing: Array(text.utf8), limits: .answer)
        guard let object = value?.object else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "claims aren't a JSON object")
        }
        self.object = object
        self.text = text.isEmpty ? nil : text
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text ?? "")
    }
}
