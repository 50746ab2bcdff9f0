import Control
import EmulatorCore
import HTTPServer

// The declarations of pages: who may open them, and who may send their forms.

extension Inspector {
    /// Declares a page at `path` below the inspector's address.
    func page(_ method: String, _ path: String, _ answer: @escaping @Sendable (Exchange) throws -> Response)
        -> Endpoint
    {
        Endpoint(method, [], "\(Inspector.root)/\(path)", nil) { try refusal(of: $0) ?? answer($0) }
    }

    /// Declares a page at `path` that has to wait.
    func page(
        _ method: String, _ path: String, _ answer: @escaping @Sendable (Exchange) async throws -> Response
    ) -> Endpoint {
        Endpoint(method, [], "\(Inspector.root)/\(path)", nil) { exchange in
            if let refusal = refusal(of: exchange) { return refusal }
            return try await answer(exchange)
        }
    }

    /// Declares the answer to a form sent to `path`. `answer` runs only if the form has the token of this daemon's
    /// pages.
    func form(_ path: String, _ answer: @escaping @Sendable (Exchange, Form) async throws -> Response) -> Endpoint {
        page("POST", path) { exchange in
            let form = Form(parsing: exchange.request.body)
            guard exchange.request.contentType == "application/x-www-form-urlencoded",
                formToken.isCarried(by: form)
            else { return staleForm(exchange) }
            return try await answer(exchange, form)
        }
    }

    /// Returns the refusal of a request for a page: the control API's, except that links from other sites, such as the
    /// app under test, are allowed. Those sites can neither frame nor read the inspector's pages.
    func refusal(of exchange: Exchange) -> Response? {
        guard let refusal = control.refusal(of: exchange, allowsLinks: true) else { return nil }
        if refusal.status == 401 { return tokenPage(exchange, refusal) }
        let reason = refusal.header(Diagnosis.headerName) ?? "refused"
        var page = page(exchange, nil, title: "Refused", status: refusal.status, [.of("p.error", .text(reason))])
        page.headers.append((name: Diagnosis.headerName, value: reason))
        return page
    }

    /// Returns a page that says why there is no other; `nil` outside the inspector's address.
    package func refuse(_ exchange: Exchange, because reason: PageRefusal) -> Response? {
        let path = exchange.address.path
        guard path.hasPrefix("\(Inspector.root)/"), !path.hasPrefix("\(ControlAPI.root)/"), path != ControlAPI.root
        else { return nil }
        if let refusal = refusal(of: exchange) { return refusal }
        let received = Diagnosis.quote("\(exchange.request.method) \(path)")
        switch reason {
        case .nothingThere:
            return missing(
                exchange, nil, "No such page", "The inspector has no page at this address.",
                diagnosis: Diagnosis(received: received, "the inspector has no such page"))
        case .otherMethod(let methods):
            var response = missing(
                exchange, nil, "Nothing to see here", "Only a page's form is sent to this address.", status: 405,
                diagnosis: Diagnosis(
                    received: received, "a form is sent to this address: open the page that has it"))
            response.headers.append((name: "Allow", value: methods.joined(separator: ", ")))
            return response
        case .tooMuch(let excess):
            return missing(
                exchange, nil, "Nothing was changed", "What was sent is too long: \(excess.line).", status: 400,
                diagnosis: excess)
        }
    }

    private func staleForm(_ exchange: Exchange) -> Response {
        missing(
            exchange, nil, "Nothing was changed",
            "The form doesn't carry this daemon's token: it was made before the daemon started, or by another site. Open the page again and send it.",
            status: 403)
    }
}
