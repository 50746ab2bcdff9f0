import EmulatorCore
import HTTPServer
import JOSE
import JSON
import Time
import Worlds

// Firebase App Check: apps exchange what attests them for a token, which Identity Toolkit demands where a project
// enforces it.
// https://firebase.google.com/docs/reference/appcheck/rest
//
// Quirks: debug tokens are those of the seed, tokens of reCAPTCHA those of our script. What a device sends (DeviceCheck,
// App Attest, Play Integrity) is believed, because only Apple and Google can judge it; order an error for a refusal.
// The signature of a custom token isn't checked, as in Firebase Authentication.

/// The settings of Firebase App Check for a project in the seed: its apps, and whether tokens are required.
struct AppCheck: SchemaObject {
    struct App: SchemaObject {
        let id: String
        let debugTokens: [String]
        let lifetime: TimeSpan

        init(_ fields: inout Fields) {
            id = fields("id", .text(.nonEmpty), "The app ID, such as `1:123456789012:web:abc`.")
            debugTokens = fields(
                "debugTokens", .set(of: .text(.nonEmpty)), default: [], "Debug tokens that it may use.")
            lifetime = fields(
                "tokenLifetime", .duration, default: .hours(1),
                "The lifetime of the app's tokens; in production 30 minutes to 7 days.")
        }
    }

    let isEnforced: Bool
    let apps: [App]

    init(_ fields: inout Fields) {
        isEnforced = fields(
            "enforced", .boolean, default: false, "Whether apps need a token for POST requests to Identity Toolkit.")
        apps = fields.list("apps", of: App.self, key: "id", "Apps that may get tokens.")
    }

    static let issuerPrefix = "https://firebaseappcheck.googleapis.com/"
    static let header = "X-Firebase-AppCheck"
    /// The lifetime of a limited-use App Check token, and of a challenge.
    static let limitedLifetime = TimeSpan.minutes(5)
    /// The least score that a reCAPTCHA token needs to be exchanged for an App Check token:
    /// <https://firebase.google.com/docs/reference/appcheck/rest/v1/projects.apps.recaptchaV3Config>
    static let leastScore = 0.5
}

/// A challenge of App Check that an app has received and not used yet.
struct AppCheckChallenge: Row {
    static let table = Table<AppCheckChallenge>("firebase.appCheckChallenge", limit: 10_000, droppedAt: { $0.expires })

    let challenge: String
    let expires: Instant

    var key: String { challenge }
}

/// The ID of an App Check token that an Admin SDK has consumed.
struct ConsumedAppCheckToken: Row {
    static let table = Table<ConsumedAppCheckToken>(
        "firebase.consumedAppCheckToken", limit: 100_000, droppedAt: { $0.expires })

    let id: String
    let expires: Instant

    var key: String { id }
}

extension KeyOwner {
    static let appCheck = KeyOwner("firebaseAppCheck")
}

extension Project {
    var enforcesAppCheck: Bool { appCheckMode.map { $0 == "ENFORCED" } ?? appCheck.isEnforced }

    fileprivate var appCheckIssuer: String { AppCheck.issuerPrefix + number }
}

extension FirebaseError {
    /// Returns the error for an app whose attestation App Check doesn't accept:
    /// https://github.com/firebase/flutterfire/issues/6957
    fileprivate static func notAttested(because reason: String) -> FirebaseError {
        FirebaseError("App attestation failed.", status: 403, named: "PERMISSION_DENIED", because: reason)
    }
}

// MARK: - Enforcement

extension FirebaseCall {
    /// Checks the App Check token of a request if the project enforces App Check. Administrators need no token.
    ///
    /// - Throws: The error in https://github.com/firebase/firebase-ios-sdk/issues/13636. It isn't documented that a
    ///   missing token gets the same error as an invalid one.
    func checkApp() throws(FirebaseError) {
        guard !isAdmin, project.enforcesAppCheck else { return }
        let fault: String
        if let text = exchange.request.header(AppCheck.header), !text.isEmpty {
            guard let reason = appCheckFault(of: text) else { return }
            fault = reason
        } else {
            fault = "the project enforces App Check, and \(AppCheck.header) is missing: initialize App Check in the app"
        }
        throw FirebaseError(
            "Firebase App Check token is invalid.", status: 401, named: "UNAUTHENTICATED", reason: "unauthorized",
            because: fault)
    }

    /// Returns the reason why an App Check token isn't valid; `nil` if it is valid.
    fileprivate func appCheckFault(of text: String) -> String? {
        let token: JWS
        do { token = try JWS(parsing: text) } catch { return "the token can't be read: \(error.description)" }
        guard let key = exchange.world.keys[.appCheck].key(of: token), key.hasSigned(token) else {
            return "the token's signature isn't App Check's"
        }
        guard token.claims["iss"]?.string == project.appCheckIssuer,
            token.claims["aud"]?.array?.contains(.string("projects/\(project.id)")) ?? false
        else { return "the App Check token is for another project" }
        let age = (token.claims["exp"]?.numericDate).map { exchange.world.now - $0 }
        guard let age, age < .seconds(0) else { return "the App Check token has expired: the SDK gets a new one" }
        return nil
    }
}

// MARK: - The service

extension FirebaseProvider {
    /// The hosts of Firebase App Check. The web SDK uses `content-firebaseappcheck.googleapis.com` (firebase-js-sdk,
    /// packages/app-check/src/constants.ts).
    static let appCheckHosts = ["firebaseappcheck.googleapis.com", "content-firebaseappcheck.googleapis.com"]

    var appCheckEndpoints: [Endpoint] {
        let host = FirebaseProvider.appCheckHosts
        func endpoint(
            _ method: String, _ path: String, title: String? = nil, step: SignInStep? = nil, _ run: @escaping Method
        ) -> Endpoint {
            Endpoint(
                method, host, path, title: title, step: step, cors: .any, keys: [.appCheck],
                .api(FirebaseError.ordered(.status), mints: .appCheck)
            ) { exchange in
                try await FirebaseProvider.serve(exchange, .status, run) { try appCheckCall(exchange) }
            }
        }
        return ["/v1", "/v1beta"].flatMap { version in
            [
                Endpoint("GET", host, "\(version)/jwks", cors: .any, keys: [.appCheck], .keySet(.appCheck)) {
                    FirebaseProvider.cached($0.keySet(.appCheck))
                },
                // The last segment is the ID of an app or a project, a colon and the name of the action.
                endpoint(
                    "POST", "\(version)/projects/:project/apps/:app", title: "get an App Check token",
                    step: SignInStep(.api, "get an App Check token"), exchangeToken),
                endpoint("POST", "\(version)/projects/:project", consumeToken),
                endpoint("GET", "\(version)/projects/:project/services/:service", appCheckService),
                endpoint("PATCH", "\(version)/projects/:project/services/:service", appCheckService),
            ]
        }
    }

    /// Reads a request to the App Check API. An app sends the request with an API key, and an administrator sends it
    /// with credentials.
    private func appCheckCall(_ exchange: Exchange) throws -> FirebaseCall {
        let isAdmin = FirebaseProvider.isAdministrator(exchange)
        if !isAdmin { _ = try project(of: exchange) }
        let id = String((exchange.parameters["project"] ?? "").prefix { $0 != ":" })
        return try scoped(
            exchange, project(id: id, in: exchange), tenant: nil, isAdmin: isAdmin, FirebaseCall.body(of: exchange))
    }

    private func exchangeToken(_ call: FirebaseCall) throws -> FirebaseAnswer {
        let name = call.exchange.parameters["app"] ?? ""
        let (id, action) = (
            name.split(separator: ":").dropLast().joined(separator: ":"), name.split(separator: ":").last
        )
        guard let app = call.project.appCheck.apps.first(where: { $0.id == id }) else {
            throw FirebaseError.notAttested(
                because: "appCheck.apps of the project in the seed doesn't list the app \(Diagnosis.quote(id)): "
                    + "add it there")
        }
        switch action {
        case "exchangeDebugToken":
            let token = try call.required("debugToken")
            guard app.debugTokens.contains(where: { constantTimeEquals(Array($0.utf8), Array(token.utf8)) }) else {
                // The token is a secret, which the log doesn't quote.
                throw FirebaseError.notAttested(
                    because: "the seed doesn't list this debug token: add it to the app's debugTokens (appCheck.apps)")
            }
        case "exchangeRecaptchaEnterpriseToken": try call.attest(byRecaptcha: call.required("recaptchaEnterpriseToken"))
        case "exchangeRecaptchaV3Token": try call.attest(byRecaptcha: call.required("recaptchaV3Token"))
        case "exchangeDeviceCheckToken": _ = try call.required("deviceToken")
        case "exchangePlayIntegrityToken": _ = try call.required("playIntegrityToken")
        case "generateAppAttestChallenge", "generatePlayIntegrityChallenge": return try call.challenge()
        case "exchangeAppAttestAttestation":
            _ = try (call.required("attestationStatement"), call.required("keyId"))
            try call.spendChallenge()
            return FirebaseAnswer([
                "artifact": Base64.encode(Array("understudy:\(id)".utf8)),
                "appCheckToken": try JSONObject(call.appCheckToken(for: app).body.members),
            ])
        case "exchangeAppAttestAssertion":
            _ = try (call.required("artifact"), call.required("assertion"))
            try call.spendChallenge()
        case "exchangeCustomToken":
            guard call.isAdmin else { throw FirebaseError.notAdministrator(call.exchange) }
            let token = try? JWS(parsing: call.required("customToken"))
            guard token?.claims["app_id"]?.string == id else {
                throw FirebaseError.notAttested(
                    because: "customToken must be a JWT whose app_id is the app of the request")
            }
        default:
            throw FirebaseError(
                "Method not found.", status: 404, named: "NOT_FOUND",
                because: "App Check has no method \(Diagnosis.quote(String(action ?? ""))) for apps")
        }
        return try call.appCheckToken(for: app)
    }

    /// Handles `projects.verifyAppCheckToken`, by which Admin SDKs consume an App Check token.
    private func consumeToken(_ call: FirebaseCall) throws -> FirebaseAnswer {
        guard call.isAdmin else { throw FirebaseError.notAdministrator(call.exchange) }
        let text = try call.required("appCheckToken")
        if let fault = call.appCheckFault(of: text) {
            throw FirebaseError("Request contains an invalid argument.", because: fault)
        }
        let id = (try? JWS(parsing: text))?.claims["jti"]?.string ?? text
        let isConsumed = try call.update { tables in
            let isConsumed = tables.find(ConsumedAppCheckToken.self, id) != nil
            tables.put(ConsumedAppCheckToken(id: id, expires: tables.now + .days(7)))
            return isConsumed
        }
        return FirebaseAnswer(["alreadyConsumed": isConsumed ? true : nil])
    }

    /// Handles App Check's `projects.services.get` and `patch`, which read and change whether Identity Toolkit requires
    /// App Check tokens.
    private func appCheckService(_ call: FirebaseCall) throws -> FirebaseAnswer {
        guard call.isAdmin else { throw FirebaseError.notAdministrator(call.exchange) }
        let service = call.exchange.parameters["service"] ?? ""
        guard service == FirebaseProvider.host else {
            throw FirebaseError.invalidArgument(
                "App Check is enforced only for \(FirebaseProvider.host) here, not for \(Diagnosis.quote(service))")
        }
        var project = call.project
        if call.exchange.request.method == "PATCH" {
            let mode = try call.required("enforcementMode")
            guard ["OFF", "UNENFORCED", "ENFORCED"].contains(mode) else {
                throw FirebaseError.wrongType(
                    "service.enforcement_mode",
                    "type.googleapis.com/google.firebase.appcheck.v1.Service.EnforcementMode",
                    .string(mode))
            }
            let settings = try call.update { tables in
                var settings =
                    tables.find(ProjectSettings.self, project.id) ?? ProjectSettings(project: project.id)
                settings.appCheckMode = mode
                tables.put(settings)
                return settings
            }
            project = settings.apply(to: project)
        }
        return FirebaseAnswer([
            "name": "projects/\(project.number)/services/\(service)",
            "enforcementMode": project.appCheckMode ?? (project.enforcesAppCheck ? "ENFORCED" : "OFF"),
        ])
    }
}

extension FirebaseCall {
    /// Returns a new App Check token for an app, with the claims that Admin SDKs verify (firebase-admin-python,
    /// firebase_admin/app_check.py).
    fileprivate func appCheckToken(for app: AppCheck.App) throws -> FirebaseAnswer {
        let lifetime = try flag("limitedUse") ?? false ? AppCheck.limitedLifetime : app.lifetime
        let (id, now) = try update { (Base64URL.encode($0.random.bytes(32)), $0.now) }
        let claims = JSONObject([
            "sub": app.id,
            "aud": ["projects/\(project.number)", "projects/\(project.id)"].map { JSONValue.string($0) },
            "iss": project.appCheckIssuer, "exp": JSONValue.numericDate(now + lifetime),
            "iat": JSONValue.numericDate(now), "jti": id,
        ])
        do throws(KeyError) {
            let token = try exchange.mint(.appCheck, claims, at: now, type: "JWT")
            return FirebaseAnswer(["token": token, "ttl": "\(lifetime.seconds)s"])
        } catch {
            throw FirebaseError.internalError(because: error.description)
        }
    }

    /// Checks the reCAPTCHA token that an app exchanges for an App Check token. A reCAPTCHA token works once, unless
    /// the seed lists it.
    fileprivate func attest(byRecaptcha token: String) throws {
        let (found, now) = try update { ($0.pop(RecaptchaToken.self, token), $0.now) }
        let score = found.map { $0.expires > now ? $0.score ?? project.recaptchaScore : 0 }
        guard let score = project.recaptchaTokens[token] ?? score else {
            throw FirebaseError.notAttested(
                because:
                    "the reCAPTCHA token is unknown or was used already: get a new one from this server's reCAPTCHA script"
            )
        }
        guard score >= AppCheck.leastScore else {
            throw FirebaseError.notAttested(
                because: "the reCAPTCHA token's score is \(score), less than \(AppCheck.leastScore), or the token is "
                    + "older than two minutes: get a new one, or raise recaptchaScore or "
                    + "recaptchaTokens in the seed")
        }
    }

    fileprivate func challenge() throws -> FirebaseAnswer {
        let challenge = try update { tables in
            let challenge = Base64.encode(tables.random.bytes(32))
            tables.put(AppCheckChallenge(challenge: challenge, expires: tables.now + AppCheck.limitedLifetime))
            return challenge
        }
        return FirebaseAnswer(["challenge": challenge, "ttl": "\(AppCheck.limitedLifetime.seconds)s"])
    }

    fileprivate func spendChallenge() throws {
        let challenge = try required("challenge")
        let found = try update { tables in
            let now = tables.now
            return tables.pop(AppCheckChallenge.self, challenge) { $0.expires > now }
        }
        guard found != nil else {
            throw FirebaseError.notAttested(
                because: "the App Check challenge is unknown, was used already, or is older than five minutes: "
                    + "get a new one")
        }
    }
}
