import EmulatorCore
import HTTPServer
import JOSE
import JSON

/// A refusal in the specifications' words, for providers without words of their own: JSON with `error` and
/// `error_description` (<https://datatracker.ietf.org/doc/html/rfc6749#section-5.2>).
package struct OAuthRefusal: AnswerableError {
    package let name: String
    package let status: Int
    package let description: String
    package let diagnosis: Diagnosis
    /// The header `WWW-Authenticate`, if the answer needs one.
    package var challenge: String?
    /// The header `DPoP-Nonce`, if the client must use another nonce:
    /// <https://datatracker.ietf.org/doc/html/rfc9449#section-8>.
    package var nonce: String?

    /// Makes a refusal. The status and the description follow from the name, unless they are given.
    package init(_ name: String, status: Int? = nil, description: String? = nil, _ diagnosis: Diagnosis) {
        let known = OAuthRefusal.known[name]
        self.name = name
        self.status = status ?? known?.status ?? 400
        self.description = description ?? known?.description ?? "The request was refused"
        self.diagnosis = diagnosis
    }

    /// The person was removed during the request.
    package static var accountIsGone: OAuthRefusal { OAuthRefusal("access_denied", Diagnosis("the account is gone")) }

    package var response: Response {
        var response = OAuthRefusal.json(
            ["error": .string(name), "error_description": .string(description)], status: status)
        if let nonce { response.headers.append((name: "DPoP-Nonce", value: nonce)) }
        if let challenge { response.headers.append((name: "WWW-Authenticate", value: challenge)) }
        // A poll before the person has decided is no mistake:
        // <https://datatracker.ietf.org/doc/html/rfc8628#section-3.5>.
        return name == "authorization_pending" ? response.noted(Note(diagnosis)) : response.diagnosed(diagnosis)
    }

    /// The response to a bearer of an access token: <https://datatracker.ietf.org/doc/html/rfc6750#section-3>.
    package var bearerResponse: Response {
        var refusal = self
        refusal.challenge = "Bearer error=\"\(name)\", error_description=\"\(description)\""
        return refusal.response
    }

    /// Returns an answer that must not be cached: <https://datatracker.ietf.org/doc/html/rfc6749#section-5.1>.
    package static func json(_ value: JSONValue, status: Int = 200) -> Response {
        Response(
            status: status, contentType: "application/json",
            headers: [(name: "Cache-Control", value: "no-store"), (name: "Pragma", value: "no-cache")],
            body: value.serialized()
        )
    }

    /// The errors of an authorization endpoint: <https://openid.net/specs/openid-connect-core-1_0.html#AuthError>.
    package static let ofAuthorizations = [
        "access_denied", "login_required", "consent_required", "interaction_required", "account_selection_required",
        "invalid_request", "unauthorized_client", "invalid_scope", "server_error", "temporarily_unavailable",
    ]
    /// The errors of an endpoint at which clients authenticate.
    package static let ofClients = ["invalid_request", "invalid_client", "unauthorized_client"]
    /// The errors of a token endpoint.
    package static let ofTokens =
        ofClients + [
            "invalid_grant", "unsupported_grant_type", "invalid_scope", "invalid_target", "authorization_pending",
            "slow_down", "expired_token", "access_denied", "invalid_dpop_proof", "use_dpop_nonce",
        ]

    /// The errors of a registration endpoint: <https://datatracker.ietf.org/doc/html/rfc7591#section-3.2.2>.
    package static let ofRegistrations = [
        "invalid_redirect_uri", "invalid_client_metadata", "invalid_token", "access_denied", "temporarily_unavailable",
    ]

    /// Makes the errors that can be ordered at an API's endpoint. With `isForBearers`, the answers have the form for
    /// bearers of tokens. `nonce` is sent with `use_dpop_nonce`.
    package static func ordered(
        _ names: [String], isForBearers: Bool = false, nonce: (@Sendable (Exchange) throws -> String)? = nil
    ) -> EndpointTraits.Errors {
        EndpointTraits.Errors(names) { order, exchange in
            var refusal = OAuthRefusal(order.name, description: order.description, order.diagnosis)
            if order.name == "use_dpop_nonce" { refusal.nonce = try nonce?(exchange) }
            return isForBearers ? refusal.bearerResponse : refusal.response
        }
    }

    /// The known errors. Their descriptions have only characters allowed in `error_description`: RFC 6749 excludes
    /// quotation marks and the backslash.
    private static let known: [String: (status: Int, description: String)] = [
        "invalid_request": (400, "The request is malformed"),
        "invalid_client": (401, "Client authentication failed"),
        "invalid_grant": (400, "The grant is invalid, expired or revoked"),
        "unauthorized_client": (400, "The client may not do this"),
        "unsupported_grant_type": (400, "The grant type is not supported"),
        "unsupported_response_type": (400, "The response type is not supported"),
        "unsupported_token_type": (400, "The token type is not supported"),
        "invalid_scope": (400, "The scope is invalid or exceeds what was granted"),
        "invalid_target": (400, "The target is unknown or not acceptable"),
        "invalid_redirect_uri": (400, "A redirect URI is not acceptable"),
        "invalid_client_metadata": (400, "The client metadata is not acceptable"),
        "invalid_dpop_proof": (400, "The DPoP proof is invalid"),
        "use_dpop_nonce": (400, "The DPoP proof needs another nonce"),
        "invalid_token": (401, "The access token is invalid, expired or revoked"),
        "insufficient_scope": (403, "The access token was granted for other scopes"),
        "access_denied": (400, "The person or the server denied the request"),
        "authorization_pending": (400, "The person has not decided yet"),
        "slow_down": (400, "Poll less often"),
        "expired_token": (400, "The device code has expired"),
        "invalid_request_uri": (400, "The request_uri is unknown, used or expired"),
        "request_uri_not_supported": (400, "The request_uri is not supported"),
        "invalid_request_object": (400, "The request object is invalid"),
        "login_required": (400, "Nobody is signed in"),
        "consent_required": (400, "Nobody has consented"),
        "interaction_required": (400, "A person has to be asked"),
        "account_selection_required": (400, "A person has to choose an account"),
        "unmet_authentication_requirements": (400, "The authentication that is asked for can't be had"),
        "server_error": (500, "The server failed"),
        "temporarily_unavailable": (503, "The server is unavailable for now"),
    ]
}
