import EmulatorCore
import JSON

/// A person's profile at Apple. The person's identifiers depend on the team: `AppleIdentifiers`.
struct AppleProfile: AccountProfile {
    static let name = "apple"
    static let about = "The person at Apple."

    /// The person's `ASUserDetectionStatus`:
    /// <https://developer.apple.com/documentation/authenticationservices/asuserdetectionstatus>
    enum RealUserStatus: String, Codable, CaseIterable, Sendable {
        case unsupported
        case unknown
        case likelyReal

        var rawNumber: Int64 {
            switch self {
            case .unsupported: 0
            case .unknown: 1
            case .likelyReal: 2
            }
        }
    }

    let shareEmail: Bool
    let realUserStatus: RealUserStatus

    init(_ fields: inout Fields, of account: Account) {
        shareEmail = fields(
            "shareEmail", .boolean, default: true, "Share the real address, or hide it behind a relay.")
        realUserStatus = fields(
            "realUserStatus", .choice(RealUserStatus.self), default: .likelyReal,
            "What a device says of a new user.")
    }
}

extension Account {
    var apple: AppleProfile { self[AppleProfile.self] }
}
