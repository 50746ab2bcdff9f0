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
            ["error": .string(name), "error_description": .string(description)], status: status
        ).known(by: evidence)
        if let nonce { response.headers.append((name: "DPoP-Nonce", value: nonce)) }
        if let challenge { response.headers.append((name: "WWW-Authenticate", value: challenge)) }
        // A poll before the person has decided is no mistake.
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

    /// The errors of an authorization endpoint.
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

    /// The errors of a registration endpoint.
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

    /// The known errors, one a line of `Assets/errors.tsv`: name, status, description. Descriptions have only characters
    /// allowed in `error_description`: RFC 6749 excludes quotation marks and the backslash.
    private static let known = Dictionary(
        TextTable.rows(Texts.errors).map { ($0[0], (status: Int($0[1]) ?? 400, description: $0[2])) }
    ) { first, _ in first }

    /// The evidence for the known errors.
    package static let evidence = EvidenceTable(Texts.evidence)

    /// The evidence for this one. A name that isn't known is an outcome's, which may have any.
    package var evidence: Evidence? {
        OAuthRefusal.known[name] == nil
            ? .chosen("the name is the one that was ordered") : OAuthRefusal.evidence.ofError(name, description)
    }
}
