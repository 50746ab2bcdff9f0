import HTTPServer
import JSON
import EmulatorCore
import Text

/// A person's identity at an identity provider, read from a credential such as an ID token. The credential was
/// verified, unless it is a fake one.
struct FederatedIdentity: Codable, Sendable {
    let providerId: String
    /// The person's user ID at the identity provider.
    let rawId: String
    var email: String?
    /// Whether the identity provider says that the person's e-mail address is verified.
    var isEmailVerified = false
    var displayName: String?
    var firstName: String?
    var lastName: String?
    var photoUrl: String?
    var screenName: String?
    /// The identity provider's claims about the person, as a JSON text.
    var rawUserInfo: String = "{}"
    var accessToken: String?
    var idToken: String?
    /// The refresh token that the identity provider issued for an authorization code. Firebase passes it only to
    /// blocking functions.
    private(set) var refreshToken: String?
    /// The lifetime of the identity provider's access token, in seconds; `nil` if the provider didn't say.
    private(set) var expiresIn: Int64?
    /// The nonce in the identity provider's ID token.
    var nonce: String?
    /// The non-standard claims that the identity provider sent about the person. They become the claim
    /// `firebase.sign_in_attributes` of the user's ID tokens.
    var attributes = CustomClaims()
    /// Whether the credential was one of the Firebase emulator's "fake" ones, whose claims are believed without a
    /// signature.
    var isFake = false

    /// The total size, in bytes, of texts that the identity provider sent: the person's profile and claims, the tokens
    /// and the nonce.
    var size: Int {
        [
            rawId, email, displayName, firstName, lastName, photoUrl, screenName, rawUserInfo, accessToken, idToken,
            refreshToken, nonce,
        ]
        .reduce(attributes.size) { $0 + ($1?.utf8.count ?? 0) }
    }

    /// Whether Firebase believes that the e-mail address belongs to this person, because it trusts the identity
    /// provider to verify addresses.
    var isTrusted: Bool {
        guard email != nil else { return false }
        return isFake ? isEmailVerified : User.isTrusted(providerId, email: email, isVerified: isEmailVerified)
    }

    /// The URL or ID of this identity for the member `federatedId` of answers.
    var federatedId: String {
        IdentitySources.source(providerId)?.federatedID(rawId) ?? (isFake ? rawId : "\(providerId)/\(rawId)")
    }

    var link: User.Link {
        User.Link(
            providerId: providerId, rawId: rawId, displayName: displayName, photoUrl: photoUrl, email: email,
            screenName: screenName)
    }

    /// Stores the refresh token and the access token's lifetime from an answer of the identity provider's token
    /// endpoint.
    mutating func keep(_ answer: JSONObject) {
        refreshToken = answer["refresh_token"]?.string
        expiresIn = answer["expires_in"]?.integer
    }

    /// The JSON members that describe the identity in every answer to a sign-in with an identity provider.
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

/// A credential of an identity provider that a client sends to Firebase: the fields in `postBody`, or in the URL at the
/// end of a sign-in in the browser.
struct Credential: Sendable {
    let providerId: String
    let fields: [String: String]
    /// The redirect URI to which the provider sent the authorization code, after a sign-in in the browser.
    var redirectURI: String?
    /// The nonce that Firebase itself sent to the identity provider, in a sign-in in the browser.
    var flowNonce: String?

    subscript(name: String) -> String? { fields[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// The person's name in Apple's field `user`, `{"name":{"firstName":…,"lastName":…}}`. The SDK sends the field at
    /// the first sign-in only.
    var name: Account.Name? {
        guard let text = self["user"], let name = (try? JSONValue(parsing: text))?["name"] else { return nil }
        return Account.Name(given: name["firstName"]?.string ?? "", family: name["lastName"]?.string ?? "")
    }

    /// Reads the fields of the form in `postBody`. Firebase's SDK for Apple platforms sends the form raw, other SDKs
    /// percent-encode it. The field `user` is last and may contain any characters.
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
            let (name, value) = (decode(pair[..<mark], isRaw), decode(pair[mark...].dropFirst(), isRaw))
            if !name.hasEndlessMarks, !value.hasEndlessMarks { fields[name] = value }
        }
        return fields
    }

    /// Returns the index of the field `user={…}` in a form, at the start or after an ampersand.
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
