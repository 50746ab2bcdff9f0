import EmulatorCore
import JSON

/// The fields of a form for a user, with the names they have in seeds.
struct FirebaseUserFields: SchemaObject {
    init(_ fields: inout Fields) {
        _ = fields.optional("localId", .text(.nonEmpty), "The user ID; random by default.")
        _ = fields.optional("email", .text(.email), "The address.")
        _ = fields("emailVerified", .boolean, default: false, "Whether the address is verified.")
        _ = fields.optional("password", .text(.nonEmpty), "A new password: at least six characters.")
        _ = fields.optional("displayName", .text(.any), "The name.")
        _ = fields.optional("photoUrl", .text(.any), "The picture's address.")
        _ = fields.optional("phoneNumber", .text(.phoneNumber), "The phone number, in E.164.")
        _ = fields("disabled", .boolean, default: false, "Whether the user may not sign in.")
        _ = fields.map("customClaims", of: .any, "Claims that ID tokens carry beside the usual ones.")
    }

    static func values(of user: User) -> JSONObject {
        var values = JSONObject([("localId", .string(user.localId))])
        values["email"] = user.email.map { .string($0) }
        values["emailVerified"] = .bool(user.emailVerified)
        values["displayName"] = user.displayName.map { .string($0) }
        values["photoUrl"] = user.photoUrl.map { .string($0) }
        values["phoneNumber"] = user.phoneNumber.map { .string($0) }
        values["disabled"] = .bool(user.disabled)
        if !user.customClaims.object.isEmpty { values["customClaims"] = .object(user.customClaims.object) }
        return values
    }

    /// Returns the fields as a message to the service. Fields that are `null` are deleted.
    static func message(_ fields: JSONObject) -> JSONObject {
        var body = JSONObject()
        var (attributes, providers): ([JSONValue], [JSONValue]) = ([], [])
        for (name, value) in fields.members {
            switch (name, value) {
            case ("email", .null): attributes.append("EMAIL")
            case ("phoneNumber", .null): providers.append("phone")
            case ("displayName", .null): attributes.append("DISPLAY_NAME")
            case ("photoUrl", .null): attributes.append("PHOTO_URL")
            case ("customClaims", .null): body["customAttributes"] = "{}"
            case ("customClaims", _): body["customAttributes"] = .string(value.text)
            case ("disabled", _): body["disableUser"] = .bool(value.bool ?? false)
            case ("emailVerified", .null): body[name] = false
            case ("deleteProvider", _): providers += value.array ?? []
            default: body[name] = value
            }
        }
        if !attributes.isEmpty { body["deleteAttribute"] = .array(attributes) }
        if !providers.isEmpty { body["deleteProvider"] = .array(providers) }
        return body
    }

    /// The fields to which the service's error codes refer.
    private static let faulty = [
        "EMAIL_EXISTS": "email", "INVALID_EMAIL": "email", "PHONE_NUMBER_EXISTS": "phoneNumber",
        "INVALID_PHONE_NUMBER": "phoneNumber", "WEAK_PASSWORD": "password", "CLAIMS_TOO_LARGE": "customClaims",
        "INVALID_CLAIMS": "customClaims", "FORBIDDEN_CLAIM": "customClaims", "DUPLICATE_LOCAL_ID": "localId",
    ]

    static func refusal(_ error: FirebaseError) -> InspectedRefusal {
        let status = error.code == "USER_NOT_FOUND" ? 404 : error.status
        return InspectedRefusal(
            status, "\(error.code): \(error.diagnosis.line)", path: faulty[error.code].map { "$.\($0)" })
    }
}
