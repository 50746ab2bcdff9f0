import HTTPServer
import JSON
import EmulatorCore

/// What is served, by the names that clients call it by.
extension FirebaseProvider {
    /// Operations of apps: by their names in version 1, below `accounts:`, and in version 3.
    var operations: [(name: String, legacy: String, run: Operation)] {
        [
            (
                "signInWithIdp", "verifyAssertion",
                { (call) async throws(FirebaseError) in try await signInWithIdp(call) }
            ),
            ("createAuthUri", "createAuthUri", { (call) async throws(FirebaseError) in try createAuthUri(call) }),
            (
                "signUp", "signupNewUser",
                { (call) async throws(FirebaseError) in call.isAdmin ? try createAsAdmin(call) : try signUp(call) }
            ),
            (
                "signInWithPassword", "verifyPassword",
                { (call) async throws(FirebaseError) in try signInWithPassword(call) }
            ),
            (
                "signInWithCustomToken", "verifyCustomToken",
                { (call) async throws(FirebaseError) in try signInWithCustomToken(call) }
            ),
            (
                "signInWithEmailLink", "emailLinkSignin",
                { (call) async throws(FirebaseError) in try signInWithEmailLink(call) }
            ),
            (
                "sendOobCode", "getOobConfirmationCode",
                { (call) async throws(FirebaseError) in try await sendOobCode(call) }
            ),
            ("resetPassword", "resetPassword", { (call) async throws(FirebaseError) in try resetPassword(call) }),
            (
                "sendVerificationCode", "sendVerificationCode",
                { (call) async throws(FirebaseError) in try sendVerificationCode(call) }
            ),
            (
                "signInWithPhoneNumber", "verifyPhoneNumber",
                { (call) async throws(FirebaseError) in try signInWithPhoneNumber(call) }
            ),
            ("lookup", "getAccountInfo", { (call) async throws(FirebaseError) in try lookup(call) }),
            ("update", "setAccountInfo", { (call) async throws(FirebaseError) in try update(call) }),
            ("delete", "deleteAccount", { (call) async throws(FirebaseError) in try delete(call) }),
            ("verifyIosClient", "verifyClient", { (_) async throws(FirebaseError) in FirebaseProvider.verifyClient() }),
        ]
    }

    /// Operations of apps that are new in version 2.
    var secondOperations: [(path: String, run: Operation)] {
        [
            (":revokeToken", { (call) async throws(FirebaseError) in try await revokeToken(call) }),
            ("/mfaEnrollment:start", { (call) async throws(FirebaseError) in try startEnrollment(call) }),
            ("/mfaEnrollment:finalize", { (call) async throws(FirebaseError) in try finalizeEnrollment(call) }),
            ("/mfaEnrollment:withdraw", { (call) async throws(FirebaseError) in try withdrawEnrollment(call) }),
            ("/mfaSignIn:start", { (call) async throws(FirebaseError) in try startSecondFactor(call) }),
            ("/mfaSignIn:finalize", { (call) async throws(FirebaseError) in try finalizeSecondFactor(call) }),
        ]
    }

    /// Operations of administrators, below a project or one of its tenants.
    var adminOperations: [(method: String, path: String, run: Operation)] {
        [
            ("POST", "/accounts", { (call) async throws(FirebaseError) in try createAsAdmin(call) }),
            ("POST", "/accounts:lookup", { (call) async throws(FirebaseError) in try lookup(call) }),
            ("POST", "/accounts:update", { (call) async throws(FirebaseError) in try update(call) }),
            ("POST", "/accounts:delete", { (call) async throws(FirebaseError) in try delete(call) }),
            ("POST", "/accounts:sendOobCode", { (call) async throws(FirebaseError) in try await sendOobCode(call) }),
            ("POST", "/accounts:query", { (call) async throws(FirebaseError) in try query(call) }),
            ("GET", "/accounts:batchGet", { (call) async throws(FirebaseError) in try batchGet(call) }),
            ("POST", "/accounts:batchCreate", { (call) async throws(FirebaseError) in try batchCreate(call) }),
            ("POST", "/accounts:batchDelete", { (call) async throws(FirebaseError) in try batchDelete(call) }),
        ]
    }

    /// A project's settings and tenants, in version 2.
    var configOperations: [(method: String, path: String, run: Operation)] {
        [
            ("GET", "/config", { (call) async throws(FirebaseError) in try config(call) }),
            ("PATCH", "/config", { (call) async throws(FirebaseError) in try updateConfig(call) }),
            ("GET", "/tenants", { (call) async throws(FirebaseError) in try listTenants(call) }),
            ("POST", "/tenants", { (call) async throws(FirebaseError) in try createTenant(call) }),
            ("GET", "/tenants/:tenant", { (call) async throws(FirebaseError) in try getTenant(call) }),
            ("PATCH", "/tenants/:tenant", { (call) async throws(FirebaseError) in try patchTenant(call) }),
            ("DELETE", "/tenants/:tenant", { (call) async throws(FirebaseError) in try deleteTenant(call) }),
        ]
    }

    /// What the service has and this stand-in hasn't: 501, as the official emulator answers.
    static let unplayed: [String] =
        [
            "/v1/accounts:issueSamlResponse", "/v1/accounts:signInWithGameCenter", "/v2/passwordPolicy",
            "/v2/defaultSupportedIdps", "/v2/accounts/passkeyEnrollment:start",
            "/v2/accounts/passkeyEnrollment:finalize",
            "/v2/accounts/passkeySignIn:start", "/v2/accounts/passkeySignIn:finalize",
        ]
        + ["/v2/projects/:project", "/v2/projects/:project/tenants/:tenant"].flatMap { scope in
            ["defaultSupportedIdpConfigs", "oauthIdpConfigs", "inboundSamlConfigs"].flatMap { name in
                ["\(scope)/\(name)", "\(scope)/\(name)/:id"]
            }
        }
        + ["/v2/projects/:project/identityPlatform:initializeAuth"]

    static func notPlayed(_ exchange: Exchange) -> Response {
        let message = "\(exchange.address.path.split(separator: "/").last ?? "This") is not implemented here."
        let error: JSONValue = [
            "error": [
                "code": 501, "message": .string(message),
                "errors": [["message": .string(message), "reason": "unimplemented"]], "status": "NOT_IMPLEMENTED",
            ]
        ]
        return json(error, status: 501).diagnosed(
            Diagnosis("the service has this operation, and this stand-in hasn't: the README lists what it has"))
    }

    /// The silent push that proves an app on a device: taken for granted.
    private static func verifyClient() -> FirebaseAnswer {
        FirebaseAnswer(body: JSONObject([("receipt", "understudy-receipt"), ("suggestedTimeout", "5")]))
    }
}
