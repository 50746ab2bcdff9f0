import EmulatorCore
import JSON
import Time

/// A sign-in, for as long as its refresh token is used.
struct Session: Row {
    static let table = Table<Session>("firebase.session", indexes: [byUser])
    static let byUser = Index<Session, User.Key>("user") { $0.user }

    let refreshToken: String
    let user: User.Key
    /// `sign_in_provider`
    let provider: String
    let authTime: Instant
    var secondFactor: SecondFactorUse?
    /// Claims of the custom token that began it.
    var customClaims = CustomClaims()
    /// `sign_in_attributes`: what an OpenID provider said beside the standard claims.
    var attributes = CustomClaims()

    var key: String { refreshToken }
}

/// The refresh token of a session that ended with its user.
struct EndedSession: Row {
    static let table = Table<EndedSession>("firebase.endedSession", limit: 10_000)

    let refreshToken: String
    let user: User.Key

    var key: String { refreshToken }
}

/// Claims that an administrator or a custom token adds to a user's. Written down as a JSON text, which keeps their order.
struct CustomClaims: Codable, Sendable {
    let object: JSONObject
    /// As it was sent; `nil` where nobody has set any.
    let text: String?

    init(_ object: JSONObject = JSONObject()) {
        self.object = object
        text = object.isEmpty ? nil : JSONValue.object(object).text
    }

    /// `nil` when the text isn't a JSON object.
    init?(parsing text: String) {
        guard let object = (try? JSONValue(parsing: text))?.object else { return nil }
        self.object = object
        self.text = text
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        // What was kept is read, however it came about.
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
