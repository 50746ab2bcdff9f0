import HTTPServer
import JOSE
import JSON
import OAuth
import EmulatorCore

// GET and POST /auth/authorize
// https://developer.apple.com/documentation/signinwithapplerestapi/request-an-authorization-to-the-sign-in-with-apple-server.
//
// Quirks: PKCE isn't documented, and enforced where a client uses it. A request that can't be granted ends at Apple's own page; only a person's decision, a cancel
// included, travels to the return URL. `user` comes once, the first time the person authorizes the app group.

extension AppleProvider {
    func authorize(_ exchange: Exchange, _ form: Form) throws -> Response {
        let request: AuthorizationRequest
        do { request = try AuthorizationRequest(form, directory, exchange.world.seed) } catch {
            return error.authorizeResponse(to: exchange.request)
        }
        if let move = moveToOtherSite(exchange, request) { return move }
        let decision = try exchange.decision(
            provider: name, client: request.client.id, interaction: request.client.interaction)
        switch decision {
        case .cancel: return cancelled(exchange, request)
        case .error(let name, _):
            return failed(exchange, request, with: name, because: Diagnosis("this error was ordered as an outcome"))
        case .ask: return SignInPage.choosePerson(exchange, request)
        case .nobody:
            return AppleError(
                .invalidRequest, nil,
                Diagnosis("there is no account to sign in: seed one, or add it with POST accounts")
            )
            .authorizeResponse(to: exchange.request)
        case .approve(let person, let outcome):
            return try approved(exchange, request, Approval(account: person, asked: request.scopes, outcome: outcome))
        }
    }

    /// Handles the form of a sign-in page.
    func decide(_ exchange: Exchange) throws -> Response {
        let answer = exchange.request.bodyForm
        guard let original = answer.carriedRequest else {
            let diagnosis = Diagnosis("the form lacks the authorization request: begin again at /auth/authorize")
            return AppleError(.invalidRequest, nil, diagnosis).authorizeResponse(to: exchange.request)
        }
        let request: AuthorizationRequest
        do { request = try AuthorizationRequest(original, directory, exchange.world.seed) } catch {
            return error.authorizeResponse(to: exchange.request)
        }
        guard answer["action"] != "cancel" else { return cancelled(exchange, request) }
        if let search = PersonChooser.Search(answer) {
            return SignInPage.choosePerson(exchange, request, search: search)
        }
        let id: String?
        switch answer["action"] {
        case "new": return SignInPage.newPerson(exchange, request, NewPerson(nil))
        case "make":
            let person = NewPerson(answer)
            do { id = try person.make(in: exchange).id } catch let error as NewPerson.Refusal {
                return SignInPage.newPerson(exchange, request, person, problem: error.sentence)
            }
        default: id = answer["account"]
        }
        let (account, consented) = exchange.world.read { tables in
            let account = id.flatMap { tables.account($0) }
            return (account, account.flatMap { tables.grant($0.id, to: request.client) } != nil)
        }
        guard let account else { return SignInPage.choosePerson(exchange, request) }
        guard answer["action"] == "continue" else {
            return SignInPage.consent(exchange, request, account, isReturning: consented)
        }
        let name = Account.Name(
            given: answer["given"] ?? account.name.given, family: answer["family"] ?? account.name.family)
        let shares = answer["email"].map { $0 != "hide" } ?? account.apple.shareEmail
        return try approved(
            exchange, request, Approval(account: account, sharesEmail: shares, name: name, scopes: request.scopes))
    }

    // MARK: - Answers

    private func approved(_ exchange: Exchange, _ request: AuthorizationRequest, _ approval: Approval) throws
        -> Response
    {
        let authorization = try authorize(
            exchange, client: request.client, approval: approval, redirectURI: request.redirectURI,
            nonce: request.nonce, challenge: request.challenge)
        guard let authorization else { return SignInPage.choosePerson(exchange, request) }
        let code = authorization.code
        var idToken: String?
        if request.wantsIDToken {
            let token = IDToken(
                issuer: issuer(exchange), client: request.client, grant: authorization.grant, account: approval.account,
                nonce: request.nonce, authenticatedAt: authorization.at, issuedAt: authorization.at,
                code: code)
            do { idToken = try exchange.mint(.apple, token.claims(settings), at: authorization.at) } catch {
                let failure = AppleError.unsigned(error)
                return failed(exchange, request, with: failure.code.rawValue, because: failure.diagnosis)
            }
        }
        let user = authorization.isFirst ? AppleProvider.user(authorization, approval.scopes) : nil
        if request.mode == .webMessage { return message(exchange, request, code, idToken, user) }
        var response = answer(exchange, request)
        response.append("code", code)
        response.append("id_token", idToken)
        response.append("user", user?.text)
        return response.deliver()
    }

    /// Returns `{"name":{"firstName","lastName"},"email"}`, limited by the scopes.
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

    /// Returns the message of a popup. Its form isn't documented: this is the result of Sign in with Apple JS, as text.
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

    private func cancelled(_ exchange: Exchange, _ request: AuthorizationRequest) -> Response {
        failed(exchange, request, with: "user_cancelled_authorize", because: Diagnosis("the person cancelled"))
    }

    private func failed(
        _ exchange: Exchange, _ request: AuthorizationRequest, with error: String, because diagnosis: Diagnosis
    ) -> Response {
        var response = answer(exchange, request)
        response.append("error", error)
        let page =
            request.mode == .webMessage
            ? response.messagePage(["method": "oauthDone", "data": ["error": .string(error)]]) : response.deliver()
        return page.diagnosed(diagnosis)
    }

    /// Moves a browser to `appleid.apple.com.localhost`, if necessary. Apple's form post is cross-site, so a client's
    /// `SameSite=Lax` cookies aren't sent. On the client's own site, a browser would send them and hide that. The name
    /// resolves to the browser's own machine, so a browser that used another name stays.
    private func moveToOtherSite(_ exchange: Exchange, _ request: AuthorizationRequest) -> Response? {
        guard settings.crossSiteFormPost, request.mode == .formPost, exchange.address.form == .prefix,
            exchange.request.header("Accept")?.contains("text/html") ?? false,
            let here = WebAddress("\(exchange.address.scheme)://\(exchange.address.authority)"), here.isLoopback,
            let there = WebAddress(request.redirectURI), there.isSameSite(as: here)
        else { return nil }
        let base = exchange.address.subdomainBase(of: AppleProvider.host)
        let note = Note(
            "the return URL is on this daemon's own site, where SameSite=Lax cookies would come along with the form post; "
                + "Apple's form post is cross-site, so the browser goes on at \(base)")
        // A POST continues as a GET: the parameters fit in a query, and the page needs nothing else.
        return Response.redirect(to: "\(base)/auth/authorize?\(request.form.encoded)", status: 303).noted(note)
    }
}
