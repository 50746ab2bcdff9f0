import EmulatorCore
import HTTPServer
import JOSE
import JSON

/// A refusal in the words of the specifications, for providers that have none of their own: JSON with `error` and
/// `error_description` (<https://datatracker.ietf.org/doc/html/rfc6749#section-5.2>).
package struct OAuthRefusal: AnswerableError {
    package let name: String
    package let status: Int
    package let description: String
    package let diagnosis: Diagnosis
    /// `WWW-Authenticate`, where the answer needs one.
    package var challenge: String?
    /// `DPoP-Nonce`, where the client has to use another: <https://datatracker.ietf.org/doc/html/rfc9449#section-8>.
    package var nonce: String?

    /// The status and the description are the name's, unless others are given.
    package init(_ name: String, status: Int? = nil, description: String? = nil, _ diagnosis: Diagnosis) {
        let known = OAuthRefusal.known[name]
        self.name = name
        self.status = status ?? known?.status ?? 400
        self.description = description ?? known?.description ?? "The request was refused"
        self.diagnosis = diagnosis
    }

    /// The person was removed while the request was on its way.
    package static var accountIsGone: OAuthRefusal { OAuthRefusal("access_denied", Diagnosis("the account is gone")) }

    package var response: Response {
        var response = OAuthRefusal.json(
            ["error": .string(name), "error_description": .string(description)], status: status)
        if let nonce { response.headers.append((name: "DPoP-Nonce", value: nonce)) }
        if let challenge { response.headers.append((name: "WWW-Authenticate", value: challenge)) }
        // A poll that comes before the person has decided is no mistake: <https://datatracker.ietf.org/doc/html/rfc8628#section-3.5>.
        return name == "authorization_pending" ? response.noted(Note(diagnosis)) : response.diagnosed(diagnosis)
    }

    /// The headers that a page of another origin has to be able to read where access tokens are presented, and where they are
    /// given out: <https://datatracker.ietf.org/doc/html/rfc9449#section-8>.
    package static let exposedHeaders = "WWW-Authenticate, DPoP-Nonce"

    /// The same refusal to a client whose token is bound to a key: <https://datatracker.ietf.org/doc/html/rfc9449#section-7.1>.
    package var proofResponse: Response {
        let refusal = OAuthRefusal.unauthorized(self)
        return refusal.response
    }

    /// What `proofResponse` sends. At a resource, a proof that isn't good is a token that isn't.
    package static func unauthorized(_ refusal: OAuthRefusal, _ parameters: String = "") -> OAuthRefusal {
        var changed = OAuthRefusal(
            refusal.name, status: refusal.status == 403 ? 403 : 401, description: refusal.description, refusal.diagnosis
        )
        changed.nonce = refusal.nonce
        changed.challenge =
            "DPoP error=\"\(refusal.name)\", error_description=\"\(refusal.description)\", \(proofAlgorithms)\(parameters)"
        return changed
    }

    /// The parameter `algs` of a challenge.
    private static let proofAlgorithms = "algs=\"\(Algorithm.published.map(\.rawValue).joined(separator: " "))\""

    /// The same refusal to a bearer of an access token: <https://datatracker.ietf.org/doc/html/rfc6750#section-3>.
    package var bearerResponse: Response {
        var refusal = self
        refusal.challenge = "Bearer error=\"\(name)\", error_description=\"\(description)\""
        return refusal.response
    }

    /// The refusal of a request without an access token. It names no error, and each scheme that is taken:
    /// <https://datatracker.ietf.org/doc/html/rfc9449#section-7.2>. `parameters` go with each challenge.
    package static func withoutToken(
        _ diagnosis: Diagnosis, dpop: DPoPPolicy = .off, parameters: String = ""
    ) -> Response {
        var challenges: [String] = []
        if dpop != .required { challenges.append(parameters.isEmpty ? "Bearer" : "Bearer \(parameters)") }
        if dpop != .off {
            challenges.append("DPoP \(proofAlgorithms)" + (parameters.isEmpty ? "" : ", \(parameters)"))
        }
        return Response(
            status: 401,
            headers: challenges.map { (name: "WWW-Authenticate", value: $0) }
                + [(name: "Cache-Control", value: "no-store")]
        ).diagnosed(diagnosis)
    }

    /// An answer that nobody may cache: <https://datatracker.ietf.org/doc/html/rfc6749#section-5.1>.
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
    /// Of an endpoint at which clients authenticate.
    package static let ofClients = ["invalid_request", "invalid_client", "unauthorized_client"]
    /// Of a token endpoint.
    package static let ofTokens =
        ofClients + [
            "invalid_grant", "unsupported_grant_type", "invalid_scope", "invalid_target", "authorization_pending",
            "slow_down", "expired_token", "access_denied", "invalid_dpop_proof", "use_dpop_nonce",
        ]

    /// Of a registration endpoint: <https://datatracker.ietf.org/doc/html/rfc7591#section-3.2.2>.
    package static let ofRegistrations = [
        "invalid_redirect_uri", "invalid_client_metadata", "invalid_token", "access_denied", "temporarily_unavailable",
    ]

    /// Errors that can be ordered at an endpoint of an API. `isForBearers` says whose form the answers have, and `nonce` is what
    /// `use_dpop_nonce` tells a client.
    package static func ordered(
        _ names: [String], isForBearers: Bool = false, nonce: (@Sendable (Exchange) throws -> String)? = nil
    ) -> OperationTraits.Errors {
        OperationTraits.Errors(names) { order, exchange in
            var refusal = OAuthRefusal(order.name, description: order.description, order.diagnosis)
            if order.name == "use_dpop_nonce" { refusal.nonce = try nonce?(exchange) }
            return isForBearers ? refusal.bearerResponse : refusal.response
        }
    }

    /// Only what may stand in `error_description`: RFC 6749 leaves out quotation marks and the backslash.
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
