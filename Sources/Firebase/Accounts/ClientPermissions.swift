import EmulatorCore
import JSON

/// The permissions that end users lack in a project or tenant, in the seed. Administrators keep them.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/ClientConfig#permissions>
struct SeededClientPermissions: SchemaObject {
    /// The value of `client.permissions`.
    let permissions: JSONObject

    init(_ fields: inout Fields) {
        var permissions = JSONObject()
        for (name, action) in [("disabledUserSignup", "sign up"), ("disabledUserDeletion", "delete their account")]
        where fields(name, .boolean, default: false, "Whether only administrators may \(action).") {
            permissions[name] = true
        }
        self.permissions = permissions
    }
}

// Recorded in September 2026 as `config/client-permissions`, `client-permissions` and `tenant/settings`:
// https://github.com/t-k/fireemu, conformance.
extension FirebaseCall {
    /// Checks that an end user may create an account.
    ///
    /// - Throws: `ADMIN_ONLY_OPERATION`.
    func requireSignUp() throws(FirebaseError) { try requirePermission(without: "disabledUserSignup") }

    /// Checks that end users may delete their accounts.
    ///
    /// - Throws: `ADMIN_ONLY_OPERATION`.
    func requireDeletion() throws(FirebaseError) { try requirePermission(without: "disabledUserDeletion") }

    private func requirePermission(without name: String) throws(FirebaseError) {
        guard project.otherSettings["client"]?["permissions"]?[name]?.bool ?? false else { return }
        throw FirebaseError(
            "ADMIN_ONLY_OPERATION",
            because: "client.permissions.\(name) of the \(tenant == nil ? "project" : "tenant") is true: ask as an "
                + "administrator, or set it to false")
    }
}
