import EmulatorCore
import HTTPServer
import JOSE
import OAuth
import Time

// GET /TENANT/oauth2/v2.0/authorize
//
// Quirks: the tenant in the path says who may sign in. Without redirect_uri, one of the registered ones is used.

/// The tenant segment in the path of Microsoft's endpoints. It says which accounts may sign in: all, work or school
/// accounts, personal accounts, or those of a tenant.
enum MicrosoftRealm: Sendable {
    case common
    case organizations
    case consumers
    case tenant(MicrosoftTenant)

    /// The text of the tenant segment in URLs, such as `common`. For a single tenant and for `consumers`, it is the
    /// tenant's ID, even if the request's path has a domain or the word `consumers`.
    var text: String {
        switch self {
        case .common: "common"
        case .organizations: "organizations"
        case .consumers: MicrosoftTenant.consumers
        case .tenant(let tenant): tenant.id
        }
    }
}

/// A request to Microsoft's authorization endpoint whose parameters have been checked.
struct MicrosoftRequest: CheckedAuthorization {
    /// The error in an authorization request. It is sent to the redirect URI, or shown on Microsoft's page if there is
    /// no valid redirect URI.
    struct Failure: Error {
        let error: MicrosoftError
        let destination: Destination?
    }

    /// The redirect URI of an authorization request, and the way in which the response is sent there.
    struct Destination: Sendable {
        let redirectURI: String
        let mode: ResponseMode
        let state: Form.Field?
    }

    let realm: MicrosoftRealm
    let client: MicrosoftClient
    let platform: MicrosoftClient.Platform
    let destination: Destination
    let types: Set<String>
    let scopes: MicrosoftScopes
    let challenge: CodeChallenge?
    let form: Form
    var prompts: [Substring] { (form["prompt"] ?? "").split(separator: " ") }
    var isSilent: Bool { prompts == ["none"] }

    init(_ sent: Form, _ provider: MicrosoftProvider, _ exchange: Exchange) throws(Failure) {
        let form = sent.withoutEmptyFields
        self.form = form
        let redirectURI: String
        do throws(MicrosoftError) {
            realm = try provider.realm(exchange)
            guard let id = form["client_id"] else { throw .missing("client_id") }
            client = try provider.client(id, at: realm)
            guard let first = client.redirectURIs.first else { throw MicrosoftError(500113) }
            redirectURI = form["redirect_uri"] ?? first
            guard let known = client.platform(of: redirectURI) else {
                throw MicrosoftError(
                    50011, redirectURI, client.id, received: "redirect_uri \(Diagnosis.quote(redirectURI))",
                    expected: RegisteredRedirectURI.alternatives(client.redirectURIs))
            }
            platform = known
        } catch { throw Failure(error: error, destination: nil) }
        types = form.responseTypes
        scopes = MicrosoftScopes(form["scope"])
        let usual: ResponseMode = types.contains("id_token") ? .fragment : .query
        let named = form["response_mode"].flatMap { ResponseMode(rawValue: $0) }
        let mode = named == .formPost || named == .fragment ? named ?? usual : usual
        destination = Destination(redirectURI: redirectURI, mode: mode, state: form.field("state"))
        do throws(MicrosoftError) {
            challenge = try CodeChallenge.read(form, refuse: MicrosoftRequest.refusal)
            try check()
            try provider.check(scopes, client, at: realm)
        } catch { throw Failure(error: error, destination: destination) }
    }

    private static func refusal(of fault: CodeChallenge.Fault) -> MicrosoftError {
        switch fault {
        case .method(let name): MicrosoftError(50149, received: Diagnosis.quote(name))
        case .challenge(let text): MicrosoftError(501491, received: Diagnosis.quote(text))
        }
    }

    private func check() throws(MicrosoftError) {
        for name in ["response_type", "scope"] where form[name] == nil { throw .missing(name) }
        let type = form["response_type"] ?? ""
        let received = "response_type \(Diagnosis.quote(type))"
        guard types.isSubset(of: ["code", "id_token", "token"]), types != ["code", "token"] else {
            throw MicrosoftError(70005, type, received: received)
        }
        // Apps at which access tokens through the browser are switched on aren't played.
        guard !types.contains("token") else { throw MicrosoftError(700051, received: received) }
        if types.contains("id_token") {
            guard client.issuesIDTokens else { throw MicrosoftError(700054, received: received) }
            guard scopes.names.contains("openid") else { throw MicrosoftError(70005, type, received: received) }
            guard form["nonce"] != nil else { throw .missing("nonce") }
        }
        if let text = form["response_mode"], text != destination.mode.rawValue {
            throw MicrosoftError(70007, text, received: "response_mode \(Diagnosis.quote(text))")
        }
        guard prompts.count <= 1,
            prompts.allSatisfy({ ["none", "login", "consent", "select_account", "create"].contains($0) })
        else { throw MicrosoftError(90023, "prompt", received: "prompt \(Diagnosis.quote(form["prompt"] ?? ""))") }
    }
}

struct MicrosoftSignIn: PersonPagesFlow {
    let microsoft: MicrosoftProvider

    var provider: String { microsoft.name }

    func pages(_ exchange: Exchange) -> PersonPages { microsoft.pages(exchange) }

    func request(
        _ form: Form, isAnswer: Bool, _ exchange: Exchange
    ) throws(RefusedAuthorization) -> MicrosoftRequest {
        do throws(MicrosoftRequest.Failure) { return try MicrosoftRequest(form, microsoft, exchange) } catch {
            throw RefusedAuthorization(answer(error.error, at: error.destination, exchange))
        }
    }

    func answer(to request: MicrosoftRequest, _ end: AuthorizationEnd, _ exchange: Exchange) -> Response {
        let client = request.client
        let error =
            switch end {
            case .cancelled(let isOrdered): MicrosoftError(65004, because: isOrdered ? Diagnosis(end.reason) : nil)
            case .error(let name, _): MicrosoftError.ordered(name, Diagnosis(end.reason))
            case .nobodySignedIn: MicrosoftError(50058)
            case .consentMissing: MicrosoftError(65001, client.id, client.name, name: "interaction_required")
            }
        return answer(error, at: request.destination, exchange)
    }

    /// Returns the response with an error of the authorization endpoint. It goes to the redirect URI, or is Microsoft's
    /// own page if `destination` is `nil`.
    private func answer(
        _ error: MicrosoftError, at destination: MicrosoftRequest.Destination?, _ exchange: Exchange
    ) -> Response {
        let text = error.description(exchange)
        guard let destination else {
            return pages(exchange).problem(
                400, "Sorry, but we’re having trouble signing you in.", error.diagnosis, text: text
            ).known(by: error.evidence)
        }
        let fields = [("error", error.name), ("error_description", text), ("error_uri", error.uri)]
        return deliver(fields, to: destination, exchange).diagnosed(error.diagnosis).known(by: error.evidence)
    }

    private func deliver(
        _ fields: [(String, String?)], to destination: MicrosoftRequest.Destination, _ exchange: Exchange
    ) -> Response {
        var response = AuthorizationResponse(
            redirectURI: exchange.reachable(destination.redirectURI), mode: destination.mode)
        for (name, value) in fields { response.append(name, value) }
        response.append("state", exchange.redirectState(destination.state)?.value)
        return response.deliver()
    }

    // MARK: - The person

    func personSignedIn(_ request: MicrosoftRequest, _ exchange: Exchange) -> Account? {
        guard let session = exchange.session(at: provider),
            request.prompts.allSatisfy({ ["none", "consent"].contains($0) })
        else { return nil }
        return exchange.world.read { $0.account(session.account) }
    }

    func hint(_ request: MicrosoftRequest, _ exchange: Exchange) -> String? { request.form["login_hint"] }

    func preference(_ request: MicrosoftRequest) -> ((Account) -> Bool)? {
        { (try? microsoft.check($0, request.client, at: request.realm)) != nil }
    }

    /// Refuses, on Microsoft's own page, a person whose account can't sign in to this client or in this tenant.
    func admit(_ account: Account, to request: MicrosoftRequest, _ exchange: Exchange) throws(RefusedAuthorization) {
        do throws(MicrosoftError) { try microsoft.check(account, request.client, at: request.realm) } catch {
            throw RefusedAuthorization(answer(error, at: nil, exchange))
        }
    }

    func consentPage(_ request: MicrosoftRequest, for account: Account, _ exchange: Exchange) -> Response? {
        let grant = exchange.world.read { $0.grant(MicrosoftGrant.self, of: account.id, to: request.client.id) }
        guard request.prompts == ["consent"] || !(grant?.scopes.isSuperset(of: request.scopes.canonical) ?? false)
        else { return nil }
        return consentPage(request, for: account, items: request.scopes.descriptions, exchange)
    }

    func approve(
        _ request: MicrosoftRequest, by account: Account, _ approval: SignInApproval, _ exchange: Exchange
    ) throws -> Response? {
        let (client, known, form) = (request.client, exchange.session(at: provider), request.form)
        let approved = try exchange.world.update { tables -> (session: BrowserSession, code: String?)? in
            guard tables.account(account.id) != nil else { return nil }
            // Without a question, only a session that still goes on may be continued.
            if case .remembered = approval {
                guard let known, tables.session(withID: known.id, at: provider) != nil else { return nil }
            }
            let session =
                known.flatMap { $0.account == account.id ? $0 : nil }
                ?? tables.beginSession(of: account.id, at: provider, for: .hours(24))
            let grant = tables.consent(account, to: client, scopes: request.scopes)
            guard request.types.contains("code") else { return (session, nil) }
            let details = MicrosoftGrant.TokenDetails(
                scopes: request.scopes.names, nonce: form["nonce"], platform: request.platform, since: tables.now)
            let code = "1.A" + Base64URL.encode(tables.random.bytes(180))
            tables.put(
                AuthorizationCode<MicrosoftGrant>(
                    code, grant: grant.key, client: client.id, redirectURI: request.destination.redirectURI,
                    challenge: request.challenge, expires: tables.now + microsoft.settings.codeLifetime,
                    usedBy: exchange.spentBy,
                    details: MicrosoftGrant.CodeDetails(token: details, realm: request.realm.text)))
            return (session, code)
        }
        guard let approved else { return nil }
        var fields: [(String, String?)] = [("code", approved.code)]
        if request.types.contains("id_token") {
            let claims = microsoft.idToken(
                account, client, scopes: request.scopes.names, nonce: form["nonce"], code: approved.code, exchange)
            do throws(MicrosoftError) { fields.append(("id_token", try microsoft.sign(claims, exchange))) } catch {
                return answer(error, at: request.destination, exchange)
            }
        }
        fields.append(("client_info", microsoft.clientInfo(account, form)))
        fields.append(("session_state", DerivedNumber.uuid(of: approved.session.id)))
        var response = deliver(fields, to: request.destination, exchange)
        response.headers.append(BrowserSession.cookie(approved.session, at: provider, for: exchange))
        return response
    }
}
