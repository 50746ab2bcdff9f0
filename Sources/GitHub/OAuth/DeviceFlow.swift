import EmulatorCore
import HTTPServer
import JOSE
import OAuth
import Time
import Worlds

// POST /login/device/code, and the polls at POST /login/oauth/access_token
// https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#device-flow
//
// Quirks: there is no client secret and no verification_uri_complete. An early poll permanently adds five seconds to
// the interval. An app without the flow is already refused when it asks for a code, with status 400.

extension GitHubProvider {
    func deviceCode(_ exchange: Exchange) throws -> Response {
        let format = AnswerFormat(accept: exchange.request.header("Accept"))
        let call = TokenCall(exchange.request)
        guard let app = directory.apps[call.clientID] else { return unknownClient(call.clientID, exchange.request) }
        do throws(OAuthError) { try checkDeviceFlow(of: app) } catch { return error.answer(format, status: 400) }
        let names = (call["scope"] ?? "").split { $0 == " " || $0 == "," }
        let scopes = app.isGitHubApp ? GitHubScopes.none : GitHubScopes(call["scope"] ?? "")
        let device = try exchange.world.update { tables in
            let code = Hex.encode(tables.random.bytes(20))
            let device = Device(
                key: code, userCode: tables.makeUserCode(), client: app.clientID, scopes: scopes,
                wantsRefreshToken: names.contains("offline_access"), expires: tables.now + settings.deviceCodeLifetime)
            tables.put(device)
            return device
        }
        return format.response([
            ("device_code", .string(device.key)), ("user_code", .string(device.userCode)),
            ("verification_uri", .string("\(Pages.base(exchange))/login/device")),
            ("expires_in", .integer(settings.deviceCodeLifetime.seconds)),
            ("interval", .integer(device.interval.seconds)),
        ])
    }

    private func checkDeviceFlow(of app: GitHubSection.App) throws(OAuthError) {
        guard !app.hasDeviceFlow else { return }
        throw OAuthError(
            .deviceFlowDisabled, Diagnosis("set \"deviceFlow\": true for \"\(app.clientID)\" in the seed"))
    }

    // MARK: - Polls

    func poll(
        _ call: TokenCall, _ app: GitHubSection.App, _ exchange: Exchange
    ) throws -> IssuedTokens {
        try checkDeviceFlow(of: app)
        let code = call["device_code"] ?? ""
        // A refusal is returned, not thrown, because a refused poll counts too.
        let result = try exchange.world.update { tables -> Result<IssuedTokens, OAuthError> in
            guard var device = tables.find(Device.self, code), device.client == app.clientID, !device.isRedeemed else {
                return .failure(incorrectDeviceCode(code, tables.find(Device.self, code), app))
            }
            defer { tables.put(device) }
            do throws(OAuthError) {
                try checkPace(&device, at: tables.now)
                if device.decision == nil {
                    let decision = exchange.decision(
                        provider: name, client: app.clientID, interaction: app.interaction, in: &tables)
                    device.decision = Device.Decision(decision, of: device)
                }
                return .success(try settle(&device, app, in: &tables))
            } catch { return .failure(error) }
        }
        return try result.get()
    }

    private func incorrectDeviceCode(
        _ code: String, _ device: Device?, _ app: GitHubSection.App
    ) -> OAuthError {
        let diagnosis: Diagnosis
        if let device {
            diagnosis =
                device.isRedeemed
                ? Diagnosis("this device code has already brought a token")
                : Diagnosis("the device code was given to \"\(device.client)\", not to \"\(app.clientID)\"")
        } else {
            // The code isn't quoted, because it may be another world's secret.
            diagnosis = Diagnosis(
                code.isEmpty
                    ? "device_code is missing"
                    : "this world has given out no such device_code: send what came as device_code, not user_code")
        }
        return OAuthError(.incorrectDeviceCode, diagnosis)
    }

    /// Checks that the device code hasn't expired, and that the poll isn't early: each early poll adds five seconds to
    /// the interval.
    private func checkPace(_ device: inout Device, at now: Instant) throws(OAuthError) {
        guard device.expires > now else {
            throw OAuthError(
                .expiredToken,
                Diagnosis(
                    "the device code expired \((now - device.expires).inWords) ago: ask for another"))
        }
        let (before, interval) = (device.polledAt, device.interval)
        device.polledAt = now
        guard let before, now < before + interval - settings.pollingTolerance else { return }
        device.interval = interval + .seconds(5)
        throw OAuthError(
            .slowDown,
            Diagnosis(
                received: "a poll after \((now - before).milliseconds) ms",
                expected: "\(interval.seconds) seconds between polls",
                "wait \(device.interval.seconds) seconds from now on"), interval: device.interval)
    }

    /// Returns the tokens or the error that follow from the person's decision.
    private func settle(
        _ device: inout Device, _ app: GitHubSection.App, in tables: inout Transaction
    ) throws(OAuthError) -> IssuedTokens {
        switch device.decision {
        case nil:
            throw OAuthError(
                .authorizationPending,
                Diagnosis(
                    "nobody has entered the user code at /login/device yet: poll again in \(device.interval.seconds) seconds"
                ))
        case .denied:
            throw OAuthError(
                .accessDenied, Diagnosis("the person cancelled; this device code is of no more use"))
        case .approved(let id, let scopes, let isUnverified):
            guard let account = tables.account(id) else {
                throw OAuthError(.unverifiedUserEmail, Diagnosis("the account is gone"))
            }
            try checkAddress(of: account, isUnverified: isUnverified)
            device.isRedeemed = true
            let grant = tables.consent(id, to: app, scopes: scopes)
            return issue(
                grant, scopes, to: app, withRefreshToken: device.wantsRefreshToken, isFromDevice: true, in: &tables)
        }
    }
}

extension Device.Decision {
    /// Converts an ordered outcome or the client's `interaction`; `nil` if a person must be asked.
    fileprivate init?(_ decision: OAuth.Decision, of device: Device) {
        switch decision {
        case .ask: return nil
        case .cancel, .nobody: self = .denied
        case .error(OAuthError.Code.unverifiedUserEmail.rawValue, let account?):
            self = .approved(account: account.id, device.scopes, isUnverified: true)
        case .error: self = .denied
        case .approve(let account, let outcome):
            let granted = outcome?.scopes.map { GitHubScopes($0.joined(separator: " ")) } ?? device.scopes
            self = .approved(account: account.id, device.scopes.intersection(granted), isUnverified: false)
        }
    }
}

/// A device that is waiting for a person to enter its code.
struct Device: Row {
    enum Decision: Codable, Sendable {
        case approved(account: String, GitHubScopes, isUnverified: Bool)
        case denied
    }

    static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    /// The table. Rows are kept for a while after their expiry, so that polls get `expired_token`.
    static let table = Table<Device>("github.device", limit: 100_000, indexes: [byUserCode, byAccount]) {
        $0.expires + .minutes(15)
    }
    static let byUserCode = Index<Device, String>("userCode") { $0.userCode }
    /// The index by the person who has approved.
    static let byAccount = Index<Device, String>("account") { device in
        if case .approved(let account, _, _) = device.decision { account } else { nil }
    }

    /// The device code.
    let key: String
    let userCode: String
    let client: String
    let scopes: GitHubScopes
    let wantsRefreshToken: Bool
    let expires: Instant
    /// The least time between two polls.
    var interval = TimeSpan.seconds(5)
    /// The time of the last poll; `nil` before the first one.
    var polledAt: Instant?
    var decision: Decision?
    var isRedeemed = false
}

/// The times within the last hour at which people entered user codes of an app.
struct UserCodeEntries: Row {
    static let period = TimeSpan.hours(1)
    /// The most codes that people may enter for an app in `period`.
    static let limit = 50
    static let table = Table<UserCodeEntries>("github.userCodeEntries") { row in row.times.last.map { $0 + period } }

    /// The app's client ID.
    let key: String
    var times: [Instant] = []
}

extension TableReading where Self: ~Copyable {
    /// Returns the waiting device that shows this code.
    func device(showing userCode: String) -> Device? {
        guard let device = first(Device.byUserCode, userCode), device.expires > now, device.decision == nil else {
            return nil
        }
        return device
    }
}

extension Transaction {
    /// Returns a user code that no other device shows.
    mutating func makeUserCode() -> String {
        while true {
            // The alphabet isn't documented; codes in public logs have hexadecimal digits.
            let text = random.text(8, from: Array("0123456789ABCDEF".utf8))
            let code = "\(text.prefix(4))-\(text.suffix(4))"
            if first(Device.byUserCode, code) == nil { return code }
        }
    }

    /// Counts a code that a person entered for an app. Returns `false` if there were fifty within the last hour.
    mutating func countUserCode(of client: String) -> Bool {
        let now = self.now
        var entries = find(UserCodeEntries.self, client) ?? UserCodeEntries(key: client)
        entries.times.removeAll { $0 <= now - UserCodeEntries.period }
        guard entries.times.count < UserCodeEntries.limit else { return false }
        entries.times.append(now)
        put(entries)
        return true
    }
}
