import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time

/// An error answer of Facebook's Graph API.
///
/// Quirks: most errors have status 400. Errors for too many calls and for missing permissions have 403, Facebook's
/// internal failures 500, and errors for unknown object names 404. The header WWW-Authenticate repeats the error.
struct GraphError: Error, Sendable {
    enum Kind: String, Sendable {
        case oauth = "OAuthException"
        /// The requested object or operation isn't available to the caller, or `appsecret_proof` is missing or wrong.
        case method = "GraphMethodException"
        /// A batch of Graph API calls can't be carried out. Such an error has no code.
        case batch = "GraphBatchException"
    }

    var message: String
    var code: Int64 = 0
    var subcode: Int64?
    var kind = Kind.oauth
    var status = 400
    /// Whether the Graph API call may succeed if it is repeated a little later.
    var isTransient = false
    var diagnosis: Diagnosis

    /// The error message for an authorization code that is unknown, that was issued to a different app, or whose
    /// account was deleted. This error has no subcode.
    static let wrongCode = "Invalid verification code format."

    private static let trace = "AUnderstudyTraceUndrstd"

    private var object: JSONObject {
        var error = JSONObject([
            ("message", .string(BoundedText.shortened(message, to: 2_000))), ("type", .string(kind.rawValue)),
        ])
        if isTransient { error["is_transient"] = true }
        if kind != .batch { error["code"] = .integer(code) }
        error["error_subcode"] = subcode.map { .integer($0) }
        error["fbtrace_id"] = .string(GraphError.trace)
        return error
    }

    var response: Response {
        var response = FacebookProvider.json(["error": .object(object)], status: status)
        response.headers += [
            (name: "WWW-Authenticate", value: challenge), (name: "x-fb-trace-id", value: GraphError.trace),
        ]
        return response.diagnosed(diagnosis).known(by: FacebookProvider.evidence.ofError(name, message))
    }

    /// The name by which a test requests a Graph API error: its code, or its code and subcode. If the error has no
    /// code, the name is the error's type.
    fileprivate var name: String {
        kind == .batch ? kind.rawValue : "\(code)" + (subcode.map { "/\($0)" } ?? "")
    }

    /// The value of the header `WWW-Authenticate` in a Graph API error. It contains the message, with quotes escaped,
    /// and `?` in place of characters that aren't printable ASCII:
    /// <https://github.com/tobilg/facebook-events-by-location-core/issues/30>.
    private var challenge: String {
        let name =
            switch (code, subcode, status) {
            case (190, _, _): "invalid_token"
            case (100, 36007?, _), (100, 36008?, _), (100, 36009?, _): "invalid_code"
            case (100, nil, _) where message == GraphError.wrongCode: "invalid_code"
            case (_, _, 404): "not_found"
            default: "invalid_request"
            }
        let words = BoundedText.shortened(message, to: 500).unicodeScalars.map { scalar in
            scalar == "\"" || scalar == "\\" ? "\\\(scalar)" : (" "..."~").contains(scalar) ? "\(scalar)" : "?"
        }
        return "OAuth \"Facebook Platform\" \"\(name)\" \"\(words.joined())\""
    }
}

// MARK: - Errors that several endpoints have

extension GraphError {
    static func expired(at end: Instant, now: Instant) -> GraphError {
        GraphError(
            message: sessionExpired(at: end, now: now), code: 190, subcode: 463,
            diagnosis: Diagnosis("the access token expired \((now - end).inWords) ago"))
    }

    private static func sessionExpired(at end: Instant, now: Instant) -> String {
        "Error validating access token: Session has expired on \(PacificTime.text(end)). The current time is "
            + "\(PacificTime.text(now))."
    }

    static let tokenMissing = GraphError(
        message: "An access token is required to request this resource.", code: 104,
        diagnosis: Diagnosis("access_token is missing: send it as a parameter, or as Authorization: Bearer"))

    static func notAuthorized(
        app: String, because reason: String = "the user has removed the app since"
    ) -> GraphError {
        GraphError(
            message: "Error validating access token: The user has not authorized application \(app).", code: 190,
            subcode: 458, diagnosis: Diagnosis("the access token doesn't work: \(reason); have the user sign in again"))
    }

    private static let documentation =
        "Please read the Graph API documentation at https://developers.facebook.com/docs/graph-api"

    /// Returns the Graph API's error for an object that the caller can't see, or that doesn't support the HTTP method.
    /// `id` is `nil` if the request names no object.
    static func unsupported(_ method: String, id: String?, _ diagnosis: Diagnosis) -> GraphError {
        let object = id.map { id in
            " Object with ID '\(id)' does not exist, cannot be loaded due to missing permissions, or does not support this operation."
        }
        return GraphError(
            message: "Unsupported \(method.lowercased()) request.\(object ?? "") \(documentation)", code: 100,
            subcode: 33, kind: .method, diagnosis: diagnosis)
    }

    /// Returns the Graph API's error for a call whose answer would have more than `limit` friends.
    static func tooMuchData(limit: Int) -> GraphError {
        GraphError(
            message: "Please reduce the amount of data you're asking for, then retry your request", code: 1,
            status: 500,
            diagnosis: Diagnosis(
                "the people have more than \(limit) friends together: ask for fewer people at a time"))
    }

    /// Returns the Graph API's error for an unknown name in place of an object ID.
    static func noSuchName(_ name: String, _ diagnosis: Diagnosis) -> GraphError {
        GraphError(
            message: "(#803) Some of the aliases you requested do not exist: \(name)", code: 803, status: 404,
            diagnosis: diagnosis)
    }
}

// MARK: - Errors that can be ordered

extension FacebookProvider {
    /// The Graph API errors that a test can request, by code, or by code and subcode. Their messages are in
    /// `Assets/errors.tsv`. A test may replace the message by a `description`.
    private static let orderable = TextTable.rows(Texts.errors).map { row in
        GraphError(
            message: row[4], code: Int64(row[0]) ?? 0, subcode: Int64(row[1]), status: Int(row[2]) ?? 400,
            isTransient: !row[3].isEmpty, diagnosis: Diagnosis(""))
    }

    /// Returns the Graph API's error for an access token whose access to the person's data has ended.
    static func dataAccessEnded(_ diagnosis: Diagnosis) -> GraphError {
        var error = orderable.first { $0.subcode == 493 } ?? orderable[0]
        error.diagnosis = diagnosis
        return error
    }

    var orderedErrors: EndpointTraits.Errors {
        EndpointTraits.Errors(FacebookProvider.orderable.map(\.name)) { order, exchange in
            let known = FacebookProvider.orderable
            var error = known.first { $0.name == order.name } ?? known[0]
            switch error.subcode {
            case 458: error = .notAuthorized(app: client(of: exchange) ?? parameter("client_id", exchange) ?? "")
            case 463: error = .expired(at: exchange.world.now - .hours(1), now: exchange.world.now)
            default: break
            }
            if let description = order.description { error.message = description }
            error.diagnosis = order.diagnosis
            return error.response
        }
    }
}
