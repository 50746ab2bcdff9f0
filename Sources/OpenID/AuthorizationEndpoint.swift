import EmulatorCore
import HTTPServer
import JOSE
import OAuth

// GET and POST /authorize: https://openid.net/specs/openid-connect-core-1_0.html#AuthorizationEndpoint

extension Issuer {
    private struct Approved: Sendable {
        let grant: OpenIDGrant
        let session: BrowserSession
        let code: String?
        let token: Token<OpenIDGrant>?
    }

    /// Continues the session or begins one, and returns the answer.
    func approve(
        _ request: RequestedAuthorization, by account: Account, _ approval: SignInApproval, _ exchange: Exchange
    ) throws -> Response? {
        let asked = request.parameters.scopes
        let scopes = approval.scopes.map { granted in asked.filter(granted.contains) } ?? asked
        let session = session(for: request, by: account, approval, exchange)
        do { return try approve(request, by: account, session, scopes: scopes, in: exchange) } catch let refusal
            as OAuthRefusal
        { return answer(to: request, refusal, exchange) }
    }

    private func approve(
        _ request: RequestedAuthorization, by account: Account, _ known: BrowserSession?, scopes: [String],
        in exchange: Exchange
    ) throws -> Response {
        let (parameters, client) = (request.parameters, request.client)
        let acr = try parameters.acr(among: policy.acrValues)
        try check(account, request, in: exchange)
        let approved = try exchange.world.update { tables -> Approved? in
            guard tables.account(account.id) != nil else { throw OAuthRefusal.accountIsGone }
            if let pushed = request.pushed {
                guard tables.pop(PushedRequest.self, pushed.key) != nil else { return nil }
            }
            guard known == nil || tables.session(withID: known?.id ?? "", at: realm) != nil else {
                throw OAuthRefusal("login_required", Diagnosis("the session ended while the request was on its way"))
            }
            let session = known ?? tables.beginSession(of: account.id, at: realm, for: policy.lifetimes.session)
            tables.note(client.clientID, told: identifier(exchange), inSession: session.id, at: realm)
            tables.consent(account.id, to: key(of: client), scopes: scopes)
            let grant = tables.makeGrant(client, at: self, account: account.id, scopes: scopes) { grant in
                (grant.nonce, grant.acr, grant.claims) = (parameters.nonce, acr, parameters.claims)
                (grant.session, grant.authenticatedAt) = (session.id, session.authenticatedAt)
                grant.audience = parameters.resources
            }
            let types = parameters.responseTypes
            return Approved(
                grant: grant, session: session,
                code: types.contains("code") ? tables.makeCode(grant, request, at: self, exchange) : nil,
                token: types.contains("token") ? tables.makeAccessToken(grant, for: client, at: self) : nil)
        }
        guard let approved else {
            return response(to: .page(.unknownPushedRequest(request.pushed?.key ?? "")), exchange)
        }
        let (grant, code) = (approved.grant, approved.code)
        var response = answer(exchange, to: request.redirectURI, of: request.fields)
        response.append("code", code)
        do throws(KeyError) {
            let accessToken = try approved.token.map { token throws(KeyError) in
                try text(of: token, grant, account, for: client, in: exchange)
            }
            if let accessToken {
                response.append("access_token", accessToken)
                response.append("token_type", "Bearer")
                response.append("expires_in", String(policy.lifetimes.accessToken.seconds))
                response.append("scope", scopes.joined(separator: " "))
            }
            if parameters.responseTypes.contains("id_token"), scopes.contains("openid") {
                let claims = idTokenClaims(
                    grant, of: account, for: client, in: exchange, nonce: grant.nonce, code: code,
                    accessToken: accessToken)
                response.append("id_token", try idToken(claims, for: client, in: exchange))
            }
        } catch { throw OAuthRefusal("server_error", Diagnosis("a token can't be signed: \(error.description)")) }
        var page = response.deliver()
        page.headers.append(BrowserSession.cookie(approved.session, at: realm, for: exchange))
        return page
    }

    /// Checks that the person is the one that the request names, if it names one.
    private func check(
        _ account: Account, _ request: RequestedAuthorization, in exchange: Exchange
    ) throws(OAuthRefusal) {
        let hint = try request.fields["id_token_hint"].map { text throws(OAuthRefusal) in
            if let subject = claims(ofIDToken: text, in: exchange)?["sub"]?.string { return subject }
            throw OAuthRefusal("invalid_request", Diagnosis("id_token_hint isn't an ID token of this issuer"))
        }
        guard let wanted = hint ?? request.parameters.claims.idToken["sub"]?.values.first?.string,
            wanted != subject(of: account, for: request.client)
        else { return }
        throw OAuthRefusal(
            "login_required",
            Diagnosis(
                received: "a sign-in by \"\(account.id)\"", expected: "the sub \(Diagnosis.quote(wanted))",
                "the person of id_token_hint, or of sub in claims, must sign in"))
    }
}
