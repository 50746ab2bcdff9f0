import EmulatorCore
import JOSE
import JSON
import Time
import Worlds

/// A second factor that a user has enrolled.
struct SecondFactor: Codable, Sendable {
    enum Kind: Codable, Sendable {
        case phone(String)
        /// An authenticator app, with the secret that it shares with Firebase.
        case totp([UInt8])
    }

    let id: String
    let kind: Kind
    var displayName: String?
    let enrolledAt: Instant
    /// The time step of the last accepted code of an authenticator app. Neither that code nor an earlier one is
    /// accepted again. <https://www.rfc-editor.org/rfc/rfc6238#section-5.2>
    var usedStep: Int64?

    /// Whether a code of an authenticator app for this time step can still be used: neither that code nor a later one
    /// has been used. A used code is ignored if its step is more than ten steps after `now`, because a test may set the
    /// clock back.
    func accepts(_ step: Int64, at now: Instant) -> Bool {
        guard let usedStep, usedStep <= TOTP.steps(around: now, give: TOTP.largestIntervals).upperBound else {
            return true
        }
        return step > usedStep
    }

    /// The name of the factor's kind in the claim `sign_in_second_factor`.
    var claim: String {
        switch kind {
        case .phone: "phone"
        case .totp: "totp"
        }
    }

    /// Returns the second factor as JSON. If `isMasked` is true, only the end of the phone number is shown, because the
    /// caller has passed only the first factor. If `isMasked` is false, emulator mode shows the number in two members,
    /// as the Firebase emulator does. The form of `enrolledAt` in production is from the recordings
    /// `sms#lookup-new-token` and `admin-factors#admin-lookup-imported`.
    func document(isMasked: Bool, inEmulatorMode isInEmulatorMode: Bool) -> JSONValue {
        var info = JSONObject(["mfaEnrollmentId": id, "displayName": displayName])
        switch kind {
        case .phone(let number):
            let masked = "+" + String(repeating: "*", count: max(0, number.count - 5)) + number.suffix(4)
            info["phoneInfo"] = .string(isMasked ? masked : number)
            if !isMasked, isInEmulatorMode { info["unobfuscatedPhoneInfo"] = .string(number) }
        case .totp: info["totpInfo"] = [:]
        }
        info["enrolledAt"] = .string(isInEmulatorMode ? enrolledAt.textWithMilliseconds : enrolledAt.textOfTimestamp)
        return .object(info)
    }
}

/// The second factor that a user passed at the sign-in with which a session began.
struct SecondFactorUse: Codable, Sendable {
    let claim: String
    let id: String
}

/// A sign-in that has passed the first factor and waits for the second one. As in production, it can be completed
/// several times until it expires.
struct PendingSecondFactor: TokenRow {
    static let table = Table<PendingSecondFactor>(
        "firebase.pendingSecondFactor", limit: 100_000, byteLimit: 64 << 20, indexes: [byPool],
        droppedAt: { $0.expires + .hours(1) }, size: { $0.attributes.size })
    static let byPool = Index<PendingSecondFactor, UserPool>("pool") { $0.pool }

    let token: String
    let user: User.Key
    /// The value of the claim `sign_in_provider` in the ID token that the user gets after the second factor.
    let provider: String
    let begun: Instant
    var attributes = CustomClaims()

    /// The time until which a sign-in can wait for its second factor. In a recording of production (`lifetime-sms`),
    /// the user can still request a text message 450 seconds after the beginning, but not after 600 seconds.
    var expires: Instant { begun + .minutes(10) }
    /// The time until which an authenticator app's code is accepted for a sign-in that waits for a second factor. In
    /// recordings of production (`lifetime` and `lifetime-short`), a code is accepted after 290 seconds, but not after
    /// 300.
    var endOfTOTP: Instant { begun + .minutes(5) }

    var pool: UserPool { user.pool }
}

/// The secret of an authenticator app that is being enrolled. The enrolment is completed with the app's first code.
struct PendingSecret: TokenRow {
    static let table = Table<PendingSecret>(
        "firebase.pendingSecret", limit: 100_000, indexes: [byPool], droppedAt: { $0.expires + .hours(1) })
    static let byPool = Index<PendingSecret, UserPool>("pool") { $0.pool }

    let token: String
    let pool: UserPool
    let secret: [UInt8]
    let expires: Instant
    var isUsed = false
}

/// The one-time codes of authenticator apps: <https://www.rfc-editor.org/rfc/rfc6238>, with SHA-1, six digits and steps
/// of thirty seconds.
enum TOTP {
    static let period: Int64 = 30
    static let digits = 6
    /// Firebase's default tolerance for codes of authenticator apps: the number of time steps before and after the
    /// present one whose codes are accepted. <https://cloud.google.com/identity-platform/docs/web/totp-mfa>
    static let adjacentIntervals: Int64 = 5
    /// The greatest tolerance for codes of authenticator apps that a project may set, in time steps. In a recording of
    /// production (`config#write-adjacent-eleven`), 11 is refused.
    static let largestIntervals: Int64 = 10

    static func code(_ secret: [UInt8], step: Int64) -> String {
        let digest = Digest.hmacSHA1(key: secret, withUnsafeBytes(of: step.bigEndian, Array.init))
        let offset = Int(digest[19] & 0x0F)
        let number = digest[offset..<(offset + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let text = String(number % 1_000_000)
        return String(repeating: "0", count: digits - text.count) + text
    }

    /// Returns the time step of an authenticator app's code, among the steps around `time`: the latest one if several
    /// have this code, and `nil` if none has it.
    static func step(of code: String, _ secret: [UInt8], at time: Instant, give intervals: Int64) -> Int64? {
        steps(around: time, give: intervals).last { TOTP.code(secret, step: $0) == code }
    }

    /// Returns the time steps around `time` whose codes are accepted. The tolerance `intervals` counts as 10 if it is
    /// larger, and as 0 if it is negative.
    static func steps(around time: Instant, give intervals: Int64) -> ClosedRange<Int64> {
        let (now, intervals) = (time.seconds / period, min(max(intervals, 0), largestIntervals))
        return now - intervals...now + intervals
    }
}

/// The encoding in which the secrets of authenticator apps are shown: Base32 in upper case without padding,
/// <https://www.rfc-editor.org/rfc/rfc4648#section-6>.
enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        var (buffer, bits) = (0, 0)
        for byte in bytes {
            buffer = (buffer << 8 | Int(byte)) & 0xFFFF
            bits += 8
            while bits >= 5 {
                bits -= 5
                text.append(alphabet[buffer >> bits & 31])
            }
        }
        if bits > 0 { text.append(alphabet[buffer << (5 - bits) & 31]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes Base32 in upper or lower case, with or without padding; returns `nil` if the text has any other
    /// character.
    static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (buffer, bits) = (0, 0)
        for byte in text.uppercased().utf8 where byte != UInt8(ascii: "=") {
            guard let value = alphabet.firstIndex(of: byte) else { return nil }
            buffer = (buffer << 5 | value) & 0xFFFF
            bits += 5
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
            }
        }
        return bytes
    }
}

/// The multi-factor settings of a project (`mfa`) or a tenant (`mfaConfig`), as a request or the seed has set them.
/// They may name providers that have no effect.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/MultiFactorAuthConfig>
struct MFAConfig: Codable, Sendable {
    /// The settings of authenticator apps in the multi-factor settings (`providerConfigs`).
    struct AuthenticatorApps: Codable, Sendable {
        var state: String
        /// The tolerance for codes of authenticator apps, in time steps; `nil` if it wasn't set. Answers leave out both
        /// `nil` and zero.
        var adjacentIntervals: Int64?
    }

    /// The state of multi-factor sign-in, such as `ENABLED`; `nil` if it wasn't set.
    var state: String?
    /// The enabled kinds of second factor except authenticator apps (`enabledProviders`), each at most once.
    var enabledProviders: [String] = []
    /// The settings of authenticator apps as second factors; `nil` if they weren't set.
    var apps: AuthenticatorApps?

    static let phone = "PHONE_SMS"

    var isSet: Bool { state != nil || !enabledProviders.isEmpty || apps != nil }

    /// The multi-factor settings with defaults for what isn't set. The default tolerance for authenticator apps is
    /// documented: <https://cloud.google.com/identity-platform/docs/web/totp-mfa>
    var effect: MFA {
        let isPhone = enabledProviders.contains(MFAConfig.phone)
        let isTOTP = apps.map { $0.state == "ENABLED" || $0.state == "MANDATORY" } ?? false
        return MFA(
            state: state ?? "DISABLED", providers: (isPhone ? ["phone"] : []) + (isTOTP ? ["totp"] : []),
            adjacentIntervals: apps?.adjacentIntervals ?? TOTP.adjacentIntervals)
    }

    /// Returns the multi-factor settings in the form of Google's API. If `listsNone` is true, an empty
    /// `enabledProviders` is included, as in the Firebase emulator. `adjacentIntervals` is left out if it is zero, as
    /// in a recording of production (`config#write-adjacent-zero`). It is also left out if it wasn't set
    /// (firebase-admin-node, test/integration/auth.spec.ts, "updateTenant() should resolve with the updated tenant").
    func document(listsNone: Bool) -> JSONObject {
        var body = JSONObject(["state": state ?? "DISABLED"])
        if listsNone || !enabledProviders.isEmpty {
            body["enabledProviders"] = .array(enabledProviders.map { .string($0) })
        }
        if let apps {
            let settings: JSONValue =
                switch apps.adjacentIntervals {
                case nil, 0: [:]
                case .some(let intervals): ["adjacentIntervals": .integer(intervals)]
                }
            body["providerConfigs"] = [["state": .string(apps.state), "totpProviderConfig": settings]]
        }
        return body
    }
}

extension MFAConfig {
    /// Makes the multi-factor settings that the seed gives to a project or tenant.
    init(_ mfa: MFA) {
        self.init(
            state: mfa.isOn ? mfa.state : nil,
            enabledProviders: mfa.providers.contains("phone") ? [MFAConfig.phone] : [],
            apps: mfa.providers.contains("totp")
                ? AuthenticatorApps(state: "ENABLED", adjacentIntervals: mfa.adjacentIntervals) : nil)
    }
}

extension MFAConfig {
    private static let states = ["STATE_UNSPECIFIED", "DISABLED", "ENABLED", "MANDATORY"]
    private static let providers = ["PROVIDER_UNSPECIFIED", phone]
    private static let type = "type.googleapis.com/google.cloud.identitytoolkit.admin.v2.MultiFactorAuthConfig"

    /// Sets the multi-factor settings that the update mask names. `given` are the settings in the request. `path` is
    /// their path in the update mask, and `message` is their path in error texts.
    ///
    /// The errors are from recordings of production (`config#write-adjacent-eleven`, `config#write-unknown-state`,
    /// `config#write-unknown-provider`).
    mutating func change(
        _ given: MessageFields?, _ mask: UpdateMask, at path: String, message: String
    ) throws(FirebaseError) {
        let state = try given?.value("state").map { text throws(FirebaseError) in
            try MFAConfig.name(text, MFAConfig.states, "\(message).state", "State")
        }
        var providers: [String] = []
        for (place, text) in try (given?.texts("enabledProviders") ?? []).enumerated() {
            let name = try MFAConfig.name(
                text, MFAConfig.providers, "\(message).enabled_providers[\(place)]", "Provider")
            if !providers.contains(name) { providers.append(name) }
        }
        let apps = try MFAConfig.apps(given, message)
        if mask.names("\(path).state") { self.state = given == nil ? nil : state ?? "DISABLED" }
        if mask.names("\(path).enabledProviders") { enabledProviders = providers }
        if mask.names("\(path).providerConfigs") { self.apps = apps }
    }

    /// Reads the settings of authenticator apps in `providerConfigs`. An item without `totpProviderConfig` is ignored,
    /// as in a recording of production (`config#write-totp-without-provider-config`).
    private static func apps(_ given: MessageFields?, _ message: String) throws(FirebaseError) -> AuthenticatorApps? {
        for config in try given?.list("providerConfigs") ?? [] {
            guard let app = try config.nested("totpProviderConfig") else { continue }
            let intervals = try app.integer("adjacentIntervals")
            if let intervals, !(0...TOTP.largestIntervals).contains(intervals) {
                throw FirebaseError(
                    "INVALID_ADJACENT_INTERVAL_RANGE",
                    "Allowed number of adjacent intervals must be between 0 and 10, inclusive",
                    because: "totpProviderConfig.adjacentIntervals is \(intervals)")
            }
            return AuthenticatorApps(
                state: try name(
                    config.value("state") ?? "DISABLED", states, "\(message).provider_configs.state", "State"),
                adjacentIntervals: intervals)
        }
        return nil
    }

    /// Returns the name of an enumeration's value, which the request gives by name or number. The state
    /// `STATE_UNSPECIFIED` means `DISABLED`.
    private static func name(
        _ text: String, _ names: [String], _ field: String, _ type: String
    ) throws(FirebaseError) -> String {
        let found = names.contains(text) ? text : Int(text).flatMap { names.indices.contains($0) ? names[$0] : nil }
        guard let found else { throw .wrongType(field, "\(MFAConfig.type).\(type)", .string(text)) }
        return found == states[0] ? states[1] : found
    }
}
