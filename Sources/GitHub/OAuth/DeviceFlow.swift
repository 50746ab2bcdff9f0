import EmulatorCore
import HTTPServer
import JOSE
import OAuth
import Time
import Worlds

// POST /login/device/code, and the polls at POST /login/oauth/access_token
//
// Quirks: there is no client secret and no verification_uri_complete. An early poll permanently adds five seconds to
// the interval. An app without the flow is already refused when it asks for a code, with status 400.

extension GitHubProvider {
    /// The scope by which a client requests a refresh token. No token has this scope.
    private static let refreshing = "offline_access"

    func deviceCode(_ exchange: Exchange) throws -> Response {
        let format = AnswerFormat(accept: exchange.request.header("Accept"))
        let call = TokenCall(exchange.request)
        guard let app = directory.apps[call.clientID] else { return unknownClient(call.clientID, exchange.request) }
        do throws(OAuthError) { try checkDeviceFlow(of: app) } catch { return error.answer(format, status: 400) }
        let scopes = app.isGitHubApp ? GitHubScopes.none : GitHubScopes(call["scope"] ?? "")
        let asked = (call["scope"] ?? "").split { $0 == " " || $0 == "," }.map(String.init)
        let device = try exchange.world.update { tables in
            let code = Hex.encode(tables.random.bytes(20))
            return tables.beginDevice(
                at: name, client: app.clientID, scopes: scopes.names + asked.filter { $0 == GitHubProvider.refreshing },
                lifetime: settings.deviceCodeLifetime, interval: .seconds(5), code: code, letters: "0123456789ABCDEF")
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
            .deviceFlowDisabled,
            Diagnosis("the device flow isn't enabled: set \"deviceFlow\": true for app \"\(app.clientID)\" in the seed")
        )
    }

    // MARK: - Polls

    func poll(
        _ call: TokenCall, _ app: GitHubSection.App, _ exchange: Exchange
    ) throws -> IssuedTokens {
        try checkDeviceFlow(of: app)
        let code = call["device_code"] ?? ""
        // A refusal is returned, not thrown, because a refused poll counts too.
        let result = try exchange.world.update { tables -> Result<IssuedTokens, DeviceAuthorization.Failure> in
            let asked = tables.find(DeviceAuthorization.self, code)?.scopes ?? []
            return tables.poll(
                code, by: app, app.interaction, at: name, of: name, exchange, tolerance: settings.pollingTolerance,
                keeping: [OAuthError.Code.unverifiedUserEmail.rawValue],
                admits: { addressFault(of: $0, isUnverified: false) == nil }
            ) { device, outcome in
                let asked = GitHubScopes(names: device.scopes)
                return (outcome?.scopes.map { asked.intersection(GitHubScopes(names: $0)) } ?? asked).names
            }.map { account, scopes in
                let scopes = GitHubScopes(names: scopes)
                let grant = tables.consent(account.id, to: app, scopes: scopes)
                return issue(
                    grant, scopes, to: app, withRefreshToken: asked.contains(GitHubProvider.refreshing),
                    isFromDevice: true, in: &tables)
            }
        }
        return try result.mapError { refusal($0, code, app) }.get()
    }

    private func refusal(
        _ failure: DeviceAuthorization.Failure, _ code: String, _ app: GitHubSection.App
    ) -> OAuthError {
        let diagnosis = failure.diagnosis
        return switch failure {
        case .unknown:
            OAuthError(.incorrectDeviceCode, code.isEmpty ? Diagnosis("device_code is missing") : diagnosis)
        case .redeemed: OAuthError(.incorrectDeviceCode, diagnosis)
        case .otherClient(let owner):
            OAuthError(
                .incorrectDeviceCode,
                Diagnosis(
                    "the device code was issued to the client \"\(owner)\", not to the client \"\(app.clientID)\" that sent it"
                ))
        case .expired: OAuthError(.expiredToken, diagnosis)
        case .early(_, _, let next): OAuthError(.slowDown, diagnosis, interval: next)
        case .pending(let interval):
            OAuthError(
                .authorizationPending,
                Diagnosis(
                    "the user hasn't entered the user code at /login/device yet: poll again in \(interval.seconds) seconds"
                ))
        case .denied: OAuthError(.accessDenied, diagnosis)
        case .failed, .noAccount: OAuthError(.unverifiedUserEmail, diagnosis)
        case .notAdmitted(let account):
            addressFault(of: account, isUnverified: false) ?? OAuthError(.unverifiedUserEmail, diagnosis)
        }
    }
}

/// The times within the last hour at which people entered user codes of the device flow for a GitHub app.
struct UserCodeEntries: Row {
    static let period = TimeSpan.hours(1)
    /// The greatest number of user codes that people may enter for a GitHub app within an hour.
    static let limit = 50
    static let table = Table<UserCodeEntries>("github.userCodeEntries") { row in row.times.last.map { $0 + period } }

    /// The GitHub app's client ID.
    let key: String
    var times: [Instant] = []
}

extension Transaction {
    /// Counts a user code that a person has entered for a GitHub app. Returns `false` if people have already entered
    /// fifty within the last hour.
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
