import EmulatorCore
import JSON
import Time

/// A second factor that a request gives to a user.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/update#MfaInfo>
struct FactorRequest: Sendable {
    /// `nil` where one is to be made.
    let id: String?
    /// `nil` for an authenticator app, which the user must have already: its secret isn't part of a request.
    let phoneNumber: String?
    let displayName: String?
    let enrolledAt: Instant?

    /// Where the factors' IDs come from.
    enum IDs {
        /// They are made here, whatever the request says: a new user has none yet.
        case made
        /// Each factor has one.
        case given
    }

    /// A number that occurs twice is one factor.
    ///
    /// - Throws: `INVALID_MFA_PHONE_NUMBER`, `INVALID_MFA_ENROLLMENT_ID`, `DUPLICATE_MFA_ENROLLMENT_ID`.
    static func list(_ items: [MessageFields], _ ids: IDs) throws(FirebaseError) -> [FactorRequest] {
        var (factors, numbers, known) = ([FactorRequest](), Set<String>(), Set<String>())
        for item in items {
            let number = try item.text("phoneInfo")
            let isApp = ids == .given && number == nil && item.has("totpInfo")
            guard isApp || number.map({ TextRule.phoneNumber.holds($0) }) ?? false else {
                throw FirebaseError(
                    "INVALID_MFA_PHONE_NUMBER", "Invalid format.", because: "phoneInfo isn't a number in E.164")
            }
            if let number, !numbers.insert(number).inserted { continue }
            let id = try ids == .given ? item.text("mfaEnrollmentId") : nil
            guard id != nil || ids == .made else {
                throw FirebaseError(
                    "INVALID_MFA_ENROLLMENT_ID", "mfaEnrollmentId must be defined.",
                    because: "a factor has no mfaEnrollmentId")
            }
            if let id, !known.insert(id).inserted {
                throw FirebaseError(
                    "DUPLICATE_MFA_ENROLLMENT_ID", because: "two factors have the ID \(Diagnosis.quote(id))")
            }
            factors.append(
                FactorRequest(
                    id: id, phoneNumber: number, displayName: try item.text("displayName"),
                    enrolledAt: try item.text("enrolledAt").flatMap { Instant(withMilliseconds: $0) }))
        }
        return factors
    }

    /// `known` are the factors that the user has, by their IDs. A factor that stays keeps the time of its enrolment.
    func factor(
        among known: [String: SecondFactor], _ tables: inout Transaction
    ) throws(FirebaseError) -> SecondFactor {
        let former = id.flatMap { known[$0] }
        let id = id ?? User.randomID(&tables.random)
        let kind: SecondFactor.Kind
        if let phoneNumber {
            kind = .phone(phoneNumber)
        } else if let former, case .totp = former.kind {
            kind = former.kind
        } else {
            // What production says isn't documented.
            throw FirebaseError(
                "MFA_ENROLLMENT_NOT_FOUND", because: "the user has no authenticator app \(Diagnosis.quote(id))")
        }
        return SecondFactor(
            id: id, kind: kind, displayName: displayName, enrolledAt: enrolledAt ?? former?.enrolledAt ?? tables.now,
            usedStep: former?.usedStep)
    }
}

extension Instant {
    /// As Google writes times: `2026-01-02T03:04:05.678Z`; the fraction may be missing or have up to nine digits, of which
    /// three count.
    init?(withMilliseconds text: String) {
        let parts = text.split(separator: ".", maxSplits: 1)
        guard parts.count == 2 else {
            self.init(text)
            return
        }
        let digits = parts[1].dropLast()
        guard parts[1].last == "Z", (1...9).contains(digits.count),
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let whole = Instant("\(parts[0])Z"), let count = Int64((digits + "000").prefix(3))
        else { return nil }
        self = whole + .milliseconds(count)
    }
}
