import EmulatorCore
import JSON

/// The multi-factor settings as a project's `mfa` or a tenant's `mfaConfig` was written: they may name providers
/// without effect. <https://cloud.google.com/identity-platform/docs/reference/rest/v2/MultiFactorAuthConfig>
struct MFAConfig: Codable, Sendable {
    /// The `providerConfigs` for authenticator apps.
    struct AuthenticatorApps: Codable, Sendable {
        var state: String
        /// The number; `nil` if it wasn't set, which answers don't distinguish from zero.
        var adjacentIntervals: Int64?
    }

    /// The state; `nil` if it wasn't set.
    var state: String?
    /// The enabled providers, each at most once.
    var enabledProviders: [String] = []
    /// The settings of authenticator apps; `nil` if they weren't set.
    var apps: AuthenticatorApps?

    static let phone = "PHONE_SMS"

    /// Whether anything was set.
    var isSet: Bool { state != nil || !enabledProviders.isEmpty || apps != nil }

    /// The effective settings. The default of the intervals is documented:
    /// <https://cloud.google.com/identity-platform/docs/web/totp-mfa>
    var effect: MFA {
        let isPhone = enabledProviders.contains(MFAConfig.phone)
        let isTOTP = apps.map { $0.state == "ENABLED" || $0.state == "MANDATORY" } ?? false
        return MFA(
            state: state ?? "DISABLED", providers: (isPhone ? ["phone"] : []) + (isTOTP ? ["totp"] : []),
            adjacentIntervals: apps?.adjacentIntervals ?? TOTP.adjacentIntervals)
    }

    /// Returns the resource. With `listsNone`, no provider is an empty list, as in the official emulator. An interval
    /// of zero is left out, as protobuf does (recorded as `config#write-adjacent-zero`), and so is the default
    /// (firebase-admin-node, test/integration/auth.spec.ts, "updateTenant() should resolve with the updated tenant").
    func document(listsNone: Bool) -> JSONObject {
        var body = JSONObject([("state", .string(state ?? "DISABLED"))])
        if listsNone || !enabledProviders.isEmpty {
            body["enabledProviders"] = .array(enabledProviders.map { .string($0) })
        }
        if let apps {
            let settings: JSONValue =
                switch apps.adjacentIntervals {
                case nil, 0: [:]
                case .some(let intervals): ["adjacentIntervals": .integer(intervals)]
                }
            body["providerConfigs"] = [["state": .string(apps.state), "totpProviderConfig": settings]]
        }
        return body
    }
}

extension MFAConfig {
    /// Makes the settings of a seed.
    init(_ mfa: MFA) {
        self.init(
            state: mfa.isOn ? mfa.state : nil,
            enabledProviders: mfa.providers.contains("phone") ? [MFAConfig.phone] : [],
            apps: mfa.providers.contains("totp")
                ? AuthenticatorApps(state: "ENABLED", adjacentIntervals: mfa.adjacentIntervals) : nil)
    }
}

extension MFAConfig {
    private static let states = ["STATE_UNSPECIFIED", "DISABLED", "ENABLED", "MANDATORY"]
    private static let providers = ["PROVIDER_UNSPECIFIED", phone]
    private static let type = "type.googleapis.com/google.cloud.identitytoolkit.admin.v2.MultiFactorAuthConfig"

    /// Sets the fields that the mask names below `path`. `given` is the request's part, and `message` its name in
    /// errors.
    ///
    /// The refusals were recorded as `config#write-adjacent-eleven`, `#write-unknown-state` and
    /// `#write-unknown-provider`.
    mutating func change(
        _ given: MessageFields?, _ mask: UpdateMask, at path: String, message: String
    ) throws(FirebaseError) {
        let state = try given?.value("state").map { text throws(FirebaseError) in
            try MFAConfig.name(text, MFAConfig.states, "\(message).state", "State")
        }
        var providers: [String] = []
        for (place, text) in try (given?.texts("enabledProviders") ?? []).enumerated() {
            let name = try MFAConfig.name(
                text, MFAConfig.providers, "\(message).enabled_providers[\(place)]", "Provider")
            if !providers.contains(name) { providers.append(name) }
        }
        let apps = try MFAConfig.apps(given, message)
        if mask.names("\(path).state") { self.state = given == nil ? nil : state ?? "DISABLED" }
        if mask.names("\(path).enabledProviders") { enabledProviders = providers }
        if mask.names("\(path).providerConfigs") { self.apps = apps }
    }

    /// Reads the settings of authenticator apps. A configuration without `totpProviderConfig` is ignored (recorded as
    /// `config#write-totp-without-provider-config`).
    private static func apps(
        _ given: MessageFields?, _ message: String
    ) throws(FirebaseError) -> AuthenticatorApps? {
        for config in try given?.list("providerConfigs") ?? [] {
            guard let app = try config.nested("totpProviderConfig") else { continue }
            let intervals = try app.integer("adjacentIntervals")
            if let intervals, !(0...TOTP.largestIntervals).contains(intervals) {
                throw FirebaseError(
                    "INVALID_ADJACENT_INTERVAL_RANGE",
                    "Allowed number of adjacent intervals must be between 0 and 10, inclusive",
                    because: "totpProviderConfig.adjacentIntervals is \(intervals)")
            }
            return AuthenticatorApps(
                state: try name(
                    config.value("state") ?? "DISABLED", states, "\(message).provider_configs.state", "State"),
                adjacentIntervals: intervals)
        }
        return nil
    }

    /// Returns the name of an enumeration's value, given by name or number. The first name of a state means the second.
    private static func name(
        _ text: String, _ names: [String], _ field: String, _ type: String
    ) throws(FirebaseError) -> String {
        let found = names.contains(text) ? text : Int(text).flatMap { names.indices.contains($0) ? names[$0] : nil }
        guard let found else { throw .wrongType(field, "\(MFAConfig.type).\(type)", .string(text)) }
        return found == states[0] ? states[1] : found
    }
}
