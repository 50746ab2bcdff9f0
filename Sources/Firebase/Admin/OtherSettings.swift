import EmulatorCore
import HTTPServer
import JSON

/// Settings of a project, a tenant or an identity provider that are stored as JSON. They come from an administrator's
/// requests or the seed. Of a project's or tenant's settings, only `passwordPolicyConfig`, `client.permissions`,
/// `smsRegionConfig`, `recaptchaConfig` and `mobileLinksConfig` take effect.
///
/// Answers leave out members that are false, zero, or an empty text or list, as in protobuf's JSON:
/// `{"allowByDefault": {"disallowedRegions": []}}` comes back as `{"allowByDefault": {}}`. An exception is
/// `recaptchaConfig`, where false is returned (firebase-admin-node, test/integration/auth.spec.ts,
/// "updateProjectConfig() should resolve with the updated project config"). Production's answers are recorded as
/// `tenant/manage#create-phones` and `other-fields` (https://github.com/t-k/fireemu,
/// conformance/auth-tenant-blocking-production.json and auth-config-sdk-production.json).
struct OtherSettings: Codable, Sendable {
    /// The greatest number of bytes of JSON in the settings of a project or tenant.
    private static let limit = 64 << 10
    /// The greatest number of names in one path of an update mask. Each name costs stack, and no resource is nested as
    /// deeply.
    private static let depthLimit = 32

    /// The unions (`oneof` in protobuf) among the settings, by the name of the field that contains the union. A message
    /// has at most one member of a union, and setting one member removes the others.
    /// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/SmsRegionConfig>
    private static let unions = [
        "smsRegionConfig": (
            place: "sms_region_config", name: "sms_region_policy", members: ["allowByDefault", "allowlistOnly"]
        )
    ]

    private var kept = CustomClaims()

    init(_ members: JSONObject = JSONObject()) { kept = CustomClaims(members) }

    init(seeded fields: inout Fields) {
        var members = JSONObject()
        if let policy = fields.optional(
            "passwordPolicy", .object(SeededPasswordPolicy.self),
            "The rules for passwords; by default at least 6 characters.")
        {
            members["passwordPolicyConfig"] = policy.config
        }
        if let client = fields.optional(
            "clientPermissions", .object(SeededClientPermissions.self), "The actions that only administrators may do.")
        {
            members["client"] = ["permissions": .object(client.permissions)]
        }
        if let regions = fields.optional(
            "smsRegions", .object(SeededSMSRegions.self),
            "The regions to which text messages may be sent; all by default.")
        {
            members["smsRegionConfig"] = regions.config
        }
        if let recaptcha = fields.optional(
            "recaptcha", .object(SeededRecaptcha.self), "The use of reCAPTCHA Enterprise; off by default.")
        {
            members["recaptchaConfig"] = recaptcha.config
        }
        kept = CustomClaims(members)
    }

    var members: JSONObject { kept.object }
    /// The approximate size in bytes.
    var size: Int { kept.size }

    subscript(name: String) -> JSONValue? { kept.object[name] }

    /// Refuses a request's body that sets two members of one protobuf `oneof`. The error text is the one that
    /// <https://github.com/t-k/fireemu> recorded.
    private static func checkUnions(_ given: JSONObject, of message: String) throws(FirebaseError) {
        for (field, union) in unions {
            let set = (given[field]?.object?.members ?? []).filter {
                union.members.contains($0.key) && !$0.value.isNull
            }
            guard set.count > 1 else { continue }
            let place = "\(message).\(union.place)"
            throw .invalidField(
                place,
                "Invalid value at '\(place)' (oneof), oneof field '\(union.name)' is already set. Cannot set '\(set[1].key)'",
                because: "\(field) has \(set.map(\.key).joined(separator: " and ")): send only one of these fields")
        }
    }

    /// Sets those settings among `fields` that the update mask names. `message` is the name of the request's body in
    /// error texts.
    mutating func change(
        _ call: FirebaseCall, of message: String, _ mask: UpdateMask, fields: [String], now: String
    ) throws(FirebaseError) {
        var given = call.fields.members
        for field in fields {
            guard let value = given[field] else { continue }
            given[field] = try OtherSettings.read(value, of: field, in: message)
        }
        try OtherSettings.checkUnions(given, of: message)
        if let policy = given["passwordPolicyConfig"] { try PasswordPolicy.check(setting: policy) }
        var object = kept.object
        let recaptcha = object["recaptchaConfig"]
        for field in fields {
            for path in mask.paths(below: field) {
                let parts = path.split(separator: ".").map(String.init)
                guard parts.count <= OtherSettings.depthLimit else {
                    throw .invalidArgument("updateMask names a field \(parts.count) levels deep")
                }
                let value = OtherSettings.value(given, parts[...])
                OtherSettings.set(value, at: parts[...], in: &object)
                if value != nil { OtherSettings.endOthers(of: parts, in: &object) }
            }
            if let value = object[field] {
                // A path in the mask may lead into a value that has no members.
                let value = try OtherSettings.read(value, of: field, in: message)
                object[field] = OtherSettings.told(value, withFalse: field == "recaptchaConfig")
            }
        }
        if mask.touches("recaptchaConfig") {
            if !call.isInEmulatorMode, given["recaptchaConfig"] == nil, mask.names("recaptchaConfig") {
                object["recaptchaConfig"] = Recaptcha.cleared(recaptcha)
            }
            if let config = object["recaptchaConfig"] {
                try Recaptcha.check(setting: config, of: call.project, isStrict: !call.isInEmulatorMode)
            }
        }
        if mask.touches("passwordPolicyConfig"), case .object(var policy)? = object["passwordPolicyConfig"] {
            policy["passwordPolicyVersions"] = policy["passwordPolicyVersions"]?.array.map { versions in
                .array(versions.map { OtherSettings.versioned($0) })
            }
            policy["lastUpdateTime"] = .string(now)
            object["passwordPolicyConfig"] = .object(policy)
        }
        let text = JSONValue.object(object).text
        guard text.utf8.count <= OtherSettings.limit else {
            throw .invalidArgument("the settings have more than \(OtherSettings.limit) bytes")
        }
        // Many requests can add more members than one request may have. They are refused, because a store with settings
        // that can't be parsed couldn't be opened again.
        guard CustomClaims(parsing: text) != nil else {
            throw .invalidArgument("the settings have more levels or members than a request may have")
        }
        kept = CustomClaims(object)
    }

    private static func read(
        _ value: JSONValue, of field: String, in message: String
    ) throws(FirebaseError) -> JSONValue {
        try SettingType.settings[field]?.read(value, at: "\(message).\(MessageFields.snakeCase(field))") ?? value
    }

    /// Removes the members that can't stand beside the one at `path`, which has been set: the other members of its
    /// union (protobuf's `oneof`).
    private static func endOthers(of path: [String], in object: inout JSONObject) {
        guard path.count > 1, let union = unions[path[0]]?.members, union.contains(path[1]),
            case .object(var message)? = object[path[0]]
        else { return }
        for other in union where other != path[1] { message[other] = nil }
        object[path[0]] = .object(message)
    }

    private static func versioned(_ version: JSONValue) -> JSONValue {
        guard case .object(var version) = version else { return version }
        version["schemaVersion"] = 1
        return .object(version)
    }

    private static func value(_ object: JSONObject, _ path: ArraySlice<String>) -> JSONValue? {
        guard let first = path.first, let value = object[first] else { return nil }
        let rest = path.dropFirst()
        if rest.isEmpty { return value }
        return value.object.flatMap { OtherSettings.value($0, rest) }
    }

    private static func set(_ value: JSONValue?, at path: ArraySlice<String>, in object: inout JSONObject) {
        guard let first = path.first else { return }
        let rest = path.dropFirst()
        guard !rest.isEmpty else {
            object[first] = value
            return
        }
        var inner = object[first]?.object ?? JSONObject()
        set(value, at: rest, in: &inner)
        object[first] = .object(inner)
    }

    /// Returns a setting's value without the members that protobuf's JSON leaves out: null, zero, empty texts and empty
    /// arrays, and `false` unless `withFalse` is true. If the value itself is null, zero, empty or such a `false`, the
    /// result is `nil`.
    private static func told(_ value: JSONValue, withFalse: Bool) -> JSONValue? {
        switch value {
        case .bool(false): withFalse ? value : nil
        case .null, .integer(0), .string(""): nil
        case .array(let items): items.isEmpty ? nil : .array(items)
        case .object(let object):
            .object(
                JSONObject(
                    object.members.compactMap { member in
                        told(member.value, withFalse: withFalse).map { (member.key, $0) }
                    }))
        default: value
        }
    }
}

/// The query parameter `updateMask` of a PATCH request: the paths of the fields that the request sets, such as
/// `signIn.allowDuplicateEmails`. <https://google.aip.dev/134>
///
/// A field that is named by the mask and missing in the body is set to its default. A path of an unknown field is
/// ignored; what production does with such a path isn't documented.
struct UpdateMask: Sendable {
    private let paths: [String]
    /// Whether the request has no update mask. All fields are then named.
    let isFullUpdate: Bool

    /// Reads the update mask from a request's query, where field names are in camel case or have underscores.
    init(_ exchange: Exchange) {
        let query = exchange.request.queryForm
        self.init(query["updateMask"] ?? query["update_mask"] ?? "")
    }

    init(_ text: String) {
        paths = text.split(separator: ",").prefix(UpdateMask.limit).map { path in
            path.split(separator: ".").map { MessageFields.camelCase(String($0)) }.joined(separator: ".")
        }
        isFullUpdate = paths.isEmpty
    }

    /// Makes an update mask from field names in camel case.
    init(named fields: [String]) { (paths, isFullUpdate) = (fields, false) }

    /// The greatest number of paths in an update mask. No resource has as many fields.
    private static let limit = 100

    /// Whether the update mask sets the field at `path`: the mask is empty, names the field, or names a field that
    /// contains it.
    func names(_ path: String) -> Bool {
        isFullUpdate || paths.contains { $0 == path || path.hasPrefix("\($0).") }
    }

    /// Returns the paths to set within `field`: only `field` itself if the update mask names the whole field, and
    /// otherwise the mask's paths below `field`.
    func paths(below field: String) -> [String] {
        if names(field) { return [field] }
        return paths.filter { $0.hasPrefix("\(field).") }
    }

    /// Whether the update mask sets the field at `path` or any of its subfields.
    func touches(_ path: String) -> Bool { names(path) || paths.contains { $0.hasPrefix("\(path).") } }
}
