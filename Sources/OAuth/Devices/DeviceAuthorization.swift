import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time
import Worlds

/// A device that is waiting for a person: <https://datatracker.ietf.org/doc/html/rfc8628>.
package struct DeviceAuthorization: Row {
    package enum Decision: Codable, Sendable {
        case approved(account: String, scopes: [String])
        case denied
    }

    package static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    /// The table. Rows are kept for a while after their expiry, so that polls get that answer.
    package static let table = Table<DeviceAuthorization>(
        "oauth.device", limit: 100_000, indexes: [byUserCode, byAccount]
    ) {
        $0.expires + .minutes(15)
    }
    static let byUserCode = Index<DeviceAuthorization, String>("userCode") { DeviceAuthorization.letters($0.userCode) }
    /// The index by the person who has approved.
    static let byAccount = Index<DeviceAuthorization, String>("account") { device in
        if case .approved(let account, _) = device.decision { account } else { nil }
    }

    /// The device code.
    package let key: String
    /// The user code, such as `WDJB-MJHT`.
    package let userCode: String
    package let issuer: String
    package let client: String
    package let scopes: [String]
    package let expires: Instant
    /// The least time between two polls.
    package fileprivate(set) var interval: TimeSpan
    /// The time of the last poll; `nil` before the first one.
    fileprivate var polledAt: Instant?
    package var decision: Decision?
    fileprivate var isRedeemed = false

    /// Returns a user code without the characters that people add or leave out.
    static func letters(_ code: String) -> String { String(code.uppercased().filter { $0.isLetter || $0.isNumber }) }
}

extension TableReading where Self: ~Copyable {
    /// Returns the waiting device that shows this code.
    package func device(showing userCode: String, at issuer: String) -> DeviceAuthorization? {
        let found = first(DeviceAuthorization.byUserCode, DeviceAuthorization.letters(userCode))
        return found.flatMap { $0.issuer == issuer && $0.expires > now && $0.decision == nil ? $0 : nil }
    }
}

extension Transaction {
    /// Starts a device's wait for a person.
    package mutating func beginDevice(
        at issuer: String, client: String, scopes: [String], lifetime: TimeSpan, interval: TimeSpan
    ) -> DeviceAuthorization {
        let device = DeviceAuthorization(
            key: Base64URL.encode(random.bytes(32)), userCode: makeUserCode(), issuer: issuer, client: client,
            scopes: scopes, expires: now + lifetime, interval: interval)
        put(device)
        return device
    }

    /// Returns a code that no other device shows, of letters that form no words: RFC 8628 section 6.1.
    private mutating func makeUserCode() -> String {
        while true {
            let text = random.text(8, from: Array("BCDFGHJKLMNPQRSTVWXZ".utf8))
            guard first(DeviceAuthorization.byUserCode, text) != nil else {
                return "\(text.prefix(4))-\(text.suffix(4))"
            }
        }
    }

    /// Handles a client's poll at a provider. Returns the approved device, which is then redeemed. If nobody has
    /// decided, an order may; `granted` returns the scopes that it grants, or `nil` to deny access. A refusal is
    /// returned, not thrown, because a refused poll counts too.
    package mutating func poll(
        _ code: String, by client: some SignInClient, _ interaction: Interaction?, at issuer: String,
        of provider: String, _ exchange: Exchange, granted: (DeviceAuthorization, Outcome?) -> [String]?
    ) -> Result<(account: Account, scopes: [String]), OAuthRefusal> {
        guard var device = find(DeviceAuthorization.self, code), device.issuer == issuer, device.client == client.id,
            !device.isRedeemed
        else {
            return .failure(
                OAuthRefusal(
                    "invalid_grant",
                    Diagnosis(
                        "the device code is unknown, redeemed, or another client's: send device_code, not user_code")
                ))
        }
        defer { put(device) }
        if let refusal = refuse(&device) { return .failure(refusal) }
        if device.decision == nil {
            switch exchange.decision(provider: provider, client: client.id, interaction: interaction, in: &self) {
            case .ask: break
            case .cancel, .nobody, .error: device.decision = .denied
            case .approve(let account, let outcome):
                device.decision = granted(device, outcome).map { .approved(account: account.id, scopes: $0) } ?? .denied
            }
        }
        switch device.decision {
        case nil:
            return .failure(
                OAuthRefusal(
                    "authorization_pending",
                    Diagnosis(
                        "nobody has entered the user code yet: poll again in \(device.interval.seconds) seconds")))
        case .denied:
            return .failure(
                OAuthRefusal("access_denied", Diagnosis("the person cancelled; this device code is of no more use")))
        case .approved(let id, let scopes):
            guard let account = account(id) else {
                return .failure(.accountIsGone)
            }
            device.isRedeemed = true
            return .success((account, scopes))
        }
    }

    /// Returns a refusal if the device has expired or polls too fast: RFC 8628 section 3.5 adds five seconds
    /// permanently.
    private func refuse(_ device: inout DeviceAuthorization) -> OAuthRefusal? {
        guard device.expires > now else {
            let age = (now - device.expires).inWords
            return OAuthRefusal(
                "expired_token", Diagnosis("the device code expired \(age) ago: ask for another"))
        }
        let before = device.polledAt
        device.polledAt = now
        guard let before, now < before + device.interval else { return nil }
        let (age, interval) = ((now - before).milliseconds, device.interval)
        device.interval = interval + .seconds(5)
        return OAuthRefusal(
            "slow_down",
            Diagnosis(
                received: "a poll after \(age) ms", expected: "\(interval.seconds) seconds between polls",
                "wait \(device.interval.seconds) seconds from now on"))
    }
}

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
