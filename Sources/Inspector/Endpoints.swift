import Control
import EmulatorCore
import HTTPServer

// The declarations of pages: who may open them, and who may send their forms.

extension Inspector {
    /// Returns an endpoint for a page of the inspector, at `path` below the inspector's address.
    func page(_ method: String, _ path: String, _ answer: @escaping @Sendable (Exchange) throws -> Response)
        -> Endpoint
    {
        Endpoint(method, [], "\(Inspector.root)/\(path)", nil) { try refusal(of: $0) ?? answer($0) }
    }

    /// Returns an endpoint for a page of the inspector, at `path` below the inspector's address. `answer` makes the
    /// page asynchronously.
    func page(
        _ method: String, _ path: String, _ answer: @escaping @Sendable (Exchange) async throws -> Response
    ) -> Endpoint {
        Endpoint(method, [], "\(Inspector.root)/\(path)", nil) { exchange in
            if let refusal = refusal(of: exchange) { return refusal }
            return try await answer(exchange)
        }
    }

    /// Returns an endpoint for a form that is posted to `path` below the inspector's address. `answer` runs only if the
    /// form has the secret of this daemon's pages.
    func form(_ path: String, _ answer: @escaping @Sendable (Exchange, Form) async throws -> Response) -> Endpoint {
        page("POST", path) { exchange in
            let form = Form(parsing: exchange.request.body)
            guard exchange.request.contentType == "application/x-www-form-urlencoded",
                formToken.isCarried(by: form)
            else { return staleForm(exchange) }
            return try await answer(exchange, form)
        }
    }

    /// Returns the refusal of a request for one of the inspector's pages, or `nil` if the request is allowed. The rules
    /// are those of the control API, except that other sites may link to the pages. Those sites can neither frame nor
    /// read them.
    func refusal(of exchange: Exchange) -> Response? {
        guard let refusal = control.refusal(of: exchange, allowsLinks: true) else { return nil }
        if refusal.status == 401 { return tokenPage(exchange, refusal) }
        let reason = refusal.header(Diagnosis.headerName) ?? "refused"
        var page = page(exchange, nil, title: "Refused", status: refusal.status, [.of("p.error", .text(reason))])
        page.headers.append((name: Diagnosis.headerName, value: reason))
        return page
    }

    /// Returns a page that says why the inspector can't answer a request, for example because the page doesn't exist;
    /// `nil` if the request is for another part of the daemon.
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
                exchange, nil, "Nothing to see here", "Only forms can be sent to this address.", status: 405,
                diagnosis: Diagnosis(
                    received: received, "this address accepts only forms: open the page with the form"))
            response.headers.append((name: "Allow", value: methods.joined(separator: ", ")))
            return response
        case .tooMuch(let excess):
            return missing(
                exchange, nil, "Nothing was changed", "The form is too long: \(excess.line).", status: 400,
                diagnosis: excess)
        }
    }

    private func staleForm(_ exchange: Exchange) -> Response {
        missing(
            exchange, nil, "Nothing was changed",
            "The form doesn't have this daemon's token: the page was opened before the daemon started, or is another site's. Open the page again, and send the form.",
            status: 403)
    }
}
