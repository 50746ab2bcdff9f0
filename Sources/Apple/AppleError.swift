import HTTPServer
import JSON
import EmulatorCore
import JOSE

/// An error answer of Apple. The body is Apple's; the diagnosis is sent beside it, and `Assets/evidence.tsv` has the
/// sources.
struct AppleError: Error, Sendable {
    enum Code: String, Sendable {
        case invalidRequest = "invalid_request"
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case invalidScope = "invalid_scope"
        case unauthorizedClient = "unauthorized_client"
        case unsupportedGrantType = "unsupported_grant_type"
        /// The server failed.
        case serverError = "server_error"
    }

    let code: Code
    /// The description; often missing, as at Apple.
    let description: String?
    let diagnosis: Diagnosis

    init(_ code: Code, _ description: String? = nil, _ diagnosis: Diagnosis) {
        self.code = code
        self.description = description
        self.diagnosis = diagnosis
    }

    /// Makes the error for a token that couldn't be signed.
    static func unsigned(_ failure: KeyError) -> AppleError {
        AppleError(.serverError, nil, Diagnosis("the ID token can't be signed: \(failure.description)"))
    }

    /// The HTTP status. 500 for a failure that isn't the client's is not documented.
    private var status: Int { code == .serverError ? 500 : 400 }

    private var evidence: Evidence? { AppleProvider.evidence.ofError(code.rawValue, description) }

    /// The answer of `/auth/token`, `/auth/revoke` and `/auth/usermigrationinfo`: 400 and a JSON object.
    var jsonResponse: Response {
        var body = JSONObject([("error", .string(code.rawValue))])
        body["error_description"] = description.map { .string($0) }
        return AppleProvider.json(.object(body), status: status).diagnosed(diagnosis).known(by: evidence)
    }

    /// The errors that can be ordered at `/auth/token`.
    static let ofTokens = ordered([
        .invalidRequest, .invalidClient, .invalidGrant, .unauthorizedClient, .unsupportedGrantType, .invalidScope,
    ])
    /// The errors that can be ordered at `/auth/revoke` and `/auth/usermigrationinfo`.
    static let ofRevocation = ordered([.invalidRequest, .invalidClient, .invalidGrant, .unauthorizedClient])

    private static func ordered(_ codes: [Code]) -> EndpointTraits.Errors {
        EndpointTraits.Errors(codes.map(\.rawValue)) { order, _ in
            AppleError(Code(rawValue: order.name) ?? .invalidRequest, order.description, order.diagnosis).jsonResponse
        }
    }

    /// Returns the answer of `/auth/authorize`: a page for browsers, and TN3107's JSON for clients that don't accept
    /// HTML. It is never a redirect, because the return URL may be what is wrong.
    func authorizeResponse(to request: Request) -> Response {
        guard request.header("Accept")?.contains("text/html") ?? false else { return jsonResponse }
        return Page.response(
            title: "Sign-in not possible", status: 400, look: .apple,
            [
                .tag("h1", [], "This sign-in can't go on"),
                .tag("p", [("class", "error")], .tag("code", [], code.rawValue)),
                .tag("p", [], description ?? "No description comes with this error."),
                Page.why(diagnosis),
            ]
        ).diagnosed(diagnosis).known(by: evidence)
    }
}

extension AppleProvider {
    static func json(_ value: JSONValue, status: Int = 200) -> Response {
        Response(
            status: status, contentType: "application/json;charset=UTF-8",
            headers: [(name: "Cache-Control", value: "no-store"), (name: "Pragma", value: "no-cache")],
            body: value.serialized()
        )
    }
}
