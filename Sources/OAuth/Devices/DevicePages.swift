import EmulatorCore
import HTTPServer

/// The pages on which a person enters a device's code, chooses an account and consents:
/// <https://datatracker.ietf.org/doc/html/rfc8628#section-3.3>.
package struct DevicePages: Sendable {
    private let pages: PersonPages
    private let realm: String
    private let clientName: @Sendable (String) -> String?
    private let descriptions: @Sendable ([String]) -> [String]

    /// Makes the pages. `realm` is the server of the codes, `clientName` returns a client's name for people, and
    /// `descriptions` describes scopes in words.
    package init(
        _ pages: PersonPages, realm: String, clientName: @escaping @Sendable (String) -> String?,
        descriptions: @escaping @Sendable ([String]) -> [String]
    ) {
        self.pages = pages
        self.realm = realm
        self.clientName = clientName
        self.descriptions = descriptions
    }

    /// Shows the page that asks for the code.
    package func enterCode(_ exchange: Exchange) -> Response {
        pages.enterCode(exchange, exchange.request.queryForm["user_code"] ?? "")
    }

    /// Handles the form of a page: the entered code, then the account and the consent.
    package func decide(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.bodyForm
        let page = try pages.answer(form, in: exchange)
        let code = page?.request["user_code"] ?? form["user_code"] ?? ""
        let problem = Diagnosis(
            received: "the code \(Diagnosis.quote(code))", "no device that waits shows this code: look again")
        guard let device = exchange.world.read({ $0.device(showing: code, at: realm) }) else {
            return pages.enterCode(exchange, code, problem: problem)
        }
        let name = clientName(device.client) ?? device.client
        let carried = Form(fields: [Form.Field(name: "user_code", value: device.userCode)])
        var decision = DeviceAuthorization.Decision.denied
        switch page?.answer {
        case nil: return pages.choose(exchange, client: name, request: carried)
        case .searched(let search): return pages.choose(exchange, client: name, request: carried, search: search)
        case .page(let page): return page
        case .chosen(let id):
            guard let account = exchange.world.read({ $0.account(id) }) else {
                return pages.choose(exchange, client: name, request: carried)
            }
            return pages.consent(
                exchange, client: name, account: account, items: descriptions(device.scopes), request: carried)
        case .approved(let account):
            guard exchange.world.read({ $0.account(account) }) != nil else {
                return pages.choose(exchange, client: name, request: carried)
            }
            decision = .approved(account: account, scopes: device.scopes)
        case .cancel: break
        }
        let (key, decided) = (device.key, decision)
        let isDecided = try exchange.world.update { tables in
            guard tables.device(showing: code, at: realm)?.key == key else { return false }
            if case .approved(let account, _) = decided, tables.account(account) == nil { return false }
            return tables.change(DeviceAuthorization.self, key) { $0.decision = decided }
        }
        guard isDecided else { return pages.enterCode(exchange, code, problem: problem) }
        guard case .approved = decision else {
            return pages.notice("Cancelled", "The device gets nothing. You can close this window.")
        }
        return pages.notice("Connected", "Go back to the device. You can close this window.")
    }
}
