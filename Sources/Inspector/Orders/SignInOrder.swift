import EmulatorCore
import HTTPServer
import JSON

// The page `/_understudy/orders/sign-in`: who signs in next, and how it ends, without a page.

extension Inspector {
    func signInPage(
        _ exchange: Exchange, _ form: Form, status: Int = 200, refusal: CallRefusal? = nil
    ) -> Response {
        // The control API takes the names of all providers with accounts.
        let known = providers.filter { type(of: $0).profile != nil }
        let provider = known.first { $0.name == form["provider"] }
        let choice = HTML.element(
            "form",
            attributes: [
                (name: "method", value: "get"), (name: "action", value: exchange.inspector("orders/sign-in")),
                (name: "class", value: "card fields orders-steps"), (name: "data-steps", value: nil),
            ],
            children: [
                OrderField.menu(
                    "Provider", "provider", form,
                    [(value: "", text: "Choose …")] + known.map { (value: $0.name, text: title($0)) },
                    [("data-step", nil), ("id", "step-provider")]),
                .tag("p", [("class", "orders-next")], OrderField.button("Next", "quiet")),
            ])
        var content = [
            orderTabs(exchange, "orders/sign-in"),
            .tag(
                "p", [],
                "The next authorization that matches ends so at once, without a page: in a browser, on a device, in an app."
            ),
            refusalNote(refusal), choice,
        ]
        if let provider {
            content.append(signInForm(exchange, form, provider))
            content.append(sentCall(exchange, "POST", "outcomes", signInBody(form, provider)))
        }
        let answer = page(
            exchange, .orders, title: "Order how the next sign-in ends", status: status, scripts: ["orders"], content)
        return refused(answer, refusal)
    }

    func orderSignIn(_ exchange: Exchange, _ form: Form) async throws -> Response {
        guard let provider = provider(form["provider"]) else { return signInPage(exchange, form, status: 400) }
        guard form["preview"] == nil else { return signInPage(exchange, form) }
        do {
            _ = try await call("POST", "outcomes", signInBody(form, provider), in: exchange)
            return try changed(exchange, show: "orders", saying: "Ordered. It waits for the next sign-in that matches.")
        } catch let error as CallRefusal {
            return signInPage(exchange, form, status: error.status, refusal: error)
        }
    }

    private func signInBody(_ form: Form, _ provider: any Provider) -> JSONValue {
        var order = JSONObject([("provider", .string(provider.name))])
        let kind = form["outcome"] ?? Outcome.Kind.approve.rawValue
        order["outcome"] = .string(kind)
        order["client"] = OrderValue.text("client", form)
        order["account"] = OrderValue.text("account", form)
        let choices = provider.facts.choices
        switch Outcome.Kind(rawValue: kind) {
        case .error:
            order["error"] = OrderValue.text("otherError", form) ?? OrderValue.text("error", form)
        case .approve:
            if choices.contains(.address), let share = OrderValue.text("shareEmail", form) {
                order["shareEmail"] = .bool(share == "true")
            }
            if choices.contains(.name) {
                let name = (given: OrderValue.text("given", form), family: OrderValue.text("family", form))
                if name.given != nil || name.family != nil {
                    order["name"] = ["given": name.given ?? "", "family": name.family ?? ""]
                }
            }
            if choices.contains(.scopes) { order["scopes"] = OrderValue.words("scopes", form) }
        case .cancel, nil: break
        }
        if let times = OrderValue.times(form), times != 1 { order["times"] = times }
        return .object(order)
    }

    private func signInForm(_ exchange: Exchange, _ form: Form, _ provider: any Provider) -> HTML {
        self.form(
            to: "orders/sign-in", exchange, [("class", "card orders-form"), ("data-preview", nil)],
            [
                .tag("h2", [], "The next sign-in with \(title(provider))"), .hidden("provider", provider.name),
                OrderField.group(
                    "Whose",
                    [
                        OrderField.line(
                            "Client", "client", form, hint: "any if empty",
                            options: clientOptions(exchange, provider.name)),
                        personField(exchange, form, hint: "who would sign in anyway, if empty"),
                    ]),
                .element(
                    "fieldset", attributes: [(name: "class", value: "orders-effects")],
                    children: [.tag("legend", [], "How it ends")] + endings(form, provider)),
                OrderField.group(
                    "How often",
                    [
                        OrderField.line("Times", "times", form, fallback: "1", [("inputmode", "numeric")]),
                        OrderField.choice("Every time", "forever", form),
                    ]),
                .tag(
                    "p", [("class", "row")], OrderField.button("Order it"),
                    OrderField.button(
                        "Show the call", "quiet orders-unscripted", [("name", "preview"), ("value", "1")])),
            ])
    }

    private func endings(_ form: Form, _ provider: any Provider) -> [HTML] {
        let choices = provider.facts.choices
        var approval: [HTML] = []
        if choices.contains(.address) {
            approval.append(
                OrderField.menu(
                    "Their address", "shareEmail", form,
                    [
                        (value: "", text: "as the person has it"), (value: "true", text: "is shared"),
                        (value: "false", text: "is hidden"),
                    ]))
        }
        if choices.contains(.name) {
            approval.append(OrderField.line("Given name", "given", form, hint: "as edited; their own if empty"))
            approval.append(OrderField.line("Family name", "family", form))
        }
        if choices.contains(.scopes) {
            approval.append(
                OrderField.line(
                    "Granted scopes", "scopes", form,
                    hint: "separated by spaces; if empty, all that the client asks for"))
        }
        let errors = authorizationErrors(of: provider.name)
        return [
            ending("The person signs in", .approve, form, approval), ending("The person cancels", .cancel, form, []),
            ending(
                "It ends with an error", .error, form,
                [
                    OrderField.menu("Error", "error", form, errors.map { (value: $0, text: $0) }),
                    OrderField.line("Another error", "otherError", form, hint: "in place of the one above"),
                ]),
        ]
    }

    private func ending(_ title: String, _ kind: Outcome.Kind, _ form: Form, _ fields: [HTML]) -> HTML {
        let choice = OrderField.choice(
            title, "outcome", form, value: kind.rawValue, isFallback: kind == .approve)
        guard !fields.isEmpty else { return .tag("div", [("class", "orders-effect")], choice) }
        return .tag(
            "div", [("class", "orders-effect")], choice,
            .element("div", attributes: [(name: "class", value: "fields orders-details")], children: fields))
    }

    /// Returns the errors with which an authorization at the provider can end, with those of its native sign-in.
    private func authorizationErrors(of provider: String) -> [String] {
        var names: [String] = []
        for entry in control.catalog.entries where entry.provider == provider {
            guard let errors = entry.traits.errors, errors.answer == nil else { continue }
            names += errors.names.filter { !names.contains($0) }
        }
        return names
    }
}
