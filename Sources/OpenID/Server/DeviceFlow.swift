import EmulatorCore
import HTTPServer
import JOSE
import JSON
import OAuth
import Time
import Worlds

// https://datatracker.ietf.org/doc/html/rfc8628

extension Issuer {
    /// Issues a device code and a user code.
    func authorizeDevice(_ exchange: Exchange) throws -> Response {
        let form = try exchange.request.parameters()
        let client = try authenticate(exchange, form)
        try check(client, mayUse: DeviceAuthorization.grantType)
        let scopes = try AuthorizationParameters.scopes(form["scope"], among: client.scopes)
        let lifetimes = policy.lifetimes
        let device = try exchange.world.update { tables in
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
    }

    private func devicePages(_ exchange: Exchange) -> DevicePages {
        DevicePages(pages(at: policy.paths.device), realm: realm) { id in
            client(id, in: exchange.world)?.name
        } descriptions: { scopes in
            StandardScope.descriptions(of: scopes)
        }
    }

    func devicePage(_ exchange: Exchange) -> Response { devicePages(exchange).enterCode(exchange) }

    func decideOnDevice(_ exchange: Exchange) throws -> Response { try devicePages(exchange).decide(exchange) }

    func poll(
        _ exchange: Exchange, _ form: Form, _ client: ClientMetadata, in tables: inout Transaction
    ) -> Result<(account: Account, scopes: [String]), OAuthRefusal> {
        tables.poll(
            form["device_code"] ?? "", by: client, client.interaction ?? interaction, at: realm, of: provider, exchange
        ) { device, outcome in
            outcome?.scopes.map { granted in device.scopes.filter(granted.contains) } ?? device.scopes
        }.mapError(\.refusal)
    }
}
