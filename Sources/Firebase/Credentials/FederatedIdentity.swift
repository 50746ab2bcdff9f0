import HTTPServer
import JSON
import EmulatorCore

/// A person's identity at a provider, as a credential showed it.
struct FederatedIdentity: Codable, Sendable {
    let providerId: String
    /// The provider's own ID of the person.
    let rawId: String
    var email: String?
    /// Whether the provider says that the address is verified.
    var isEmailVerified = false
    var displayName: String?
    var firstName: String?
    var lastName: String?
    var photoUrl: String?
    var screenName: String?
    /// The provider's claims, as a JSON text.
    var rawUserInfo: String = "{}"
    var accessToken: String?
    var idToken: String?
    /// The refresh token in the answer to a code. Firebase gives it only to functions.
    private(set) var refreshToken: String?
    /// The lifetime of the access token in seconds, if the provider gave it.
    private(set) var expiresIn: Int64?
    /// The token's nonce.
    var nonce: String?
    /// The claim `firebase.sign_in_attributes` of the sessions that this identity opens.
    var attributes = CustomClaims()
    /// Whether the credential was one of the official emulator's "fake" ones, in which every claim is believed.
    var isFake = false

    /// Whether Firebase believes that the address is this person's.
    var isTrusted: Bool {
        guard email != nil else { return false }
        return isFake ? isEmailVerified : User.isTrusted(providerId, email: email, isVerified: isEmailVerified)
    }

    /// The URL that stands for the identity in answers.
    var federatedId: String {
        IdentitySources.source(providerId)?.federatedID(rawId) ?? (isFake ? rawId : "\(providerId)/\(rawId)")
    }

    var link: User.Link {
        User.Link(
            providerId: providerId, rawId: rawId, displayName: displayName, photoUrl: photoUrl, email: email,
            screenName: screenName)
    }

    /// Stores the further members of a token endpoint's answer.
    mutating func keep(_ answer: JSONObject) {
        refreshToken = answer["refresh_token"]?.string
        expiresIn = answer["expires_in"]?.integer
    }

    /// The members that every answer about the identity has.
    var document: JSONObject {
        var body = JSONObject([
            "kind": "identitytoolkit#VerifyAssertionResponse", "federatedId": federatedId, "providerId": providerId,
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
        // Recorded answers of production have it for these two, if Firebase redeemed a code. It is a number, though the
        // SDKs read only a text.
        if [GoogleSource.id, FacebookSource.id].contains(providerId), accessToken != nil {
            body["oauthExpireIn"] = expiresIn.map { .integer($0) }
        }
        set("rawUserInfo", rawUserInfo)
        return body
    }
}

/// A credential from a client: the fields of `postBody`, or of the URL at the end of a web flow.
struct Credential: Sendable {
    let providerId: String
    let fields: [String: String]
    /// The redirect URI to which a code of the web flow was sent.
    var redirectURI: String?
    /// The nonce that Firebase itself sent to the provider.
    var flowNonce: String?

    subscript(name: String) -> String? { fields[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// The name in Apple's `user`, `{"name":{"firstName":…,"lastName":…}}`, which the SDK sends the first time.
    var name: Account.Name? {
        guard let text = self["user"], let name = (try? JSONValue(parsing: text))?["name"] else { return nil }
        return Account.Name(given: name["firstName"]?.string ?? "", family: name["lastName"]?.string ?? "")
    }

    /// Reads `postBody`. The Apple SDK sends it raw, other SDKs percent-encoded; `user` is last and may have any
    /// content.
    static func fields(of postBody: String) -> [String: String] {
        var fields: [String: String] = [:]
        let bytes = Array(postBody.utf8)
        var rest = bytes[...]
        if let start = nameStart(in: bytes) {
            fields["user"] = String(decoding: bytes[(start + "user=".utf8.count)...], as: UTF8.self)
            rest = bytes[..<start]
        }
        // A raw base64 nonce has plus signs, which would mean spaces in a form; a raw body has no escapes.
        let isRaw = !rest.contains(UInt8(ascii: "%"))
        for pair in rest.split(separator: UInt8(ascii: "&")) {
            let mark = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            fields[decode(pair[..<mark], isRaw)] = decode(pair[mark...].dropFirst(), isRaw)
        }
        return fields
    }

    /// Returns the index of `user={` at the start or behind an ampersand.
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
