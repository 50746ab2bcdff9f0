import EmulatorCore
import HTTPServer
import JOSE
import JSON

/// An error response of an OAuth endpoint, for providers that use the texts of the specifications: JSON with `error`
/// and `error_description` (<https://datatracker.ietf.org/doc/html/rfc6749#section-5.2>).
package struct OAuthRefusal: AnswerableError {
    package let name: String
    package let status: Int
    package let description: String
    package let diagnosis: Diagnosis
    /// The value of the header `WWW-Authenticate`, if the error response needs one.
    package var challenge: String?
    /// The value of the header `DPoP-Nonce`, if the client must repeat the request with this nonce:
    /// <https://datatracker.ietf.org/doc/html/rfc9449#section-8>.
    package var nonce: String?

    /// Makes an error response with the OAuth error `name`. The status and the description follow from the name, unless
    /// they are given.
    package init(_ name: String, status: Int? = nil, description: String? = nil, _ diagnosis: Diagnosis) {
        let known = OAuthRefusal.known[name]
        self.name = name
        self.status = status ?? known?.status ?? 400
        self.description = description ?? known?.description ?? "The request was refused"
        self.diagnosis = diagnosis
    }

    /// The error for an account that was deleted while its sign-in was in progress.
    package static var accountIsGone: OAuthRefusal {
        OAuthRefusal("access_denied", Diagnosis("the user's account was deleted"))
    }

    package var response: Response {
        var response = OAuthRefusal.json(
            ["error": .string(name), "error_description": .string(description)], status: status
        ).known(by: evidence)
        if let nonce { response.headers.append((name: "DPoP-Nonce", value: nonce)) }
        if let challenge { response.headers.append((name: "WWW-Authenticate", value: challenge)) }
        // A poll before the person has decided is no mistake.
        return name == "authorization_pending" ? response.addingNote(Note(diagnosis)) : response.diagnosed(diagnosis)
    }

    /// The error response for a request with a bearer token: <https://datatracker.ietf.org/doc/html/rfc6750#section-3>.
    package var bearerResponse: Response {
        var refusal = self
        refusal.challenge = "Bearer error=\"\(name)\", error_description=\"\(description)\""
        return refusal.response
    }

    /// Returns a JSON response that must not be cached: <https://datatracker.ietf.org/doc/html/rfc6749#section-5.1>.
    package static func json(_ value: JSONValue, status: Int = 200) -> Response {
        Response(
            status: status, contentType: "application/json",
            headers: [(name: "Cache-Control", value: "no-store"), (name: "Pragma", value: "no-cache")],
            body: value.serialized()
        )
    }

    /// The names of the OAuth errors that a test can make an authorization endpoint return.
    package static let ofAuthorizations = [
        "access_denied", "login_required", "consent_required", "interaction_required", "account_selection_required",
        "invalid_request", "unauthorized_client", "invalid_scope", "server_error", "temporarily_unavailable",
    ]
    /// The names of the OAuth errors that a test can make an endpoint with client authentication return.
    package static let ofClients = ["invalid_request", "invalid_client", "unauthorized_client"]
    /// The names of the OAuth errors that a test can make a token endpoint return.
    package static let ofTokens =
        ofClients + [
            "invalid_grant", "unsupported_grant_type", "invalid_scope", "invalid_target", "authorization_pending",
            "slow_down", "expired_token", "access_denied", "invalid_dpop_proof", "use_dpop_nonce",
        ]

    /// The names of the OAuth errors that a test can make a client registration endpoint return.
    package static let ofRegistrations = [
        "invalid_redirect_uri", "invalid_client_metadata", "invalid_token", "access_denied", "temporarily_unavailable",
    ]

    /// Returns the errors that a test can request at an endpoint. If `isForBearers` is true, they have the header
    /// `WWW-Authenticate`, as errors for requests with a bearer token do. `nonce` returns the DPoP nonce that is sent
    /// with the error `use_dpop_nonce`.
    package static func ordered(
        _ names: [String], isForBearers: Bool = false, nonce: (@Sendable (Exchange) throws -> String)? = nil
    ) -> EndpointTraits.Errors {
        EndpointTraits.Errors(names) { order, exchange in
            var refusal = OAuthRefusal(order.name, description: order.description, order.diagnosis)
            if order.name == "use_dpop_nonce" { refusal.nonce = try nonce?(exchange) }
            return isForBearers ? refusal.bearerResponse : refusal.response
        }
    }

    /// The known OAuth errors, one per line of `Assets/errors.tsv`: name, status, description. Descriptions have only
    /// characters allowed in `error_description`: RFC 6749 excludes quotation marks and the backslash.
    private static let known = Dictionary(
        TextTable.rows(Texts.errors).map { ($0[0], (status: Int($0[1]) ?? 400, description: $0[2])) }
    ) { first, _ in first }

    package static let evidence = EvidenceTable(Texts.evidence)

    /// The public source from which this error response is known. An error with a name that a test or the seed has made
    /// up has no public source.
    package var evidence: Evidence? {
        OAuthRefusal.known[name] == nil
            ? .chosen("an error of this name was ordered") : OAuthRefusal.evidence.ofError(name, description)
    }
}
