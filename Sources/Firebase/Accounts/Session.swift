import EmulatorCore
import JSON
import Time

/// A sign-in, whose refresh token can be used.
struct Session: Row {
    static let table = Table<Session>("firebase.session", indexes: [byUser])
    static let byUser = Index<Session, User.Key>("user") { $0.user }

    let refreshToken: String
    let user: User.Key
    /// The claim `sign_in_provider`.
    let provider: String
    let authTime: Instant
    var secondFactor: SecondFactorUse?
    /// The claims of the custom token that began the session.
    var customClaims = CustomClaims()
    /// The claim `sign_in_attributes`: the claims of an OpenID provider that aren't standard.
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

/// Claims that an administrator or a custom token adds to a user's tokens. They are stored as a JSON text, which keeps
/// their order.
struct CustomClaims: Codable, Sendable {
    let object: JSONObject
    /// The text as it was sent; `nil` if nobody has set any claims.
    let text: String?

    init(_ object: JSONObject = JSONObject()) {
        self.object = object
        text = object.isEmpty ? nil : JSONValue.object(object).text
    }

    /// Parses a text; `nil` if it isn't a JSON object.
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
