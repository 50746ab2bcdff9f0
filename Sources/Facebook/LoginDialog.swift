import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time
import Worlds

// GET https://www.facebook.com/dialog/oauth
//
// Quirks: permissions are separated by commas, and unknown ones are ignored. A declined permission is requested again
// only with auth_type=rerequest. Every permission but the public profile can be declined on the page ("Edit access"). A
// cancel leads to error_code=200 and error_reason=user_denied; a failure of Facebook leads to error_code and
// error_message, without error. The callback of a code ends with the fragment #_=_; tokens are in the fragment.
// redirect_uri is compared exactly, apart from its query. PKCE is optional.

/// A request to Facebook's login dialog whose parameters have been checked.
struct DialogRequest: CheckedAuthorization {
    let client: FacebookApp
    /// The redirect URI of the request; empty if a page opened the dialog through Facebook's SDK for JavaScript.
    let redirectURI: String
    /// The origin of the page that opened the dialog through Facebook's SDK for JavaScript; `nil` for other requests.
    let page: JavaScriptOrigin?
    let responseTypes: Set<String>
    let permissions: [String]
    let challenge: CodeChallenge?
    /// The parameters of the request, unchanged. The sign-in page sends them again with the person's answer.
    let form: Form

    var nonce: String? { form["nonce"].flatMap { $0.isEmpty ? nil : $0 } }
    var authNonce: String? { form["auth_nonce"].flatMap { $0.isEmpty ? nil : $0 } }
    /// Whether the dialog asks again for permissions that the person has declined before.
    var asksAgain: Bool { form["auth_type"]?.split(separator: ",").contains("rerequest") ?? false }
    var givesTokens: Bool { !responseTypes.isDisjoint(with: ["token", "id_token"]) }

    /// An error in a request to the login dialog. The error is shown on Facebook's own page and not sent to the app.
    struct Refusal: Error {
        let title: String
        let diagnosis: Diagnosis

        init(_ title: String, _ diagnosis: Diagnosis) {
            self.title = title
            self.diagnosis = diagnosis
        }
    }

    init(_ form: Form, _ provider: FacebookProvider) throws(Refusal) {
        let id = form["client_id"] ?? form["app_id"] ?? ""
        guard let app = provider.apps[id] else {
            throw Refusal(
                "Invalid App ID",
                Diagnosis(
                    received: "client_id \(Diagnosis.quote(id))",
                    "no such app is configured in the seed\(provider.apps.hint(for: id))"))
        }
        let redirectURI = form["redirect_uri"] ?? ""
        client = app
        responseTypes = try DialogRequest.responseTypes(form)
        let scope = FacebookPermission.names(ofScope: form["scope"] ?? "")
        // The permissions of a configuration of Facebook Login for Business are in the app's dashboard, and in no seed.
        // These are our choice.
        let isConfigured = scope.isEmpty && !(form["config_id"] ?? "").isEmpty
        permissions = FacebookPermission.asked(isConfigured ? ["email"] : scope)
        challenge = try CodeChallenge.read(form) { _ in
            Refusal(
                "Something went wrong",
                Diagnosis(
                    expected:
                        "code_challenge_method plain or S256, and a code_challenge of 43 to 128 unreserved characters",
                    "the code_challenge or its method is invalid"))
        }
        self.form = form
        if let origin = FacebookProvider.origin(ofRelay: redirectURI) {
            page = try DialogRequest.page(origin, of: app)
            self.redirectURI = ""
            return
        }
        let withoutQuery = String(redirectURI.prefix { $0 != "?" })
        guard app.redirectURIs.contains(where: { RegisteredRedirectURI($0).matches(withoutQuery) }) else {
            throw Refusal(
                "URL blocked",
                Diagnosis(
                    received: "redirect_uri \(Diagnosis.quote(redirectURI))",
                    expected: RegisteredRedirectURI.alternatives(app.redirectURIs),
                    "add this URI to redirectURIs of app \"\(id)\" in the seed"
                ).mended(
                    byMerging: [
                        "facebook": ["apps": [["appID": .string(id), "redirectURIs": [.string(withoutQuery)]]]]
                    ]))
        }
        page = nil
        self.redirectURI = redirectURI
        if responseTypes.contains("id_token"), nonce == nil {
            throw Refusal(
                "Something went wrong",
                Diagnosis("nonce is missing: response_type id_token requires a nonce, as in OpenID Connect"))
        }
    }

    /// Returns the origin of the page that opened the login dialog through Facebook's SDK for JavaScript.
    ///
    /// - Throws: An error if the page may not use the SDK with this app.
    private static func page(_ origin: String, of app: FacebookApp) throws(Refusal) -> JavaScriptOrigin {
        guard !app.javaScriptOrigins.isEmpty else {
            throw Refusal(
                "JSSDK Option is Not Toggled",
                Diagnosis(
                    received: "a login dialog opened by the JavaScript SDK on \(Diagnosis.quote(origin))",
                    "the app lets no page use the SDK: add the page's origin to javaScriptOrigins of app \"\(app.id)\" in the seed"
                ))
        }
        guard let page = JavaScriptOrigin(origin), page.isAmong(app.javaScriptOrigins) else {
            throw Refusal(
                "JSSDK Unknown Host Domain",
                Diagnosis(
                    received: "a request from the page \(Diagnosis.quote(origin))",
                    expected: RegisteredRedirectURI.alternatives(app.javaScriptOrigins),
                    "this page may not use the app: add its origin to javaScriptOrigins of app \"\(app.id)\" in the seed"
                ))
        }
        return page
    }

    /// Returns the response types that a request to the login dialog names. If there is none of `code`, `token` and
    /// `id_token` among them, `code` is added.
    private static func responseTypes(_ form: Form) throws(Refusal) -> Set<String> {
        let text = form["response_type"] ?? ""
        let types = Set(text.split { $0 == " " || $0 == "," }.map(String.init))
        guard types.isSubset(of: ["code", "token", "id_token", "granted_scopes", "signed_request", "graph_domain"])
        else {
            throw Refusal(
                "Something went wrong",
                Diagnosis(
                    received: "response_type \(Diagnosis.quote(text))",
                    expected: "code, token, id_token or granted_scopes", "send one of these, or several"))
        }
        return types.isDisjoint(with: ["code", "token", "id_token"]) ? types.union(["code"]) : types
    }
}

extension FacebookProvider {
    /// The messages of Facebook's own failures in the login dialog, by error code. Facebook sends them to the redirect
    /// URI.
    static let dialogErrors = [
        "901":
            "This app is in sandbox mode.  Edit the app configuration at http://developers.facebook.com/apps to make the app publicly visible.",
        "1349003": "Login Error: There is an error in logging you into this application. Please try again later.",
    ]
}

struct FacebookSignIn: PersonPagesFlow {
    static let codeLifetime = TimeSpan.minutes(10)

    let facebook: FacebookProvider

    var provider: String { facebook.name }

    func pages(_ exchange: Exchange) -> PersonPages { facebook.pages }

    func request(_ form: Form, isAnswer: Bool, _ exchange: Exchange) throws(RefusedAuthorization) -> DialogRequest {
        do throws(DialogRequest.Refusal) { return try DialogRequest(form, facebook) } catch {
            throw RefusedAuthorization(facebook.pages.problem(400, error.title, error.diagnosis))
        }
    }

    func answer(to request: DialogRequest, _ end: AuthorizationEnd, _ exchange: Exchange) -> Response {
        guard case .error(let error, _) = end else {
            return failed(
                exchange, request,
                [
                    ("error", "access_denied"), ("error_code", "200"), ("error_description", "Permissions error"),
                    ("error_reason", "user_denied"),
                ], end.reason)
        }
        let fields =
            FacebookProvider.dialogErrors[error].map { [("error_code", error), ("error_message", $0)] }
            ?? [("error", error)]
        return failed(exchange, request, fields, end.reason)
    }

    func admit(
        _ account: Account, to request: DialogRequest, _ exchange: Exchange
    ) throws(RefusedAuthorization) {
        if let page = blocked(request, account) { throw RefusedAuthorization(page) }
    }

    func consentPage(_ request: DialogRequest, for account: Account, _ exchange: Exchange) -> Response? {
        let (asked, granted) = permissions(of: account, request, exchange)
        return consentPage(
            request, for: account, items: FacebookPermission.descriptions(of: asked),
            choices: asked.filter { !granted.contains($0) }, exchange)
    }

    /// Returns the permissions that the login dialog asks the person for, and the permissions that the person has
    /// granted before.
    private func permissions(
        of account: Account, _ request: DialogRequest, _ exchange: Exchange
    ) -> (asked: [String], granted: [String]) {
        exchange.world.read { tables in
            let grant = tables.grant(FacebookGrant.self, of: account.id, to: request.client.id)
            let asked = FacebookSignIn.asked(request, of: account.id, tables)
            return (asked, grant?.granted ?? [FacebookPermission.always])
        }
    }

    /// Returns Facebook's error page if the person can't sign in to the app. A person with a role in the app also gets
    /// an error page if the request's `scope` has unknown permissions. In all other cases, returns `nil`.
    private func blocked(_ request: DialogRequest, _ account: Account) -> Response? {
        let app = request.client
        guard app.admits(account) else {
            return facebook.pages.problem(400, "App not active", app.reason(againstAdmitting: account))
        }
        let unknown = FacebookPermission.unknown(FacebookPermission.names(ofScope: request.form["scope"] ?? ""))
        guard app.developers.contains(account.id), !unknown.isEmpty else { return nil }
        return facebook.pages.problem(
            400, "Invalid Scopes: \(unknown.prefix(20).joined(separator: ", "))",
            Diagnosis(
                received: "scope \(Diagnosis.quote(request.form["scope"] ?? ""))",
                "the scope has unknown permissions: only the app's developers see this error; for other users, Facebook ignores such permissions"
            ))
    }

    /// Returns the permissions that the login dialog asks for. Permissions that the person has declined before are left
    /// out, unless `auth_type` is `rerequest`.
    private static func asked(
        _ request: DialogRequest, of account: String, _ tables: borrowing some TableReading & ~Copyable
    ) -> [String] {
        let grant = tables.grant(FacebookGrant.self, of: account, to: request.client.id)
        guard let declined = grant?.declined, !request.asksAgain else { return request.permissions }
        return request.permissions.filter { !declined.contains($0) }
    }

    // MARK: - Answers

    /// The result of a sign-in that a person has approved at the login dialog: the grant, and the authorization code
    /// and the access token if the request asked for them.
    private struct Approved: Sendable {
        let grant: FacebookGrant
        let code: String?
        let accessToken: String?
        let at: Instant
    }

    private func approve(
        _ exchange: Exchange, _ request: DialogRequest, by account: Account, _ permissions: [String]
    ) throws -> Approved? {
        try exchange.world.update(for: account.id) { tables in
            let now = tables.now
            let asked = FacebookSignIn.asked(request, of: account.id, tables)
            let grant = tables.consent(account.id, to: request.client.id, asked: asked, approving: permissions)
            var code: String?
            // The signed request also contains a code.
            if !request.responseTypes.isDisjoint(with: ["code", "signed_request"]) {
                let text = FacebookToken.code(from: &tables.random)
                tables.put(
                    AuthorizationCode<FacebookGrant>(
                        text, grant: grant.key, client: grant.app,
                        redirectURI: request.page == nil ? request.redirectURI : nil,
                        challenge: request.challenge, expires: now + FacebookSignIn.codeLifetime,
                        usedBy: exchange.spentBy,
                        details: FacebookGrant.CodeDetails(
                            issuedAt: now, nonce: request.nonce,
                            isOpenID: request.permissions.contains("openid") && grant.granted.contains("openid"),
                            authNonce: request.authNonce)))
                code = text
            }
            let token =
                request.responseTypes.contains("token")
                ? tables.makeAccessToken(
                    grant, issuedAt: now, lasting: FacebookToken.shortLifetime, authNonce: request.authNonce) : nil
            return Approved(grant: grant, code: code, accessToken: token, at: now)
        }
    }

    func approve(
        _ request: DialogRequest, by account: Account, _ approval: SignInApproval, _ exchange: Exchange
    ) throws -> Response? {
        var permissions = approval.scopes ?? request.permissions
        if case .page = approval {
            let (asked, granted) = self.permissions(of: account, request, exchange)
            permissions = approval.scopes.map { chosen in (asked.filter { (granted + chosen).contains($0) }) } ?? asked
        }
        guard let approved = try approve(exchange, request, by: account, permissions) else { return nil }
        var fields: [(String, String)] = []
        if let token = approved.accessToken {
            fields += [
                ("access_token", token),
                ("data_access_expiration_time", String((approved.at + FacebookToken.dataAccess).seconds)),
                ("expires_in", String(FacebookToken.shortLifetime.seconds)),
            ]
        }
        if request.responseTypes.contains("id_token") {
            do {
                fields.append(
                    (
                        "id_token",
                        try facebook.idToken(
                            account, approved.grant, nonce: request.nonce, approved.accessToken, exchange)
                    ))
            } catch let error as GraphError {
                return failed(exchange, request, [("error", "server_error")], error.diagnosis.line)
            }
        }
        if request.responseTypes.contains("signed_request") {
            let signed = facebook.signedRequest(of: account, app: request.client, code: approved.code, at: approved.at)
            fields.append(("signed_request", signed.text))
        }
        if request.responseTypes.contains("graph_domain") { fields.append(("graph_domain", "facebook")) }
        if request.responseTypes.contains("code"), let code = approved.code { fields.append(("code", code)) }
        let returnsScopes = request.form["return_scopes"] == "true"
        if returnsScopes || request.responseTypes.contains("granted_scopes") {
            let granted = approved.grant.granted
            fields.append(("granted_scopes", granted.joined(separator: ",")))
            let denied = request.permissions.filter { !granted.contains($0) }
            fields.append(("denied_scopes", denied.joined(separator: ",")))
        }
        let response = callback(exchange, request, fields)
        let unknown = FacebookPermission.unknown(FacebookPermission.names(ofScope: request.form["scope"] ?? ""))
        guard let name = unknown.first else { return response }
        return response.addingNote(
            Note(
                "Facebook has no permission \(Diagnosis.quote(name)), and ignores it; developers of the app see the page \"Invalid Scopes\" "
                    + "instead"))
    }

    private func failed(
        _ exchange: Exchange, _ request: DialogRequest, _ fields: [(String, String)], _ reason: String
    ) -> Response {
        func value(_ names: String...) -> String? {
            fields.first { names.contains($0.0) }?.1
        }
        let name = value("error", "error_code") ?? ""
        let evidence = FacebookProvider.evidence.ofError(name, value("error_description", "error_message"))
        return callback(exchange, request, fields).diagnosed(Diagnosis(reason))
            .known(by: evidence ?? .chosen("Facebook documents no error of this name: it was ordered"))
    }

    private func callback(_ exchange: Exchange, _ request: DialogRequest, _ fields: [(String, String)]) -> Response {
        var form = Form(fields: fields.map { Form.Field(name: $0.0, value: $0.1) })
        if let state = exchange.redirectState(request.form.field("state")) { form.fields.append(state) }
        if let page = request.page {
            let message = JSONObject(form.fields.map { ($0.name, .string($0.value)) })
            return AuthorizationResponse(redirectURI: page.text, mode: .webMessage).messagePage(.object(message))
        }
        let uri = exchange.reachable(request.redirectURI)
        if request.givesTokens { return .redirect(to: "\(uri)#\(form.encoded)") }
        return .redirect(to: "\(uri)\(uri.contains("?") ? "&" : "?")\(form.encoded)#_=_")
    }
}
