import Control
import EmulatorCore
import HTTPServer

// How a page is declared: who may open it, and who may send its form.

extension Inspector {
    /// A page at `path` below the inspector's address.
    func page(_ method: String, _ path: String, _ answer: @escaping @Sendable (Exchange) -> Response) -> Operation {
        Operation(method, [], "\(Inspector.root)/\(path)", nil) { refusal(of: $0) ?? answer($0) }
    }

    /// The same, for a page that has to wait.
    func page(
        _ method: String, _ path: String, _ answer: @escaping @Sendable (Exchange) async -> Response
    ) -> Operation {
        Operation(method, [], "\(Inspector.root)/\(path)", nil) { exchange in
            if let refusal = refusal(of: exchange) { return refusal }
            return await answer(exchange)
        }
    }

    /// What answers a form that is sent to `path`. `answer` runs only if the form carries the token of this daemon's pages.
    func form(_ path: String, _ answer: @escaping @Sendable (Exchange, Form) async -> Response) -> Operation {
        page("POST", path) { exchange in
            let form = Form(parsing: exchange.request.body)
            guard exchange.request.contentType == "application/x-www-form-urlencoded",
                formToken.isCarried(by: form)
            else { return staleForm(exchange) }
            return await answer(exchange, form)
        }
    }

    /// Why the request may not see a page: what the control API refuses, but for links that lead here. They come from other
    /// sites, such as the app under test, and nothing that a page of the inspector shows can be framed or read there.
    func refusal(of exchange: Exchange) -> Response? {
        guard let refusal = control.refusal(of: exchange.request, allowsLinks: true) else { return nil }
        let reason = refusal.header(Diagnosis.headerName) ?? "refused"
        var page = page(
            exchange, nil, title: "Refused", status: refusal.status, [.tag("p", [("class", "error")], reason)])
        page.headers.append((name: Diagnosis.headerName, value: reason))
        return page
    }

    private func staleForm(_ exchange: Exchange) -> Response {
        page(
            exchange, nil, title: "Nothing was changed", status: 403,
            [
                .tag(
                    "p", [("class", "error")],
                    "The form doesn't carry this daemon's token: it was made before the daemon started, or by another site."
                ),
                .tag("p", [], .link("Open the page again", to: exchange.inspector())),
            ]
        ).diagnosed(
            Diagnosis("the form doesn't carry the token of this daemon's pages: open the page again and send it"))
    }
}
