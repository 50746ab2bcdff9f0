import JSON
import OAuth
import EmulatorCore
import Time

/// What would have been sent by e-mail or SMS. Readable at the Emulator Suite's addresses.
struct Outbox: Sendable {
    /// A code in an e-mail.
    struct Mail: Sendable {
        enum Kind: String, Sendable, CaseIterable {
            case passwordReset = "PASSWORD_RESET"
            case verifyEmail = "VERIFY_EMAIL"
            case emailSignIn = "EMAIL_SIGNIN"
            case verifyAndChangeEmail = "VERIFY_AND_CHANGE_EMAIL"
            case recoverEmail = "RECOVER_EMAIL"

            /// In links.
            var mode: String {
                switch self {
                case .passwordReset: "resetPassword"
                case .verifyEmail: "verifyEmail"
                case .emailSignIn: "signIn"
                case .verifyAndChangeEmail: "verifyAndChangeEmail"
                case .recoverEmail: "recoverEmail"
                }
            }

            /// How long a link for signing in works isn't documented.
            var lifetime: TimeSpan {
                switch self {
                case .passwordReset: .hours(1)
                case .emailSignIn: .hours(6)
                case .verifyEmail, .verifyAndChangeEmail, .recoverEmail: .days(3)
                }
            }
        }

        let kind: Kind
        let code: String
        let email: String
        var newEmail: String?
        let link: String
        let expires: Instant
        /// What a mail server would have said: Apple's relay refuses senders that it doesn't know.
        var delivery: String?
        var isUsed = false

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

    /// A code in a text message.
    struct Message: Sendable {
        let phoneNumber: String
        let code: String
        let session: String
        let expires: Instant
        var isUsed = false

        var json: JSONValue {
            ["phoneNumber": .string(phoneNumber), "code": .string(code), "sessionInfo": .string(session)]
        }
    }

    /// The latest are kept.
    private static let limit = 1000
    private(set) var mails: [Mail] = []
    private(set) var messages: [Message] = []

    var isEmpty: Bool { mails.isEmpty && messages.isEmpty }

    mutating func add(_ mail: Mail) {
        mails.append(mail)
        if mails.count > Outbox.limit { mails.removeFirst() }
    }

    mutating func add(_ message: Message) {
        messages.append(message)
        if messages.count > Outbox.limit { messages.removeFirst() }
    }

    func mail(_ code: String) -> Mail? { mails.last { $0.code == code } }

    func message(_ session: String) -> Message? { messages.last { $0.session == session } }

    mutating func use(mail code: String) {
        if let place = mails.lastIndex(where: { $0.code == code }) { mails[place].isUsed = true }
    }

    mutating func use(message session: String) {
        if let place = messages.lastIndex(where: { $0.session == session }) { messages[place].isUsed = true }
    }

    mutating func note(_ delivery: String, on code: String) {
        if let place = mails.lastIndex(where: { $0.code == code }) { mails[place].delivery = delivery }
    }
}
