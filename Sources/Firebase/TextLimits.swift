import JSON
import EmulatorCore

/// The greatest lengths of texts in a request.
///
/// Documented: 256 characters of `displayName`
/// (<https://cloud.google.com/identity-platform/docs/reference/rest/v1/accounts/update>), 4,096 of a password
/// (<https://cloud.google.com/identity-platform/docs/password-policy>), 1,000 of `customAttributes`
/// (`AdminChange.claims`). As recorded, production counts these in UTF-16 code units, and takes user IDs longer than
/// the 128 characters that custom tokens may have. An e-mail address has at most 254 bytes (`TextRule.email`). The
/// other limits and the answers to longer texts aren't documented.
enum TextLimits {
    /// Returns the limit in bytes; for names and passwords, in UTF-16 code units.
    private static func limit(of field: String) -> Int {
        switch field {
        case "displayName": 256
        case "mfaEnrollmentId", "tenantId", "providerId": 128
        case "email", "newEmail", "identifier", "phoneNumber", "phoneInfo", "clientId", "clientSecret": 1_024
        case "localId", "localIds", "rawId", "federatedId", "screenName": 1_024
        case "photoUrl", "continueUri", "continueUrl", "requestUri", "issuer": 8_192
        case "password", "newPassword", "oldPassword", "rawPassword": 4_096
        default: RequestBudget.value
        }
    }

    static func check(_ text: String, _ field: String) throws(FirebaseError) {
        let limit = limit(of: field)
        // No text has more characters than bytes.
        guard text.utf8.count > limit else { return }
        let isInCharacters = field == "displayName" || field.lowercased().hasSuffix("password")
        guard !isInCharacters || text.utf16.count > limit else { return }
        let reason =
            isInCharacters
            ? "\(field) has \(text.utf16.count) characters; at most \(limit) are taken"
            : "\(field) has \(text.utf8.count) bytes; at most \(limit) are taken"
        if field == "displayName" {
            throw FirebaseError("INVALID_PROFILE_ATTRIBUTE", "Display name too long.", because: reason)
        }
        if isInCharacters {
            throw FirebaseError(
                "PASSWORD_DOES_NOT_MEET_REQUIREMENTS", "Password cannot be longer than \(limit) characters",
                because: reason)
        }
        throw .invalidArgument(reason)
    }
}
