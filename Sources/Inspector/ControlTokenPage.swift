import Control
import EmulatorCore
import HTTPServer

// The page that a browser gets in place of the inspector's pages if the daemon has a control token, and POST
// /_understudy/token, which gives a browser the cookie for it.
//
// https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Set-Cookie

extension Inspector {
    private static let tokenField = "token"
    private static let pageField = "page"

    var tokenEndpoints: [Endpoint] {
        [
            Endpoint("POST", [], "\(Inspector.root)/token", nil) { exchange in
                // This form has its own check: it needs no token of the daemon's forms, since its sender knows the
                // control token.
                control.refusal(of: exchange.request) ?? checkTokenForm(exchange)
            }
        ]
    }

    /// Returns the page that asks for the daemon's control token, and then leads to the page that was requested.
    func tokenPage(_ exchange: Exchange, _ refusal: Response) -> Response {
        let request = exchange.request
        let asked = request.method == "GET" ? request.path + (request.query.map { "?\($0)" } ?? "") : ""
        return tokenPage(exchange, asked: asked, isWrong: false, refusal)
    }

    private func tokenPage(_ exchange: Exchange, asked: String, isWrong: Bool, _ refusal: Response) -> Response {
        let input = HTML.input(
            Inspector.tokenField, "", type: "password",
            ["id": Inspector.tokenField, "required": true, "autofocus": true])
        var page = page(
            exchange, nil, title: "Control token", status: refusal.status,
            [
                isWrong ? .note("bad", "This isn't the token.") : nil,
                .of(
                    "p",
                    "These pages control the daemon, and need the token that the daemon was started with (--control-token, UNDERSTUDY_CONTROL_TOKEN). Ask whoever runs the daemon."
                ),
                .of(
                    "form", ["method": "post", "action": exchange.inspector("token")],
                    .hidden(Inspector.pageField, asked),
                    .of("p", .of("label", ["for": Inspector.tokenField], "Control token"), input),
                    .of("p", .button("Open the inspector"))),
            ])
        page.headers += refusal.headers.filter { $0.name == Diagnosis.headerName || $0.name == "WWW-Authenticate" }
        return page
    }

    private func checkTokenForm(_ exchange: Exchange) -> Response {
        let form = exchange.request.bodyForm
        let asked = form[Inspector.pageField] ?? ""
        let given = (form[Inspector.tokenField] ?? "").filter { !$0.isWhitespace }
        guard let token = control.token else { return changed(exchange, show: "") }
        guard token.matches(given) else {
            let diagnosis = Diagnosis("the form doesn't contain this daemon's control token")
            return tokenPage(exchange, asked: asked, isWrong: true, Response(status: 401).diagnosed(diagnosis))
        }
        let place = Inspector.isOwnPage(asked) ? asked : exchange.inspector()
        var response = Response.redirect(to: place, status: 303)
        // Strict: pages of other sites can't use it. It is for all worlds, whose pages are at other paths.
        let secure = exchange.address.scheme == "https" ? "; Secure" : ""
        response.headers.append(
            (
                name: "Set-Cookie",
                value: "\(ControlToken.cookieName)=\(token.cookie); Path=/; HttpOnly; SameSite=Strict\(secure)"
            ))
        response.headers += Inspector.protection
        return response
    }

    /// Whether `path` leads to a page of this daemon, and no browser would read it as the address of another host.
    private static func isOwnPage(_ path: String) -> Bool {
        path.hasPrefix("/") && !path.hasPrefix("//")
            && path.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
    }
}
