import EmulatorCore
import JSON
import Time

/// A second factor that a request gives to a user.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/update#MfaInfo>
struct FactorRequest: Sendable {
    /// The ID; `nil` if one is to be made.
    let id: String?
    /// The number; `nil` for an authenticator app, which the user must have already, since a request doesn't have its
    /// secret.
    let phoneNumber: String?
    let displayName: String?
    let enrolledAt: Instant?

    /// The origin of the factors' IDs.
    enum IDs {
        /// New IDs are made, whatever the request has: a new user has no factors yet.
        case made
        /// The IDs are the request's. A factor without one gets a new ID, which the official emulator doesn't do.
        case given
    }

    /// Reads a list of factors. A number that occurs twice is one factor. Production's refusals were recorded as
    /// `admin-factors#admin-set-invalid-phone-ia` and `interactions#admin-set-six-factors`; the official emulator has
    /// codes of its own, and no limit.
    ///
    /// - Throws: `INVALID_PHONE_NUMBER`, `SECOND_FACTOR_LIMIT_EXCEEDED`, `DUPLICATE_MFA_ENROLLMENT_ID`; in emulator mode
    ///   `INVALID_MFA_PHONE_NUMBER`, `INVALID_MFA_ENROLLMENT_ID`.
    static func list(
        _ items: [MessageFields], _ ids: IDs, in call: FirebaseCall
    ) throws(FirebaseError) -> [FactorRequest] {
        guard !call.isInEmulatorMode || items.count <= User.factorLimit else { throw .tooManyFactors(items.count) }
        var (factors, numbers, known) = ([FactorRequest](), Set<String>(), Set<String>())
        for item in items {
            let number = try item.text("phoneInfo")
            let isApp = ids == .given && number == nil && item.has("totpInfo")
            guard isApp || number.map({ TextRule.phoneNumber.holds($0) }) ?? false else {
                throw FirebaseError(
                    call.isInEmulatorMode ? "INVALID_MFA_PHONE_NUMBER" : "INVALID_PHONE_NUMBER", "Invalid format.",
                    because: "phoneInfo isn't a number in E.164")
            }
            if let number, !numbers.insert(number).inserted { continue }
            let id = try ids == .given ? item.text("mfaEnrollmentId") : nil
            guard id != nil || ids == .made || !call.isInEmulatorMode else {
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
        guard call.isInEmulatorMode || numbers.count <= FirebaseProvider.largestNumberOfPhones else {
            throw FirebaseError(
                "SECOND_FACTOR_LIMIT_EXCEEDED",
                because:
                    "there are \(numbers.count) numbers; a user has at most \(FirebaseProvider.largestNumberOfPhones)")
        }
        return factors
    }

    /// Makes the factor. `known` are the user's present factors by their IDs. A factor that stays keeps the time of its
    /// enrolment.
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
            // Recorded as `admin-factors#admin-set-totp-factor-ia`.
            throw FirebaseError(
                "UNSUPPORTED_SECOND_FACTOR", "attempting to add a new TOTP enrollment",
                because:
                    "the user has no authenticator app \(Diagnosis.quote(id)): only the user can enrol one, with its secret"
            )
        }
        return SecondFactor(
            id: id, kind: kind, displayName: displayName, enrolledAt: enrolledAt ?? former?.enrolledAt ?? tables.now,
            usedStep: former?.usedStep)
    }
}

extension Instant {
    /// Reads a time in Google's form, `2026-01-02T03:04:05.678Z`. The fraction may be missing or have up to nine
    /// digits, of which three count.
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
