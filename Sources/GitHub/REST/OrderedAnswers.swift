import HTTPServer
import EmulatorCore
import Time

// These are the errors that can be ordered at the REST API. They have no codes, so an order names one by its message.
// https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api

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
        // These have been observed, but aren't documented.
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
