import EmulatorCore
import HTTPServer
import JOSE
import JSON

// The page `/_understudy/orders/tokens`: an ID token without a sign-in, valid or broken.

extension Inspector {
    func tokenPage(
        _ exchange: Exchange, _ form: Form, status: Int = 200, refusal: CallRefusal? = nil, made: JSONValue? = nil
    ) -> Response {
        let minting = Set(control.catalog.entries.filter { $0.traits.mints != nil }.map(\.provider))
        let known = providers.filter { minting.contains($0.name) }
        let provider = known.first { $0.name == form["provider"] }
        let choice = HTML.element(
            "form",
            attributes: [
                (name: "method", value: "get"), (name: "action", value: exchange.inspector("orders/tokens")),
                (name: "class", value: "card fields orders-steps"), (name: "data-steps", value: nil),
            ],
            children: [
                OrderField.menu(
                    "Whose token", "provider", form,
                    [(value: "", text: "Choose …")] + known.map { (value: $0.name, text: title($0)) },
                    [("data-step", nil), ("id", "step-provider")]),
                .tag("p", [("class", "orders-next")], OrderField.button("Next", "quiet")),
            ])
        var content = [
            orderTabs(exchange, "orders/tokens"),
            .tag("p", [], "An ID token without a sign-in, for tests of whoever verifies it."), refusalNote(refusal),
            made.map { self.made(exchange, $0) } ?? .group([]), choice,
        ]
        if let provider {
            content.append(tokenForm(exchange, form, provider))
            content.append(sentCall(exchange, "POST", "tokens", tokenBody(exchange, form, provider)))
        }
        let answer = page(exchange, .orders, title: "Mint a token", status: status, scripts: ["orders"], content)
        return refused(answer, refusal)
    }

    func makeToken(_ exchange: Exchange, _ form: Form) async -> Response {
        guard let provider = provider(form["provider"]) else { return tokenPage(exchange, form, status: 400) }
        guard form["preview"] == nil else { return tokenPage(exchange, form) }
        do throws(CallRefusal) {
            let made = try await call("POST", "tokens", tokenBody(exchange, form, provider), in: exchange)
            return tokenPage(exchange, form, made: made)
        } catch {
            return tokenPage(exchange, form, status: error.status, refusal: error)
        }
    }

    private func tokenBody(_ exchange: Exchange, _ form: Form, _ provider: any Provider) -> JSONValue {
        var order = JSONObject([("provider", .string(provider.name))])
        // Before anything is sent, the form shows the first client.
        let first = form["client"] == nil ? clientOptions(exchange, provider.name).first?.value ?? "" : ""
        order["client"] = OrderValue.text("client", form) ?? .string(first)
        order["account"] = OrderValue.text("account", form)
        if let nonce = form["nonce"], !nonce.isEmpty {
            order["nonce"] = .string(
                form["nonceKind"] == "raw" ? Hex.encode(Digest.sha256(nonce)) : nonce)
        }
        order["scopes"] = OrderValue.words("scopes", form)
        for (name, value) in FaultOrder.tampering(form).members { order[name] = value }
        return .object(order)
    }

    private func tokenForm(_ exchange: Exchange, _ form: Form, _ provider: any Provider) -> HTML {
        let clients = clientOptions(exchange, provider.name)
        return self.form(
            to: "orders/tokens", exchange, [("class", "card orders-form"), ("data-preview", nil)],
            [
                .tag("h2", [], "A token of \(title(provider))"), .hidden("provider", provider.name),
                OrderField.group(
                    "For whom",
                    [
                        OrderField.line(
                            "Client", "client", form, fallback: clients.first?.value ?? "", options: clients,
                            [("required", nil)]),
                        personField(exchange, form, hint: "the first if empty"),
                        OrderField.line("Nonce", "nonce", form, hint: "none if empty"),
                        OrderField.menu(
                            "The nonce goes in", "nonceKind", form,
                            [
                                (value: "given", text: "as it is written"),
                                (value: "raw", text: "as its SHA-256 in lower-case hex"),
                            ]),
                        OrderField.line("Scopes", "scopes", form, hint: "the usual ones if empty"),
                    ]), OrderField.group("What is wrong with it", tokenFields(form)),
                .tag(
                    "p", [("class", "row")], OrderField.button("Mint it"),
                    OrderField.button(
                        "Show the call", "quiet orders-unscripted", [("name", "preview"), ("value", "1")])),
            ])
    }

    /// Shows the new token, and its contents.
    private func made(_ exchange: Exchange, _ answer: JSONValue) -> HTML {
        let token = answer["token"]?.string ?? ""
        return .tag(
            "section", [("class", "card orders-made"), ("aria-labelledby", "made-title")],
            .tag("h2", [("id", "made-title")], "The token"),
            .tag("pre", [("id", "made-token"), ("tabindex", "0"), ("aria-label", "Token")], token),
            .tag(
                "div", [("class", "row")], copyButton("made-token", "Copy the token"),
                form(
                    to: Area.explain.rawValue, exchange, [("class", "inline")],
                    [.hidden("value", token), OrderField.button("Explain it", "quiet small")])),
            .tag(
                "div", [("class", "orders-decoded")],
                decoded("Header", answer["header"]), decoded("Claims", answer["claims"])))
    }

    private func decoded(_ name: String, _ value: JSONValue?) -> HTML {
        guard let value else { return .group([]) }
        return .tag(
            "div", [], .tag("h3", [], name),
            .tag("pre", [("tabindex", "0"), ("aria-label", name)], ShownText.source(value.indented())))
    }
}
