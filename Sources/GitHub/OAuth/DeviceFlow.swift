import HTTPServer
import JOSE
import OAuth
import EmulatorCore
import Time

// POST /login/device/code, and the polls at POST /login/oauth/access_token
// https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#device-flow
//
// Quirks: no client secret. There is no verification_uri_complete. A poll too early adds five seconds to the interval for
// good. An app without the flow is refused with status 400 already when it asks for a code.

/// A device that waits for a person.
struct Device: Sendable {
    enum Decision: Sendable {
        case approved(account: String, GitHubScopes, isUnverified: Bool)
        case denied
    }

    let client: String
    let scopes: GitHubScopes
    let wantsRefreshToken: Bool
    let userCode: String
    /// How far apart polls must be.
    var interval = TimeSpan.seconds(5)
    /// `nil` before the first poll.
    var polledAt: Instant?
    var decision: Decision?
    var isRedeemed = false
}

/// The devices of a world, found by either code.
struct DeviceTable: Sendable {
    static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    /// Remembered for a while after they expire, so that polls can be told so.
    private var devices = ExpiringTable<String, Device>(rememberingExpired: .minutes(15), limit: 100_000)
    private var deviceCodes = ExpiringTable<String, String>(limit: 100_000)
    /// When codes of an app were entered, within the last hour.
    private var entries: [String: [Instant]] = [:]

    mutating func insert(_ device: Device, as code: String, expires: Instant, now: Instant) {
        devices.insert(device, as: code, expires: expires, now: now)
        deviceCodes.insert(code, as: device.userCode, expires: expires, now: now)
    }

    subscript(code: String) -> ExpiringTable<String, Device>.Entry? {
        get { devices[code] }
        set { devices[code] = newValue }
    }

    func isTaken(_ userCode: String) -> Bool { deviceCodes[userCode] != nil }

    /// The code of a device that still waits.
    func code(for userCode: String, now: Instant) -> String? {
        guard let entry = deviceCodes[userCode], entry.expires > now, devices[entry.value]?.value.decision == nil else {
            return nil
        }
        return entry.value
    }

    /// Counts one more code that a person entered for an app; `false` when it is more than fifty within an hour.
    mutating func enter(client: String, now: Instant) -> Bool {
        var times = (entries[client] ?? []).filter { $0 > now - GitHubState.hour }
        guard times.count < 50 else { return false }
        times.append(now)
        entries[client] = times
        return true
    }
}

extension GitHubProvider {
    func deviceCode(_ exchange: Exchange) -> Response {
        let format = AnswerFormat(accept: exchange.request.header("Accept"))
        let call = TokenCall(exchange.request)
        guard let app = directory.apps[call.clientID] else { return unknownClient(call.clientID) }
        guard app.hasDeviceFlow else {
            return OAuthError(
                .deviceFlowDisabled, Diagnosis("set \"deviceFlow\": true for \"\(app.clientID)\" in the seed")
            ).answer(format, status: 400)
        }
        let names = (call["scope"] ?? "").split { $0 == " " || $0 == "," }
        let scopes = app.isGitHubApp ? GitHubScopes.none : GitHubScopes(call["scope"] ?? "")
        let (code, userCode) = exchange.world.update { state -> (String, String) in
            let code = Hex.encode(state.random.bytes(20))
            var userCode = DeviceTable.userCode(&state.random)
            while state[GitHubState.self].devices.isTaken(userCode) { userCode = DeviceTable.userCode(&state.random) }
            let device = Device(
                client: app.clientID, scopes: scopes, wantsRefreshToken: names.contains("offline_access"),
                userCode: userCode)
            let now = state.clock.now
            state[GitHubState.self].devices.insert(
                device, as: code, expires: now + settings.deviceCodeLifetime, now: now)
            return (code, userCode)
        }
        return format.response([
            ("device_code", .string(code)), ("user_code", .string(userCode)),
            ("verification_uri", .string("\(Pages.base(exchange))/login/device")),
            ("expires_in", .integer(settings.deviceCodeLifetime.seconds)), ("interval", 5),
        ])
    }

    func poll(
        _ call: TokenCall, _ app: GitHubSection.App, _ exchange: Exchange
    ) throws(OAuthError) -> [AnswerFormat.Field] {
        guard app.hasDeviceFlow else {
            throw OAuthError(
                .deviceFlowDisabled, Diagnosis("set \"deviceFlow\": true for \"\(app.clientID)\" in the seed"))
        }
        let code = call["device_code"] ?? ""
        let interaction = app.interaction ?? exchange.world.seed.interaction
        let result = exchange.world.update { state -> Result<[AnswerFormat.Field], OAuthError> in
            let now = state.clock.now
            guard let entry = state[GitHubState.self].devices[code], entry.value.client == app.clientID,
                !entry.value.isRedeemed
            else { return .failure(incorrectDeviceCode(code, state[GitHubState.self], app)) }
            guard entry.expires > now else {
                let diagnosis = Diagnosis(
                    "the device code expired \((now - entry.expires).seconds) seconds ago: ask for another")
                return .failure(OAuthError(.expiredToken, diagnosis))
            }
            if let error = hurry(entry.value, code, &state, now) { return .failure(error) }
            let decision = entry.value.decision ?? orderedDecision(exchange, entry.value, interaction, &state)
            state[GitHubState.self].devices[code]?.value.decision = decision
            return settle(decision, entry.value, code, app, &state)
        }
        return try result.get()
    }

    private func settle(
        _ decision: Device.Decision?, _ device: Device, _ code: String, _ app: GitHubSection.App,
        _ state: inout Transaction
    ) -> Result<[AnswerFormat.Field], OAuthError> {
        switch decision {
        case nil:
            let diagnosis = Diagnosis(
                "nobody has entered \(device.userCode) at /login/device yet: poll again in \(device.interval.seconds) seconds"
            )
            return .failure(OAuthError(.authorizationPending, diagnosis))
        case .denied:
            return .failure(
                OAuthError(.accessDenied, Diagnosis("the person cancelled; this device code is of no more use")))
        case .approved(let accountID, let scopes, let isUnverified):
            guard let account = state.account(accountID), !isUnverified else {
                return .failure(OAuthError(.unverifiedUserEmail, Diagnosis("this error was ordered as an outcome")))
            }
            if let error = unverified(account) { return .failure(error) }
            state[GitHubState.self].devices[code]?.value.isRedeemed = true
            let key = GitHubState.GrantKey(account: account.id, client: app.clientID)
            return .success(
                issue(&state, app, key, scopes, wantsRefresh: device.wantsRefreshToken, isFromDevice: true))
        }
    }

    private func incorrectDeviceCode(_ code: String, _ state: GitHubState, _ app: GitHubSection.App) -> OAuthError {
        let diagnosis: Diagnosis
        if let device = state.devices[code]?.value {
            diagnosis =
                device.isRedeemed
                ? Diagnosis("this device code has already brought a token")
                : Diagnosis("the device code was given to \"\(device.client)\", not to \"\(app.clientID)\"")
        } else {
            diagnosis = Diagnosis(
                received: "device_code \(Diagnosis.quote(code, limit: 24))",
                "this world has given out no such code: send device_code, not user_code")
        }
        return OAuthError(.incorrectDeviceCode, diagnosis)
    }

    /// A poll before its time costs five seconds more from then on.
    private func hurry(_ device: Device, _ code: String, _ state: inout Transaction, _ now: Instant) -> OAuthError? {
        state[GitHubState.self].devices[code]?.value.polledAt = now
        guard let polledAt = device.polledAt else { return nil }
        let due = polledAt + device.interval - settings.pollingTolerance
        guard now < due else { return nil }
        let interval = device.interval + .seconds(5)
        state[GitHubState.self].devices[code]?.value.interval = interval
        let diagnosis = Diagnosis(
            received: "a poll after \((now - polledAt).milliseconds) ms",
            expected: "\(device.interval.seconds) seconds between polls",
            "wait \(interval.seconds) seconds from now on")
        return OAuthError(.slowDown, diagnosis, interval: interval)
    }

    /// What was ordered for the next authorization, or the interaction's own answer.
    private func orderedDecision(
        _ exchange: Exchange, _ device: Device, _ interaction: Interaction, _ state: inout Transaction
    ) -> Device.Decision? {
        let outcome = exchange.outcome(&state, provider: name, client: device.client, interaction: interaction)
        guard let outcome else { return nil }
        let isUnverified = outcome.error == OAuthError.Code.unverifiedUserEmail.rawValue
        guard outcome.kind == .approve || isUnverified, let account = state.personSigningIn(interaction, outcome) else {
            return .denied
        }
        let granted = outcome.scopes.map { GitHubScopes($0.joined(separator: " ")) } ?? device.scopes
        return .approved(account: account.id, device.scopes.intersection(granted), isUnverified: isUnverified)
    }
}

extension DeviceTable {
    /// Eight characters with a hyphen. Which ones isn't documented; those in public logs are hexadecimal digits.
    fileprivate static func userCode(_ random: inout Randomness) -> String {
        let text = random.text(8, from: Array("0123456789ABCDEF".utf8))
        return "\(text.prefix(4))-\(text.suffix(4))"
    }
}
