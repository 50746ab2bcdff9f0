import HTTPServer
import JOSE
import OAuth
import EmulatorCore

// GET and POST /login/device, POST /login/device/confirmation: a person enters a device's code on these pages.

extension GitHubProvider {
    func devicePage(_ exchange: Exchange) -> Response {
        guard let session = session(exchange) else { return Pages.redirectToSignIn(exchange, then: "/login/device") }
        return devicePage(exchange, session, typed: "", issue: nil)
    }

    private func devicePage(_ exchange: Exchange, _ session: SignedIn, typed: String, issue: Diagnosis?) -> Response {
        var fields: [HTML] = [.hidden("authenticity_token", session.authenticityToken)]
        if let issue { fields.append(.tag("p", [("class", "error"), ("role", "alert"), ("id", "fault")], issue.line)) }
        var attributes: [(String, String?)] = [
            ("type", "text"), ("name", "user_code"), ("value", typed), ("placeholder", "XXXX-XXXX"),
            ("autocomplete", "one-time-code"), ("autocapitalize", "characters"), ("spellcheck", "false"),
            ("required", nil), ("autofocus", nil),
        ]
        if issue != nil { attributes.append(("aria-describedby", "fault")) }
        fields += [
            .tag("label", [], .text("Code"), .tag("input", attributes)),
            Pages.submit("Continue", name: "action", value: "continue"),
        ]
        let again = Form(fields: [Form.Field(name: "return_to", value: "/login/device")]).encoded
        let page = Pages.page(
            "Connect a device", status: issue == nil ? 200 : 422,
            [
                .tag("h1", [], "Connect a device"),
                .tag(
                    "p", [("class", "soft")],
                    "Enter the code that the device or the app shows. You are \(session.account.github.login)."),
                Pages.form(exchange, to: "/login/device", fields),
                Pages.link(exchange, "Use another account", to: "/login?\(again)"),
            ])
        return issue.map { page.diagnosed($0) } ?? page
    }

    /// Shows the app and its requested scopes, after a code was entered.
    func confirmDevice(_ exchange: Exchange) throws -> Response {
        let answer = exchange.request.bodyForm
        guard let session = session(exchange) else { return Pages.redirectToSignIn(exchange, then: "/login/device") }
        guard session.holds(answer["authenticity_token"]) else { return Pages.forged(exchange) }
        let typed = answer["user_code"] ?? ""
        let code = GitHubProvider.normalize(typed)
        let (device, isAllowed) = try exchange.world.update { tables -> (Device?, Bool) in
            guard let device = tables.device(showing: code) else { return (nil, true) }
            return (device, tables.countUserCode(of: device.client))
        }
        guard isAllowed else {
            let diagnosis = Diagnosis(
                "fifty codes of this app were entered within an hour: advance the clock, or reset")
            return Pages.problem(exchange, 429, "Too many codes", diagnosis)
        }
        guard let device, let app = directory.apps[device.client] else {
            let issue = Diagnosis(
                received: "code \(Diagnosis.quote(typed, limit: 24))",
                "no device waits with this code: it is wrong, has expired or was answered already")
            return devicePage(exchange, session, typed: typed, issue: issue)
        }
        return Pages.page(
            "Authorize \(app.name)",
            Pages.introduction(app, session.account) + [
                .tag("p", [], .text("The device shows "), .tag("code", [], device.userCode), .text(".")),
                Pages.form(
                    exchange, to: "/login/device/confirmation",
                    [
                        .hidden("authenticity_token", session.authenticityToken), .hidden("user_code", device.userCode),
                        Pages.permissions(app, device.scopes, granted: nil),
                        Pages.submit("Authorize \(app.name)", name: "authorize", value: "1", isFirst: true),
                        Pages.submit("Cancel", name: "authorize", value: "0", isQuiet: true),
                    ]),
            ])
    }

    func decideDevice(_ exchange: Exchange) throws -> Response {
        let answer = exchange.request.bodyForm
        guard let session = session(exchange) else { return Pages.redirectToSignIn(exchange, then: "/login/device") }
        guard session.holds(answer["authenticity_token"]) else { return Pages.forged(exchange) }
        let isApproved = answer["authorize"] == "1"
        let kept = answer.fields.filter { $0.name == "scope" }.map(\.value).joined(separator: " ")
        let code = GitHubProvider.normalize(answer["user_code"] ?? "")
        let isDecided = try exchange.world.update(for: session.account.id) { tables -> Bool in
            guard var device = tables.device(showing: code) else { return false }
            let scopes = device.scopes.intersection(GitHubScopes(kept))
            device.decision =
                isApproved ? .approved(account: session.account.id, scopes, isUnverified: false) : .denied
            tables.put(device)
            return true
        }
        guard let isDecided else { return Pages.redirectToSignIn(exchange, then: "/login/device") }
        guard isDecided else {
            let issue = Diagnosis("no device waits with this code any longer: it has expired or was answered already")
            return devicePage(exchange, session, typed: "", issue: issue)
        }
        return Pages.page(
            isApproved ? "Device connected" : "Cancelled",
            [
                .tag("h1", [], isApproved ? "Your device is connected" : "You have cancelled"),
                .tag(
                    "p", [],
                    isApproved
                        ? "It goes on by itself, the next time it asks."
                        : "The device will be told so. No access was given."),
            ])
    }

    /// Returns the entered code in its canonical form, without regard to case, spaces and a missing hyphen. GitHub's
    /// page used to require the hyphen.
    private static func normalize(_ typed: String) -> String {
        let letters = typed.uppercased().filter { $0.isLetter || $0.isNumber }
        return "\(letters.prefix(4))-\(letters.dropFirst(4))"
    }
}
