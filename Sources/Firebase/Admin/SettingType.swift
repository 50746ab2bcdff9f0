import JSON

/// The type of a setting in a project's configuration. Google's API checks the types of a request's body before
/// anything else. A number may be written as a text, and a single value counts as a list with one item:
/// <https://protobuf.dev/programming-guides/json/>
///
/// A member whose type isn't known here is stored unchanged, because Google adds members to its API.
enum SettingType: Sendable {
    case flag
    case text
    case integer
    case number
    /// An enumeration with its type name and its values. A request may name a value, or give any number. If the list of
    /// values is empty, a request may give any name, too. The type names occur in production's errors (as in the
    /// recording `recaptcha#unknown-state`), but aren't documented.
    case choice(String, [String] = [])
    case message(String, [String: SettingType])
    indirect case list(SettingType)

    /// Returns the value of a setting in the form in which it is stored. Errors name the setting by `field`, its path
    /// in the request.
    func read(_ value: JSONValue, at field: String) throws(FirebaseError) -> JSONValue {
        if value.isNull { return value }
        if case .list(let type) = self {
            var items: [JSONValue] = []
            for (place, item) in (value.array ?? [value]).enumerated() {
                items.append(try type.read(item, at: "\(field)[\(place)]"))
            }
            return .array(items)
        }
        if value.array != nil {
            let names = field.split(separator: ".").map(String.init)
            let place = names.dropLast().joined(separator: ".")
            throw .invalidField(
                place,
                "Invalid JSON payload received. Unknown name \"\(names.last ?? "")\" at '\(place)': Proto field is not "
                    + "repeating, cannot start list.",
                because: "\(MessageFields.camelCase(field)) can't be a list: send a single value")
        }
        switch self {
        case .flag:
            guard value.bool != nil else { throw .wrongType(field, "TYPE_BOOL", value) }
        case .text:
            guard let text = MessageFields.text(of: value) else {
                throw .wrongType(field, "TYPE_STRING", value)
            }
            return .string(text)
        case .integer:
            guard let number = value.integer ?? value.string.flatMap({ Int64($0) }) else {
                throw .wrongType(field, "TYPE_INT32", value)
            }
            return .integer(number)
        case .number:
            guard value.kindName == "a number" || value.string.flatMap({ Double($0) }) != nil else {
                throw .wrongType(field, "TYPE_FLOAT", value)
            }
        case .choice(let name, let values):
            let number = value.integer.flatMap { Int(exactly: $0) }
            if let number, values.indices.contains(number) { return .string(values[number]) }
            guard number != nil || value.string.map({ values.isEmpty || values.contains($0) }) ?? false else {
                throw .wrongType(field, SettingType.url(name), value)
            }
        case .message(let name, let types):
            guard let object = value.object else { throw .wrongType(field, SettingType.url(name), value) }
            var read = JSONObject()
            for (key, value) in object.members {
                let name = MessageFields.camelCase(key)
                guard let type = types[name] else {
                    read[key] = value
                    continue
                }
                read[name] = try type.read(value, at: "\(field).\(MessageFields.snakeCase(name))")
            }
            return .object(read)
        case .list: break
        }
        return value
    }

    private static func url(_ name: String) -> String {
        "type.googleapis.com/google.cloud.identitytoolkit.admin.v2.\(name)"
    }
}

extension SettingType {
    /// The types of those settings of a project or tenant that are stored as JSON:
    /// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/Config>.
    static let settings: [String: SettingType] = [
        "autodeleteAnonymousUsers": .flag,
        "client": .message(
            "ClientConfig",
            [
                "apiKey": .text, "firebaseSubdomain": .text,
                "permissions": .message(
                    "ClientConfig.Permissions", ["disabledUserSignup": .flag, "disabledUserDeletion": .flag]),
            ]),
        "inheritance": .message("Inheritance", ["emailSendingConfig": .flag]),
        "mobileLinksConfig": .message("MobileLinksConfig", ["domain": .choice("MobileLinksConfig.Domain")]),
        "monitoring": .message(
            "MonitoringConfig", ["requestLogging": .message("RequestLogging", ["enabled": .flag])]),
        "passwordPolicyConfig": .message(
            "PasswordPolicyConfig",
            [
                "passwordPolicyEnforcementState": .choice("PasswordPolicyConfig.PasswordPolicyEnforcementState"),
                "passwordPolicyVersions": .list(
                    .message(
                        "PasswordPolicyVersion",
                        [
                            "schemaVersion": .integer,
                            "customStrengthOptions": .message(
                                "CustomStrengthOptions",
                                [
                                    "minPasswordLength": .integer, "maxPasswordLength": .integer,
                                    "containsLowercaseCharacter": .flag, "containsUppercaseCharacter": .flag,
                                    "containsNumericCharacter": .flag, "containsNonAlphanumericCharacter": .flag,
                                ]),
                        ])), "forceUpgradeOnSignin": .flag, "lastUpdateTime": .text,
            ]),
        "quota": .message(
            "QuotaConfig",
            [
                "signUpQuotaConfig": .message(
                    "TemporaryQuota", ["quota": .number, "startTime": .text, "quotaDuration": .text])
            ]),
        "recaptchaConfig": .message(
            "RecaptchaConfig",
            [
                "emailPasswordEnforcementState": recaptchaState, "phoneEnforcementState": recaptchaState,
                "managedRules": .list(
                    .message(
                        "RecaptchaManagedRule",
                        ["endScore": .number, "action": recaptchaAction])),
                "recaptchaKeys": .list(
                    .message(
                        "RecaptchaKey",
                        [
                            "key": .text,
                            "type": .choice(
                                "RecaptchaKey.RecaptchaKeyClientType",
                                ["CLIENT_TYPE_UNSPECIFIED", "WEB", "IOS", "ANDROID"]),
                        ])),
                "tollFraudManagedRules": .list(
                    .message(
                        "RecaptchaTollFraudManagedRule",
                        ["startScore": .number, "action": recaptchaAction])),
                "useAccountDefender": .flag, "useSmsBotScore": .flag, "useSmsTollFraudProtection": .flag,
            ]),
        "smsRegionConfig": .message(
            "SmsRegionConfig",
            [
                "allowByDefault": .message("SmsRegionConfig.AllowByDefault", ["disallowedRegions": .list(.text)]),
                "allowlistOnly": .message("SmsRegionConfig.AllowlistOnly", ["allowedRegions": .list(.text)]),
            ]),
    ]

    private static let recaptchaState = SettingType.choice(
        "RecaptchaConfig.RecaptchaProviderEnforcementState", Recaptcha.states)
    private static let recaptchaAction = SettingType.choice(
        "RecaptchaManagedRule.RecaptchaAction", ["RECAPTCHA_ACTION_UNSPECIFIED", "BLOCK"])
}
