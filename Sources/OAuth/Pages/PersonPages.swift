import EmulatorCore
import HTTPServer
import JOSE
import Text

/// The sign-in pages on which a person chooses or creates an account and consents, for providers whose pages have no
/// peculiarities. The pages work without scripts and by keyboard. They need no session, because the form carries the
/// authorization request.
package struct PersonPages: Sendable {
    /// A person's answer on a sign-in page, read from the page's form.
    package enum Answer: Sendable {
        case cancel
        /// The person has searched in the account chooser, which must be shown again with the people found.
        case searched(PersonChooser.Search)
        /// The page on which the person creates a new account must be shown next.
        case page(Response)
        /// The person has chosen this account, and hasn't been asked for consent yet.
        case chosen(String)
        case approved(String)
    }

    private let look: Look
    private let words: PageWords
    private let host: String
    private let path: String

    /// Makes sign-in pages whose form is sent to `path` at `host`.
    package init(_ look: Look, _ words: PageWords? = nil, host: String, path: String) {
        self.look = look
        self.words = words ?? PageWords(nil, of: look.name)
        self.host = host
        self.path = path
    }

    /// Returns the authorization request that a sign-in page's form carries, and the person's answer. Returns `nil` if
    /// the form carries no authorization request. If the person has described a new account, it is created.
    package func answer(_ form: Form, in exchange: Exchange) throws -> (request: Form, answer: Answer)? {
        guard let request = form.carriedRequest else { return nil }
        if let search = PersonChooser.Search(form) { return (request, .searched(search)) }
        switch (form["action"], form["account"]) {
        case ("new", _): return (request, .page(newPerson(exchange, request, NewPerson(nil))))
        case ("make", _): return (request, try made(NewPerson(form), exchange, request))
        case ("continue", let account?): return (request, .approved(account))
        case (nil, let account?): return (request, .chosen(account))
        default: return (request, .cancel)
        }
    }

    /// Shows the account chooser. The account that `hint` names is first, followed by the people for whom `isPreferred`
    /// returns `true`.
    package func choose(
        _ exchange: Exchange, client: String, request: Form, hint: String? = nil, search: PersonChooser.Search? = nil,
        preferring isPreferred: ((Account) -> Bool)? = nil
    ) -> Response {
        let suggested = hint.flatMap { hint in
            exchange.world.read { $0.account(hint) ?? $0.first(Account.byEmail, hint.lowercased()) }
        }
        let chooser = PersonChooser(exchange, search, first: suggested, preferring: isPreferred)
        let people = chooser.fields { account in
            PersonChooser.button(
                account, title: account.fullName.isEmpty ? account.id : account.fullName,
                notes: account.email + (account.emailVerified ? "" : " · address not verified"),
                isSuggested: search == nil && account.id == suggested?.id)
        }
        let nobody = HTML.tag(
            "p", [], "Nobody is seeded. Add a person to the seed, or with POST /_understudy/v1/accounts, or here.")
        return page(
            words("choose"),
            [
                introduction([
                    .tag("h1", [], words("choose")),
                    .tag("p", [("class", "soft")], words("destination", client: client)),
                ]),
                form(
                    exchange, request,
                    (chooser.isEmpty ? [nobody] : people) + [
                        button(words("somebodyElse"), "new", isQuiet: true),
                        button(words("cancel"), "cancel", isQuiet: true),
                    ]),
            ])
    }

    private func made(_ person: NewPerson, _ exchange: Exchange, _ request: Form) throws -> Answer {
        do { return .chosen(try person.make(in: exchange).id) } catch let error as NewPerson.Refusal {
            return .page(newPerson(exchange, request, person, problem: error.sentence))
        }
    }

    private func newPerson(
        _ exchange: Exchange, _ request: Form, _ person: NewPerson, problem: String? = nil
    ) -> Response {
        let alert = problem.map { [HTML.tag("p", [("class", "error"), ("role", "alert")], $0)] } ?? []
        let response = page(
            words("newPerson"), status: problem == nil ? 200 : 422,
            [
                introduction([
                    .tag("h1", [], words("newPerson")),
                    .tag("p", [("class", "soft")], "The account lasts until this world is reset."),
                ]),
                form(
                    exchange, request,
                    alert + person.fields + [
                        actions([button(words("make"), "make"), button(words("cancel"), "cancel", isQuiet: true)])
                    ]),
            ])
        return problem.map { response.diagnosed(Diagnosis($0)) } ?? response
    }

    /// Returns the part of a sign-in page before its form; some themes show it beside the form.
    private func introduction(_ content: [HTML]) -> HTML {
        .element("div", attributes: [(name: "class", value: "intro")], children: content)
    }

    private func actions(_ buttons: [HTML]) -> HTML {
        .element("div", attributes: [(name: "class", value: "actions")], children: buttons)
    }

    /// Shows the consent page. `items` describe in words what the client will get. The person may deselect the scopes
    /// in `choices`.
    package func consent(
        _ exchange: Exchange, client: String, account: Account, items: [String], choices: [String] = [], request: Form
    ) -> Response {
        let list = HTML.element("ul", attributes: [], children: items.map { .tag("li", [], $0) })
        let title = words("consent", client: client, account)
        let boxes = choices.map { choice in
            HTML.tag(
                "label", [("class", "choice")],
                .tag("input", [("type", "checkbox"), ("name", "choice"), ("value", choice), ("checked", nil)]),
                .tag("span", [], choice))
        }
        return page(
            title,
            [
                introduction([
                    .tag("h1", [], title), .tag("p", [("class", "soft")], words("gets", client: client, account)), list,
                ]),
                form(
                    exchange, request,
                    (boxes.isEmpty ? [] : [.hidden("choices", String(boxes.count))] + boxes) + [
                        .hidden("account", account.id),
                        actions([
                            button(words("approve", account), "continue", isFirst: true),
                            button(words("cancel"), "cancel", isQuiet: true),
                        ]),
                    ]),
            ])
    }

    /// Returns the scopes that the person has left selected on the consent page; `nil` if there were none to choose
    /// from.
    package static func choices(_ form: Form) -> [String]? {
        form["choices"] == nil ? nil : form.fields.filter { $0.name == "choice" }.map(\.value)
    }

    /// Shows the page that asks for a device's user code: <https://datatracker.ietf.org/doc/html/rfc8628#section-3.3>.
    /// `problem` says what was wrong with the code entered before.
    package func enterCode(_ exchange: Exchange, _ code: String, problem: Diagnosis? = nil) -> Response {
        let input: [(String, String?)] = [
            ("type", "text"), ("name", "user_code"), ("value", code), ("autocomplete", "off"), ("maxlength", "32"),
            ("autofocus", nil),
        ]
        var content: [HTML] = [.tag("h1", [], "Connect a device")]
        if let problem { content.append(.tag("p", [("class", "error"), ("role", "alert")], problem.advice)) }
        content.append(
            form(
                exchange, nil,
                [.tag("label", [], .text("The code that it shows"), .tag("input", input)), button("Go on", "enter")]))
        let page = page("Connect a device", status: problem == nil ? 200 : 400, content)
        return problem.map { page.diagnosed($0) } ?? page
    }

    package func ask(_ exchange: Exchange, _ title: String, _ text: String, yes: String, request: Form) -> Response {
        page(
            title,
            [
                .tag("h1", [], title), .tag("p", [("class", "soft")], text),
                form(
                    exchange, request,
                    [button(yes, "yes", isFirst: true), button("Cancel", "cancel", isQuiet: true)]),
            ])
    }

    package func notice(_ title: String, _ text: String) -> Response {
        page(title, [.tag("h1", [], title), .tag("p", [("class", "soft")], text)])
    }

    /// Shows an error page instead of redirecting the browser. `text` is the provider's own message.
    package func problem(_ status: Int, _ title: String, _ diagnosis: Diagnosis, text: String? = nil) -> Response {
        page(
            title, status: status,
            [.tag("h1", [], title)] + (text.map { [.tag("p", [], $0)] } ?? []) + [
                Page.why(diagnosis)
            ]
        ).diagnosed(diagnosis)
    }

    /// Returns the page that replaces the redirect in the out-of-band flow. A program reads the result from the page's
    /// title, which begins with `Success` or `Denied`, or a person copies the code.
    /// <https://developers.google.com/identity/protocols/oauth2/native-app#manual-copypaste>
    package func outOfBand(_ fields: [Form.Field]) -> Response {
        let code = fields.first { $0.name == "code" }?.value
        let word = code == nil ? "Denied" : "Success"
        return page(
            "\(word) \(Form(fields: fields).encoded)",
            [
                .tag("h1", [], word),
                .tag("p", [], code == nil ? "Nothing was granted." : "Copy this code, and paste it into the app."),
            ] + (code.map { [.tag("code", [], $0)] } ?? []))
    }

    private func page(_ title: String, status: Int = 200, _ content: [HTML]) -> Response {
        var response = Page.response(title: title, status: status, look: look, content)
        response.headers.append((name: "X-Frame-Options", value: "deny"))
        return response
    }

    private func form(_ exchange: Exchange, _ request: Form?, _ children: [HTML]) -> HTML {
        .element(
            "form",
            attributes: [
                (name: "method", value: "post"), (name: "action", value: exchange.address.url(of: host, path)),
            ],
            children: (request.map { [.carrying($0)] } ?? []) + children)
    }

    private func button(_ label: String, _ action: String, isQuiet: Bool = false, isFirst: Bool = false) -> HTML {
        var attributes: [(String, String?)] = [("type", "submit"), ("name", "action"), ("value", action)]
        // To cancel, the person needn't fill in the form.
        if isQuiet { attributes += [("class", "quiet"), ("formnovalidate", nil)] }
        if isFirst { attributes.append(("autofocus", nil)) }
        return .tag("button", attributes, label)
    }
}

/// The texts of a provider's sign-in pages. They are in a file of the provider's `Assets`: the text's name, a tab, and
/// the text. In a text, `{client}` is the client's name, `{name}`, `{given}` and `{email}` are the person's, and
/// `{provider}` is the provider's.
package struct PageWords: Sendable {
    /// The texts of sign-in pages for a provider that has none of its own.
    private static let usual = [
        // The heading above the list of people, and the destination after the sign-in.
        "choose": "Sign in to {provider}", "destination": "to go on to {client}",
        // The button for a person who isn't in the list, the heading above the form, and the button that makes one.
        "somebodyElse": "Use another account", "newPerson": "New account at {provider}", "make": "Go on",
        // The heading of the consent page, the text above the list of what the client gets, and the buttons.
        "consent": "Continue to {client}?", "gets": "{client} gets, of {name} ({email}):", "approve": "Continue",
        "cancel": "Cancel",
    ]

    private let texts: [String: String]
    private let provider: String

    package init(_ file: StaticString?, of provider: String) {
        let own = file.map { TextTable.rows($0).map { ($0[0], $0[1]) } } ?? []
        texts = PageWords.usual.merging(own) { $1 }
        self.provider = provider
    }

    func callAsFunction(_ name: String, client: String = "", _ account: Account? = nil) -> String {
        (texts[name] ?? "").filled { value in
            switch value {
            case "client": client
            case "provider": provider
            case "name": account?.fullName ?? ""
            case "given": account?.name.given ?? ""
            case "email": account?.email ?? ""
            default: nil
            }
        }
    }
}

/// A generated profile picture for a person who has none: five by five squares, mirrored, in a colour that follows from
/// a text. It is a PNG, because clients expect that format.
package enum Avatar {
    private static let squares = 5
    /// The longest side of a profile picture, in pixels. A picture of this size still fits in one uncompressed block of
    /// the PNG's data.
    private static let longest = 720

    /// Returns a generated profile picture. The same text always gives the same picture.
    package static func response(of text: String, width: Int = 60, height: Int = 60) -> Response {
        Response(
            status: 200,
            headers: [(name: "Content-Type", value: "image/png"), (name: "Cache-Control", value: "max-age=300")],
            body: png(of: text, width: min(max(width, 1), longest), height: min(max(height, 1), longest)))
    }

    private static func png(of text: String, width: Int, height: Int) -> [UInt8] {
        let seed = Digest.sha256(text)
        // The right two columns mirror the left ones.
        func isFilled(_ column: Int, _ row: Int) -> Bool {
            seed[min(column, squares - 1 - column) * squares + row] & 1 == 1
        }
        var rows: [UInt8] = []
        for y in 0..<height {
            rows.append(0)
            var byte: UInt8 = 0
            for x in 0..<width {
                byte = byte << 1 | (isFilled(x * squares / width, y * squares / height) ? 1 : 0)
                if x % 8 == 7 { rows.append(byte) }
            }
            if width % 8 != 0 { rows.append(byte << UInt8(8 - width % 8)) }
        }
        // Each pixel has one bit, with a palette.
        let header = bigEndian(UInt32(width)) + bigEndian(UInt32(height)) + [1, 3, 0, 0, 0]
        let palette: [UInt8] = [0xF0, 0xF0, 0xF0, seed[16] & 0xBF, seed[17] & 0xBF, seed[18] & 0xBF]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header) + chunk("PLTE", palette)
            + chunk("IDAT", stored(rows)) + chunk("IEND", [])
    }

    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let content = Array(type.utf8) + data
        return bigEndian(UInt32(data.count)) + content + bigEndian(CRC32.checksum(content))
    }

    /// Returns the data in the zlib format, as one uncompressed block: <https://www.rfc-editor.org/rfc/rfc1950>.
    private static func stored(_ data: [UInt8]) -> [UInt8] {
        var (a, b) = (UInt32(1), UInt32(0))
        for byte in data {
            a = (a + UInt32(byte)) % 65_521
            b = (b + a) % 65_521
        }
        let length = UInt16(data.count)
        let lengths = [length, ~length].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        return [0x78, 0x01, 0x01] + lengths + data + bigEndian(b << 16 | a)
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }
}
