import JOSE
import JSON
import EmulatorCore
import Time

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
        var info = JSONObject([("mfaEnrollmentId", .string(id))])
        info["displayName"] = displayName.map { .string($0) }
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

    /// The end of its validity. Recorded as `lifetime-sms`: after 450 seconds a text is sent, after 600 it isn't.
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

    /// Returns the steps whose codes are accepted.
    static func steps(around time: Instant, give intervals: Int64) -> ClosedRange<Int64> {
        let now = time.seconds / period
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
