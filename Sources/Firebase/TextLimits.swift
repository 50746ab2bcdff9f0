import JSON
import EmulatorCore

/// How long a text of a request may be.
///
/// Documented: 256 characters of `displayName`
/// (<https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/update>), 128 of a user's ID
/// (<https://firebase.google.com/docs/auth/admin/create-custom-tokens>), 4,096 of a password
/// (<https://cloud.google.com/identity-platform/docs/password-policy>), 1,000 of `customAttributes`
/// (`AdminChange.claims`). An e-mail address has at most 254 bytes (`TextRule.email`). The other limits aren't documented,
/// nor is the answer to a text that is longer.
enum TextLimits {
    /// Bytes, but for names and passwords, where it is characters.
    private static func limit(of field: String) -> Int {
        switch field {
        case "displayName": 256
        case "localId", "localIds", "mfaEnrollmentId", "tenantId", "providerId": 128
        case "email", "newEmail", "identifier", "phoneNumber", "phoneInfo": 1_024
        case "rawId", "federatedId", "screenName": 1_024
        case "photoUrl", "continueUri", "continueUrl", "requestUri": 8_192
        case "password", "newPassword", "oldPassword", "rawPassword": 4_096
        default: RequestBudget.value
        }
    }

    static func check(_ text: String, _ field: String) throws(FirebaseError) {
        let limit = limit(of: field)
        // No text has more characters than bytes.
        guard text.utf8.count > limit else { return }
        let isInCharacters = field == "displayName" || field.lowercased().hasSuffix("password")
        guard !isInCharacters || text.unicodeScalars.count > limit else { return }
        let reason =
            isInCharacters
            ? "\(field) has \(text.unicodeScalars.count) characters; at most \(limit) are taken"
            : "\(field) has \(text.utf8.count) bytes; at most \(limit) are taken"
        if field.lowercased().hasSuffix("password") {
            throw FirebaseError(
                "PASSWORD_DOES_NOT_MEET_REQUIREMENTS",
                "Missing password requirements: [Password may contain at most \(limit) characters]", because: reason)
        }
        throw .invalidArgument(reason)
    }
}
