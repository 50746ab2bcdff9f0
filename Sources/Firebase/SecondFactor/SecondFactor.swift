import EmulatorCore
import JOSE
import JSON
import Time
import Worlds

/// A second factor that a user has enrolled.
struct SecondFactor: Codable, Sendable {
    enum Kind: Codable, Sendable {
        case phone(String)
        /// The shared secret of an authenticator app.
        case totp([UInt8])
    }

    let id: String
    let kind: Kind
    var displayName: String?
    let enrolledAt: Instant
    /// The time step of the last accepted code of an authenticator app. Neither that code nor an earlier one is
    /// accepted again. <https://www.rfc-editor.org/rfc/rfc6238#section-5.2>
    var usedStep: Int64?

    /// Whether the code of this step can still be used. A used step is ignored if the world's clock was set back to
    /// before it.
    func takes(_ step: Int64, at now: Instant) -> Bool {
        guard let usedStep, usedStep <= TOTP.steps(around: now, give: TOTP.largestIntervals).upperBound else {
            return true
        }
        return step > usedStep
    }

    /// The name of the kind in claims.
    var claim: String {
        switch kind {
        case .phone: "phone"
        case .totp: "totp"
        }
    }

    /// Returns the factor for an answer. A caller who has passed only the first factor sees just the end of a number.
    /// The official emulator's form has the number twice; production's times have six digits after the second, or none
    /// (`sms#lookup-new-token`, `admin-factors#admin-lookup-imported`).
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

/// The second factor with which a session began.
struct SecondFactorUse: Codable, Sendable {
    let claim: String
    let id: String
}

/// A correct first factor of a user who must pass a second one. It may be used again until it expires, as in
/// production: only the second factor's code works once.
struct PendingSecondFactor: TokenRow {
    static let table = Table<PendingSecondFactor>(
        "firebase.pendingSecondFactor", limit: 100_000, indexes: [byPool], droppedAt: { $0.expires + .hours(1) })
    static let byPool = Index<PendingSecondFactor, UserPool>("pool") { $0.pool }

    let token: String
    let user: User.Key
    /// The claim `sign_in_provider`.
    let provider: String
    let begun: Instant
    var attributes = CustomClaims()

    /// The time at which the pending credential expires. Recorded as `lifetime-sms`: after 450 seconds a text is sent,
    /// after 600 it isn't.
    var expires: Instant { begun + .minutes(10) }
    /// The end of the time for an authenticator app's code. Recorded as `lifetime` and `lifetime-short`: after 290
    /// seconds a code is accepted, after 300 it isn't.
    var endOfTOTP: Instant { begun + .minutes(5) }

    var pool: UserPool { user.pool }
}

/// The secret of an authenticator app whose enrolment waits for its first code.
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

/// Time-based one-time passwords: <https://www.rfc-editor.org/rfc/rfc6238>, with SHA-1, six digits and thirty seconds.
enum TOTP {
    static let period: Int64 = 30
    static let digits = 6
    /// The number of steps before and after the present one whose codes are accepted: the service's default.
    /// <https://cloud.google.com/identity-platform/docs/web/totp-mfa>
    static let adjacentIntervals: Int64 = 5
    /// The greatest number in a project. Recorded as `config#write-adjacent-eleven`.
    static let largestIntervals: Int64 = 10

    static func code(_ secret: [UInt8], step: Int64) -> String {
        let digest = Digest.hmacSHA1(key: secret, withUnsafeBytes(of: step.bigEndian, Array.init))
        let offset = Int(digest[19] & 0x0F)
        let number = digest[offset..<(offset + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let text = String(number % 1_000_000)
        return String(repeating: "0", count: digits - text.count) + text
    }

    /// Returns the time step, around `time`, that has this code; the latest, if there are several.
    static func step(of code: String, _ secret: [UInt8], at time: Instant, give intervals: Int64) -> Int64? {
        steps(around: time, give: intervals).last { TOTP.code(secret, step: $0) == code }
    }

    /// Returns the steps whose codes are accepted. A snapshot may hold any number of intervals.
    static func steps(around time: Instant, give intervals: Int64) -> ClosedRange<Int64> {
        let (now, intervals) = (time.seconds / period, min(max(intervals, 0), largestIntervals))
        return now - intervals...now + intervals
    }
}

/// The encoding in which secrets are shown: <https://www.rfc-editor.org/rfc/rfc4648#section-6>, upper case without
/// padding.
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

    /// Decodes a text; `nil` if it has a character that isn't in the alphabet.
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

/// The multi-factor settings as a project's `mfa` or a tenant's `mfaConfig` was written: they may name providers
/// without effect. <https://cloud.google.com/identity-platform/docs/reference/rest/v2/MultiFactorAuthConfig>
struct MFAConfig: Codable, Sendable {
    /// The `providerConfigs` for authenticator apps.
    struct AuthenticatorApps: Codable, Sendable {
        var state: String
        /// The number; `nil` if it wasn't set, which answers don't distinguish from zero.
        var adjacentIntervals: Int64?
    }

    /// The state; `nil` if it wasn't set.
    var state: String?
    /// The enabled providers, each at most once.
    var enabledProviders: [String] = []
    /// The settings of authenticator apps; `nil` if they weren't set.
    var apps: AuthenticatorApps?

    static let phone = "PHONE_SMS"

    /// Whether anything was set.
    var isSet: Bool { state != nil || !enabledProviders.isEmpty || apps != nil }

    /// The effective settings. The default of the intervals is documented:
    /// <https://cloud.google.com/identity-platform/docs/web/totp-mfa>
    var effect: MFA {
        let isPhone = enabledProviders.contains(MFAConfig.phone)
        let isTOTP = apps.map { $0.state == "ENABLED" || $0.state == "MANDATORY" } ?? false
        return MFA(
            state: state ?? "DISABLED", providers: (isPhone ? ["phone"] : []) + (isTOTP ? ["totp"] : []),
            adjacentIntervals: apps?.adjacentIntervals ?? TOTP.adjacentIntervals)
    }

    /// Returns the resource. With `listsNone`, no provider is an empty list, as in the official emulator. An interval
    /// of zero is left out, as protobuf does (recorded as `config#write-adjacent-zero`), and so is the default
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
    /// Makes the settings of a seed.
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

    /// Sets the fields that the mask names below `path`. `given` is the request's part, and `message` its name in
    /// errors.
    ///
    /// The refusals were recorded as `config#write-adjacent-eleven`, `#write-unknown-state` and
    /// `#write-unknown-provider`.
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

    /// Reads the settings of authenticator apps. A configuration without `totpProviderConfig` is ignored (recorded as
    /// `config#write-totp-without-provider-config`).
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

    /// Returns the name of an enumeration's value, given by name or number. The first name of a state means the second.
    private static func name(
        _ text: String, _ names: [String], _ field: String, _ type: String
    ) throws(FirebaseError) -> String {
        let found = names.contains(text) ? text : Int(text).flatMap { names.indices.contains($0) ? names[$0] : nil }
        guard let found else { throw .wrongType(field, "\(MFAConfig.type).\(type)", .string(text)) }
        return found == states[0] ? states[1] : found
    }
}
