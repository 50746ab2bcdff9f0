import EmulatorCore
import JSON
import Time
import Worlds

// The messages that production would send by e-mail or text. The Emulator Suite's addresses list them.

/// A mail with a one-time code (`oobCode`) in its link.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/sendOobCode>
struct OutOfBandCode: PoolRow {
    static let table = Table<OutOfBandCode>(
        "firebase.outOfBandCode", byteLimit: 256 << 20, indexes: [byPool, byUser],
        size: { $0.email.utf8.count + ($0.newEmail?.utf8.count ?? 0) + $0.link.utf8.count })
    static let byPool = Index<OutOfBandCode, UserPool>("pool") { $0.pool }
    static let byUser = Index<OutOfBandCode, User.Key>("user") { code in
        code.localId.map { User.Key(pool: code.pool, localId: $0) }
    }

    enum Kind: String, CaseIterable, Codable, Sendable {
        case passwordReset = "PASSWORD_RESET"
        case verifyEmail = "VERIFY_EMAIL"
        case emailSignIn = "EMAIL_SIGNIN"
        case verifyAndChangeEmail = "VERIFY_AND_CHANGE_EMAIL"
        case recoverEmail = "RECOVER_EMAIL"
        /// A mail about a newly added second factor. Its link removes the factor.
        case revertSecondFactorAddition = "REVERT_SECOND_FACTOR_ADDITION"

        /// The kinds of mail that a client may request.
        static let requested: [Kind] = allCases.filter { $0 != .revertSecondFactorAddition }

        /// Reads the kind of mail that a request asks for. It is given by its name or by its number, because protobuf's
        /// JSON allows both for an enumeration, and the Android SDK sends numbers.
        /// <https://protobuf.dev/programming-guides/json/>
        init?(request text: String) {
            let numbers: [String: Kind] = [
                "1": .passwordReset, "4": .verifyEmail, "5": .recoverEmail, "6": .emailSignIn,
                "7": .verifyAndChangeEmail,
            ]
            guard let kind = numbers[text] ?? Kind(rawValue: text), Kind.requested.contains(kind) else { return nil }
            self = kind
        }

        /// The query parameter `mode` of the mail's link, which says what the code does.
        var mode: String {
            switch self {
            case .passwordReset: "resetPassword"
            case .verifyEmail: "verifyEmail"
            case .emailSignIn: "signIn"
            case .verifyAndChangeEmail: "verifyAndChangeEmail"
            case .recoverEmail: "recoverEmail"
            case .revertSecondFactorAddition: "revertSecondFactorAddition"
            }
        }

        /// The time for which a mailed code works. The time for a sign-in link isn't documented.
        var lifetime: TimeSpan {
            switch self {
            case .passwordReset: .hours(1)
            case .emailSignIn: .hours(6)
            case .verifyEmail, .verifyAndChangeEmail, .recoverEmail, .revertSecondFactorAddition: .days(3)
            }
        }
    }

    let code: String
    let pool: UserPool
    let kind: Kind
    let email: String
    var newEmail: String?
    /// The ID of the user for whom the code was made, who may have changed the e-mail address since. It is `nil` for a
    /// sign-in link that works for any user with the address. The code stops working when the user is deleted.
    var localId: String?
    /// The ID of the second factor that the mail's link removes.
    var factor: String?
    var link: String
    let expires: Instant
    /// A description of what a provider's mail relay did with the mail; `nil` if the mail didn't go through a relay.
    var delivery: String?
    var isUsed = false

    var key: String { code }

    var json: JSONValue {
        .object(
            JSONObject([
                "email": email, "newEmail": newEmail, "requestType": kind.rawValue, "oobCode": code, "oobLink": link,
                "delivery": delivery,
            ]))
    }
}

/// A text message with a one-time code.
struct PhoneCode: PoolRow {
    static let table = Table<PhoneCode>("firebase.phoneCode", indexes: [byPool])
    static let byPool = Index<PhoneCode, UserPool>("pool") { $0.pool }

    /// The `sessionInfo` that the client sends back with the code.
    let session: String
    let pool: UserPool
    let phoneNumber: String
    let code: String
    let expires: Instant
    var isUsed = false

    var key: String { session }

    var json: JSONValue {
        ["phoneNumber": .string(phoneNumber), "code": .string(code), "sessionInfo": .string(session)]
    }
}

extension Transaction {
    /// Marks as used all earlier codes of one kind that were mailed to an address. In production only the latest code
    /// works.
    mutating func retire(_ kind: OutOfBandCode.Kind, of email: String, in pool: UserPool) {
        for var code in rows(OutOfBandCode.byPool, pool)
        where code.kind == kind && code.email == email && !code.isUsed {
            code.isUsed = true
            put(code)
        }
    }

    /// Stores a sent mail or text message, so that tests can read its code. A project or tenant keeps its latest
    /// thousand mails and its latest thousand text messages.
    mutating func send<Message: PoolRow>(_ message: Message) {
        put(message)
        guard count(Message.byPool, message.pool) > 1_000 else { return }
        if let oldest = first(Message.byPool, message.pool) { remove(Message.self, oldest.key) }
    }
}
