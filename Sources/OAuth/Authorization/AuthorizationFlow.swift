import EmulatorCore
import HTTPServer

// The flow of an authorization request: https://datatracker.ietf.org/doc/html/rfc6749#section-4.1.1

/// A registered client (an app to which people sign in).
package protocol SignInClient: Sendable {
    var id: String { get }
    /// The client's name as sign-in pages show it.
    var name: String { get }
    var interaction: Interaction? { get }
}

/// An authorization request that the provider has read and checked.
package protocol CheckedAuthorization: Sendable {
    associatedtype Client: SignInClient

    var client: Client { get }
    /// The parameters of the authorization request. The sign-in page sends them again with the person's answer.
    var form: Form { get }
    /// Whether the authorization request forbids the provider to show a page, as `prompt=none` does.
    var isSilent: Bool { get }
    /// The seed's rule for how a sign-in ends if no test has requested a result.
    var interaction: Interaction? { get }
}

extension CheckedAuthorization {
    package var isSilent: Bool { false }
    package var interaction: Interaction? { client.interaction }
}

/// The rejection of an authorization request, as the provider sends it: an error page, or a redirect to the client.
package struct RefusedAuthorization: Error {
    package let response: Response

    package init(_ response: Response) { self.response = response }
}

/// The way in which a valid authorization request ends without an approval.
package enum AuthorizationEnd: Sendable {
    case cancelled(isOrdered: Bool)
    /// The sign-in ends with an error that a test or the seed has requested. The account is that of the person who
    /// would have signed in.
    case error(String, Account?)
    /// The request forbids the provider to show a page, but nobody is signed in with this browser.
    case nobodySignedIn
    /// The request forbids the provider to show a page, but the person would have to consent.
    case consentMissing

    /// The reason why the authorization request wasn't approved, as a clause of an error message for developers.
    package var reason: String {
        switch self {
        case .cancelled(isOrdered: true): "a cancel was ordered as the outcome of the sign-in"
        case .cancelled(isOrdered: false): "the person cancelled"
        case .error: "this error was ordered as the outcome of the sign-in"
        case .nobodySignedIn: "prompt=none, but nobody is signed in: order an outcome of the sign-in in the test"
        case .consentMissing: "prompt=none, and the person hasn't consented to these scopes"
        }
    }
}

/// The way in which an authorization request was approved.
package enum SignInApproval: Sendable {
    /// No page was shown, because a test has requested the approval, or `interaction` in the seed says so.
    case ordered(Outcome?)
    /// The approval follows from an existing session with this browser and an earlier consent.
    case remembered
    /// The person approved the authorization request on a page. The associated value is the form that the page sent.
    case page(Form)

    /// The granted scopes; `nil` means all requested scopes.
    package var scopes: [String]? {
        switch self {
        case .ordered(let outcome): outcome?.scopes
        case .remembered: nil
        case .page(let form): PersonPages.choices(form)
        }
    }
}

/// The sequence of a sign-in at a provider's authorization endpoint. This Swift protocol fixes the steps and their
/// sequence. Each provider implements how a request is read, how errors are worded, who may sign in, whether consent is
/// needed, and what an approval returns.
package protocol AuthorizationFlow: Sendable {
    associatedtype SignInRequest: CheckedAuthorization

    /// The provider's name in the calls by which tests determine how sign-ins end.
    var provider: String { get }
    /// Reads and checks an authorization request. If `isAnswer` is true, the request comes from the form of a sign-in
    /// page, and not directly from the client.
    ///
    /// - Throws: `RefusedAuthorization`.
    func request(_ form: Form, isAnswer: Bool, _ exchange: Exchange) throws -> SignInRequest
    /// Returns the response to an authorization request that ended without an approval.
    func answer(to request: SignInRequest, _ end: AuthorizationEnd, _ exchange: Exchange) throws -> Response
    /// Returns the page that says that there is no account with which anyone could sign in.
    func nobody(_ request: SignInRequest, _ exchange: Exchange) -> Response
    /// Returns the authorization request that the form of a sign-in page carries, and the person's answer on that page.
    ///
    /// - Throws: `RefusedAuthorization` for a form without an authorization request.
    func answer(_ form: Form, _ exchange: Exchange) throws -> (request: Form, answer: PersonPages.Answer)
    func choosePerson(_ request: SignInRequest, _ search: PersonChooser.Search?, _ exchange: Exchange) -> Response
    /// Returns the person who is signed in with this browser; `nil` if nobody is, or the person must choose an account
    /// for this request.
    func personSignedIn(_ request: SignInRequest, _ exchange: Exchange) throws -> Account?
    /// Refuses an account that may not sign in to the client.
    ///
    /// - Throws: `RefusedAuthorization`.
    func admit(_ account: Account, to request: SignInRequest, _ exchange: Exchange) throws
    /// Returns the page that asks the person for consent; `nil` if no consent is needed.
    func consentPage(_ request: SignInRequest, for account: Account, _ exchange: Exchange) throws -> Response?
    /// Returns the response to an approved authorization request; `nil` if the account doesn't exist any more, or the
    /// browser's session has ended.
    func approve(
        _ request: SignInRequest, by account: Account, _ approval: SignInApproval, _ exchange: Exchange
    ) throws -> Response?
}

extension AuthorizationFlow {
    package func personSignedIn(_ request: SignInRequest, _ exchange: Exchange) throws -> Account? { nil }
    package func admit(_ account: Account, to request: SignInRequest, _ exchange: Exchange) throws {}

    package func authorize(_ exchange: Exchange, _ form: Form) throws -> Response {
        try carryOut(form, exchange) { request in
            let decision = try exchange.decision(
                provider: provider, client: request.client.id, interaction: request.interaction)
            switch decision {
            case .ask: return try ask(request, exchange)
            case .cancel: return try answer(to: request, .cancelled(isOrdered: true), exchange)
            case .error(let name, let account): return try answer(to: request, .error(name, account), exchange)
            case .nobody: return nobody(request, exchange)
            case .approve(let account, let outcome):
                try admit(account, to: request, exchange)
                return try finish(request, account, .ordered(outcome), exchange)
            }
        }
    }

    /// Handles the form that a sign-in page has sent: the person's choice, consent or cancellation.
    package func decide(_ exchange: Exchange) throws -> Response {
        let page = exchange.request.bodyForm
        do {
            let (form, answer) = try answer(page, exchange)
            return try carryOut(form, isAnswer: true, exchange) { request in
                switch answer {
                case .cancel: return try self.answer(to: request, .cancelled(isOrdered: false), exchange)
                case .searched(let search): return choosePerson(request, search, exchange)
                case .page(let page): return page
                case .chosen(let id), .approved(let id):
                    guard let account = exchange.world.read({ $0.account(id) }) else {
                        return choosePerson(request, nil, exchange)
                    }
                    try admit(account, to: request, exchange)
                    if case .chosen = answer, let question = try consentPage(request, for: account, exchange) {
                        return question
                    }
                    return try finish(request, account, .page(page), exchange)
                }
            }
        } catch let refused as RefusedAuthorization { return refused.response }
    }

    /// Handles a POST to the authorization endpoint, which carries either the form of a sign-in page or a new
    /// authorization request.
    package func authorizeByPost(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.bodyForm
        return form.carriedRequest == nil ? try authorize(exchange, form) : try decide(exchange)
    }

    private func carryOut(
        _ form: Form, isAnswer: Bool = false, _ exchange: Exchange, _ step: (SignInRequest) throws -> Response
    ) throws -> Response {
        do { return try step(try request(form, isAnswer: isAnswer, exchange)) } catch let refused
            as RefusedAuthorization
        { return refused.response }
    }

    /// Continues the sign-in with the person who is signed in with this browser, or shows a page: the consent page if
    /// consent is needed, or the account chooser if nobody is signed in.
    private func ask(_ request: SignInRequest, _ exchange: Exchange) throws -> Response {
        guard let account = try personSignedIn(request, exchange) else {
            return request.isSilent
                ? try answer(to: request, .nobodySignedIn, exchange) : choosePerson(request, nil, exchange)
        }
        let question = try consentPage(request, for: account, exchange)
        if question != nil, request.isSilent { return try answer(to: request, .consentMissing, exchange) }
        try admit(account, to: request, exchange)
        return try question ?? finish(request, account, .remembered, exchange)
    }

    private func finish(
        _ request: SignInRequest, _ account: Account, _ approval: SignInApproval, _ exchange: Exchange
    ) throws -> Response {
        if let response = try approve(request, by: account, approval, exchange) { return response }
        return request.isSilent
            ? try answer(to: request, .nobodySignedIn, exchange) : choosePerson(request, nil, exchange)
    }
}

/// A provider's authorization endpoint that shows the common sign-in pages, `PersonPages`.
package protocol PersonPagesFlow: AuthorizationFlow {
    func pages(_ exchange: Exchange) -> PersonPages
    /// Returns the account ID or email address of the person whom the account chooser suggests first.
    func hint(_ request: SignInRequest, _ exchange: Exchange) -> String?
    /// Returns a function that tells whether the account chooser lists a person before the other people; `nil` if it
    /// prefers nobody.
    func preference(_ request: SignInRequest) -> ((Account) -> Bool)?
    /// The error message for a sign-in page's form that carries no authorization request.
    var missingRequest: Diagnosis { get }
}

extension PersonPagesFlow {
    package func hint(_ request: SignInRequest, _ exchange: Exchange) -> String? { nil }
    package func preference(_ request: SignInRequest) -> ((Account) -> Bool)? { nil }
    package var missingRequest: Diagnosis {
        Diagnosis("the form lacks the authorization request: start the sign-in again")
    }

    package func nobody(_ request: SignInRequest, _ exchange: Exchange) -> Response {
        pages(exchange).problem(
            400, "Nobody can sign in",
            Diagnosis("no user can sign in: add an account to the seed, or with POST accounts"))
    }

    package func answer(_ form: Form, _ exchange: Exchange) throws -> (request: Form, answer: PersonPages.Answer) {
        if let answer = try pages(exchange).answer(form, in: exchange) { return answer }
        throw RefusedAuthorization(pages(exchange).problem(400, "Something is missing", missingRequest))
    }

    package func choosePerson(
        _ request: SignInRequest, _ search: PersonChooser.Search?, _ exchange: Exchange
    ) -> Response {
        pages(exchange).choose(
            exchange, client: request.client.name, request: request.form, hint: hint(request, exchange),
            search: search, preferring: preference(request))
    }

    /// Returns the page that asks a person for consent. `choices` are the scopes that the person may deselect.
    package func consentPage(
        _ request: SignInRequest, for account: Account, items: [String], choices: [String] = [], _ exchange: Exchange
    ) -> Response {
        pages(exchange).consent(
            exchange, client: request.client.name, account: account, items: items, choices: choices,
            request: request.form)
    }
}
