import EmulatorCore
import JSON

// The method v2/passwordPolicy, and what a policy does to sign-ups, sign-ins and new passwords:
// https://cloud.google.com/identity-platform/docs/password-policy
//
// Quirks: administrators are held to the policy, imports aren't. A weak password signs in unless `forceUpgradeOnSignin`
// is set; the answer then lists what it lacks. Recorded in September 2026: https://github.com/t-k/fireemu,
// conformance/auth-account-production.json, programs policy/…, and auth-config-sdk-production.json, password-policy/….

/// The requirements on new passwords in a project or tenant, as in `passwordPolicyConfig` of its configuration.
struct PasswordPolicy: Sendable {
    struct Unmet: Sendable {
        /// The code of the unmet requirement in `userNotifications` of a sign-in's answer, such as
        /// `MISSING_NUMERIC_CHARACTER`.
        let code: String
        /// The sentence that tells a client which requirement on passwords isn't met. It stands in errors and in the
        /// list `userNotifications`.
        let message: String
    }

    /// The characters of a password that count as non-alphanumeric. In production, `+` and `=` don't count (as in the
    /// recording `policy/enforce-custom#sign-up-plus-symbol`).
    private static let symbols = "^$*.[]{}()?\"!@#%&/\\,><':;|_~`-"
    /// The kinds of character that a password policy can require. Letters and digits outside ASCII don't count, which
    /// isn't documented.
    private static let kinds: [(option: String, code: String, name: String, holds: @Sendable (UInt8) -> Bool)] = [
        ("containsLowercaseCharacter", "LOWERCASE", "a lower case", { (0x61...0x7A).contains($0) }),
        ("containsUppercaseCharacter", "UPPERCASE", "an upper case", { (0x41...0x5A).contains($0) }),
        ("containsNumericCharacter", "NUMERIC", "a numeric", { (0x30...0x39).contains($0) }),
        ("containsNonAlphanumericCharacter", "NON_ALPHANUMERIC", "a non-alphanumeric", { symbols.utf8.contains($0) }),
    ]
    private static let states = ["OFF", "ENFORCE"]
    /// The ranges that `minPasswordLength` and `maxPasswordLength` of a password policy may have:
    /// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/PasswordPolicyConfig>
    private static let limits: [(option: String, range: ClosedRange<Int64>)] = [
        ("minPasswordLength", 6...30), ("maxPasswordLength", 6...4096),
    ]

    private let state: String
    private let options: JSONObject
    /// Whether a password that doesn't meet the policy is refused at sign-in (`forceUpgradeOnSignin`).
    let upgradesAtSignIn: Bool

    init(_ config: JSONValue?) {
        state = config?["passwordPolicyEnforcementState"]?.string ?? "OFF"
        options = config?["passwordPolicyVersions"]?.array?.first?["customStrengthOptions"]?.object ?? JSONObject()
        upgradesAtSignIn = config?["forceUpgradeOnSignin"]?.bool ?? false
    }

    private var isEnforced: Bool { state == "ENFORCE" }
    /// The least length of a password that the policy enforces, in UTF-16 code units; `nil` if the policy isn't
    /// enforced or sets no least length.
    private var minimum: Int64? { isEnforced ? options["minPasswordLength"]?.integer : nil }

    /// Returns the requirements of the policy that a password doesn't meet. The list is empty if the policy isn't
    /// enforced.
    func unmet(by password: String) -> [Unmet] {
        guard isEnforced else { return [] }
        var unmet: [Unmet] = []
        let length = Int64(password.utf16.count)
        if let minimum, length < minimum {
            unmet.append(
                Unmet(
                    code: "MINIMUM_PASSWORD_LENGTH", message: "Password must contain at least \(minimum) characters"))
        }
        if let maximum = options["maxPasswordLength"]?.integer, length > maximum {
            unmet.append(
                Unmet(code: "MAXIMUM_PASSWORD_LENGTH", message: "Password may contain at most \(maximum) characters"))
        }
        for kind in PasswordPolicy.kinds where options[kind.option]?.bool ?? false {
            guard !password.utf8.contains(where: kind.holds) else { continue }
            unmet.append(
                Unmet(code: "MISSING_\(kind.code)_CHARACTER", message: "Password must contain \(kind.name) character"))
        }
        return unmet
    }

    /// Checks a new password against the password policy. If the policy enforces no least length, the default of six
    /// characters applies.
    ///
    /// - Throws: `PASSWORD_DOES_NOT_MEET_REQUIREMENTS`, `WEAK_PASSWORD`.
    func check(_ password: String) throws(FirebaseError) {
        try PasswordPolicy.refuse(unmet(by: password))
        // The length is counted in UTF-16 code units, as in JavaScript.
        guard minimum == nil, password.utf16.count < Password.minimumLength else { return }
        throw FirebaseError(
            "WEAK_PASSWORD", "Password should be at least \(Password.minimumLength) characters",
            because: "the password is too short: it has \(password.utf16.count) characters")
    }

    /// Checks a sign-in's password against the password policy.
    ///
    /// - Returns: The requirements that the password doesn't meet, which the sign-in's answer lists.
    /// - Throws: `PASSWORD_DOES_NOT_MEET_REQUIREMENTS` if the password fails and the policy has `forceUpgradeOnSignin`.
    func checkAtSignIn(_ password: String) throws(FirebaseError) -> [Unmet] {
        let unmet = unmet(by: password)
        if upgradesAtSignIn { try PasswordPolicy.refuse(unmet) }
        return unmet
    }

    private static func refuse(_ unmet: [Unmet]) throws(FirebaseError) {
        guard !unmet.isEmpty else { return }
        let list = unmet.map(\.message).joined(separator: ", ")
        throw FirebaseError(
            "PASSWORD_DOES_NOT_MEET_REQUIREMENTS", "Missing password requirements: [\(list)]",
            because:
                "the password doesn't meet passwordPolicyConfig of the project or tenant: choose another password, or "
                + "set passwordPolicyEnforcementState to OFF")
    }

    /// The password policy in the form in which apps read it. The policy of a new project requires 6 to 4,096
    /// characters.
    var document: JSONObject {
        let hasNone = options.isEmpty
        let strength: JSONValue =
            hasNone ? ["minPasswordLength": 6, "maxPasswordLength": 4096] : .object(options)
        var body = JSONObject(["customStrengthOptions": strength, "schemaVersion": 1])
        if options["containsNonAlphanumericCharacter"]?.bool ?? false {
            body["allowedNonAlphanumericCharacters"] = .array(PasswordPolicy.symbols.map { .string(String($0)) })
        }
        body["enforcementState"] = .string(hasNone ? "ENFORCE" : state)
        if upgradesAtSignIn { body["forceUpgradeOnSignin"] = true }
        return body
    }

    /// Checks a password policy that an administrator wants to set. The error texts are our own, because production's
    /// aren't documented.
    static func check(setting config: JSONValue) throws(FirebaseError) {
        let field = "passwordPolicyConfig"
        if let state = config["passwordPolicyEnforcementState"], !state.isNull,
            !(state.string.map { states.contains($0) || $0 == "PASSWORD_POLICY_ENFORCEMENT_STATE_UNSPECIFIED" } ?? false)
        {
            throw .invalidArgument("\(field).passwordPolicyEnforcementState is neither OFF nor ENFORCE")
        }
        guard let versions = config["passwordPolicyVersions"], !versions.isNull else { return }
        guard let list = versions.array, list.count <= 1 else {
            throw .invalidArgument("\(field).passwordPolicyVersions is a list with one version")
        }
        for (option, range) in limits {
            guard let value = list.first?["customStrengthOptions"]?[option], !value.isNull, value != 0 else { continue }
            guard let length = value.integer, range.contains(length) else {
                throw .invalidArgument(
                    "\(field).passwordPolicyVersions[0].customStrengthOptions.\(option) is \(value.text), not a number from "
                        + "\(range.lowerBound) to \(range.upperBound)")
            }
        }
        let options = list.first?["customStrengthOptions"]
        if let least = options?["minPasswordLength"]?.integer, let most = options?["maxPasswordLength"]?.integer,
            most != 0, least > most
        {
            throw .invalidArgument(
                "\(field).passwordPolicyVersions[0].customStrengthOptions.minPasswordLength is \(least), more than "
                    + "maxPasswordLength, which is \(most)")
        }
    }
}

struct SeededPasswordPolicy: SchemaObject {
    /// The password policy in the form of `passwordPolicyConfig` in Google's API.
    let config: JSONValue

    init(_ fields: inout Fields) {
        let state = fields(
            "enforcementState", .choice(["OFF", "ENFORCE"]), default: "ENFORCE", "Whether weak passwords are refused.")
        let upgrades = fields(
            "forceUpgradeOnSignin", .boolean, default: false,
            "Whether a weak password is refused at sign-in, too; otherwise the answer lists what it lacks.")
        var options = JSONObject()
        if let length = fields.optional("minPasswordLength", .integer(6...30), "The least number of characters.") {
            options["minPasswordLength"] = .integer(Int64(length))
        }
        if let length = fields.optional("maxPasswordLength", .integer(6...4096), "The greatest number of characters.") {
            options["maxPasswordLength"] = .integer(Int64(length))
        }
        for (name, kind) in [
            ("containsLowercaseCharacter", "a lower-case letter"),
            ("containsUppercaseCharacter", "an upper-case letter"),
            ("containsNumericCharacter", "a digit"), ("containsNonAlphanumericCharacter", "a punctuation mark"),
        ] where fields(name, .boolean, default: false, "Whether a password needs \(kind).") {
            options[name] = true
        }
        let config = JSONObject([
            "passwordPolicyEnforcementState": state,
            "passwordPolicyVersions": [JSONObject(["customStrengthOptions": options, "schemaVersion": 1])],
            "forceUpgradeOnSignin": upgrades ? true : nil,
        ])
        self.config = .object(config)
    }
}

extension Project {
    var passwordPolicy: PasswordPolicy { PasswordPolicy(otherSettings["passwordPolicyConfig"]) }
}

extension FirebaseProvider {
    static func passwordPolicy(_ call: FirebaseCall) -> FirebaseAnswer {
        FirebaseAnswer(body: call.project.passwordPolicy.document)
    }
}
