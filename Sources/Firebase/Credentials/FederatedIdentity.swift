import HTTPServer
import JSON
import EmulatorCore

/// Who somebody is at a provider, as the provider's credential showed.
struct FederatedIdentity: Codable, Sendable {
    let providerId: String
    /// The provider's own identifier.
    let rawId: String
    var email: String?
    /// Whether the provider says that the address is verified.
    var isEmailVerified = false
    var displayName: String?
    var firstName: String?
    var lastName: String?
    var photoUrl: String?
    var screenName: String?
    /// What the provider said, as a JSON text.
    var rawUserInfo: String = "{}"
    var accessToken: String?
    var idToken: String?
    /// Of the answer to a code: Firebase tells it to nobody but functions.
    private(set) var refreshToken: String?
    /// Seconds for which the access token is good, if the provider said so.
    private(set) var expiresIn: Int64?
    /// The token's nonce.
    var nonce: String?
    /// What stands in `firebase.sign_in_attributes` of the sessions that it opens.
    var attributes = CustomClaims()
    /// One of the official emulator's "fake" credentials, in which every claim is believed.
    var isFake = false

    /// Whether Firebase believes that the address is this person's.
    var isTrusted: Bool {
        guard email != nil else { return false }
        return isFake ? isEmailVerified : User.isTrusted(providerId, email: email, isVerified: isEmailVerified)
    }

    /// In answers the identifier is a URL.
    var federatedId: String {
        IdentitySources.source(providerId)?.federatedID(rawId) ?? (isFake ? rawId : "\(providerId)/\(rawId)")
    }

    var link: User.Link {
        User.Link(
            providerId: providerId, rawId: rawId, displayName: displayName, photoUrl: photoUrl, email: email,
            screenName: screenName)
    }

    /// Keeps what a token endpoint answered beside the tokens that sign in.
    mutating func keep(_ answer: JSONObject) {
        refreshToken = answer["refresh_token"]?.string
        expiresIn = answer["expires_in"]?.integer
    }

    /// What every answer about the identity holds.
    var document: JSONObject {
        var body = JSONObject([
            ("kind", "identitytoolkit#VerifyAssertionResponse"), ("federatedId", .string(federatedId)),
            ("providerId", .string(providerId)),
        ])
        func set(_ name: String, _ value: String?) { body[name] = value.map { .string($0) } }
        set("email", email)
        if email != nil { body["emailVerified"] = .bool(isTrusted || isEmailVerified && providerId == GoogleSource.id) }
        set("firstName", firstName)
        set("lastName", lastName)
        set("fullName", displayName)
        set("displayName", displayName)
        set("photoUrl", photoUrl)
        set("screenName", screenName)
        // The Apple SDK reads it under this name.
        set("username", screenName)
        set("oauthIdToken", idToken)
        set("oauthAccessToken", accessToken)
        // Public answers of production have it for these two, where Firebase redeemed a code. The SDKs read it as text only, and it
        // is a number.
        if [GoogleSource.id, FacebookSource.id].contains(providerId), accessToken != nil {
            body["oauthExpireIn"] = expiresIn.map { .integer($0) }
        }
        set("rawUserInfo", rawUserInfo)
        return body
    }
}

/// A credential that a client sends: the fields of `postBody`, or of the URL that a web flow ended at.
struct Credential: Sendable {
    let providerId: String
    let fields: [String: String]
    /// From the web flow: a code, and where it was sent.
    var redirectURI: String?
    /// The nonce that Firebase itself sent to the provider.
    var flowNonce: String?

    subscript(name: String) -> String? { fields[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// Apple's `user`: `{"name":{"firstName":…,"lastName":…}}`, sent by the SDK the first time.
    var name: Account.Name? {
        guard let text = self["user"], let name = (try? JSONValue(parsing: text))?["name"] else { return nil }
        return Account.Name(given: name["firstName"]?.string ?? "", family: name["lastName"]?.string ?? "")
    }

    /// Reads `postBody`. The Apple SDK sends it raw, other SDKs percent-encoded; `user` comes last and may hold anything.
    static func fields(of postBody: String) -> [String: String] {
        var fields: [String: String] = [:]
        let bytes = Array(postBody.utf8)
        var rest = bytes[...]
        if let start = nameStart(in: bytes) {
            fields["user"] = String(decoding: bytes[(start + "user=".utf8.count)...], as: UTF8.self)
            rest = bytes[..<start]
        }
        // A raw base64 nonce holds plus signs, which in a form would be spaces; a raw body holds no escapes at all.
        let isRaw = !rest.contains(UInt8(ascii: "%"))
        for pair in rest.split(separator: UInt8(ascii: "&")) {
            let mark = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            fields[decode(pair[..<mark], isRaw)] = decode(pair[mark...].dropFirst(), isRaw)
        }
        return fields
    }

    /// Where `user={` begins, at the start or behind an ampersand.
    private static func nameStart(in bytes: [UInt8]) -> Int? {
        let name = Array("user={".utf8)
        return bytes.indices.first { place in
            bytes[place] == name[0] && (place == 0 || bytes[place - 1] == UInt8(ascii: "&"))
                && bytes[place...].starts(with: name)
        }
    }

    private static func decode(_ text: ArraySlice<UInt8>, _ isRaw: Bool) -> String {
        isRaw
            ? String(decoding: text, as: UTF8.self)
            : String(decoding: PercentCoding.decode(text, plusIsSpace: true), as: UTF8.self)
    }
}
