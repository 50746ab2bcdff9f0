import EmulatorCore
import HTTPServer
import JSON

// The page `/_understudy/orders/fault`: a fault at an endpoint. The provider is chosen first, then the endpoint, and
// then the form offers the faults that the endpoint supports. Each step is a request, so that no script is needed.

extension Inspector {
    func faultPage(
        _ exchange: Exchange, _ form: Form, status: Int = 200, refusal: CallRefusal? = nil
    ) -> Response {
        let provider = provider(form["provider"])
        let entry = provider.flatMap { provider in
            control.catalog.entries.first { $0.provider == provider.name && $0.name == form["endpoint"] }
        }
        var content = [
            orderTabs(exchange, "orders/fault"),
            .tag(
                "p", [], "Choose where, then what. The next request that matches meets it: a fault waits until then."),
            refusalNote(refusal), faultSteps(exchange, form, provider),
        ]
        if let provider, let entry {
            let order = FaultOrder(entry: entry, form: form)
            content.append(faultForm(exchange, order, provider))
            content.append(sentCall(exchange, "POST", "faults", order.body))
        }
        let answer = page(
            exchange, .orders, title: "Order that something goes wrong", status: status, scripts: ["orders"], content)
        return refused(answer, refusal)
    }

    func orderFault(_ exchange: Exchange, _ form: Form) async throws -> Response {
        let entry = control.catalog.entries.first { $0.provider == form["provider"] && $0.name == form["endpoint"] }
        guard let entry else { return faultPage(exchange, form, status: 400) }
        guard form["preview"] == nil else { return faultPage(exchange, form) }
        do {
            _ = try await call("POST", "faults", FaultOrder(entry: entry, form: form).body, in: exchange)
            return try changed(exchange, show: "orders", saying: "Ordered. It waits for the next request that matches.")
        } catch let error as CallRefusal {
            return faultPage(exchange, form, status: error.status, refusal: error)
        }
    }

    // MARK: - Choosing the endpoint

    private func faultSteps(_ exchange: Exchange, _ form: Form, _ provider: (any Provider)?) -> HTML {
        let known = providers.filter { provider in
            control.catalog.entries.contains { $0.provider == provider.name }
        }
        var fields = [
            OrderField.menu(
                "Provider", "provider", form,
                [(value: "", text: "Choose …")] + known.map { (value: $0.name, text: title($0)) },
                [("data-step", nil), ("id", "step-provider")])
        ]
        if let provider {
            fields.append(
                OrderField.menu(
                    "Endpoint", "endpoint", form, groups: endpointGroups(of: provider.name),
                    [("data-step", nil), ("id", "step-endpoint")]))
        }
        fields.append(.tag("p", [("class", "orders-next")], OrderField.button("Next", "quiet")))
        return .element(
            "form",
            attributes: [
                (name: "method", value: "get"), (name: "action", value: exchange.inspector("orders/fault")),
                (name: "class", value: "card fields orders-steps"), (name: "data-steps", value: nil),
            ], children: fields)
    }

    /// Returns the endpoints in groups. Those with names come first: they are the ones of sign-ins.
    private func endpointGroups(
        of provider: String
    ) -> [(label: String?, options: [(value: String, text: String)])] {
        let entries = control.catalog.entries.filter { $0.provider == provider }
        let named = entries.filter { $0.title != nil }.map { entry in
            (value: entry.name, text: "\(Inspector.shown(entry)) — \(entry.title ?? "")")
        }
        var groups: [(label: String?, options: [(value: String, text: String)])] = [
            (label: nil, options: [(value: "", text: "Choose …")])
        ]
        if !named.isEmpty { groups.append((label: "In a sign-in", options: named)) }
        var hosts: [String] = []
        var others: [String: [(value: String, text: String)]] = [:]
        for entry in entries where entry.title == nil {
            let host = entry.host ?? "This daemon's own address"
            if others[host] == nil { hosts.append(host) }
            others[host, default: []].append((value: entry.name, text: "\(entry.method) \(entry.path)"))
        }
        for host in hosts { groups.append((label: host, options: others[host] ?? [])) }
        return groups
    }

    /// Returns method and path.
    private static func shown(_ entry: EndpointCatalog.Entry) -> String { "\(entry.method) \(entry.path)" }

    // MARK: - Choosing the fault

    private func faultForm(_ exchange: Exchange, _ order: FaultOrder, _ provider: any Provider) -> HTML {
        let form = order.form
        let place = order.entry.title.map { "\(title(provider)): \($0)" } ?? title(provider)
        return self.form(
            to: "orders/fault", exchange, [("class", "card orders-form"), ("data-preview", nil)],
            [
                .tag("h2", [], place), .tag("p", [("class", "soft")], .tag("code", [], order.entry.name)),
                .hidden("provider", provider.name), .hidden("endpoint", order.entry.name),
                .element(
                    "fieldset", attributes: [(name: "class", value: "orders-effects")],
                    children: [.tag("legend", [], "What goes wrong")] + order.effects.map { effectChoice($0, order) }),
                OrderField.group(
                    "When",
                    [
                        OrderField.line(
                            "Client", "client", form, hint: "any if empty",
                            options: clientOptions(exchange, provider.name)),
                        OrderField.line(
                            "After", "after", form, hint: "matching requests", fallback: "0", [("inputmode", "numeric")]
                        ),
                        OrderField.line("Times", "times", form, fallback: "1", [("inputmode", "numeric")]),
                        OrderField.line(
                            "Probability", "probability", form, hint: "0 to 1", fallback: "1",
                            [("inputmode", "decimal")]),
                        OrderField.line("Delay", "delay", form, hint: "such as 2s; at once if empty"),
                        OrderField.choice("Every time", "forever", form),
                    ]),
                .tag(
                    "details", form["field1"].map { $0.isEmpty ? [] : [("open", nil)] } ?? [],
                    .tag("summary", [], "Only requests with certain fields"),
                    .tag(
                        "p", [("class", "soft small")],
                        "Fields of the query, the form or the JSON body that must have these values."),
                    OrderField.rows("Field", "field", form, names: Inspector.commonFields)),
                .tag(
                    "p", [("class", "row")], OrderField.button("Order it"),
                    OrderField.button(
                        "Show the call", "quiet orders-unscripted", [("name", "preview"), ("value", "1")])),
            ])
    }

    private static let commonFields = [
        "grant_type", "response_type", "scope", "redirect_uri", "returnSecureToken", "requestType",
    ]

    /// Returns a choice with the fields that belong to it. The style sheet shows them when it is chosen.
    private func effectChoice(_ effect: FaultOrder.Effect, _ order: FaultOrder) -> HTML {
        let choice = OrderField.choice(
            effect.title, "effect", order.form, value: effect.rawValue, isFallback: effect == order.effects.first)
        let fields = effectFields(effect, order)
        guard !fields.isEmpty else { return .tag("div", [("class", "orders-effect")], choice) }
        return .tag(
            "div", [("class", "orders-effect")], choice,
            .element("div", attributes: [(name: "class", value: "fields orders-details")], children: fields))
    }

    private func effectFields(_ effect: FaultOrder.Effect, _ order: FaultOrder) -> [HTML] {
        let form = order.form
        switch effect {
        case .error: return errorFields(order)
        case .token: return tokenFields(form)
        case .response:
            return [
                .tag(
                    "div", [("class", "orders-wide")],
                    .tag(
                        "p", [("class", "soft small")],
                        "Members of the JSON answer. A value is read as JSON, and anything else as a text; an empty value leaves the member "
                            + "out."),
                    OrderField.rows(
                        "Member", "member", form,
                        names: ["expires_in", "access_token", "id_token", "refresh_token", "scope", "token_type"]))
            ]
        case .state:
            return [
                OrderField.menu(
                    "State", "state", form,
                    [(value: "missing", text: "left out"), (value: "wrong", text: "another one")])
            ]
        case .issuer:
            return [
                OrderField.menu(
                    "Issuer", "iss", form,
                    [
                        (value: "missing", text: "left out"), (value: "wrong", text: "another one"),
                        (value: "normalized", text: "with a slash more"),
                    ])
            ]
        case .keys:
            return [
                OrderField.menu(
                    "The old keys", "rotation", form,
                    [(value: "keep", text: "stay published"), (value: "drop", text: "are withdrawn")])
            ]
        case .keySet:
            return [
                OrderField.menu(
                    "Key set", "keySet", form,
                    [(value: "empty", text: "no keys"), (value: "stale", text: "as before the key that signs")])
            ]
        case .status:
            return [
                OrderField.line("Status", "status", form, fallback: "503", [("inputmode", "numeric")]),
                OrderField.line("Content-Type", "type", form, hint: "text/plain if empty"),
                OrderField.text("Body", "body", form, rows: 3),
            ]
        case .disconnect:
            return [
                OrderField.menu(
                    "When", "disconnect", form,
                    [(value: "true", text: "before the header"), (value: "midBody", text: "in the middle of the body")])
            ]
        case .code, .shuffle, .malformedJSON, .delay: return []
        }
    }

    private func errorFields(_ order: FaultOrder) -> [HTML] {
        guard let errors = order.entry.traits.errors else { return [] }
        var fields = [
            OrderField.menu("Error", "error", order.form, errors.names.map { (value: $0, text: $0) })
        ]
        if errors.takesOthers {
            fields.append(OrderField.line("Another error", "otherError", order.form, hint: "in place of the one above"))
        }
        if errors.answer != nil {
            fields.append(
                OrderField.line("Description", "description", order.form, hint: "the usual one if empty"))
        }
        return fields
    }

    /// Returns the fields that say how a token is broken.
    func tokenFields(_ form: Form) -> [HTML] {
        [
            OrderField.menu("Signature", "signature", form, Inspector.signatures),
            .tag(
                "div", [("class", "orders-wide")],
                .tag(
                    "p", [("class", "soft small")],
                    "Claims to set. A value is read as JSON, and anything else as a text; times may be relative, such as -1h; an "
                        + "empty value leaves the claim out."),
                OrderField.rows(
                    "Claim", "claim", form,
                    names: ["aud", "exp", "iat", "iss", "nonce", "sub", "email", "email_verified", "auth_time"])),
        ]
    }

    static let signatures = [
        (value: "valid", text: "valid"), (value: "invalid", text: "invalid: of something else"),
        (value: "unknownKey", text: "by a key that isn't published"),
        (value: "wrongAlgorithm", text: "HS256 with the public key as secret"),
        (value: "none", text: "none (alg: none)"),
    ]
}
