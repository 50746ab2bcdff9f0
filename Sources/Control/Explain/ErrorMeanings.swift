/// The meanings of the specifications' errors with which a sign-in ends:
/// <https://datatracker.ietf.org/doc/html/rfc6749#section-4.1.2.1>,
/// <https://openid.net/specs/openid-connect-core-1_0.html#AuthError>.
enum ErrorMeanings {
    private static let words = [
        "access_denied": "the person or the provider said no: offer the sign-in again",
        "invalid_request": "a parameter of the authorization request is missing, repeated or malformed",
        "unauthorized_client": "the client may not ask in this way: look at its registration",
        "unsupported_response_type": "the response_type isn't one that the provider or this client may use",
        "invalid_scope": "a scope is unknown, or not allowed for this client",
        "server_error": "the provider failed: try again later",
        "temporarily_unavailable": "the provider is busy: try again later",
        "interaction_required": "with prompt=none nobody can be asked: ask again without it",
        "login_required": "with prompt=none nobody is signed in: ask again without it",
        "account_selection_required": "the person must choose an account: ask again without prompt=none",
        "consent_required": "the person must consent: ask again without prompt=none",
        "invalid_grant": "the code or refresh token is used, expired, revoked, or another client's",
        "invalid_client": "the client's credentials don't fit: its ID, its secret, or how they are sent",
        "redirect_uri_mismatch": "the redirect_uri isn't one that is registered for the client",
    ]

    static func meaning(of error: String) -> String? { words[error] }
}
