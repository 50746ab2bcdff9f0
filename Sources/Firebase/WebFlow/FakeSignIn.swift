import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth

// The handler of a project that takes fake credentials, for a provider that the project hasn't configured: as in the Emulator
// Suite, people are chosen on a page of the handler itself, and no provider is asked.
// https://firebase.google.com/docs/emulator-suite/connect_auth#third-party_authentication
//
// The fake credential comes to the app as a provider's would, in the URL that the SDK sends as requestUri.

extension FirebaseProvider {
    /// The page's form is answered at the project's own domain, as a provider's answer is.
    private func personPages(_ project: Project) -> PersonPages {
        PersonPages(.firebase, .firebase, host: project.host, path: FirebaseProvider.handlerPath)
    }

    func fakeSignIn(_ exchange: Exchange, _ flow: WebFlow, _ project: Project) -> Response {
        let decision = exchange.decision(
            provider: FirebaseProvider.name(ofProvider: flow.providerId) ?? name, client: project.id, interaction: nil)
        switch decision {
        case .ask: return choosePerson(exchange, flow, project)
        case .approve(let account, _): return signedIn(exchange, flow, project, account)
        case .nobody:
            return FirebaseProvider.problem(
                400, "Nobody can sign in", Diagnosis("there is no account to sign in: seed one, or add it"))
        case .cancel: return failed(exchange, flow, "access_denied", nil)
        case .error(let error, _): return failed(exchange, flow, error, nil)
        }
    }

    /// What the page's form says.
    func personAnswered(_ exchange: Exchange, _ form: Form, to request: Form) -> Response {
        guard let (project, flow) = signInUnderWay(exchange, request["state"] ?? ""), project.takesFakes,
            let (_, answer) = personPages(project).answer(form, in: exchange)
        else { return FirebaseProvider.noSuchSignIn() }
        switch answer {
        case .page(let page): return page
        case .cancel: return failed(exchange, flow, "access_denied", nil)
        case .searched(let search): return choosePerson(exchange, flow, project, search)
        case .chosen(let id), .approved(let id):
            guard let account = exchange.world.read({ $0.account(id) }) else {
                return choosePerson(exchange, flow, project)
            }
            return signedIn(exchange, flow, project, account)
        }
    }

    private func choosePerson(
        _ exchange: Exchange, _ flow: WebFlow, _ project: Project, _ search: PersonChooser.Search? = nil
    ) -> Response {
        personPages(project).choose(
            exchange, client: "\(project.id), by a fake credential of \(flow.providerId)",
            request: Form(fields: [Form.Field(name: "state", value: flow.token)]), search: search)
    }

    private func signedIn(
        _ exchange: Exchange, _ flow: WebFlow, _ project: Project, _ account: Account
    ) -> Response {
        // The same in every run, and another at each provider.
        let number = Digest.sha256("firebase:fake:\(flow.providerId):\(account.id)").prefix(8)
            .reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let claims = JSONObject([
            ("sub", .string(String(number))), ("name", .string(account.fullName)), ("email", .string(account.email)),
            ("email_verified", .bool(account.emailVerified)),
        ])
        var fields = [("state", flow.token), ("id_token", JSONValue.object(claims).text)]
        if flow.providerId.hasPrefix("saml.") {
            let response: JSONValue = ["assertion": ["subject": ["nameId": .string(account.email)]]]
            fields.append(("SAMLResponse", response.text))
        }
        let query = Form(fields: fields.map { Form.Field(name: $0.0, value: $0.1) }).encoded
        return finish(exchange, flow, .success("\(project.handler)?\(query)"))
    }

    /// What orders call one of the providers that Firebase knows: `google` for `google.com`.
    private static func name(ofProvider id: String) -> String? {
        IdentitySources.source(id).map { $0.title.lowercased() }
    }
}
