import EmulatorCore
import JOSE
import JSON
import OAuth
import Time

/// A project's blocking functions, which are called before a user is created or signs in and before messages are sent.
/// They have the form of `blockingFunctions` in the project's configuration.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/Config#blockingfunctionsconfig>
struct BlockingFunctions: SchemaObject, Codable {
    enum Event: String, CaseIterable, Codable {
        case beforeCreate
        case beforeSignIn
        case beforeSendEmail
        case beforeSendSms
    }

    private struct Trigger: SchemaObject {
        let functionURI: String

        init(_ fields: inout Fields) {
            functionURI = fields(
                "functionUri", .text(.url), "The function's URL: on this machine, or at one of `allowedHosts`.")
        }
    }

    private struct Triggers: SchemaObject {
        let uris: [Event: String]

        init(_ fields: inout Fields) {
            var uris: [Event: String] = [:]
            func read(_ event: Event, _ about: String) {
                uris[event] = fields.optional(event.rawValue, .object(Trigger.self), about)?.functionURI
            }
            read(.beforeCreate, "The function that is called before a user is created.")
            read(.beforeSignIn, "The function that is called before a user signs in.")
            read(.beforeSendEmail, "The function that is called before a mail for a new password or a sign-in is sent.")
            read(
                .beforeSendSms,
                "The function that is called before a code is sent to a number that isn't a test number.")
            self.uris = uris
        }
    }

    /// The setting that selects the tokens of an identity provider that are sent to the blocking functions.
    struct Forwarding: SchemaObject, Codable {
        var accessToken = false
        var idToken = false
        var refreshToken = false

        init() {}

        init(_ fields: inout Fields) {
            accessToken = fields("accessToken", .boolean, default: false, "OAuth access tokens.")
            idToken = fields("idToken", .boolean, default: false, "ID tokens.")
            refreshToken = fields("refreshToken", .boolean, default: false, "OAuth refresh tokens.")
        }
    }

    private var uris: [Event: String] = [:]
    /// The times when an administrator last changed the URLs of the blocking functions, by the event at which a
    /// function is called.
    private var updates: [Event: Instant] = [:]
    private(set) var forwarding = Forwarding()
    /// The hosts on other machines whose blocking functions the daemon may call. Only the seed can name them, so that
    /// no request makes the daemon call other machines.
    private let allowedHosts: [String]

    init(_ fields: inout Fields) {
        uris = fields.object("triggers", Triggers.self, "The functions, by event.").uris
        forwarding = fields.object(
            "forwardInboundCredentials", Forwarding.self, "The provider's tokens that the functions get.")
        allowedHosts = fields(
            "allowedHosts", .set(of: .text(.nonEmpty)), default: [],
            "Host names, beside this machine's, at which functions may be, without ports.")
    }

    var isEmpty: Bool { uris.isEmpty }

    func uri(of event: Event) -> String? { uris[event] }

    static func check(_ settings: LocatedJSON?, _ references: inout SeedReferences) {
        for event in Event.allCases {
            guard let json = settings?["triggers"]?[event.rawValue]?["functionUri"] else { continue }
            check(json, hosts: settings, &references)
        }
    }

    /// Checks that the URL of a blocking function in the seed is on this machine, or at a host in `allowedHosts` of
    /// `settings`.
    static func check(_ json: LocatedJSON, hosts settings: LocatedJSON?, _ references: inout SeedReferences) {
        let hosts = settings?["allowedHosts"]?.items.compactMap(\.string) ?? []
        guard let address = json.string.flatMap({ WebAddress($0) }), !isAllowed(address, hosts) else { return }
        references.add(json, "the function is at another machine: add \"\(address.host)\" to allowedHosts")
    }

    private static func isAllowed(_ address: WebAddress, _ hosts: [String]) -> Bool {
        address.isLoopback || address.isLocalhost || hosts.contains { $0.lowercased() == address.host }
    }

    // MARK: - At run time

    /// Returns the blocking functions in the form of `getConfig`, without triggers and flags that aren't set. In
    /// production each trigger has the time of its last change; for a trigger from the seed, this time is in 1970. The
    /// form is from a recording of production: `blocking/config#config-blocking` in https://github.com/t-k/fireemu,
    /// conformance/auth-tenant-blocking-production.json.
    func document(inEmulatorMode isInEmulatorMode: Bool) -> JSONObject {
        var body = JSONObject()
        let triggers = Event.allCases.compactMap { event in
            uris[event].map { uri in
                let updated = updates[event] ?? Instant(seconds: 0) ?? .last
                return (
                    event.rawValue,
                    JSONValue.document([
                        "functionUri": uri, "updateTime": isInEmulatorMode ? nil : updated.textOfTimestamp,
                    ])
                )
            }
        }
        if !triggers.isEmpty { body["triggers"] = .object(JSONObject(triggers)) }
        let flags = [
            ("idToken", forwarding.idToken), ("accessToken", forwarding.accessToken),
            ("refreshToken", forwarding.refreshToken),
        ].filter(\.1)
        if !flags.isEmpty || !isInEmulatorMode {
            body["forwardInboundCredentials"] = .object(JSONObject(flags.map { ($0.0, .bool(true)) }))
        }
        return body
    }

    /// Returns the blocking functions after an administrator's change. A member of `blockingFunctions` is changed only
    /// if `names` returns true for its path.
    ///
    /// - Throws: `INVALID_BLOCKING_FUNCTION`.
    func changed(
        by fields: MessageFields?, at now: Instant, names: (_ path: String) -> Bool
    ) throws(FirebaseError) -> BlockingFunctions {
        var changed = self
        let triggers = try fields?.map("triggers") ?? []
        var given: [Event: String] = [:]
        for (name, trigger) in triggers {
            guard let event = Event(rawValue: name) else {
                throw .invalidFunction("Event type is invalid.", "\(Diagnosis.quote(name)) isn't a known event")
            }
            let uri = (trigger["functionUri"] ?? trigger["function_uri"])?.string ?? ""
            // The Functions emulator registers a function that doesn't exist with an empty address.
            if uri.isEmpty { continue }
            given[event] = try checked(uri)
        }
        for event in Event.allCases where names("blockingFunctions.triggers.\(event.rawValue)") {
            if changed.uris[event] != given[event] { changed.updates[event] = now }
            changed.uris[event] = given[event]
        }
        let credentials = try fields?.nested("forwardInboundCredentials")
        func set(_ name: String, _ flag: WritableKeyPath<Forwarding, Bool>) throws(FirebaseError) {
            guard names("blockingFunctions.forwardInboundCredentials.\(name)") else { return }
            changed.forwarding[keyPath: flag] = try credentials?.flag(name) ?? false
        }
        try set("accessToken", \.accessToken)
        try set("idToken", \.idToken)
        try set("refreshToken", \.refreshToken)
        return changed
    }

    private func checked(_ uri: String) throws(FirebaseError) -> String {
        guard let address = WebAddress(uri), ["http", "https"].contains(address.scheme), TextRule.url.holds(uri) else {
            throw .invalidFunction(
                "Expected an absolute URI with valid scheme and host.",
                "\(Diagnosis.quote(uri)) isn't an http or https URL")
        }
        guard BlockingFunctions.isAllowed(address, allowedHosts) else {
            throw .invalidFunction(
                "The host isn't allowed.",
                "the function is at another machine: add \(Diagnosis.quote(address.host)) to "
                    + "blockingFunctions.allowedHosts of the project in the seed")
        }
        return uri
    }
}

extension FirebaseError {
    /// Returns the error for an invalid blocking function, in the Firebase emulator's form. Production's isn't
    /// documented.
    fileprivate static func invalidFunction(_ detail: String, _ reason: String) -> FirebaseError {
        FirebaseError("INVALID_BLOCKING_FUNCTION", "((\(detail)))", because: reason)
    }
}

/// The changes that a blocking function makes to a user, and the claims that it adds to the session.
/// <https://cloud.google.com/identity-platform/docs/blocking-functions#modifying_a_user>
struct FunctionChange: Sendable {
    /// A blocking function's change of the user's display name or photo URL.
    private enum Text: Sendable {
        case kept
        case set(String?)
    }

    private var displayName = Text.kept
    private var photoUrl = Text.kept
    private var disabled: Bool?
    private var emailVerified: Bool?
    private var customClaims: CustomClaims?
    /// The claims that the blocking function adds to the ID tokens of this session only.
    private(set) var sessionClaims = JSONObject()

    init() {}

    /// Reads the JSON answer of a blocking function: `{"userRecord": {"updateMask": "displayName,…", "displayName":
    /// …}}`, or an empty object.
    init(
        _ answer: JSONObject, to event: BlockingFunctions.Event, inEmulatorMode isInEmulatorMode: Bool
    ) throws(FirebaseError) {
        guard let record = answer["userRecord"], !record.isNull else { return }
        guard let mask = record["updateMask"]?.string else {
            throw .function(
                "((Response UserRecord is missing updateMask.))",
                "the function's userRecord has no updateMask, the names of the fields that it sets")
        }
        for field in mask.split(separator: ",").prefix(FunctionChange.limit).map(String.init) {
            let value = record[field] ?? .null
            switch field {
            case "displayName": displayName = .set(try FunctionChange.text(value, field))
            case "photoUrl": photoUrl = .set(try FunctionChange.text(value, field))
            // The package firebase-functions writes this name, as in its own type, and production doesn't read it
            // (`blocking/ordering#sign-up-profile`).
            case "photoURL" where isInEmulatorMode: photoUrl = .set(try FunctionChange.text(value, "photoUrl"))
            case "disabled": disabled = value.bool ?? false
            case "emailVerified": emailVerified = value.bool ?? false
            case "customClaims": customClaims = try FunctionChange.claims(value)
            case "sessionClaims" where event == .beforeSignIn:
                guard value.isNull || value.object != nil else {
                    throw .function(
                        "((Response has malformed session claims.))", "the function's sessionClaims aren't an object")
                }
                sessionClaims = try FunctionChange.claims(value).object
            // Other fields are ignored, as in the official emulator.
            default: continue
            }
        }
    }

    /// The greatest number of names in `updateMask` of a blocking function's answer. A user has fewer fields.
    private static let limit = 100

    private static func text(_ value: JSONValue, _ field: String) throws(FirebaseError) -> String? {
        let text = value.string ?? value.integer.map(String.init) ?? value.bool.map { "\($0)" }
        if let text { try TextLimits.check(text, field) }
        return text.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func claims(_ value: JSONValue) throws(FirebaseError) -> CustomClaims {
        value.isNull ? CustomClaims() : try AdminChange.claims(value.text) ?? CustomClaims()
    }

    func apply(to user: inout User) {
        if case .set(let text) = displayName { user.displayName = text }
        if case .set(let text) = photoUrl { user.photoUrl = text }
        if let disabled { user.set(disabled: disabled) }
        if let emailVerified { user.emailVerified = emailVerified }
        if let customClaims { user.customClaims = customClaims }
    }
}

extension FirebaseError {
    /// Returns the error for a blocking function that refuses, fails or gives a wrong answer. Where production's error
    /// text isn't known, the text is the Firebase emulator's.
    static func function(_ detail: String, _ reason: String, status: Int = 400) -> FirebaseError {
        FirebaseError(
            "BLOCKING_FUNCTION_ERROR_RESPONSE", detail, status: status,
            named: status == 500 ? "INTERNAL" : "INVALID_ARGUMENT", because: reason)
    }
}
