import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Recordings
import Time

struct RESTEndpoint: Sendable {
    enum Access: Sendable {
        /// The operation may be called by anyone, even without a token.
        case anyone
        /// The operation may be called with a person's access token. An OAuth app's token needs one of `scopes`, unless
        /// the list is empty. A GitHub App needs the `permission`.
        case person(scopes: [GitHubScope], permission: String?, refusal: MissingScope)
        /// The operation may be called by an app, with its client ID and secret.
        case app
        /// The operation may be called only without credentials.
        case nobody
    }

    /// The way in which GitHub's REST API refuses a token that lacks a scope.
    enum MissingScope: Sendable {
        case notFound
        case forbidden(String)
    }

    let method: String
    let path: String
    /// The path of the operation's documentation, below https://docs.github.com/rest/.
    let documentation: String
    /// The evidence for an operation that GitHub's REST documentation doesn't describe: a public source, or the reason
    /// for a behaviour that was chosen without one.
    let source: Evidence?
    let access: Access
    /// The value of the response header `X-Accepted-OAuth-Scopes`.
    let accepted: String
    /// The value of the response header `X-Accepted-GitHub-Permissions`.
    let acceptedPermissions: String
    /// Whether the operation's response has no body if the operation succeeds.
    let isEmpty: Bool
    /// The purpose of the API call, in a few words; `nil` for most API calls.
    let title: String?
    let step: SignInStep?
    /// Returns sentences that explain a recorded response that may surprise an app's developer.
    let remarks: @Sendable (RecordedExchange, _ flow: [RecordedExchange]) -> [String]
    let run: @Sendable (RESTCall) throws -> RESTAnswer

    init(
        _ method: String, _ path: String, _ documentation: String, _ access: Access = .anyone,
        accepted: [GitHubScope]? = nil, isEmpty: Bool = false, source: Evidence? = nil, title: String? = nil,
        step: SignInStep? = nil,
        remarks: @escaping @Sendable (RecordedExchange, [RecordedExchange]) -> [String] = { _, _ in [] },
        run: @escaping @Sendable (RESTCall) throws -> RESTAnswer
    ) {
        self.method = method
        self.path = path
        self.documentation = documentation
        self.access = access
        self.isEmpty = isEmpty
        self.source = source
        (self.title, self.step, self.remarks) = (title, step, remarks)
        self.run = run
        var scopes = accepted ?? []
        if accepted == nil, case .person(let needed, _, _) = access { scopes = needed }
        if case .person(_, let permission?, _) = access {
            acceptedPermissions = "\(permission)=read"
        } else {
            acceptedPermissions = "allows_permissionless_access=true"
        }
        self.accepted = scopes.map(\.name).sorted().joined(separator: ", ")
    }

    var evidence: Evidence { source ?? .documented("https://docs.github.com/rest/\(documentation)") }
}

/// The caller of GitHub's REST API.
enum Viewer: Sendable {
    case anonymous
    case app(GitHubSection.App)
    case person(Account, GitHubSection.App, Token<GitHubGrant>)

    var account: Account? {
        guard case .person(let account, _, _) = self else { return nil }
        return account
    }

    var app: GitHubSection.App? {
        switch self {
        case .anonymous: nil
        case .app(let app), .person(_, let app, _): app
        }
    }

    /// Whether the caller has access: an OAuth app's token must have one of the scopes, and a GitHub App the
    /// permission.
    func may(_ scopes: [GitHubScope], permission: String? = nil) -> Bool {
        guard case .person(_, let app, let token) = self else { return false }
        if let details = app.details { return permission.map { details.permissions[$0] != nil } ?? true }
        return token.details.scopes.allows(anyOf: scopes)
    }
}

struct RESTCall: Sendable {
    let exchange: Exchange
    let viewer: Viewer
    let base: RESTBase
    /// The version of GitHub's REST API for the request: `2022-11-28` or later.
    let version: String
    let documentation: String
    let directory: GitHubDirectory

    func parameter(_ name: String) -> String { exchange.parameters[name] ?? "" }

    /// Returns the account with this GitHub login. Upper and lower case make no difference.
    func account(login: String) -> Account? {
        exchange.world.read { $0.account(gitHubLogin: login) }
    }

    /// Returns the GitHub profile of an account.
    func profile(of account: Account, isPrivate: Bool) -> RESTAnswer {
        .ok(UserDocument(account, base).full(isPrivate: isPrivate), lastModified: account.github.updatedAt.text)
    }

    /// Returns the error response for an address that the real GitHub may serve and this stand-in doesn't.
    func notServed() -> RESTAnswer { .notServed(exchange) }

    func notFound(because reason: String) -> RESTAnswer {
        RESTAnswer.error(404, "Not Found", documentation).because(reason)
    }
}

/// The bytes of a response body, with their entity tag.
struct RESTBody: Sendable {
    let bytes: [UInt8]
    let entityTag: String

    init(_ value: JSONValue) {
        bytes = value.serialized()
        entityTag = "W/\"\(Hex.encode(Digest.sha256(bytes)))\""
    }
}

/// The response of an operation of GitHub's REST API, without the headers that all responses have.
struct RESTAnswer: Sendable {
    var status: Int
    var body: RESTBody?
    var headers: [(name: String, value: String)] = []
    /// The time for the header `Last-Modified`, kept in the format of RFC 3339 and converted when the header is
    /// written.
    var lastModified: String?
    var diagnosis: Diagnosis?
    var note: Note?
    var message: String?

    static func ok(_ body: JSONValue, lastModified: String? = nil, status: Int = 200) -> RESTAnswer {
        RESTAnswer(status: status, body: RESTBody(body), lastModified: lastModified)
    }

    static func ok(_ body: JSONObject, lastModified: String? = nil) -> RESTAnswer {
        ok(.object(body), lastModified: lastModified)
    }

    static let noContent = RESTAnswer(status: 204, body: nil)

    /// Returns an error response in the format of GitHub's REST API.
    static func error(_ status: Int, _ message: String, _ documentation: String) -> RESTAnswer {
        error(status, message, url: "https://docs.github.com/rest" + (documentation.isEmpty ? "" : "/\(documentation)"))
    }

    static func error(_ status: Int, _ message: String, url: String) -> RESTAnswer {
        let body: JSONValue = [
            // The message may quote a header.
            "message": .string(BoundedText.shortened(message, to: 2_000)), "documentation_url": .string(url),
            "status": .string(String(status)),
        ]
        return RESTAnswer(status: status, body: RESTBody(body), message: message)
    }

    /// The part of an error message for an unknown path that says where to look.
    static let nothingServed = "nothing is served at this path: GET /_understudy/v1/endpoints lists what is"

    static func notServed(_ exchange: Exchange) -> RESTAnswer {
        let path = exchange.address.path
        return error(404, "Not Found", "").because(
            Diagnosis(
                received: Diagnosis.quote("\(exchange.request.method) \(path)"),
                path.hasSuffix("/") && path.count > 1
                    ? "nothing is served at this path: remove the slash at the end" : nothingServed))
    }

    func because(_ diagnosis: Diagnosis) -> RESTAnswer {
        var answer = self
        answer.diagnosis = diagnosis
        return answer
    }

    func because(_ reason: String) -> RESTAnswer { because(Diagnosis(reason)) }
}

// These are the errors that can be ordered at the REST API. They have no codes, so an order names one by its message.

extension GitHubProvider {
    private static let primaryLimit = "API rate limit exceeded"
    private static let badCredentials = "Bad credentials"

    private static let restAnswers: [(message: String, status: Int, documentation: String?, retryAfter: String?)] = [
        ("Requires authentication", 401, nil, nil),
        (badCredentials, 401, "", nil),
        ("Resource not accessible by integration", 403, nil, nil),
        ("Not Found", 404, nil, nil),
        ("Validation Failed", 422, nil, nil),
        (primaryLimit, 403, RateStatus.documentation, nil),
        (RateStatus.secondary, 403, RateStatus.documentation, "60"),
        ("Server Error", 502, "", nil),
        ("Service unavailable", 503, "", nil),
    ]

    func restErrors(_ endpoint: RESTEndpoint) -> EndpointTraits.Errors {
        EndpointTraits.Errors(GitHubProvider.restAnswers.map(\.message)) { order, exchange in
            let answers = GitHubProvider.restAnswers
            let known = answers.first { $0.message == order.name } ?? answers[0]
            let counts = known.message != GitHubProvider.badCredentials
            var caller: Admission?
            do { caller = try admit(exchange, to: endpoint, counts: counts) } catch is RESTRefusal {}
            let viewer = caller?.viewer ?? .anonymous
            let message =
                switch known.message {
                case GitHubProvider.primaryLimit: RateStatus.message(for: viewer, exchange)
                case RateStatus.secondary: RateStatus.secondaryMessage(exchange)
                default: known.message
                }
            var answer = RESTAnswer.error(
                known.status, order.description ?? message, known.documentation ?? endpoint.documentation
            ).because(order.diagnosis)
            if let seconds = known.retryAfter { answer.headers.append((name: "Retry-After", value: seconds)) }
            var rate = caller?.rate
            switch known.message {
            case GitHubProvider.badCredentials: rate = nil
            // These are sent by servers in front of the API.
            case _ where known.status >= 500: rate = nil
            // Clients recognize the primary limit by its headers.
            case GitHubProvider.primaryLimit:
                let limit = rate?.limit ?? settings.rateLimit
                rate = RateStatus(
                    limit: limit, used: limit, resetsAt: exchange.world.now + RateStatus.period, isRefused: true)
            default: break
            }
            let isEnterprise = exchange.address.host == GitHubProvider.host
            return try RESTContext(exchange, isEnterprise: isEnterprise, endpoint)
                .response(
                    to: answer, rate == nil ? .anonymous : viewer, rate: rate, version: versions.first)
        }
    }
}
