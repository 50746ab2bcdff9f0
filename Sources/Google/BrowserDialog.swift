import EmulatorCore
import HTTPServer
import JSON
import OAuth

// FedCM: the endpoints from which a browser shows its own sign-in dialog, over HTTPS. https://w3c-fedid.github.io/FedCM/
//
// Google's script asks for the dialog with `use_fedcm_for_prompt` and `use_fedcm_for_button`
// (https://developers.google.com/identity/gsi/web/guides/fedcm-migration). Google doesn't document its paths; the
// config file's is in public code: https://accounts.google.com/gsi/fedcm.json.
//
// Quirks: there are no sessions at Google here, so the dialog offers people of the seed, at most fifty. Which of them
// signs in can be ordered as an outcome, whomever the browser names.

extension GoogleProvider {
    static let configPath = "/gsi/fedcm.json"
    private static let accountsPath = "/gsi/fedcm/accounts"
    private static let metadataPath = "/gsi/fedcm/clientmetadata"
    private static let assertionPath = "/gsi/fedcm/issue"
    private static let disconnectPath = "/gsi/fedcm/disconnect"
    private static let loginPath = "/gsi/fedcm/login"
    /// The greatest number of people in the browser's own sign-in dialog (FedCM).
    private static let accountLimit = 50
    /// The greatest number of clients in an account's `approved_clients`. That list tells the browser's dialog (FedCM)
    /// to which clients the person has consented.
    private static let approvedClientLimit = 100

    var browserDialog: [Endpoint] {
        let host = [GoogleProvider.host]
        let setUp = SignInStep(.discovery, "read where the browser's dialog is served")
        // A browser asks the registrable domain of the config file's host, and at `localhost` the host itself.
        let wellKnown = [["google.com"], host, []].map { hosts in
            Endpoint(
                "GET", hosts, "/.well-known/web-identity",
                title: hosts == ["google.com"] ? "where the browser finds FedCM's config file" : nil, step: setUp, .api,
                webIdentity
            ).known(by: .specified("https://w3c-fedid.github.io/FedCM/#idp-api-well-known"))
        }
        return wellKnown + [
            Endpoint(
                "GET", host, GoogleProvider.configPath, title: "FedCM's config file", step: setUp, .api, dialogConfig
            ).known(by: .specified("https://w3c-fedid.github.io/FedCM/#idp-api-config-file")),
            Endpoint(
                "GET", host, GoogleProvider.accountsPath, title: "the accounts in the browser's dialog",
                step: SignInStep(.discovery, "list accounts in the browser's dialog"), .api, dialogAccounts
            ).known(by: .specified("https://w3c-fedid.github.io/FedCM/#idp-api-accounts-endpoint")),
            Endpoint(
                "GET", host, GoogleProvider.metadataPath, title: "a client's privacy policy and terms", step: setUp,
                cors: .any, .api, clientMetadata
            ).known(by: .specified("https://w3c-fedid.github.io/FedCM/#idp-api-client-id-metadata-endpoint")),
            Endpoint(
                "POST", host, GoogleProvider.assertionPath, title: "the credential of the browser's dialog",
                step: SignInStep(.authorization, "browser's own dialog (FedCM)"), cors: .any, keys: [.google],
                .api(GoogleError.ofAssertions, mints: .google)
            ) { exchange in try answerDialog(exchange) { try assertion(exchange, $0) } }
            .known(by: .specified("https://w3c-fedid.github.io/FedCM/#idp-api-id-assertion-endpoint")),
            Endpoint(
                "POST", host, GoogleProvider.disconnectPath, title: "a page ends a person's consent by the browser",
                step: SignInStep(.revocation, "take consent back"), cors: .any, .api
            ) { exchange in try answerDialog(exchange) { try disconnect(exchange, $0) } }
            .known(by: .specified("https://w3c-fedid.github.io/FedCM/#idp-api-disconnect-endpoint")),
            Endpoint(
                "GET", host, GoogleProvider.loginPath, title: "the page to sign in at Google",
                step: SignInStep(.page, "open page"), .page, loginPage
            ).known(by: .ownPage),
        ]
    }

    /// Answers a browser's request for FedCM's well-known file. The members `accounts_endpoint` and `login_url` are
    /// required because the config file names an endpoint for client metadata.
    private func webIdentity(_ exchange: Exchange) -> Response {
        func url(_ path: String) -> JSONValue { .string(exchange.address.url(of: GoogleProvider.host, path)) }
        return GoogleProvider.json([
            "provider_urls": [url(GoogleProvider.configPath)], "accounts_endpoint": url(GoogleProvider.accountsPath),
            "login_url": url(GoogleProvider.loginPath),
        ])
    }

    /// Answers a browser's request for FedCM's config file.
    private func dialogConfig(_ exchange: Exchange) -> Response {
        func url(_ path: String) -> JSONValue { .string(exchange.address.url(of: GoogleProvider.host, path)) }
        return GoogleProvider.json([
            "accounts_endpoint": url(GoogleProvider.accountsPath),
            "client_metadata_endpoint": url(GoogleProvider.metadataPath),
            "id_assertion_endpoint": url(GoogleProvider.assertionPath),
            "disconnect_endpoint": url(GoogleProvider.disconnectPath),
            "login_url": url(GoogleProvider.loginPath),
            "branding": ["background_color": "#1a73e8", "color": "#ffffff"],
        ])
    }

    /// Answers a browser's request for the accounts in its sign-in dialog (FedCM). The ID of an account is the person's
    /// `sub` at Google.
    private func dialogAccounts(_ exchange: Exchange) -> Response {
        if let refusal = GoogleProvider.refusalOfPages(exchange) { return refusal.dialogResponse }
        let accounts = exchange.world.read { tables in
            tables.people(limit: GoogleProvider.accountLimit).people.map { account -> JSONValue in
                let profile = account.google
                var body = JSONObject([
                    ("id", .string(profile.sub)),
                    ("name", .string(account.fullName.isEmpty ? account.id : account.fullName)),
                    ("given_name", .string(account.name.given)), ("email", .string(account.email)),
                    ("picture", .string(profile.picture)),
                    ("login_hints", .array([account.email, profile.sub].map { .string($0) })),
                ])
                body["domain_hints"] = profile.hostedDomain.map { .array([.string($0)]) }
                let grants = tables.newest(
                    GoogleGrant.tables.byAccount, account.id, limit: GoogleProvider.approvedClientLimit)
                let approved = grants.filter {
                    !$0.hasEnded(at: tables.now) && $0.scopes.isSuperset(of: BrowserSignIn.scopes.names)
                }
                body["approved_clients"] = .array(approved.map { .string($0.client) })
                return .object(body)
            }
        }
        let response = GoogleProvider.json(["accounts": .array(accounts)])
        return accounts.isEmpty
            ? response.addingNote(Note("there is no account to sign in: seed one, or add it with POST accounts"))
            : response
    }

    /// Answers a browser's request for the links to a client's privacy policy and terms (FedCM). The response has no
    /// links, because seeds have none for clients.
    private func clientMetadata(_ exchange: Exchange) -> Response {
        do throws(GoogleError) { _ = try client(named: exchange.request.queryForm["client_id"] ?? "") } catch {
            return error.dialogResponse
        }
        return GoogleProvider.json([:])
    }

    /// Answers the person's choice in the browser's dialog (FedCM) with an ID token.
    private func assertion(_ exchange: Exchange, _ request: BrowserSignIn) throws -> Response {
        let decision = try exchange.decision(
            provider: name, client: request.client.id, interaction: request.interaction)
        let account: Account
        switch decision {
        case .ask:
            let chosen = request.form["account_id"] ?? ""
            guard let known = self.account(hinted: chosen, exchange) else {
                throw GoogleError(
                    "access_denied", nil, status: 403,
                    Diagnosis(
                        received: "account_id \(Diagnosis.quote(chosen))",
                        "no account in this test world has this sub: send an id from the accounts endpoint"))
            }
            account = known
        case .approve(let ordered, _): account = ordered
        case .cancel:
            throw GoogleError(
                "access_denied", nil, status: 403, Diagnosis(AuthorizationEnd.cancelled(isOrdered: true).reason))
        case .error(let error, _):
            throw GoogleError(error, nil, status: 400, Diagnosis(AuthorizationEnd.error(error, nil).reason))
        case .nobody:
            throw GoogleError(
                "access_denied", nil, status: 403,
                Diagnosis("there is no account to sign in with: add one in the seed, or with POST accounts"))
        }
        guard blocked(request.client, BrowserSignIn.scopes, account) == nil else {
            throw GoogleError(
                "access_denied", nil, status: 403, Diagnosis("the account \(account.id) may not sign in to this client")
            )
        }
        guard let token = try credential(exchange, request, account) else {
            throw GoogleError("access_denied", nil, status: 403, Diagnosis("the account no longer exists"))
        }
        return GoogleProvider.json(["token": .string(token)])
    }

    /// Ends a person's grant to a client, at the request of a page through the browser (FedCM).
    private func disconnect(_ exchange: Exchange, _ request: BrowserSignIn) throws -> Response {
        let hint = request.form["account_hint"] ?? ""
        guard let account = try endGrant(of: hint, to: request.client, exchange) else {
            throw GoogleProvider.unknownHint(hint, at: request.client)
        }
        return GoogleProvider.json(["account_id": .string(account.google.sub)])
    }

    /// Shows the page that a browser opens when its sign-in dialog (FedCM) has no account to offer.
    private func loginPage(_ exchange: Exchange) -> Response {
        pages.problem(
            200, "Choose an account in the browser's dialog",
            Diagnosis(
                "the browser's dialog lists accounts of this test world: if none is listed, add an account in the seed"
            ))
    }

    // MARK: - The browser's requests

    /// Checks a FedCM request, which only a browser itself may send, and answers it with the result of `respond`. The
    /// request's header `Origin` names the page that wants the sign-in.
    private func answerDialog(
        _ exchange: Exchange, _ respond: (BrowserSignIn) throws -> Response
    ) throws -> Response {
        var response: Response
        do {
            if let refusal = GoogleProvider.refusalOfPages(exchange) { throw refusal }
            response = try respond(try BrowserSignIn(GoogleProvider.dialogForm(exchange), self))
        } catch let error as GoogleError { response = error.dialogResponse }
        response.headers.append((name: "Access-Control-Allow-Credentials", value: "true"))
        return response
    }

    /// Returns the fields of a browser's request (FedCM). The header `Origin` becomes the field `origin`. The field
    /// `nonce` is the one that the browser sends, or comes from the JSON in the browser's field `params`.
    private static func dialogForm(_ exchange: Exchange) -> Form {
        let sent = exchange.request.bodyForm
        var fields = ["client_id", "account_id", "account_hint"].compactMap { sent.field($0) }
        fields.append(Form.Field(name: "origin", value: exchange.request.header("Origin") ?? ""))
        let parameters = (try? JSONValue(parsing: Array((sent["params"] ?? "").utf8), limits: .answer))?.object
        if let nonce = sent["nonce"] ?? parameters?["nonce"]?.string {
            fields.append(Form.Field(name: "nonce", value: nonce))
        }
        return Form(fields: fields)
    }

    /// Returns the error for a request without `Sec-Fetch-Dest: webidentity`. Only a browser itself can send this
    /// header, and not a page's script. <https://w3c-fedid.github.io/FedCM/#sec-fetch-dest-header>
    private static func refusalOfPages(_ exchange: Exchange) -> GoogleError? {
        let purpose = exchange.request.header("Sec-Fetch-Dest") ?? ""
        guard purpose != "webidentity" else { return nil }
        return GoogleError(
            "invalid_request", nil,
            Diagnosis(
                received: purpose.isEmpty ? "no Sec-Fetch-Dest" : "Sec-Fetch-Dest \(Diagnosis.quote(purpose))",
                expected: "webidentity",
                "only a browser's own sign-in dialog may send this request: call navigator.credentials.get"))
    }
}

extension GoogleError {
    /// The errors that a test can make the ID assertion endpoint return in a sign-in by the browser's dialog (FedCM).
    static let ofAssertions = EndpointTraits.Errors(
        ["invalid_request", "unauthorized_client", "access_denied", "server_error", "temporarily_unavailable"],
        isOpen: true
    ) { order, _ in
        var response = GoogleError(order.name, order.description, order.diagnosis).dialogResponse
        response.headers.append((name: "Access-Control-Allow-Credentials", value: "true"))
        return response
    }

    /// The error response to a browser's request (FedCM). Browsers read the error's name in the member `error`; older
    /// ones read it in `code`.
    fileprivate var dialogResponse: Response {
        GoogleProvider.json(["error": ["error": .string(name), "code": .string(name)]], status: status)
            .diagnosed(diagnosis).known(by: GoogleProvider.evidence.ofError(name))
    }
}
