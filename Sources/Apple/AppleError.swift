import HTTPServer
import JSON
import EmulatorCore
import JOSE

/// An error response of Apple's, with a diagnosis for developers in an additional header. `Assets/evidence.tsv` lists
/// the public sources for Apple's errors.
struct AppleError: Error, Sendable {
    enum Code: String, Sendable {
        case invalidRequest = "invalid_request"
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case invalidScope = "invalid_scope"
        case unauthorizedClient = "unauthorized_client"
        case unsupportedGrantType = "unsupported_grant_type"
        case serverError = "server_error"
    }

    let code: Code
    /// The `error_description` of the response; often `nil`, because Apple often sends none.
    let description: String?
    let diagnosis: Diagnosis

    init(_ code: Code, _ description: String? = nil, _ diagnosis: Diagnosis) {
        self.code = code
        self.description = description
        self.diagnosis = diagnosis
    }

    /// Makes the error response for an ID token that couldn't be signed.
    static func unsigned(_ failure: KeyError) -> AppleError {
        AppleError(.serverError, nil, Diagnosis("the ID token can't be signed: \(failure.description)"))
    }

    /// The HTTP status of the error response: 400, or 500 for a failure of the server. Apple doesn't document such
    /// failures.
    private var status: Int { code == .serverError ? 500 : 400 }

    private var evidence: Evidence? { AppleProvider.evidence.ofError(code.rawValue, description) }

    /// The error response of `/auth/token`, `/auth/revoke` and `/auth/usermigrationinfo`: a JSON object with the status
    /// 400, or 500 for failures of the server.
    var jsonResponse: Response {
        var body = JSONObject([("error", .string(code.rawValue))])
        body["error_description"] = description.map { .string($0) }
        return AppleProvider.json(.object(body), status: status).diagnosed(diagnosis).known(by: evidence)
    }

    /// The errors that a test can make `/auth/token` return.
    static let ofTokens = ordered([
        .invalidRequest, .invalidClient, .invalidGrant, .unauthorizedClient, .unsupportedGrantType, .invalidScope,
    ])
    /// The errors that a test can make `/auth/revoke` and `/auth/usermigrationinfo` return.
    static let ofRevocation = ordered([.invalidRequest, .invalidClient, .invalidGrant, .unauthorizedClient])

    private static func ordered(_ codes: [Code]) -> EndpointTraits.Errors {
        EndpointTraits.Errors(codes.map(\.rawValue)) { order, _ in
            AppleError(Code(rawValue: order.name) ?? .invalidRequest, order.description, order.diagnosis).jsonResponse
        }
    }

    /// Returns the error response of `/auth/authorize`: a page for browsers, and the JSON of Apple's TN3107 for clients
    /// that don't accept HTML. It is never a redirect, because the return URL itself may be wrong.
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
