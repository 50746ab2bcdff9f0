import EmulatorCore
import HTTPServer

// The flow of an authorization request: https://datatracker.ietf.org/doc/html/rfc6749#section-4.1.1

/// A client to which people sign in.
package protocol SignInClient: Sendable {
    var id: String { get }
    /// The client's name on pages.
    var name: String { get }
    var interaction: Interaction? { get }
}

/// An authorization request that its provider has read and checked.
package protocol CheckedAuthorization: Sendable {
    associatedtype Client: SignInClient

    var client: Client { get }
    /// The form of the request, unchanged. The sign-in page sends it again with the person's answer.
    var form: Form { get }
    /// Whether no page may be shown, as with `prompt=none`.
    var isSilent: Bool { get }
    /// The seed's rule for sign-ins that nobody has ordered.
    var interaction: Interaction? { get }
}

extension CheckedAuthorization {
    package var isSilent: Bool { false }
    package var interaction: Interaction? { client.interaction }
}

/// A refusal of an authorization request in the provider's words: its own page, or a redirect to the client.
package struct RefusedAuthorization: Error {
    package let response: Response

    package init(_ response: Response) { self.response = response }
}

/// The way in which a valid authorization request ends without an approval.
package enum AuthorizationEnd: Sendable {
    case cancelled(isOrdered: Bool)
    /// With an error that was ordered, of the person who would have signed in.
    case error(String, Account?)
    /// No page may be shown, and nobody is signed in with this browser.
    case nobodySignedIn
    /// No page may be shown, and the person would have to consent.
    case consentMissing

    /// The reason for a diagnosis.
    package var reason: String {
        switch self {
        case .cancelled(isOrdered: true): "a cancel was ordered as an outcome"
        case .cancelled(isOrdered: false): "the person cancelled"
        case .error: "this error was ordered as an outcome"
        case .nobodySignedIn: "prompt=none, and nobody is signed in: order an outcome"
        case .consentMissing: "prompt=none, and the person hasn't consented to these scopes"
        }
    }
}

/// The way in which a person has approved a request.
package enum SignInApproval: Sendable {
    /// By an outcome, or by the client's interaction in the seed.
    case ordered(Outcome?)
    /// By a session with this browser, and an earlier consent.
    case remembered
    /// By this form of a page.
    case page(Form)

    /// The granted scopes, if some could be deselected.
    package var scopes: [String]? {
        switch self {
        case .ordered(let outcome): outcome?.scopes
        case .remembered: nil
        case .page(let form): PersonPages.choices(form)
        }
    }
}

/// A provider's authorization endpoint. The steps of the flow and their order are written here; a provider says how it
/// reads a request, how it words what it refuses, whom it admits, whether it asks for consent, and what an approval
/// brings.
package protocol AuthorizationFlow: Sendable {
    associatedtype SignInRequest: CheckedAuthorization

    /// The provider's name in orders.
    var provider: String { get }
    /// Reads and checks a request. `isAnswer` means that a page's form carries it.
    ///
    /// - Throws: `RefusedAuthorization`.
    func request(_ form: Form, isAnswer: Bool, _ exchange: Exchange) throws -> SignInRequest
    /// Returns the answer to a request that isn't approved.
    func answer(to request: SignInRequest, _ end: AuthorizationEnd, _ exchange: Exchange) throws -> Response
    /// Returns the page that says that there is no account.
    func nobody(_ request: SignInRequest, _ exchange: Exchange) -> Response
    /// Returns the request that a page's form carries, and the person's answer.
    ///
    /// - Throws: `RefusedAuthorization` for a form without a request.
    func answer(_ form: Form, _ exchange: Exchange) throws -> (request: Form, answer: PersonPages.Answer)
    func choosePerson(_ request: SignInRequest, _ search: PersonChooser.Search?, _ exchange: Exchange) -> Response
    /// Returns the person who is signed in with this browser, and needn't choose an account for this request.
    func personSignedIn(_ request: SignInRequest, _ exchange: Exchange) throws -> Account?
    /// Refuses a person who may not sign in to the client.
    ///
    /// - Throws: `RefusedAuthorization`.
    func admit(_ account: Account, to request: SignInRequest, _ exchange: Exchange) throws
    /// Returns the page that asks for consent; `nil` if none is needed.
    func consentPage(_ request: SignInRequest, for account: Account, _ exchange: Exchange) throws -> Response?
    /// Returns the answer to an approved request; `nil` if the account doesn't exist any more, or the remembered session
    /// has ended.
    func approve(
        _ request: SignInRequest, by account: Account, _ approval: SignInApproval, _ exchange: Exchange
    ) throws -> Response?
}

extension AuthorizationFlow {
    package func personSignedIn(_ request: SignInRequest, _ exchange: Exchange) throws -> Account? { nil }
    package func admit(_ account: Account, to request: SignInRequest, _ exchange: Exchange) throws {}

    /// Handles an authorization request.
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

    /// Handles the form of a page.
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

    /// Handles a POST that is a page's form, or an authorization request.
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

    /// Goes on with the person who is signed in with this browser, or shows a page.
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

/// An authorization flow whose pages are `PersonPages`.
package protocol PersonPagesFlow: AuthorizationFlow {
    func pages(_ exchange: Exchange) -> PersonPages
    /// Returns the account, address or name of the person whom the list of people suggests.
    func hint(_ request: SignInRequest, _ exchange: Exchange) -> String?
    /// Returns whether a person stands before others in the list; `nil` if nobody does.
    func preference(_ request: SignInRequest) -> ((Account) -> Bool)?
    /// The refusal of a page's form without an authorization request.
    var missingRequest: Diagnosis { get }
}

extension PersonPagesFlow {
    package func hint(_ request: SignInRequest, _ exchange: Exchange) -> String? { nil }
    package func preference(_ request: SignInRequest) -> ((Account) -> Bool)? { nil }
    package var missingRequest: Diagnosis { Diagnosis("the form lacks the authorization request: begin again") }

    package func nobody(_ request: SignInRequest, _ exchange: Exchange) -> Response {
        pages(exchange).problem(
            400, "Nobody can sign in", Diagnosis("there is no account to sign in: seed one, or add it"))
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

    /// Returns the page that asks a person for consent. The person may deselect `choices`.
    package func consentPage(
        _ request: SignInRequest, for account: Account, items: [String], choices: [String] = [], _ exchange: Exchange
    ) -> Response {
        pages(exchange).consent(
            exchange, client: request.client.name, account: account, items: items, choices: choices,
            request: request.form)
    }
}
