import EmulatorCore
import JOSE
import JSON
import Time
import Worlds

// reCAPTCHA Enterprise, which a project or tenant may ask for before passwords, mails and texts; the method
// v2/recaptchaConfig, by which SDKs learn of it:
// https://cloud.google.com/identity-platform/docs/recaptcha-enterprise
//
// Quirks: a project has a key for each platform, unless the seed or an administrator names others. In emulator mode the
// web SDK gets a key always, since without one it throws. Account defender and toll fraud protection are stored and do
// nothing. Recorded in September 2026: https://github.com/t-k/fireemu, conformance/auth-config-sdk-production.json,
// programs config/read and recaptcha. How a token is refused isn't recorded there: the codes are those of the SDKs
// (firebase-js-sdk, packages/auth/src/api/errors.ts), and which failure has which is ours.

/// The reCAPTCHA settings of a project or tenant, as in `recaptchaConfig` of its configuration.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/RecaptchaConfig>
struct Recaptcha: Sendable {
    /// The sign-in methods for which a reCAPTCHA token can be required.
    enum Provider: String, CaseIterable, Sendable {
        case password = "EMAIL_PASSWORD_PROVIDER"
        case phone = "PHONE_PROVIDER"

        /// The name of the member of `recaptchaConfig` that says whether the sign-in method needs a reCAPTCHA token.
        var member: String { self == .password ? "emailPasswordEnforcementState" : "phoneEnforcementState" }
    }

    /// The action for which a reCAPTCHA token was made. The names are `RecaptchaActionName` in firebase-js-sdk,
    /// packages/auth/src/api/index.ts.
    enum Action: String, Sendable {
        case signUp = "signUpPassword"
        case signIn = "signInWithPassword"
        case mail = "getOobCode"
        case text = "sendVerificationCode"
        case enrollment = "mfaSmsEnrollment"
        case secondFactor = "mfaSmsSignIn"

        var provider: Provider { [.signUp, .signIn, .mail].contains(self) ? .password : .phone }
    }

    static let states = ["RECAPTCHA_PROVIDER_ENFORCEMENT_STATE_UNSPECIFIED", "OFF", "AUDIT", "ENFORCE"]
    static let clientTypes = [
        "CLIENT_TYPE_UNSPECIFIED", "CLIENT_TYPE_WEB", "CLIENT_TYPE_ANDROID", "CLIENT_TYPE_IOS",
    ]
    static let versions = ["RECAPTCHA_VERSION_UNSPECIFIED", "RECAPTCHA_ENTERPRISE"]

    private let config: JSONValue?
    private let project: Project

    init(_ project: Project) {
        self.project = project
        config = project.otherSettings["recaptchaConfig"]
    }

    /// Returns the reCAPTCHA enforcement state of a sign-in method, such as `AUDIT`; `nil` if nobody has set it.
    func state(of provider: Provider) -> String? {
        let state = config?[provider.member]?.string
        return state == Recaptcha.states[0] ? nil : state
    }

    func isOn(_ provider: Provider) -> Bool { ["AUDIT", "ENFORCE"].contains(state(of: provider)) }

    /// Returns the reCAPTCHA site key for a platform: the first configured key, or else one derived from the project's
    /// ID.
    func siteKey(forClient type: String) -> String {
        let platform = String(type.dropFirst("CLIENT_TYPE_".count))
        let keys = config?["recaptchaKeys"]?.array ?? []
        let key = keys.first { $0["type"]?.string == platform }
        return Recaptcha.siteKey(key?["key"]?.string) ?? Recaptcha.ownKey(of: project, platform)
    }

    static func siteKeys(in settings: OtherSettings) -> Set<String> {
        Set((settings["recaptchaConfig"]?["recaptchaKeys"]?.array ?? []).compactMap { siteKey($0["key"]?.string) })
    }

    /// Returns the site key in the resource name of a reCAPTCHA key: the last part of `projects/123/keys/6Lc…`.
    private static func siteKey(_ name: String?) -> String? {
        name?.split(separator: "/").last.map(String.init)
    }

    private static let platforms = ["WEB", "IOS", "ANDROID"]

    private static func ownKey(of project: Project, _ platform: String) -> String {
        "6L" + Base64URL.encode(Array(Digest.sha256("firebase:recaptcha:\(project.id):\(platform)"))).prefix(38)
    }

    /// Whether a reCAPTCHA token with this score is refused. A rule with the action `BLOCK` refuses all scores up to
    /// its `endScore`.
    func blocks(_ score: Double) -> Bool {
        (config?["managedRules"]?.array ?? []).contains { rule in
            rule["action"]?.string == "BLOCK" && (rule["endScore"].flatMap(Recaptcha.double) ?? 0) >= score
        }
    }

    /// Whether the score of a reCAPTCHA token counts. For text messages it counts only if `useSmsBotScore` is true.
    func usesScores(for provider: Provider) -> Bool {
        provider == .password || config?["useSmsBotScore"]?.bool ?? false
    }

    private static func double(_ value: JSONValue) -> Double? {
        switch value {
        case .number(let number): number
        case .integer(let number): Double(number)
        default: value.string.flatMap(Double.init)
        }
    }

    // MARK: - Configuration

    /// Checks the reCAPTCHA settings that an administrator wants to set. The error texts are from recordings of
    /// production (`recaptcha#…`).
    ///
    /// - Parameter isStrict: Whether site keys and the state for phones are checked, too. The Firebase emulator stores
    ///   them unchecked.
    static func check(setting config: JSONValue, of project: Project, isStrict: Bool) throws(FirebaseError) {
        for (list, field, name) in [
            ("managedRules", "endScore", "end"), ("tollFraudManagedRules", "startScore", "start"),
        ] {
            for rule in config[list]?.array ?? [] {
                let tenths = rule[field].flatMap(double).map { $0 * 10 } ?? 0
                guard (0...10).contains(tenths), abs(tenths - tenths.rounded()) < 1e-6 else {
                    throw FirebaseError(
                        "INVALID_CONFIG",
                        "The \(name) score in reCAPTCHA managed rules must be a value between 0.0 and 1.0, at 11 discrete "
                            + "values; e.g. 0.1, 0.2, 0.3, 0.4, ... 0.9, 1.0.",
                        because:
                            "a rule of recaptchaConfig.\(list) has an invalid \(field), \(rule[field]?.text ?? "0")")
                }
                guard rule["action"]?.string == "BLOCK" else {
                    throw FirebaseError(
                        "INVALID_CONFIG", "The action in reCAPTCHA managed rules must be set.",
                        because: "a rule of recaptchaConfig.\(list) has no valid action: send BLOCK")
                }
            }
        }
        guard isStrict else { return }
        let usesPhone = ["useSmsBotScore", "useSmsTollFraudProtection"].contains { config[$0]?.bool ?? false }
        guard usesPhone == ["AUDIT", "ENFORCE"].contains(config[Provider.phone.member]?.string) else {
            throw FirebaseError(
                "INVALID_RECAPTCHA_PHONE_AUTH_CONFIGURATION",
                "Phone auth enforcement state must be aligned with toll fraud or bot score enablement.",
                because:
                    "set phoneEnforcementState to AUDIT or ENFORCE if useSmsBotScore or useSmsTollFraudProtection is true, and otherwise to OFF"
            )
        }
        let own = Set(platforms.map { ownKey(of: project, $0) })
        let seeded = project.seededSiteKeys
        for key in config["recaptchaKeys"]?.array ?? [] {
            let id = siteKey(key["key"]?.string) ?? ""
            guard !own.contains(id), !seeded.contains(id) else { continue }
            throw FirebaseError(
                "INVALID_SITE_KEY",
                because:
                    "the site key \(Diagnosis.quote(id)) is neither in recaptcha.keys of the seed nor the project's own"
            )
        }
    }

    /// Returns `recaptchaConfig` after a PATCH request that clears it: `updateMask` names it, but it isn't in the body.
    /// Only the members for phones are kept, as in a recording of production (`recaptcha#clear`).
    static func cleared(_ config: JSONValue?) -> JSONValue? {
        let kept = (config?.object?.members ?? []).filter {
            [Provider.phone.member, "useSmsBotScore", "useSmsTollFraudProtection"].contains($0.key)
        }
        return kept.isEmpty ? nil : .object(JSONObject(kept.map { ($0.key, $0.value) }))
    }
}

extension Project {
    var recaptcha: Recaptcha { Recaptcha(self) }
}

struct SeededRecaptcha: SchemaObject {
    private struct Keys: SchemaObject {
        let members: JSONValue

        init(_ fields: inout Fields) {
            var keys: [JSONValue] = []
            for (name, platform) in [("web", "websites"), ("ios", "Apple apps"), ("android", "Android apps")] {
                guard let key = fields.optional(name, .text(.nonEmpty), "The site key of \(platform).") else {
                    continue
                }
                keys.append(["key": .string(key), "type": .string(name.uppercased())])
            }
            members = .array(keys)
        }
    }

    /// The reCAPTCHA settings in the form of `recaptchaConfig` in Google's API.
    let config: JSONValue

    init(_ fields: inout Fields) {
        let states = ["OFF", "AUDIT", "ENFORCE"]
        let password = fields(
            "emailPassword", .choice(states), default: "OFF",
            "Whether passwords, password resets and sign-in links need a token: `AUDIT` notes what `ENFORCE` would refuse."
        )
        let phone = fields(
            "phone", .choice(states), default: "OFF", "Whether text messages need a token; test numbers never do.")
        let blocked = fields.optional(
            "blockUpTo", .number(0...1), "Tokens with this score or a lower one are refused: `managedRules`.")
        let keys = fields.object("keys", Keys.self, "Site keys; made from the project ID by default.")
        var members = JSONObject([
            (Recaptcha.Provider.password.member, .string(password)), (Recaptcha.Provider.phone.member, .string(phone)),
            ("useSmsBotScore", .bool(phone != "OFF")), ("useSmsTollFraudProtection", false),
        ])
        if let blocked { members["managedRules"] = [["endScore": .number(blocked), "action": "BLOCK"]] }
        if keys.members != [] { members["recaptchaKeys"] = keys.members }
        config = .object(members)
    }
}

extension FirebaseProvider {
    static func recaptcha(_ call: FirebaseCall) throws(FirebaseError) -> FirebaseAnswer {
        let recaptcha = call.project.recaptcha
        let query = MessageFields(
            JSONObject(call.exchange.request.queryForm.fields.map { ($0.name, .string($0.value)) }))
        let type = try query.choice("clientType", of: Recaptcha.clientTypes, "ClientType") ?? Recaptcha.clientTypes[0]
        if !call.isInEmulatorMode {
            guard type != Recaptcha.clientTypes[0] else {
                throw FirebaseError(
                    "MISSING_CLIENT_TYPE", because: "clientType is missing: send, for example, CLIENT_TYPE_WEB")
            }
            let version = try query.choice(
                "version", of: Recaptcha.versions, "GetRecaptchaConfigRequest.RecaptchaVersion")
            guard version == Recaptcha.versions[1] else {
                throw FirebaseError("MISSING_RECAPTCHA_VERSION", because: "send version=RECAPTCHA_ENTERPRISE")
            }
        }
        var body = JSONObject()
        if call.isInEmulatorMode || Recaptcha.Provider.allCases.contains(where: recaptcha.isOn) {
            let platform = type == Recaptcha.clientTypes[0] ? Recaptcha.clientTypes[1] : type
            body["recaptchaKey"] = .string(
                "projects/\(call.project.number)/keys/\(recaptcha.siteKey(forClient: platform))")
        }
        let unset = call.isInEmulatorMode ? "OFF" : "ENFORCEMENT_STATE_UNSPECIFIED"
        body["recaptchaEnforcementState"] = .array(
            Recaptcha.Provider.allCases.map {
                ["provider": .string($0.rawValue), "enforcementState": .string(recaptcha.state(of: $0) ?? unset)]
            })
        if !call.isInEmulatorMode {
            let config = call.project.otherSettings["recaptchaConfig"]
            for name in ["useSmsBotScore", "useSmsTollFraudProtection"] {
                body[name] = .bool(config?[name]?.bool ?? false)
            }
        }
        return FirebaseAnswer(body: body)
    }
}

extension MessageFields {
    /// Returns the name of the enumeration value in a field; `nil` if the field is missing. The request may give the
    /// value by name or by number. The first of `names` means "unspecified". A number without a name is accepted, as in
    /// protobuf.
    fileprivate func choice(_ name: String, of names: [String], _ type: String) throws(FirebaseError) -> String? {
        guard let value = value(name), !value.isEmpty else { return nil }
        if names.contains(value) { return value }
        guard let number = Int(value) else {
            var error = FirebaseError.wrongType(
                place(name), "type.googleapis.com/google.cloud.identitytoolkit.v2.\(type)", .string(value))
            error.listsError = true
            throw error
        }
        return names.indices.contains(number) ? names[number] : value
    }
}

// MARK: - Assessing tokens

extension FirebaseProvider {
    /// Returns an API method that first assesses the request's reCAPTCHA token. `action` returns the action that the
    /// token must be for; `nil` if the request needs no token.
    func assessed(
        _ action: @escaping @Sendable (FirebaseCall) -> Recaptcha.Action?, _ run: @escaping Method
    ) -> Method {
        { call in
            let note = try action(call).flatMap { try call.assess($0) }
            var answer = try await run(call)
            answer.note = answer.note ?? note
            return answer
        }
    }
}

extension FirebaseCall {
    /// Assesses the reCAPTCHA token of a request, if the project or tenant requires one. Administrators need no token.
    ///
    /// - Returns: In the state `AUDIT`, a note about what the state `ENFORCE` would refuse; `nil` if there is nothing
    ///   to refuse.
    /// - Throws: `MISSING_RECAPTCHA_TOKEN`, `MISSING_CLIENT_TYPE`, `MISSING_RECAPTCHA_VERSION`,
    ///   `INVALID_RECAPTCHA_VERSION`, `INVALID_RECAPTCHA_TOKEN`, `INVALID_RECAPTCHA_ACTION`, `INVALID_RECAPTCHA_SCORE`;
    ///   `INVALID_APP_CREDENTIAL` for a bad token of a request for a text message. In the state `AUDIT`, only
    ///   `INVALID_APP_CREDENTIAL` is thrown, and only if the request has no other proof, such as `recaptchaToken`.
    func assess(_ action: Recaptcha.Action, _ given: MessageFields? = nil) throws -> Note? {
        let provider = action.provider
        let recaptcha = project.recaptcha
        guard !isAdmin, recaptcha.isOn(provider) else { return nil }
        let fields = given ?? self.fields
        do {
            try assess(action, fields, by: recaptcha)
            return nil
        } catch let error as FirebaseError {
            let isAudited = recaptcha.state(of: provider) == "AUDIT"
            // With texts, the web SDK takes these two answers for a failure, and falls back to reCAPTCHA v2: firebase-js-sdk,
            // packages/auth/src/platform_browser/recaptcha/recaptcha_enterprise_verifier.ts, handleRecaptchaFlow.
            let isBad = provider == .phone && error.code.hasPrefix("INVALID_RECAPTCHA_")
            let hasOther = ["recaptchaToken", "iosReceipt", "playIntegrityToken", "safetyNetToken"].contains {
                fields.has($0)
            }
            guard isAudited, !isBad || hasOther else {
                throw isBad ? FirebaseError("INVALID_APP_CREDENTIAL", diagnosis: error.diagnosis) : error
            }
            return Note("reCAPTCHA is in AUDIT: ENFORCE would refuse with \(error.code). \(error.diagnosis.line)")
        }
    }

    private func assess(_ action: Recaptcha.Action, _ fields: MessageFields, by recaptcha: Recaptcha) throws {
        let field = action == .mail ? "captchaResp" : "captchaResponse"
        guard let token = try fields.text(field) else {
            throw FirebaseError(
                "MISSING_RECAPTCHA_TOKEN",
                because:
                    "\(field) is missing: call initializeRecaptchaConfig, so that the SDK sends a reCAPTCHA token"
            )
        }
        let type = try fields.choice("clientType", of: Recaptcha.clientTypes, "ClientType")
        guard let type, type != Recaptcha.clientTypes[0] else {
            throw FirebaseError(
                "MISSING_CLIENT_TYPE", because: "clientType is missing: send, for example, CLIENT_TYPE_WEB")
        }
        let version = try fields.choice("recaptchaVersion", of: Recaptcha.versions, "RecaptchaVersion")
        guard let version, version != Recaptcha.versions[0] else {
            throw FirebaseError(
                "MISSING_RECAPTCHA_VERSION", because: "recaptchaVersion is missing: send RECAPTCHA_ENTERPRISE")
        }
        guard version == Recaptcha.versions[1] else {
            throw FirebaseError(
                "INVALID_RECAPTCHA_VERSION", because: "recaptchaVersion \(Diagnosis.quote(version)) isn't supported")
        }
        let score = try score(of: token, action, forClient: type, by: recaptcha)
        guard recaptcha.usesScores(for: action.provider), recaptcha.blocks(score) else { return }
        throw FirebaseError(
            "INVALID_RECAPTCHA_SCORE",
            because: "the reCAPTCHA token's score is \(score), which a rule of managedRules blocks")
    }

    /// Returns the score of a reCAPTCHA token. A token works once, except for the tokens of the seed, and for the text
    /// `token`, which the web SDK sends in emulator mode.
    private func score(
        of token: String, _ action: Recaptcha.Action, forClient type: String, by recaptcha: Recaptcha
    ) throws -> Double {
        if let score = project.recaptchaTokens[token] { return score }
        // The web SDK sends this in emulator mode: firebase-js-sdk,
        // packages/auth/src/platform_browser/recaptcha/recaptcha_mock.ts
        if isInEmulatorMode, token == "token" { return project.recaptchaScore }
        let (found, now) = try update { ($0.pop(RecaptchaToken.self, token), $0.now) }
        guard let found, found.expires > now else {
            throw FirebaseError(
                "INVALID_RECAPTCHA_TOKEN",
                because: found == nil
                    ? "the reCAPTCHA token is unknown or was used already: get a new one from this server's reCAPTCHA "
                        + "script, or list tokens in recaptchaTokens of the seed"
                    : "the reCAPTCHA token is older than two minutes")
        }
        let siteKey = recaptcha.siteKey(forClient: type)
        guard found.siteKey == siteKey else {
            throw FirebaseError(
                "INVALID_RECAPTCHA_TOKEN",
                diagnosis: Diagnosis(
                    received: "a reCAPTCHA token for the site key \(Diagnosis.quote(found.siteKey))", expected: siteKey,
                    "use the site key that v2/recaptchaConfig returns for \(type)"))
        }
        guard found.action == action.rawValue else {
            throw FirebaseError(
                "INVALID_RECAPTCHA_ACTION",
                diagnosis: Diagnosis(
                    received: "a reCAPTCHA token for the action \(Diagnosis.quote(found.action))",
                    expected: action.rawValue,
                    "for each request, get a new token with the expected action"))
        }
        return found.score ?? project.recaptchaScore
    }
}
