import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time
import Worlds

/// A device authorization: a device that waits until a person has entered its user code in a browser.
/// <https://datatracker.ietf.org/doc/html/rfc8628>
package struct DeviceAuthorization: Row {
    package enum Decision: Codable, Sendable {
        case approved(account: String, scopes: [String])
        case denied
        /// The person's sign-in on the device ends with an error that a test or the seed has requested.
        case failed(error: String, account: String?)
    }

    /// The reason why a device's poll of the token endpoint returns no tokens. Each provider words the error in its own
    /// way.
    package enum Failure: Error, Sendable {
        case unknown
        case redeemed
        case otherClient(String)
        /// The device code has expired. The value is the time since then.
        case expired(TimeSpan)
        /// The device polled too soon after its previous poll, and must wait longer from now on.
        case early(after: TimeSpan, interval: TimeSpan, next: TimeSpan)
        /// No person has decided yet. The device may poll again after this interval.
        case pending(TimeSpan)
        case denied
        /// The sign-in ends with this error, because a test or the seed has requested it.
        case failed(String)
        /// The provider doesn't let this person sign in to the client.
        case notAdmitted(Account)
        case noAccount

        /// The error response for the device's poll, in the words of the OAuth specifications.
        package var refusal: OAuthRefusal {
            switch self {
            case .unknown, .redeemed, .otherClient:
                OAuthRefusal(
                    "invalid_grant",
                    Diagnosis(
                        "the device code is unknown, already redeemed, or another client's: send device_code, not user_code"
                    ))
            case .expired: OAuthRefusal("expired_token", diagnosis)
            case .early: OAuthRefusal("slow_down", diagnosis)
            case .pending(let interval):
                OAuthRefusal(
                    "authorization_pending",
                    Diagnosis("nobody has entered the user code yet: poll again in \(interval.seconds) seconds"))
            case .denied, .failed, .notAdmitted: OAuthRefusal("access_denied", diagnosis)
            case .noAccount: .accountIsGone
            }
        }

        /// The reason why a device's poll of the token endpoint returns no tokens, as a message for developers. It fits
        /// every provider.
        package var diagnosis: Diagnosis {
            switch self {
            case .unknown:
                // The code isn't quoted, because it may be another world's secret.
                Diagnosis(
                    "this test world hasn't issued this device_code: send the value of device_code, not of user_code")
            case .redeemed: Diagnosis("this device code was already exchanged for a token")
            case .otherClient(let client): Diagnosis("the device code was issued to the client \"\(client)\"")
            case .expired(let age): Diagnosis("the device code expired \(age.inWords) ago: request a new device code")
            case .early(let age, let interval, let next):
                Diagnosis(
                    received: "a poll after \(age.milliseconds) ms",
                    expected: "\(interval.seconds) seconds between polls",
                    "wait \(next.seconds) seconds before each poll")
            case .pending: Diagnosis("nobody has entered the user code yet")
            case .denied: Diagnosis("the user cancelled the sign-in: request a new device code")
            case .failed: Diagnosis("the sign-in failed with an error that a test or the seed requested")
            case .notAdmitted(let account):
                Diagnosis("the user \(Diagnosis.quote(account.id)) isn't allowed to sign in to this client")
            case .noAccount: Diagnosis("the user's account was deleted")
            }
        }
    }

    package static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    /// The table of device authorizations. Expired ones are kept for a while, so that a late poll is told that the
    /// device code has expired.
    package static let table = Table<DeviceAuthorization>(
        "oauth.device", limit: 100_000, byteLimit: 64 << 20, indexes: [byUserCode, byAccount],
        droppedAt: { $0.expires + .minutes(15) }, size: { $0.scopes.reduce(0) { $0 + $1.utf8.count } })
    static let byUserCode = Index<DeviceAuthorization, String>("userCode") { DeviceAuthorization.letters($0.userCode) }
    /// The index of device authorizations by account. It has those that the account's user has approved, and those that
    /// ended with an error that was requested for the account.
    static let byAccount = Index<DeviceAuthorization, String>("account") { device in
        switch device.decision {
        case .approved(let account, _): account
        case .failed(_, let account): account
        case .denied, nil: nil
        }
    }

    /// The device code, which the client sends when it polls.
    package let key: String
    /// The user code that the device shows, such as `WDJB-MJHT`.
    package let userCode: String
    package let issuer: String
    package let client: String
    package let scopes: [String]
    package let expires: Instant
    /// The shortest time that a device must wait between two polls.
    package fileprivate(set) var interval: TimeSpan
    /// The time of the device's last poll; `nil` before its first poll.
    fileprivate var polledAt: Instant?
    package var decision: Decision?
    fileprivate var isRedeemed = false

    /// Returns a user code without the characters, such as hyphens and spaces, that people add or leave out when they
    /// type it.
    static func letters(_ code: String) -> String { String(code.uppercased().filter { $0.isLetter || $0.isNumber }) }
}

extension TableReading where Self: ~Copyable {
    /// Returns the device authorization with this user code, if it hasn't expired and no person has decided yet.
    package func device(showing userCode: String, at issuer: String) -> DeviceAuthorization? {
        let found = first(DeviceAuthorization.byUserCode, DeviceAuthorization.letters(userCode))
        return found.flatMap { $0.issuer == issuer && $0.expires > now && $0.decision == nil ? $0 : nil }
    }
}

extension Transaction {
    /// Starts a device authorization with a new device code and user code. By default, user codes have only letters
    /// that form no words, as RFC 8628 section 6.1 recommends.
    package mutating func beginDevice(
        at issuer: String, client: String, scopes: [String], lifetime: TimeSpan, interval: TimeSpan,
        code: String? = nil, letters: String = "BCDFGHJKLMNPQRSTVWXZ"
    ) -> DeviceAuthorization {
        let device = DeviceAuthorization(
            key: code ?? Base64URL.encode(random.bytes(32)), userCode: makeUserCode(from: letters), issuer: issuer,
            client: client, scopes: scopes, expires: now + lifetime, interval: interval)
        put(device)
        return device
    }

    private mutating func makeUserCode(from letters: String) -> String {
        while true {
            let text = random.text(8, from: Array(letters.utf8))
            guard first(DeviceAuthorization.byUserCode, text) != nil else {
                return "\(text.prefix(4))-\(text.suffix(4))"
            }
        }
    }

    /// Handles a device's poll of a provider's token endpoint. If the device authorization has been approved, it is
    /// marked as used, and the person and the scopes are returned. If no person has decided yet, a decision that a test
    /// has made in advance counts. Without one, the setting `interaction` counts. A failure is returned and not thrown,
    /// because the transaction must record the poll.
    ///
    /// - Parameters:
    ///   - errors: The names of errors that last. If a poll ends with one of these for an account, the device's later
    ///     polls end with the same error.
    ///   - granted: Returns the scopes that are granted if a test or the seed has decided to approve; `nil` denies
    ///     access.
    package mutating func poll(
        _ code: String, by client: some SignInClient, _ interaction: Interaction?, at issuer: String,
        of provider: String, _ exchange: Exchange, tolerance: TimeSpan = .zero, keeping errors: [String] = [],
        admits: (Account) -> Bool = { _ in true }, granted: (DeviceAuthorization, Outcome?) -> [String]?
    ) -> Result<(account: Account, scopes: [String]), DeviceAuthorization.Failure> {
        guard var device = find(DeviceAuthorization.self, code), device.issuer == issuer else {
            return .failure(.unknown)
        }
        guard !device.isRedeemed else { return .failure(.redeemed) }
        guard device.client == client.id else { return .failure(.otherClient(device.client)) }
        defer { put(device) }
        if let failure = checkPace(&device, tolerance) { return .failure(failure) }
        if device.decision == nil {
            switch exchange.decision(provider: provider, client: client.id, interaction: interaction, in: &self) {
            case .ask: break
            case .error(let name, let account?) where errors.contains(name):
                device.decision = .failed(error: name, account: account.id)
            case .cancel, .nobody, .error: device.decision = .denied
            case .approve(let account, let outcome):
                device.decision = granted(device, outcome).map { .approved(account: account.id, scopes: $0) } ?? .denied
            }
        }
        switch device.decision {
        case nil: return .failure(.pending(device.interval))
        case .denied: return .failure(.denied)
        case .failed(let name, let id):
            return .failure(id.map { account($0) == nil } ?? false ? .noAccount : .failed(name))
        case .approved(let id, let scopes):
            guard let account = account(id) else { return .failure(.noAccount) }
            guard admits(account) else { return .failure(.notAdmitted(account)) }
            device.isRedeemed = true
            return .success((account, scopes))
        }
    }

    /// Returns a failure if the device code has expired, or the device polls too fast. A poll that is too fast
    /// lengthens the interval by five seconds, as RFC 8628 section 3.5 demands.
    private func checkPace(
        _ device: inout DeviceAuthorization, _ tolerance: TimeSpan
    ) -> DeviceAuthorization.Failure? {
        guard device.expires > now else { return .expired(now - device.expires) }
        let (before, interval) = (device.polledAt, device.interval)
        device.polledAt = now
        guard let before, now < before + interval - tolerance else { return nil }
        device.interval = interval + .seconds(5)
        return .early(after: now - before, interval: interval, next: device.interval)
    }

    /// Denies the device authorizations that the person of an account has approved, and those that ended with an error
    /// requested for the account. Tokens that a device has already got stay valid.
    package mutating func denyDevices(of account: String) {
        for device in rows(DeviceAuthorization.byAccount, account) {
            change(DeviceAuthorization.self, device.key) { $0.decision = .denied }
        }
    }
}

/// The pages on which a person enters a device's user code, chooses an account and consents:
/// <https://datatracker.ietf.org/doc/html/rfc8628#section-3.3>.
package struct DevicePages: Sendable {
    private let pages: PersonPages
    private let realm: String
    private let clientName: @Sendable (String) -> String?
    private let descriptions: @Sendable ([String]) -> [String]

    /// Makes the pages of the device flow. `realm` identifies the server that issues the codes, `clientName` returns
    /// the display name of a client, and `descriptions` describes scopes in words.
    package init(
        _ pages: PersonPages, realm: String, clientName: @escaping @Sendable (String) -> String?,
        descriptions: @escaping @Sendable ([String]) -> [String]
    ) {
        self.pages = pages
        self.realm = realm
        self.clientName = clientName
        self.descriptions = descriptions
    }

    package func enterCode(_ exchange: Exchange) -> Response {
        pages.enterCode(exchange, exchange.request.queryForm["user_code"] ?? "")
    }

    /// Handles the forms of the device flow's pages: the entered user code, then the account and the consent.
    package func decide(_ exchange: Exchange) throws -> Response {
        let form = exchange.request.bodyForm
        let page = try pages.answer(form, in: exchange)
        let code = page?.request["user_code"] ?? form["user_code"] ?? ""
        let problem = Diagnosis(
            received: "the code \(Diagnosis.quote(code))",
            "no device with this user code waits for a sign-in: check the code")
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
