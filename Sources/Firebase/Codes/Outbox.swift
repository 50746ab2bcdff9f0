import EmulatorCore
import JSON
import Time

// What would have been sent by e-mail or text message. It can be read at the Emulator Suite's addresses.

/// A code that an e-mail would have carried, in a link.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/sendOobCode>
struct OutOfBandCode: PoolRow {
    static let table = Table<OutOfBandCode>("firebase.outOfBandCode", indexes: [byPool, byUser])
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
        /// Of a mail that tells of a new second factor.
        case revertSecondFactorAddition = "REVERT_SECOND_FACTOR_ADDITION"

        /// Those that a client may ask for.
        static let requested: [Kind] = allCases.filter { $0 != .revertSecondFactorAddition }

        /// By its name, or by its number, as the Android SDK sends it: in JSON a protobuf enumeration may be either.
        /// <https://protobuf.dev/programming-guides/json/>
        init?(request text: String) {
            let numbers: [String: Kind] = [
                "1": .passwordReset, "4": .verifyEmail, "5": .recoverEmail, "6": .emailSignIn,
                "7": .verifyAndChangeEmail,
            ]
            guard let kind = numbers[text] ?? Kind(rawValue: text), Kind.requested.contains(kind) else { return nil }
            self = kind
        }

        /// In links.
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

        /// How long a link for signing in works isn't documented.
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
    /// The user for whom the code was made, who may have another address by the time that it is used. `nil` for a link that signs in:
    /// that is whoever has the address.
    var localId: String?
    /// The second factor that is to be removed.
    var factor: String?
    let link: String
    let expires: Instant
    /// The mail server's answer, where a provider relays the message: relays refuse senders that they don't know.
    var delivery: String?
    var isUsed = false

    var key: String { code }

    var json: JSONValue {
        var mail = JSONObject([("email", .string(email))])
        mail["newEmail"] = newEmail.map { .string($0) }
        mail["requestType"] = .string(kind.rawValue)
        mail["oobCode"] = .string(code)
        mail["oobLink"] = .string(link)
        mail["delivery"] = delivery.map { .string($0) }
        return .object(mail)
    }
}

/// A code that a text message would have carried.
struct PhoneCode: PoolRow {
    static let table = Table<PhoneCode>("firebase.phoneCode", indexes: [byPool])
    static let byPool = Index<PhoneCode, UserPool>("pool") { $0.pool }

    /// `sessionInfo`, with which the client says which code it enters.
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
    /// Retires the codes of this kind that the address has got: in production the latest one works alone.
    mutating func retire(_ kind: OutOfBandCode.Kind, of email: String, in pool: UserPool) {
        for var code in rows(OutOfBandCode.byPool, pool)
        where code.kind == kind && code.email == email && !code.isUsed {
            code.isUsed = true
            put(code)
        }
    }

    /// Puts a message into its pool's outbox, which keeps the latest thousand of a kind.
    mutating func send<Message: PoolRow>(_ message: Message) {
        put(message)
        guard count(Message.byPool, message.pool) > 1_000 else { return }
        if let oldest = first(Message.byPool, message.pool) { remove(Message.self, oldest.key) }
    }
}
