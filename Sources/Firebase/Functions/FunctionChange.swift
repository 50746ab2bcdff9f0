import EmulatorCore
import JOSE
import JSON

/// A function's changes to a user, and to the session that begins.
/// <https://cloud.google.com/identity-platform/docs/blocking-functions#modifying_a_user>
struct FunctionChange: Sendable {
    /// The change of a name or an address.
    private enum Text: Sendable {
        case kept
        case set(String?)
    }

    private var displayName = Text.kept
    private var photoUrl = Text.kept
    private var disabled: Bool?
    private var emailVerified: Bool?
    private var customClaims: CustomClaims?
    /// The claims of this session only.
    private(set) var sessionClaims = JSONObject()

    /// Makes a change that changes nothing.
    init() {}

    /// Reads a function's answer: `{"userRecord": {"updateMask": "displayName,…", "displayName": …}}`, or an empty object.
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

    /// The greatest number of names: more than there are fields.
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
    /// Returns the error for a wrong answer of a function. If only the official emulator's words are known, they are
    /// used everywhere.
    static func function(_ detail: String, _ reason: String, status: Int = 400) -> FirebaseError {
        var error = FirebaseError("BLOCKING_FUNCTION_ERROR_RESPONSE", detail, status: status, because: reason)
        if status == 500 { error.statusName = "INTERNAL" }
        return error
    }
}
