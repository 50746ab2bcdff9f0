import JSON

/// The meanings of claims that need no comparison: <https://www.iana.org/assignments/jwt/jwt.xhtml> and the providers'
/// documentation of their ID tokens.
enum ClaimMeanings {
    /// The reasons why claims are needed.
    static let advice = [
        "iss": "nobody knows whose the token is", "sub": "nobody knows whom it means",
        "aud": "nobody knows for whom it is", "exp": "it would be valid for ever", "iat": "nobody knows how old it is",
        "events": "nobody knows what has happened",
    ]

    private static let words = [
        "jti": "unique to this token", "sid": "the browser's session at the provider",
        "acr": "how strongly the person was authenticated", "amr": "by which methods the person was authenticated",
        "scope": "what was granted", "client_id": "the client that it was given to",
        "hd": "the organization whose account it is", "act": "who acts for the person",
        "events": "what has happened", "transfer_sub": "the person's ID while the app moves to another team",
        "nonce_supported": "whether the device could send a nonce: if so, a nonce that was sent must be here",
        "user_id": "the same as sub", "firebase": "how the user has signed in, and by which providers",
        "org_id": "the organization", "cnf": "the key that the holder must prove to have",
    ]

    /// The meanings of the numbers from 0 on.
    private static let userStatus = [
        "the device can't tell whether this is a person", "whether this is a person isn't known",
        "likely a real person",
    ]

    static func words(_ name: String, _ value: JSONValue) -> String? {
        switch name {
        case "is_private_email":
            return value.bool ?? value.string.flatMap({ Bool($0) }) ?? false
                ? "mail to the address is relayed: register whom you send as" : nil
        case "real_user_status":
            guard let number = value.integer, userStatus.indices.contains(Int(clamping: number)) else { return nil }
            return userStatus[Int(clamping: number)]
        default: return words[name]
        }
    }
}
