import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time

/// An error of GitHub's OAuth endpoints. `Assets/errors.tsv` has the descriptions and the URLs of documentation pages.
struct OAuthError: Error, Sendable {
    enum Code: String, Sendable, CaseIterable {
        // These are sent to the callback.
        case accessDenied = "access_denied"
        case applicationSuspended = "application_suspended"
        case redirectURIMismatch = "redirect_uri_mismatch"
        case invalidRequest = "invalid_request"
        // These are sent by the token endpoint.
        case incorrectClientCredentials = "incorrect_client_credentials"
        case badVerificationCode = "bad_verification_code"
        case badRefreshToken = "bad_refresh_token"
        case unverifiedUserEmail = "unverified_user_email"
        case unsupportedGrantType = "unsupported_grant_type"
        // These are sent in the device flow.
        case authorizationPending = "authorization_pending"
        case slowDown = "slow_down"
        case expiredToken = "expired_token"
        case incorrectDeviceCode = "incorrect_device_code"
        case deviceFlowDisabled = "device_flow_disabled"
    }

    let code: Code
    let diagnosis: Diagnosis
    /// The device's new polling interval, in the error `slow_down`.
    var interval: TimeSpan?
    /// The `error_description` that a test or the seed has requested; `nil` for GitHub's usual description of the
    /// error.
    var ownDescription: String?

    init(_ code: Code, _ diagnosis: Diagnosis, interval: TimeSpan? = nil) {
        self.code = code
        self.diagnosis = diagnosis
        self.interval = interval
    }

    /// The errors that a test can make GitHub send in the redirect to the callback URL.
    static let ofAuthorizations = [
        Code.accessDenied, .applicationSuspended, .redirectURIMismatch, .invalidRequest,
    ].map(\.rawValue)
    /// The errors that a test can make GitHub's token endpoint return.
    static let ofTokens = ordered(Code.allCases)
    /// The errors that a test can make GitHub's endpoint for device codes return.
    static let ofDeviceCodes = ordered([.deviceFlowDisabled, .incorrectClientCredentials, .applicationSuspended])

    private static func ordered(_ codes: [Code]) -> EndpointTraits.Errors {
        EndpointTraits.Errors(codes.map(\.rawValue)) { order, exchange in
            let code = Code(rawValue: order.name) ?? .invalidRequest
            var error = OAuthError(code, order.diagnosis)
            error.ownDescription = order.description
            // The new interval is five seconds more than a device's first one.
            if code == .slowDown { error.interval = .seconds(10) }
            return error.answer(AnswerFormat(accept: exchange.request.header("Accept")))
        }
    }

    /// The contents of `Assets/errors.tsv`, by the name of the GitHub OAuth error.
    private static let table = Dictionary(
        uniqueKeysWithValues: TextTable.rows(Texts.errors).map { row in
            (row[0], (description: row[1], tokenURI: row[2], callbackURI: row[3]))
        })

    static func description(of code: Code) -> String { table[code.rawValue]?.description ?? "" }

    /// Returns the evidence for GitHub's error `name` and its description: a public source, or the reason for a
    /// description that was chosen without a source. For an error that GitHub doesn't document, the evidence says that
    /// a test requested the error.
    static func evidence(of name: String) -> Evidence {
        let description = Code(rawValue: name).map { OAuthError.description(of: $0) }
        return GitHubProvider.evidence.ofError(name, description)
            ?? .chosen("GitHub documents no error of this name: it was ordered")
    }

    /// Returns the `error_uri` that GitHub adds to the callback URL when it redirects to the app with an error.
    static func authorizationURI(of code: Code) -> String { table[code.rawValue]?.callbackURI ?? "" }

    /// Returns the error response of GitHub's token endpoint in the format that the client accepts, by default with
    /// status 200.
    func answer(_ format: AnswerFormat, status: Int = 200) -> Response {
        let description = ownDescription ?? OAuthError.description(of: code)
        var fields: [AnswerFormat.Field] = [
            ("error", .string(code.rawValue)), ("error_description", .string(description)),
            ("error_uri", .string(OAuthError.table[code.rawValue]?.tokenURI ?? "")),
        ]
        if let interval { fields.append(("interval", .integer(interval.seconds))) }
        let response = format.response(fields, status: status)
            .known(by: GitHubProvider.evidence.ofError(code.rawValue, description))
        // A poll before the person has decided is no mistake.
        return code == .authorizationPending ? response.addingNote(Note(diagnosis)) : response.diagnosed(diagnosis)
    }
}

/// The format of the responses of GitHub's token and device endpoints: form-encoded, unless the request's `Accept`
/// demands JSON or XML.
enum AnswerFormat: Sendable {
    typealias Field = (name: String, value: JSONValue)

    case form
    case json
    case xml

    /// Reads the format from the request's `Accept`. The first known media type decides. Weights are ignored, because
    /// no known client sends weights to these endpoints.
    init(accept: String?) {
        self = .form
        for type in (accept ?? "").utf8.split(separator: UInt8(ascii: ",")) {
            switch Substring(type).mediaType {
            case "application/json", "text/json":
                self = .json
                return
            case "application/xml", "text/xml":
                self = .xml
                return
            case "application/x-www-form-urlencoded": return
            default: continue
            }
        }
    }

    /// Returns a response in this format. JSON keeps the order of the fields; the form-encoded format sorts them.
    func response(_ fields: [Field], status: Int = 200) -> Response {
        let headers = [
            (name: "Cache-Control", value: "max-age=0, private, must-revalidate"),
            (name: "Vary", value: "Accept-Encoding, Accept, X-Requested-With"),
            (name: "X-Content-Type-Options", value: "nosniff"), (name: "X-Frame-Options", value: "deny"),
        ]
        switch self {
        case .form:
            let form = Form(
                fields: fields.sorted { $0.name < $1.name }.map { Form.Field(name: $0.name, value: text($0.value)) })
            return Response(
                status: status, contentType: "application/x-www-form-urlencoded; charset=utf-8", headers: headers,
                body: form.encoded)
        case .json:
            return Response(
                status: status, contentType: "application/json; charset=utf-8", headers: headers,
                body: JSONValue.object(JSONObject(fields.map { ($0.name, $0.value) })).serialized())
        case .xml:
            let elements = fields.map { "  <\($0.name)>\(HTML.escape(text($0.value)))</\($0.name)>\n" }.joined()
            return Response(
                status: status, contentType: "application/xml; charset=utf-8", headers: headers,
                body: "<OAuth>\n\(elements)</OAuth>\n")
        }
    }

    private func text(_ value: JSONValue) -> String { value.string ?? value.text }
}
