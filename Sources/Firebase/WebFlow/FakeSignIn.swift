import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Text

// The handler's page in a project that takes fake credentials, for a provider that the project hasn't configured: as in
// the Emulator Suite, people are chosen on a page of the handler itself, and no provider is asked.
// https://firebase.google.com/docs/emulator-suite/connect_auth#third-party_authentication
//
// The fake credential reaches the app as a provider's would, in the URL that the SDK sends as requestUri.
//
// Quirks: the title, the IDs and the classes are those that tests look for on the official emulator's page
// (firebase-js-sdk: packages/auth/test/integration/webdriver/util/idp_page.ts). A person added there isn't an account
// of this world, but a user of the project, and is deleted with the project's users.

extension FirebaseProvider {
    func fakeSignIn(_ exchange: Exchange, _ flow: WebFlow, _ project: Project) throws -> Response {
        let decision = try exchange.decision(
            provider: FirebaseProvider.name(ofProvider: flow.providerId) ?? name, client: project.id, interaction: nil)
        switch decision {
        case .ask: return choosePerson(exchange, flow, project)
        case .approve(let account, _):
            return try signedIn(exchange, flow, project, FakePerson(account, at: flow.providerId))
        case .nobody:
            return FirebaseProvider.problem(
                400, "Nobody can sign in",
                Diagnosis("there is no account to sign in with: add one in the seed, or with POST accounts"))
        case .cancel: return try failed(exchange, flow, "access_denied", nil)
        case .error(let error, _): return try failed(exchange, flow, error, nil)
        }
    }

    /// Handles the form of the page for a fake sign-in, on which an existing or a new person is chosen, or the sign-in
    /// is cancelled.
    func personAnswered(_ exchange: Exchange, _ form: Form, to request: Form) throws -> Response {
        guard let (project, flow) = signInUnderWay(exchange, request["state"] ?? ""), project.takesFakes else {
            return FirebaseProvider.noSuchSignIn()
        }
        if let search = PersonChooser.Search(form) { return choosePerson(exchange, flow, project, search) }
        if let id = form["account"] {
            guard let account = exchange.world.read({ $0.account(id) }) else {
                return choosePerson(exchange, flow, project)
            }
            return try signedIn(exchange, flow, project, FakePerson(account, at: flow.providerId))
        }
        if let rawId = form["identity"] {
            let identity = User.Identity(pool: flow.pool, providerId: flow.providerId, rawId: rawId)
            guard let link = exchange.world.read({ $0.user(identity) })?.links.first(where: { $0.rawId == rawId })
            else {
                return choosePerson(exchange, flow, project)
            }
            return try signedIn(exchange, flow, project, FakePerson(link))
        }
        guard form["action"] == "make" else { return try failed(exchange, flow, "access_denied", nil) }
        let person = FakePerson(
            form, rawId: try exchange.world.update { $0.random.text(20, from: Array("123456789".utf8)) })
        if let problem = person.problem {
            return choosePerson(exchange, flow, project, person: person, problem: problem)
        }
        return try signedIn(exchange, flow, project, person)
    }

    private func signedIn(
        _ exchange: Exchange, _ flow: WebFlow, _ project: Project, _ person: FakePerson
    ) throws -> Response {
        var fields = [("state", flow.token), ("id_token", JSONValue.object(person.claims).text)]
        if flow.providerId.hasPrefix("saml.") {
            let response: JSONValue = ["assertion": ["subject": ["nameId": .string(person.email)]]]
            fields.append(("SAMLResponse", response.text))
        }
        let query = Form(fields: fields.map { Form.Field(name: $0.0, value: $0.1) }).encoded
        return try finish(exchange, flow, .success("\(project.handler)?\(query)"))
    }

    /// Returns the name by which tests call an identity provider: `google` for the ID `google.com`.
    private static func name(ofProvider id: String) -> String? {
        IdentitySources.source(id).map { $0.title.lowercased() }
    }

    // MARK: - The page

    private static let widgetTitle = "Auth Emulator IDP Login Widget"
    /// The greatest number of the project's users that the page of a fake sign-in lists.
    private static let listed = 100

    private func choosePerson(
        _ exchange: Exchange, _ flow: WebFlow, _ project: Project, _ search: PersonChooser.Search? = nil,
        person: FakePerson? = nil, problem: String? = nil
    ) -> Response {
        let known = exchange.world.read { tables in
            tables.users(.provider, flow.providerId, in: flow.pool, limit: FirebaseProvider.listed)
        }.flatMap { $0.links.filter { $0.providerId == flow.providerId } }
        let ids = Set(known.map(\.rawId))
        let chooser = PersonChooser(exchange, search)
        let people = chooser.fields { account in
            // People who have signed in before are among the users already.
            guard !ids.contains(FakePerson.rawId(of: account, at: flow.providerId)) else { return .group([]) }
            return PersonChooser.button(
                account, title: account.fullName.isEmpty ? account.id : account.fullName,
                notes: account.email + (account.emailVerified ? "" : " · address not verified"))
        }
        let users = known.enumerated().map { place, link -> HTML in
            let title = link.displayName ?? "(No display name)"
            return .tag(
                "li", [("class", "js-reuse-account")],
                .tag(
                    "button",
                    [
                        ("class", "person"), ("type", "submit"), ("name", "identity"), ("value", link.rawId),
                        ("data-initial", title.prefix(1).uppercased()),
                    ],
                    .tag(
                        "span", [], .tag("strong", [], title),
                        .tag(
                            "span", [("class", "soft small")] + (place == 0 ? [("id", "reuse-email")] : []),
                            link.email ?? link.screenName ?? link.rawId))))
        }
        let list: [HTML] =
            [
                .element(
                    "ul", attributes: [(name: "class", value: "plain")],
                    children: users + [
                        .tag(
                            "li", [("id", "add-account-button"), ("class", "js-new-account")],
                            .tag(
                                "a", [("class", "button quiet"), ("href", "#add-user"), ("role", "button")],
                                "Add new account"))
                    ])
            ]
            + (chooser.isEmpty
                ? [] : [.tag("p", [("class", "soft small")], "People of this world:")] + people)
        let alert =
            problem.map { [HTML.tag("p", [("class", "error"), ("role", "alert"), ("id", "email-error")], $0)] } ?? []
        let content: [HTML] = [
            .tag("h1", [], "Sign-in with \(flow.providerId)"),
            .tag("p", [("class", "soft")], "to go on to \(project.id), by a fake credential"),
            form(exchange, flow, project, id: "accounts-list", list),
            .element(
                "section", attributes: [(name: "id", value: "add-user")],
                children: [
                    .tag("h2", [], "Add new account"),
                    .tag(
                        "button", [("type", "button"), ("id", "autogen-button"), ("class", "quiet")],
                        "Auto-generate user information"),
                    form(
                        exchange, flow, project, id: "main-form",
                        alert + (person ?? FakePerson()).fields + [
                            .tag(
                                "button",
                                [("type", "submit"), ("name", "action"), ("value", "make"), ("id", "sign-in")],
                                "Sign in with \(flow.providerId)"),
                            .tag(
                                "button",
                                [
                                    ("type", "submit"), ("name", "action"), ("value", "cancel"), ("class", "quiet"),
                                    ("formnovalidate", nil),
                                ], "Cancel"),
                            .tag(
                                "a",
                                [
                                    ("class", "button quiet"), ("href", "#accounts-list"), ("role", "button"),
                                    ("id", "back-button"),
                                ], "Back"),
                        ]),
                ]), .script(FirebaseProvider.script),
        ]
        var response = Page.response(
            title: FirebaseProvider.widgetTitle, status: problem == nil ? 200 : 422, look: .firebase, content)
        response.headers.append((name: "X-Frame-Options", value: "deny"))
        return problem.map { response.diagnosed(Diagnosis($0)) } ?? response
    }

    /// Returns an HTML form for the page on which a person is chosen in a fake sign-in. The form is posted to the
    /// project's own domain, to which a real identity provider sends its answer, too.
    private func form(
        _ exchange: Exchange, _ flow: WebFlow, _ project: Project, id: String, _ children: [HTML]
    ) -> HTML {
        let address = exchange.address.url(of: project.host, FirebaseProvider.handlerPath)
        let request = Form(fields: [Form.Field(name: "state", value: flow.token)])
        return .element(
            "form",
            attributes: [(name: "id", value: id), (name: "method", value: "post"), (name: "action", value: address)],
            children: [.carrying(request)] + children)
    }

    /// A script for the page of a fake sign-in. The page works without it, but tests for the Firebase emulator's page
    /// wait until the function `toggleForm` exists.
    private static let script: StaticString = """
        function toggleForm(isShown){if(isShown)document.getElementById('email-input').focus()}\
        document.querySelector('.js-new-account').addEventListener('click',function(){toggleForm(true)});\
        document.getElementById('autogen-button').addEventListener('click',function(){\
        var number=crypto.getRandomValues(new Uint32Array(1))[0];\
        function fill(id,text){document.getElementById(id).value=text}\
        fill('email-input','person.'+number+'@example.com');fill('display-name-input','Person '+number);\
        fill('screen-name-input','person_'+number)})
        """
}

/// The person whom a fake credential describes.
private struct FakePerson {
    var rawId = ""
    var email = ""
    var isVerified = true
    var displayName = ""
    var screenName = ""
    var photoURL = ""

    init() {}

    init(_ account: Account, at provider: String) {
        rawId = FakePerson.rawId(of: account, at: provider)
        (email, isVerified, displayName) = (account.email, account.emailVerified, account.fullName)
    }

    /// Returns the person's user ID at an identity provider. It is the same in every run, and different at each
    /// provider.
    static func rawId(of account: Account, at provider: String) -> String {
        let digest = Digest.sha256("firebase:fake:\(provider):\(account.id)")
        return String(digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// Makes the description of a person who has signed in with an identity provider before. The e-mail address counts
    /// as verified, as in the Firebase emulator.
    init(_ link: User.Link) {
        rawId = link.rawId
        email = link.email ?? ""
        displayName = link.displayName ?? ""
        screenName = link.screenName ?? ""
        photoURL = link.photoUrl ?? ""
    }

    init(_ form: Form, rawId: String) {
        self.rawId = rawId
        func text(_ name: String) -> String {
            (form[name] ?? "").trimmed
        }
        (email, displayName, screenName, photoURL) = (
            text("email"), text("displayName"), text("screenName"), text("photoUrl")
        )
    }

    /// The error in the form for a new person, as a sentence for the page; `nil` if there is none.
    var problem: String? {
        if email.isEmpty { return "Email required" }
        if !email.contains("@") { return "Missing \"@\"" }
        if !TextRule.email.holds(email) { return "This isn't an e-mail address." }
        let isShort = displayName.utf8.count <= 1_024 && screenName.utf8.count <= 1_024 && photoURL.utf8.count <= 8_192
        return isShort ? nil : "Something here is too long."
    }

    var claims: JSONObject {
        var claims = JSONObject(["sub": rawId])
        func set(_ name: String, _ value: String) { if !value.isEmpty { claims[name] = .string(value) } }
        set("name", displayName)
        set("screen_name", screenName)
        set("email", email)
        claims["email_verified"] = .bool(isVerified)
        set("picture", photoURL)
        return claims
    }

    /// The input fields of the form for a new person, filled in with the texts that the person has sent.
    var fields: [HTML] {
        func input(_ id: String, _ name: String, _ label: String, _ value: String, _ type: String) -> HTML {
            .tag(
                "label", [], .text(label),
                .tag(
                    "input",
                    [("id", id), ("type", type), ("name", name), ("value", value), ("autocomplete", "off")]))
        }
        return [
            input("email-input", "email", "Email", email, "email"),
            input("display-name-input", "displayName", "Display name (optional)", displayName, "text"),
            input("screen-name-input", "screenName", "Screen name (optional)", screenName, "text"),
            input("profile-photo-input", "photoUrl", "Profile photo URL (optional)", photoURL, "text"),
        ]
    }
}
