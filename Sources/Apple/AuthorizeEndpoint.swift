import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time

// GET and POST /auth/authorize
//
// Quirks: PKCE isn't documented, and enforced where a client uses it. A request that can't be granted ends at Apple's own page; only a person's decision, a cancel
// included, travels to the return URL. `user` comes once, the first time the person authorizes the app group.

struct AppleSignIn: AuthorizationFlow {
    let apple: AppleProvider

    var provider: String { apple.name }

    func request(
        _ form: Form, isAnswer: Bool, _ exchange: Exchange
    ) throws(RefusedAuthorization) -> AuthorizationRequest {
        let request: AuthorizationRequest
        do throws(AppleError) {
            request = try AuthorizationRequest(form, apple.directory, exchange.world.seed)
        } catch { throw RefusedAuthorization(error.authorizeResponse(to: exchange.request)) }
        if !isAnswer, let move = moveToOtherSite(exchange, request) { throw RefusedAuthorization(move) }
        return request
    }

    func nobody(_ request: AuthorizationRequest, _ exchange: Exchange) -> Response {
        let diagnosis = Diagnosis("there is no account to sign in with: add one in the seed, or with POST accounts")
        return AppleError(.invalidRequest, nil, diagnosis).authorizeResponse(to: exchange.request)
    }

    func answer(_ form: Form, _ exchange: Exchange) throws -> (request: Form, answer: PersonPages.Answer) {
        guard let request = form.carriedRequest else {
            let diagnosis = Diagnosis(
                "the form lacks the parameters of the authorization request: start again at /auth/authorize")
            throw RefusedAuthorization(
                AppleError(.invalidRequest, nil, diagnosis).authorizeResponse(to: exchange.request))
        }
        let account = form["account"] ?? ""
        switch form["action"] {
        case "cancel": return (request, .cancel)
        case _ where PersonChooser.Search(form) != nil: break
        case "new": return (request, .page(SignInPage.newPerson(exchange, request, NewPerson(nil))))
        case "make":
            let person = NewPerson(form)
            do { return (request, .chosen(try person.make(in: exchange).id)) } catch let error as NewPerson.Refusal {
                return (request, .page(SignInPage.newPerson(exchange, request, person, problem: error.sentence)))
            }
        case "continue": return (request, .approved(account))
        default: return (request, .chosen(account))
        }
        return (request, PersonChooser.Search(form).map { .searched($0) } ?? .chosen(account))
    }

    func choosePerson(
        _ request: AuthorizationRequest, _ search: PersonChooser.Search?, _ exchange: Exchange
    ) -> Response {
        SignInPage.choosePerson(exchange, request, search: search)
    }

    func consentPage(_ request: AuthorizationRequest, for account: Account, _ exchange: Exchange) -> Response? {
        let isReturning = exchange.world.read { $0.grant(account.id, to: request.client) != nil }
        return SignInPage.consent(exchange, request, account, isReturning: isReturning)
    }

    // MARK: - Answers

    func approve(
        _ request: AuthorizationRequest, by account: Account, _ answer: SignInApproval, _ exchange: Exchange
    ) throws -> Response? {
        let approval =
            switch answer {
            case .ordered(let outcome): Approval(account: account, asked: request.scopes, outcome: outcome)
            case .remembered: Approval(account: account, asked: request.scopes)
            case .page(let form):
                Approval(
                    account: account, sharesEmail: form["email"].map { $0 != "hide" } ?? account.apple.shareEmail,
                    name: Account.Name(
                        given: form["given"] ?? account.name.given, family: form["family"] ?? account.name.family),
                    scopes: request.scopes)
            }
        let authorization = try apple.authorize(
            exchange, client: request.client, approval: approval, redirectURI: request.redirectURI,
            nonce: request.nonce, challenge: request.challenge)
        guard let authorization else { return nil }
        let code = authorization.code
        var idToken: String?
        if request.wantsIDToken {
            let token = IDToken(
                issuer: apple.issuer(exchange), client: request.client, grant: authorization.grant,
                account: approval.account,
                nonce: request.nonce, authenticatedAt: authorization.at, issuedAt: authorization.at,
                code: code)
            do { idToken = try exchange.mint(.apple, token.claims(apple.settings), at: authorization.at) } catch {
                let failure = AppleError.unsigned(error)
                return failed(exchange, request, with: failure.code.rawValue, because: failure.diagnosis)
            }
        }
        let user = authorization.isFirst ? AppleSignIn.user(authorization, approval.scopes) : nil
        if request.mode == .webMessage { return message(exchange, request, code, idToken, user) }
        var response = self.answer(exchange, request)
        response.append("code", code)
        response.append("id_token", idToken)
        response.append("user", user?.text)
        return response.deliver()
    }

    /// Returns the value of `user` in Apple's authorization response, `{"name":{"firstName","lastName"},"email"}`, with
    /// only those members that the scopes allow.
    private static func user(_ authorization: Authorization, _ scopes: Set<AppleScope>) -> JSONValue? {
        var user = JSONObject()
        if scopes.contains(.name) {
            user["name"] = [
                "firstName": .string(authorization.name.given), "lastName": .string(authorization.name.family),
            ]
        }
        if scopes.contains(.email) { user["email"] = .string(authorization.email) }
        return user.members.isEmpty ? nil : .object(user)
    }

    /// Returns the page that posts the result of the sign-in from a pop-up to Sign in with Apple JS.
    private func message(
        _ exchange: Exchange, _ request: AuthorizationRequest, _ code: String, _ idToken: String?, _ user: JSONValue?
    ) -> Response {
        var authorization = JSONObject([("code", .string(code))])
        authorization["id_token"] = idToken.map { .string($0) }
        authorization["state"] = exchange.redirectState(request.state).map { .string($0.value) }
        var data = JSONObject([("authorization", .object(authorization))])
        data["user"] = user
        return answer(exchange, request).messagePage(["method": "oauthDone", "data": .object(data)])
    }

    private func answer(_ exchange: Exchange, _ request: AuthorizationRequest) -> AuthorizationResponse {
        AuthorizationResponse(
            redirectURI: exchange.reachable(request.redirectURI), mode: request.mode,
            fields: exchange.redirectState(request.state).map { [$0] } ?? [])
    }

    func answer(to request: AuthorizationRequest, _ end: AuthorizationEnd, _ exchange: Exchange) -> Response {
        var error = "user_cancelled_authorize"
        if case .error(let name, _) = end { error = name }
        return failed(exchange, request, with: error, because: Diagnosis(end.reason))
    }

    private func failed(
        _ exchange: Exchange, _ request: AuthorizationRequest, with error: String, because diagnosis: Diagnosis
    ) -> Response {
        var response = answer(exchange, request)
        response.append("error", error)
        let page =
            request.mode == .webMessage
            ? response.messagePage(["method": "oauthDone", "data": ["error": .string(error)]]) : response.deliver()
        return page.diagnosed(diagnosis).known(by: AppleProvider.evidence.ofError(error))
    }

    /// Redirects a browser from a loopback address to `appleid.apple.com.localhost`, if the sign-in ends with a form
    /// post to a client on the same site as this server. From there, the form post is cross-site, as it is from Apple,
    /// and browsers don't send the client's `SameSite=Lax` cookies with it.
    private func moveToOtherSite(_ exchange: Exchange, _ request: AuthorizationRequest) -> Response? {
        guard apple.settings.crossSiteFormPost, request.mode == .formPost, exchange.address.form == .prefix,
            exchange.request.header("Accept")?.contains("text/html") ?? false,
            let here = WebAddress("\(exchange.address.scheme)://\(exchange.address.authority)"), here.isLoopback,
            let there = WebAddress(request.redirectURI), there.isSameSite(as: here)
        else { return nil }
        let base = exchange.address.subdomainBase(of: AppleProvider.host)
        let note = Note(
            "the return URL is on this daemon's own site, where SameSite=Lax cookies would come along with the form post; "
                + "Apple's form post is cross-site, so the browser goes on at \(base)")
        // A POST continues as a GET: the parameters fit in a query, and the page needs nothing else.
        return Response.redirect(to: "\(base)/auth/authorize?\(request.form.encoded)", status: 303).addingNote(note)
            .known(by: .chosen("Apple's own site differs from the client's, so Apple needs no such redirect"))
    }
}

/// A person's consent in a sign-in at Apple: the account, the scopes, the name, and whether the person shares the real
/// email address.
struct Approval: Sendable {
    let account: Account
    let sharesEmail: Bool
    let name: Account.Name
    let scopes: Set<AppleScope>

    /// Makes a person's consent. `outcome` is the result that a test or the seed prescribes for the sign-in. Its
    /// settings replace those of the person in the seed.
    init(account: Account, asked scopes: Set<AppleScope>, outcome: Outcome? = nil) {
        self.account = account
        sharesEmail = outcome?.shareEmail ?? account.apple.shareEmail
        name = outcome?.name ?? account.name
        let granted = outcome?.scopes.map { Set($0) }
        self.scopes = scopes.filter {
            granted?.contains($0.rawValue) ?? true || granted?.contains($0.nativeName) ?? false
        }
    }

    init(account: Account, sharesEmail: Bool, name: Account.Name, scopes: Set<AppleScope>) {
        self.account = account
        self.sharesEmail = sharesEmail
        self.name = name
        self.scopes = scopes
    }
}

/// The result of a person's consent at Apple: a grant, and an authorization code for it.
struct Authorization: Sendable {
    let grant: AppleGrant
    let account: Account
    let name: Account.Name
    let code: String
    /// Whether the person authorizes the client's app group for the first time.
    let isFirst: Bool
    let at: Instant

    /// The email address that the client sees: the person's own, or the relay address.
    var email: String { grant.email(of: account) }
}

extension AppleProvider {
    /// Records a person's consent, makes an authorization code, and mails the person at the first consent if the seed
    /// asks for such mails. Returns `nil` if the account doesn't exist any more.
    func authorize(
        _ exchange: Exchange, client: AppleDirectory.Client, approval: Approval, redirectURI: String?, nonce: String?,
        challenge: CodeChallenge? = nil
    ) throws -> Authorization? {
        let authorization = try exchange.world.update(for: approval.account.id) { tables in
            let now = tables.now
            let consent = tables.consent(
                approval.account.id, to: client, scopes: approval.scopes, sharesEmail: approval.sharesEmail)
            let code = AppleToken.code.make(from: &tables.random)
            tables.put(
                AuthorizationCode<AppleGrant>(
                    code, grant: consent.grant.key, client: client.id, redirectURI: redirectURI,
                    challenge: challenge, expires: now + settings.codeLifetime, usedBy: exchange.spentBy,
                    details: AppleGrant.CodeDetails(nonce: nonce, authenticatedAt: now)))
            return Authorization(
                grant: consent.grant, account: approval.account, name: approval.name, code: code,
                isFirst: consent.isFirst, at: now)
        }
        if let authorization { try mailPerson(of: authorization, for: client, exchange) }
        return authorization
    }
}

/// The pages of Apple's sign-in, on which a person chooses an account and consents. They work without scripts and by
/// keyboard, and have no logo.
enum SignInPage {
    static let path = "/auth/authorize/continue"

    static func choosePerson(
        _ exchange: Exchange, _ request: AuthorizationRequest, search: PersonChooser.Search? = nil
    ) -> Response {
        let chooser = PersonChooser(exchange, search)
        let people = chooser.fields { account in
            PersonChooser.button(account, title: account.fullName, notes: notes(on: account))
        }
        let nobody = HTML.tag(
            "p", [], "Nobody is seeded. Add a person to the seed, or with POST /_understudy/v1/accounts.")
        return page(
            exchange, request.form, title: "Sign in with Apple",
            [
                .tag("h1", [], "Sign in with Apple"),
                .tag(
                    "p", [("class", "soft")],
                    "Choose an account for \(request.client.id), a client of team \(request.client.team)."),
            ], (chooser.isEmpty ? [nobody] : people) + [somebodyElse])
    }

    private static let somebodyElse = HTML.tag(
        "button",
        [("class", "quiet"), ("type", "submit"), ("name", "action"), ("value", "new"), ("formnovalidate", nil)],
        "Use another Apple Account")

    /// Shows the form for creating a new account. `problem` says what is wrong with the values that the person has
    /// entered.
    static func newPerson(
        _ exchange: Exchange, _ request: Form, _ person: NewPerson, problem: String? = nil
    ) -> Response {
        let alert = problem.map { [HTML.tag("p", [("class", "error"), ("role", "alert")], $0)] } ?? []
        let make = HTML.tag("button", [("type", "submit"), ("name", "action"), ("value", "make")], "Continue")
        let response = page(
            exchange, request, title: "Another Apple Account", status: problem == nil ? 200 : 422,
            [
                .tag("h1", [], "Another Apple Account"),
                .tag("p", [("class", "soft")], "It lasts until this world is reset."),
            ], alert + person.fields + [make])
        return problem.map { response.diagnosed(Diagnosis($0)) } ?? response
    }

    private static func notes(on account: Account) -> String {
        var notes = [account.email]
        if !account.emailVerified { notes.append("address not verified") }
        if !account.apple.shareEmail { notes.append("hides the address by default") }
        return notes.joined(separator: " · ")
    }

    static func consent(
        _ exchange: Exchange, _ request: AuthorizationRequest, _ account: Account, isReturning: Bool
    ) -> Response {
        var fields: [HTML] = [.hidden("account", account.id)]
        if !isReturning, request.scopes.contains(.name) { fields.append(nameFields(account)) }
        if !isReturning, request.scopes.contains(.email) { fields.append(emailFields(account, request)) }
        let others = "\(exchange.address.base(of: AppleProvider.host))/auth/authorize?\(request.form.encoded)"
        fields.append(
            .tag(
                "button", [("type", "submit"), ("name", "action"), ("value", "continue"), ("autofocus", nil)],
                "Continue"))
        fields.append(.tag("a", [("class", "button quiet"), ("href", others)], "Someone else"))
        let introduction =
            isReturning
            ? "\(account.fullName) has used \(request.client.id) before, so there is nothing more to choose."
            : "\(account.fullName) signs in to \(request.client.id) for the first time."
        let title = "Use Sign in with Apple as \(account.fullName)?"
        return page(
            exchange, request.form, title: title,
            [.tag("h1", [], title), .tag("p", [("class", "soft")], introduction)],
            fields)
    }

    private static func nameFields(_ account: Account) -> HTML {
        func input(_ name: String, _ label: String, _ value: String, _ hint: String) -> HTML {
            .tag(
                "label", [], .text(label),
                .tag("input", [("type", "text"), ("name", name), ("value", value), ("autocomplete", hint)]))
        }
        return .tag(
            "fieldset", [], .tag("legend", [], "Name"), input("given", "Given name", account.name.given, "given-name"),
            input("family", "Family name", account.name.family, "family-name"))
    }

    private static func emailFields(_ account: Account, _ request: AuthorizationRequest) -> HTML {
        func choice(_ value: String, _ label: String, _ address: String, isChosen: Bool) -> HTML {
            let attributes: [(String, String?)] = [("type", "radio"), ("name", "email"), ("value", value)]
            return .tag(
                "label", [("class", "choice")], .tag("input", attributes + (isChosen ? [("checked", nil)] : [])),
                .tag("span", [], .text(label), .tag("br"), .tag("code", [], address)))
        }
        let relay = AppleIdentifiers.relayAddress(account: account.id, team: request.client.team)
        return .tag(
            "fieldset", [], .tag("legend", [], "E-mail address"),
            choice("share", "Share it", account.email, isChosen: account.apple.shareEmail),
            choice("hide", "Hide it behind a relay address", relay, isChosen: !account.apple.shareEmail))
    }

    private static func page(
        _ exchange: Exchange, _ request: Form, title: String, status: Int = 200, _ heading: [HTML],
        _ fields: [HTML]
    ) -> Response {
        let action = exchange.address.base(of: AppleProvider.host) + path
        let cancel = HTML.tag(
            "button",
            [("class", "quiet"), ("type", "submit"), ("name", "action"), ("value", "cancel"), ("formnovalidate", nil)],
            "Cancel")
        let form = HTML.element(
            "form", attributes: [(name: "method", value: "post"), (name: "action", value: action)],
            children: [.carrying(request)] + fields + [cancel])
        return Page.response(title: title, status: status, look: .apple, heading + [form])
    }
}
