import Control
import EmulatorCore
import HTTPServer
import JOSE
import JSON

// The pages `/_understudy/orders/fault`, `sign-in` and `tokens`: each makes one call. The provider is chosen first, for
// a fault then the endpoint, and the form has the call's fields that fit there. Each step is a request, so no script is
// needed.

extension Inspector {
    /// A request that a user makes on a page of the inspector: for a way in which the next sign-in ends, for a fault,
    /// or for a token.
    enum Order: String, CaseIterable {
        case signIn = "sign-in"
        case fault
        case token = "tokens"

        var path: String { "orders/\(rawValue)" }
        /// The path of the control API's call that the form makes, and the title and introduction of the form's page.
        var words: (call: String, title: String, about: String) {
            switch self {
            case .signIn:
                (
                    "outcomes", "Choose how the next sign-in ends",
                    "The next sign-in that matches this form ends as chosen here, at once and without a page, also on a device or in an app."
                )
            case .fault:
                (
                    "faults", "Make a request fail",
                    "Choose where a request fails, then how. The fault applies to the next request that matches."
                )
            case .token:
                ("tokens", "Mint a token", "An ID token without a sign-in, to test the code that verifies ID tokens.")
            }
        }
    }

    /// A form with which the user requests something at the chosen provider, such as a fault at one of its endpoints.
    private struct Draft {
        var title: String
        var about: HTML?
        /// The members of the control API call's JSON body that the user has chosen on earlier forms.
        var fixed: JSONObject
        var fields: SchemaForm
        var sections: [SchemaForm.Section]
        /// For each way in which a sign-in can end, the names of the form fields that only it uses. The style sheet
        /// hides these fields while another way is chosen.
        var onlyWith: [String: [String]] = [:]
        /// Whether the user wants the nonce to be sent as its SHA-256; `nil` if the form doesn't ask.
        var hashesNonce: Bool?

        /// Returns the body of the call to the control API: the fixed members, and what the user entered into the form.
        mutating func body() -> JSONValue {
            var body = fixed
            for (name, value) in fields.patch().members {
                let inner = (body[name]?.object?.members ?? []) + (value.object?.members ?? [])
                body[name] = value.object == nil ? value : .object(JSONObject(inner.map { ($0.key, $0.value) }))
            }
            for (outcome, members) in onlyWith where body["outcome"]?.string != outcome {
                for member in members { body[member] = nil }
            }
            if hashesNonce == true, let nonce = body["nonce"]?.string {
                body["nonce"] = .string(Hex.encode(Digest.sha256(nonce)))
            }
            return .object(body)
        }
    }

    func orderPage(
        _ order: Order, _ exchange: Exchange, _ form: Form, status: Int = 200, refusal: CallRefusal? = nil,
        made: JSONValue? = nil
    ) -> Response {
        var content = [made.map { shown(exchange, $0) }, steps(order, exchange, form)]
        if var draft = draft(order, exchange, form) {
            let body = draft.body()
            draft.fields.faults += refusal?.faults ?? []
            let hash = draft.hashesNonce.map {
                HTML.choice("Hash the nonce first (SHA-256 in lower-case hex), as apps do", "hashNonce", isChosen: $0)
            }
            content += [
                self.form(
                    to: order.path, exchange, ["class": "card orders-form", "data-preview": true],
                    .of("h2", .text(draft.title)), draft.about, .hidden("provider", form["provider"] ?? ""),
                    form["endpoint"].map { .hidden("endpoint", $0) }, .group(draft.fields.controls(draft.sections)),
                    hash,
                    .of(
                        "p.row", .button(order == .token ? "Mint it" : "Order it"),
                        .button("Show the call", "quiet.orders-unscripted", ["name": "preview", "value": "1"]))),
                sentCall(exchange, "POST", order.words.call, body),
            ]
        }
        let page = page(
            exchange, .orders, title: order.words.title, status: status, scripts: ["orders"], about: order.words.about,
            content)
        return status < 400
            ? page : page.diagnosed(refusal?.diagnosis ?? Diagnosis("choose a value that the form lists"))
    }

    func make(_ order: Order, _ exchange: Exchange, _ form: Form) async throws -> Response {
        guard var draft = draft(order, exchange, form) else {
            return orderPage(order, exchange, form, status: 400)
        }
        guard form["preview"] == nil else { return orderPage(order, exchange, form) }
        let body = draft.body()
        guard draft.fields.faults.isEmpty else { return orderPage(order, exchange, form, status: 400) }
        return try await trying {
            let made = try await call("POST", order.words.call, body, in: exchange)
            if order == .token { return orderPage(order, exchange, form, made: made) }
            return try changed(
                exchange, show: "orders",
                saying: "Queued: the outcome or fault applies to the next request that matches.")
        } refused: {
            orderPage(order, exchange, form, status: $0.status, refusal: $0)
        }
    }

    // MARK: - Choosing

    /// Returns the providers that the page offers. They depend on `order`: whether the page requests a sign-in result,
    /// a fault or a token.
    private func providers(_ order: Order) -> [any Provider] {
        let entries = control.catalog.entries.filter { order != .token || $0.traits.mints != nil }
        let names = Set(entries.map(\.provider))
        // The control API takes outcomes of all providers with accounts.
        return providers.filter { order == .signIn ? type(of: $0).profile != nil : names.contains($0.name) }
    }

    private func steps(_ order: Order, _ exchange: Exchange, _ form: Form) -> HTML {
        let known: [Option] = providers(order).map { ($0.name, $0.facts.title) }
        let provider = providers(order).first { $0.name == form["provider"] }
        let choose: Option = ("", "Choose …")
        let endpoints = provider.flatMap { order == .fault ? endpointOptions(of: $0.name) : nil }
        return .of(
            "form.card.fields.orders-steps",
            ["method": "get", "action": exchange.inspector(order.path), "data-steps": true],
            .field(
                order == .token ? "Whose token" : "Provider",
                .select("provider", [choose] + known, chosen: form["provider"] ?? "", ["id": "step-provider"])),
            endpoints.map { groups in
                .field(
                    "Endpoint",
                    .of(
                        "select#step-endpoint", ["name": "endpoint"], .options([choose]),
                        .group(
                            groups.map {
                                .of("optgroup", ["label": $0.label], .options($0.options, chosen: form["endpoint"]))
                            })))
            }, .of("p.orders-next", .button("Next", "quiet")))
    }

    /// Returns a provider's endpoints as groups of options for a selection list. The endpoints that take part in
    /// sign-ins come first.
    private func endpointOptions(of provider: String) -> [(label: String, options: [Option])] {
        let entries = control.catalog.entries.filter { $0.provider == provider }
        let named: [Option] = entries.compactMap { entry in
            entry.title.map { (entry.name, "\(entry.method) \(entry.path) — \($0)") }
        }
        var groups: [(label: String, options: [Option])] = named.isEmpty ? [] : [("In a sign-in", named)]
        for entry in entries where entry.title == nil {
            let host = entry.host ?? "This daemon's own address"
            let place = groups.firstIndex { $0.label == host } ?? groups.count
            if place == groups.count { groups.append((host, [])) }
            groups[place].options.append((entry.name, "\(entry.method) \(entry.path)"))
        }
        return groups
    }

    // MARK: - The form

    private func draft(_ order: Order, _ exchange: Exchange, _ form: Form) -> Draft? {
        guard let provider = providers(order).first(where: { $0.name == form["provider"] }) else { return nil }
        let entry = control.catalog.entries.first { $0.provider == provider.name && $0.name == form["endpoint"] }
        if order == .fault, entry == nil { return nil }
        let (title, choices) = (provider.facts.title, provider.facts.choices)
        let clients = clientOptions(exchange, provider.name)
        // A form that wasn't sent yet begins with some values.
        let isSent = form.fields.contains { $0.name.hasPrefix("field.") }
        let first = order == .signIn ? ("outcome", "approve") : ("client", clients.first?.value ?? "")
        let start = order == .fault ? [] : [Form.Field(name: "field.\(first.0)", value: first.1)]
        var fields = SchemaForm(schema(of: "POST", order.words.call), sent: isSent ? form : Form(fields: start)) {
            leaf in
            switch leaf.path.first {
            case "provider": false
            case "match": ["client", "fields"].contains(leaf.path.last)
            case "effect": entry.map { Inspector.fits(leaf, $0.traits) } ?? false
            case "shareEmail": choices.contains(.address)
            case "name": choices.contains(.name)
            case "scopes": order == .token || choices.contains(.scopes)
            default: true
            }
        }
        let errors = order == .fault ? entry?.traits.errors : nil
        let names = errors?.names ?? authorizationErrors(of: provider.name)
        fields.labels = Inspector.labels
        fields.offers = Inspector.offers.merging([
            "client": clients, "account": personOptions(exchange), "error": names.map { ($0, $0) },
        ]) { $1 }
        if let errors, !errors.takesOthers {
            fields.closed = ["error"]
            fields.offers["error"]?.insert(("", "none"), at: 0)
        }
        fields.search = exchange.inspector("orders/people")
        switch order {
        case .fault:
            let match = [("host", entry?.host), ("path", entry?.path), ("method", entry?.method)].compactMap {
                name, value in
                value.map { (name, JSONValue.string($0)) }
            }
            return Draft(
                title: entry?.title.map { "\(title): \($0)" } ?? title,
                about: entry.map { .of("p.soft", .of("code", .text($0.name))) },
                fixed: JSONObject([("match", .object(JSONObject(match)))]), fields: fields,
                sections: Inspector.faultSections)
        case .signIn:
            return Draft(
                title: "The next sign-in with \(title)", fixed: JSONObject([("provider", .string(provider.name))]),
                fields: fields,
                sections: [
                    ("How it ends", false, ["outcome", "error", "shareEmail", "name", "scopes"]),
                    ("Whose", false, ["client", "account"]), ("How often", false, ["times"]),
                ], onlyWith: ["error": ["error"], "approve": ["shareEmail", "name", "scopes"]])
        case .token:
            return Draft(
                title: "A token of \(title)", fixed: JSONObject([("provider", .string(provider.name))]), fields: fields,
                sections: [
                    ("For whom", false, ["client", "account", "nonce", "scopes"]),
                    ("What is wrong with the token", false, ["signature", "claims", "header"]),
                ], hashesNonce: form["hashNonce"] != nil)
        }
    }

    /// Returns the errors with which an authorization at the provider can end, including the errors of a sign-in on a
    /// device.
    private func authorizationErrors(of provider: String) -> [String] {
        control.catalog.entries.reduce(into: []) { names, entry in
            guard entry.provider == provider, let errors = entry.traits.errors, errors.answer == nil else { return }
            names += errors.names.filter { !names.contains($0) }
        }
    }

    private static let faultSections: [SchemaForm.Section] = [
        (
            "What goes wrong", false,
            ["error", "description", "delay", "disconnect", "state", "iss", "code", "rotateKeys", "jwks"].map {
                "effect.\($0)"
            } + ["effect.malformedJSON", "effect.shuffle"]
        ), ("A broken ID token", true, ["effect.token"]), ("Change members of the response", true, ["effect.response"]),
        ("Replace the whole response", true, ["effect"]),
        ("When", false, ["match.client", "after", "times", "probability"]),
        ("Only requests with certain fields", true, ["match.fields"]),
    ]

    private static let labels = [
        "error": "Error code", "disconnect": "Connection breaks off", "jwks": "Key set", "iss": "Issuer",
        "malformedJSON": "Broken JSON", "shuffle": "Members in another order", "code": "Authorization code",
        "response": "Members of the answer", "after": "Matching requests to skip first", "account": "Person",
        "shareEmail": "E-mail address", "given": "Given name", "family": "Family name",
    ]

    private static let offers: [String: [Option]] = {
        var offers = [
            "claims": ["aud", "exp", "iat", "iss", "nonce", "sub", "email", "email_verified", "auth_time"],
            "header": ["alg", "kid", "typ"], "headers": ["Content-Type", "Retry-After", "Location"],
            "response": ["expires_in", "access_token", "id_token", "refresh_token", "scope", "token_type"],
            "fields": ["grant_type", "response_type", "scope", "redirect_uri", "returnSecureToken", "requestType"],
        ].mapValues { names in names.map { Option($0, "") } }
        offers["outcome"] = [
            ("approve", "the user signs in"), ("cancel", "the user cancels"), ("error", "with an error"),
        ]
        offers["shareEmail"] = [("true", "is shared"), ("false", "is hidden")]
        offers["signature"] = [
            ("valid", "valid"), ("invalid", "invalid: of something else"),
            ("unknownKey", "signed by a key that isn't published"),
            ("wrongAlgorithm", "signed with HS256 and the public key as secret"), ("none", "none (alg: none)"),
        ]
        return offers
    }()

    /// Whether an endpoint supports the fault effect that this field of the form sets.
    private static func fits(_ leaf: SchemaForm.Leaf, _ traits: EndpointTraits) -> Bool {
        if leaf.name == "effect.error" { return traits.errors != nil }
        let sample: JSONValue =
            switch leaf.schema {
            case .boolean, .either: true
            case .choice(let names): .string(names.last ?? "")
            case .integer(let range): .integer(range.lowerBound)
            case .map: ["x": "x"]
            default: "x"
            }
        let effect = leaf.path.dropFirst().reversed().reduce(sample) { .object(JSONObject([($1, $0)])) }
        return traits.misfit(FaultEffect(reading: effect)) == nil
    }

    /// Shows a token that was just made, with its header and claims.
    private func shown(_ exchange: Exchange, _ answer: JSONValue) -> HTML {
        let token = answer["token"]?.string ?? ""
        let decoded = ["Header", "Claims"].compactMap { name in
            answer[name.lowercased()].map {
                HTML.of("div", .of("h3", .text(name)), .source($0.indented(), label: name))
            }
        }
        return .card(
            "The token", .source(token, label: "Token", id: "made-token"),
            .of(
                "div.row", copyButton("made-token", "Copy the token"),
                action(exchange, Area.explain.path, "Explain it", "quiet.small", ["value": token])),
            .of("div.orders-decoded", .group(decoded)))
    }
}

// The call shown below a form, and the clients and people that forms offer.

extension Inspector {
    /// Shows the call of the control API that a form makes, so that people can copy it and learn the API.
    func sentCall(_ exchange: Exchange, _ method: String, _ path: String, _ body: JSONValue?) -> HTML {
        let url = "\(exchange.address.ownBase)\(ControlAPI.root)/\(path)"
        let verb = method == (body == nil ? "GET" : "POST") ? "" : "-X \(method) "
        let data = body.map { " \\\n    -d \(ShellWord.quoted($0.text))" } ?? ""
        return .card(
            "The control API call that this form makes", as: "section.card.orders-sent#sent",
            .of("p", .of("code", "\(method) \(ControlAPI.root)/\(path)")),
            body.map { .source($0.indented(), label: "Body", id: "sent-json") },
            .source("curl \(verb)\(ShellWord.quoted(url))\(data)", label: "As a command", id: "sent-curl"),
            copyButton("sent-curl", "Copy the command"))
    }

    /// The greatest number of clients or people that a form field suggests. The user may also type an ID that isn't
    /// suggested.
    private static let offered = 100

    /// Returns the clients that the seed registers at a provider, as suggestions for a field.
    private func clientOptions(_ exchange: Exchange, _ provider: String) -> [Option] {
        exchange.world.seed.sections.filter { type(of: $0).name == provider }.flatMap(\.seededClients)
            .prefix(Inspector.offered).map { ($0.id, $0.kind) }
    }

    private func personOptions(_ exchange: Exchange, search: String = "", limit: Int = offered) -> [Option] {
        exchange.world.read { $0.people(search: search, limit: limit).people }.map { person in
            let words = [person.fullName, person.email].filter { !$0.isEmpty }
            return (person.id, ShownText.source(words.joined(separator: ", ")))
        }
    }

    /// Answers the search that a script makes while somebody types an account's name, such as
    /// `orders/people?search=ad`, with the ID, the name and the e-mail address of each account found.
    func foundPeople(_ exchange: Exchange) -> Response {
        let found = personOptions(exchange, search: exchange.request.queryForm["search"] ?? "", limit: 20)
        let people = found.map {
            JSONValue.object(JSONObject([("value", .string($0.value)), ("text", .string($0.text))]))
        }
        return Response(
            status: 200, contentType: "application/json", headers: Inspector.protection,
            body: JSONValue.array(people).serialized())
    }
}
