import HTTPServer
import EmulatorCore
import Time

// What the REST API can be ordered to answer. Its errors have no codes, so an order names one by its message.
// https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api

extension GitHubProvider {
    private static let primaryLimit = "API rate limit exceeded"
    private static let limits = "using-the-rest-api/rate-limits-for-the-rest-api"

    private static let restAnswers: [(message: String, status: Int, documentation: String?, retryAfter: String?)] = [
        ("Requires authentication", 401, nil, nil),
        ("Bad credentials", 401, "", nil),
        ("Resource not accessible by integration", 403, nil, nil),
        ("Not Found", 404, nil, nil),
        ("Validation Failed", 422, nil, nil),
        (primaryLimit, 403, limits, nil),
        (
            "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", 403, limits,
            "60"
        ),
        // Seen, but not documented.
        ("Server Error", 502, "", nil),
        ("Service unavailable", 503, "", nil),
    ]

    func restErrors(_ endpoint: RESTEndpoint) -> OperationTraits.Errors {
        OperationTraits.Errors(GitHubProvider.restAnswers.map(\.message)) { order, exchange in
            let answers = GitHubProvider.restAnswers
            let known = answers.first { $0.message == order.name } ?? answers[0]
            var answer = RESTAnswer.error(
                known.status, order.description ?? known.message, known.documentation ?? endpoint.documentation
            ).because(order.diagnosis)
            if let seconds = known.retryAfter { answer.headers.append((name: "Retry-After", value: seconds)) }
            // Clients recognize the primary limit by its headers.
            var rate: RateStatus?
            if known.message == GitHubProvider.primaryLimit {
                let now = exchange.world.now
                let limit = settings.rateLimit
                rate = RateStatus(limit: limit, used: limit, resetsAt: now + RateStatus.period, isRefused: true)
            }
            let isEnterprise = exchange.address.host == GitHubProvider.host
            return RESTContext(exchange, isEnterprise: isEnterprise, endpoint)
                .response(to: answer, .anonymous, rate: rate, version: GitHubProvider.versions[0])
        }
    }
}
