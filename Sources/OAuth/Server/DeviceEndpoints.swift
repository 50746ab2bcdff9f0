import EmulatorCore
import HTTPServer
import JSON

// https://datatracker.ietf.org/doc/html/rfc8628

extension AuthorizationServer {
    /// A device asks for a code.
    package func authorizeDevice(_ exchange: Exchange) -> Response {
        do throws(OAuthRefusal) {
            let form = try exchange.request.parameters()
            let client = try authenticate(exchange, form)
            try check(client, mayUse: DeviceAuthorization.grantType)
            let scopes = try AuthorizationParameters.scopes(form["scope"], among: client.scopes)
            let lifetimes = policy.lifetimes
            let device = exchange.world.update { tables in
                tables.beginDevice(
                    at: realm, client: client.clientID, scopes: scopes, lifetime: lifetimes.deviceCode,
                    interval: lifetimes.deviceInterval)
            }
            let page = url(policy.paths.device, exchange)
            return OAuthRefusal.json([
                "device_code": .string(device.key), "user_code": .string(device.userCode),
                "verification_uri": .string(page),
                "verification_uri_complete": .string("\(page)?user_code=\(device.userCode)"),
                "expires_in": .integer(lifetimes.deviceCode.seconds),
                "interval": .integer(device.interval.seconds),
            ])
        } catch { return error.response }
    }

    private var devicePages: PersonPages { pages(at: policy.paths.device) }

    package func devicePage(_ exchange: Exchange) -> Response {
        devicePages.enterCode(exchange, exchange.request.queryForm["user_code"] ?? "")
    }

    /// A code that a person has entered, and then who it is.
    package func decideOnDevice(_ exchange: Exchange) -> Response {
        let form = exchange.request.bodyForm
        let page = devicePages.answer(form, in: exchange)
        let code = page?.request["user_code"] ?? form["user_code"] ?? ""
        let problem = Diagnosis(
            received: "the code \(Diagnosis.quote(code))", "no device that waits shows this code: look again")
        guard let device = exchange.world.read({ $0.device(showing: code, at: realm) }) else {
            return devicePages.enterCode(exchange, code, problem: problem)
        }
        let name = client(device.client)?.name ?? device.client
        let carried = Form(fields: [Form.Field(name: "user_code", value: device.userCode)])
        var decision = DeviceAuthorization.Decision.denied
        switch page?.answer {
        case nil: return devicePages.choose(exchange, client: name, request: carried)
        case .searched(let search): return devicePages.choose(exchange, client: name, request: carried, search: search)
        case .page(let page): return page
        case .chosen(let id):
            guard let account = exchange.world.read({ $0.account(id) }) else {
                return devicePages.choose(exchange, client: name, request: carried)
            }
            return devicePages.consent(
                exchange, client: name, account: account, items: StandardScope.descriptions(of: device.scopes),
                request: carried)
        case .approved(let account):
            guard exchange.world.read({ $0.account(account) }) != nil else {
                return devicePages.choose(exchange, client: name, request: carried)
            }
            decision = .approved(account: account, scopes: device.scopes)
        case .cancel: break
        }
        let (key, decided) = (device.key, decision)
        let isDecided = exchange.world.update { tables in
            guard tables.device(showing: code, at: realm)?.key == key else { return false }
            return tables.change(DeviceAuthorization.self, key) { $0.decision = decided }
        }
        guard isDecided else { return devicePages.enterCode(exchange, code, problem: problem) }
        guard case .approved = decision else {
            return devicePages.notice("Cancelled", "The device gets nothing. You can close this window.")
        }
        return devicePages.notice("Connected", "Go back to the device. You can close this window.")
    }

    /// A device's poll for the decision.
    package func poll(
        _ exchange: Exchange, _ form: Form, _ client: ClientMetadata, in tables: inout Transaction
    ) -> Result<(account: Account, scopes: [String]), OAuthRefusal> {
        tables.poll(form["device_code"] ?? "", by: client.clientID, at: realm) { device, tables in
            let decision = exchange.decision(
                provider: provider, client: client.clientID, interaction: client.interaction ?? interaction, in: &tables
            )
            switch decision {
            case .ask: return nil
            case .cancel, .nobody, .error: return .denied
            case .approve(let account, let outcome):
                let scopes = outcome?.scopes.map { granted in device.scopes.filter(granted.contains) }
                return .approved(account: account.id, scopes: scopes ?? device.scopes)
            }
        }
    }
}
