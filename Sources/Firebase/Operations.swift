import HTTPServer
import JSON
import EmulatorCore

/// What is served, by the names that clients call it by.
extension FirebaseProvider {
    /// A method of the service: what it does for a call that may be made.
    typealias Method = @Sendable (FirebaseCall) async throws -> FirebaseAnswer

    package var operations: [Operation] {
        methods + publicDocuments + tokenOperations + keySets + pages + scripts + emulatorOperations + exportCalls
    }

    private var methods: [Operation] {
        legacyAdminMethods.map { served in
            method("POST", FirebaseProvider.legacyHost, "\(FirebaseProvider.legacyPrefix)/\(served.name)") { call in
                // Only the body names the project. Without it, production refuses as well.
                guard call.isAdmin, call.has("targetProjectId") else {
                    throw FirebaseError(
                        "INSUFFICIENT_PERMISSION",
                        because: "it is for administrators (Authorization: Bearer owner) who send targetProjectId")
                }
                return try await served.run(call)
            }
        }
            + clientMethods.flatMap { served in
                [
                    method("POST", FirebaseProvider.host, "/v1/accounts:\(served.name)", run: served.run),
                    method(
                        "POST", FirebaseProvider.legacyHost, "\(FirebaseProvider.legacyPrefix)/\(served.legacy)",
                        run: served.run),
                ]
            }
            + secondMethods.map {
                method("POST", FirebaseProvider.host, "/v2/accounts\($0.path)", in: .status, run: $0.run)
            }
            + adminMethods.flatMap { served in
                FirebaseProvider.scopes.map { adminMethod(served.method, $0 + served.path, run: served.run) }
            }
            // The last segment is the project's or tenant's ID, a colon and what is done with it.
            + FirebaseProvider.scopes.map { scope in
                adminMethod("POST", scope) { call in
                    FirebaseProvider.scopeMethod(of: call.exchange) == "queryAccounts"
                        ? try query(call) : try createSessionCookie(call)
                }
            }
            + FirebaseProvider.adminVersions.flatMap { version in
                (configMethods + openIDConfigMethods).map {
                    adminMethod($0.method, "\(version)/projects/:project\($0.path)", in: .status, run: $0.run)
                }
                    + openIDConfigMethods.map {
                        adminMethod(
                            $0.method, "\(version)/projects/:project/tenants/:tenant\($0.path)", in: .status,
                            run: $0.run)
                    }
            }
    }

    /// Production answers at both; public scripts use the second widely. Recorded as `config/read#admin-get` and
    /// `#admin-get-v2-path` (https://github.com/t-k/fireemu, conformance/auth-config-sdk-production.json).
    static let adminVersions = ["/v2", "/admin/v2"]

    private static let scopes = ["/v1/projects/:project", "/v1/projects/:project/tenants/:tenant"]

    private var publicDocuments: [Operation] {
        let (host, legacyHost) = (FirebaseProvider.host, FirebaseProvider.legacyHost)
        let configuration: Method = FirebaseProvider.configuration
        let recaptcha: Method = FirebaseProvider.recaptchaParameters
        return [
            method("GET", host, "/v1/projects", run: configuration),
            method("GET", legacyHost, "\(FirebaseProvider.legacyPrefix)/getProjectConfig", run: configuration),
            method("GET", host, "/v2/recaptchaConfig", in: .status, run: FirebaseProvider.recaptcha),
            method("GET", host, "/v1/recaptchaParams", run: recaptcha),
            method("GET", legacyHost, "\(FirebaseProvider.legacyPrefix)/getRecaptchaParam", run: recaptcha),
            Operation(
                "GET", [host], "/v1/sessionCookiePublicKeys", cors: .any, keys: [.firebase], .keySet(.firebase)
            ) { keySet($0) },
        ]
            + FirebaseProvider.unplayed.flatMap { path in
                ["GET", "POST", "PATCH", "DELETE"].map { method in
                    Operation(method, [host], path, cors: .any) { FirebaseProvider.notPlayed($0) }
                }
            }
    }

    private var tokenOperations: [Operation] {
        [
            Operation(
                "POST", [FirebaseProvider.tokenHost, FirebaseProvider.legacyHost], "/v1/token", cors: .any,
                keys: [.firebase], .api(FirebaseError.ordered(.status), mints: .firebase)
            ) { try token($0) }
        ]
    }

    private var keySets: [Operation] {
        let account = "securetoken@system.gserviceaccount.com"
        let sets = ["/service_accounts/v1/jwk/\(account)", "/robot/v1/metadata/jwk/\(account)"]
        let certificates = [
            "/robot/v1/metadata/x509/\(account)", "/service_accounts/v1/metadata/x509/\(account)",
            "\(FirebaseProvider.legacyPrefix)/publicKeys",
        ]
        func operation(_ path: String, _ respond: @escaping @Sendable (Exchange) -> Response) -> Operation {
            Operation(
                "GET", [FirebaseProvider.legacyHost], path, cors: .any, keys: [.firebase], .keySet(.firebase), respond)
        }
        return sets.map { operation($0) { keySet($0) } } + certificates.map { operation($0) { self.certificates($0) } }
    }

    /// The web handler and the page to which links in e-mails lead: at a project's own domain, and at the daemon's address
    /// as in the Emulator Suite.
    private var pages: [Operation] {
        let domains = ["*.firebaseapp.com"]
        return handlerOperations(at: domains, below: "/__/auth") + actionOperations(at: domains, "/__/auth/action")
            + handlerOperations(at: [], below: "/emulator/auth") + actionOperations(at: [], "/emulator/action")
    }

    /// Methods that apps call: by their names in version 1, below `accounts:`, and in version 3.
    private var clientMethods: [(name: String, legacy: String, run: Method)] {
        [
            (
                "signInWithIdp", "verifyAssertion",
                signInWithIdp
            ),
            (
                "createAuthUri", "createAuthUri",
                createAuthUri
            ),
            (
                "signUp", "signupNewUser",
                { call in call.isAdmin ? try createAsAdmin(call) : try await signUp(call)
                }
            ),
            (
                "signInWithPassword", "verifyPassword",
                signInWithPassword
            ),
            (
                "signInWithCustomToken", "verifyCustomToken",
                signInWithCustomToken
            ),
            (
                "signInWithEmailLink", "emailLinkSignin",
                signInWithEmailLink
            ),
            (
                "sendOobCode", "getOobConfirmationCode",
                sendOobCode
            ),
            ("resetPassword", "resetPassword", resetPassword),
            (
                "sendVerificationCode", "sendVerificationCode",
                sendVerificationCode
            ),
            (
                "signInWithPhoneNumber", "verifyPhoneNumber",
                signInWithPhoneNumber
            ),
            ("lookup", "getAccountInfo", lookup),
            ("update", "setAccountInfo", update),
            ("delete", "deleteAccount", delete),
            ("verifyIosClient", "verifyClient", { _ in FirebaseProvider.verifyClient() }),
        ]
    }

    /// Methods that apps call and that are new in version 2.
    private var secondMethods: [(path: String, run: Method)] {
        [
            (":revokeToken", revokeToken),
            ("/mfaEnrollment:start", startEnrollment),
            ("/mfaEnrollment:finalize", finalizeEnrollment),
            ("/mfaEnrollment:withdraw", withdrawEnrollment),
            ("/mfaSignIn:start", startSecondFactor),
            ("/mfaSignIn:finalize", finalizeSecondFactor),
            ("/passkeyEnrollment:start", startPasskeyEnrollment),
            (
                "/passkeyEnrollment:finalize",
                finalizePasskeyEnrollment
            ),
            ("/passkeySignIn:start", startPasskeySignIn),
            (
                "/passkeySignIn:finalize",
                finalizePasskeySignIn
            ),
        ]
    }

    /// Methods that administrators call, below a project or one of its tenants.
    private var adminMethods: [(method: String, path: String, run: Method)] {
        [
            ("POST", "/accounts", createAsAdmin),
            ("POST", "/accounts:lookup", lookup),
            ("POST", "/accounts:update", update),
            ("POST", "/accounts:delete", delete),
            ("POST", "/accounts:sendOobCode", sendOobCode),
            ("POST", "/accounts:query", query),
            ("GET", "/accounts:batchGet", batchGet),
            ("POST", "/accounts:batchCreate", batchCreate),
            ("POST", "/accounts:batchDelete", batchDelete),
        ]
    }

    /// Methods that administrators call by their names in version 3.
    private var legacyAdminMethods: [(name: String, run: Method)] {
        [
            ("uploadAccount", batchCreate),
            ("downloadAccount", batchGet),
            ("queryAccounts", query),
            ("signOutUser", signOut),
        ]
    }

    /// A project's settings and tenants, in version 2.
    private var configMethods: [(method: String, path: String, run: Method)] {
        [
            ("GET", "/config", config),
            ("PATCH", "/config", updateConfig),
            ("GET", "/tenants", listTenants),
            ("POST", "/tenants", createTenant),
            ("GET", "/tenants/:tenant", getTenant),
            ("PATCH", "/tenants/:tenant", patchTenant),
            ("DELETE", "/tenants/:tenant", deleteTenant),
        ]
    }

    /// OpenID providers of a project or one of its tenants, in version 2.
    private var openIDConfigMethods: [(method: String, path: String, run: Method)] {
        [
            ("GET", "/oauthIdpConfigs", listOAuthIdpConfigs),
            ("POST", "/oauthIdpConfigs", createOAuthIdpConfig),
            ("GET", "/oauthIdpConfigs/:config", getOAuthIdpConfig),
            (
                "PATCH", "/oauthIdpConfigs/:config",
                patchOAuthIdpConfig
            ),
            (
                "DELETE", "/oauthIdpConfigs/:config",
                deleteOAuthIdpConfig
            ),
        ]
    }

    /// What the service has and this stand-in hasn't: 501, as the official emulator answers.
    static let unplayed: [String] =
        [
            "/v1/accounts:issueSamlResponse", "/v1/accounts:signInWithGameCenter", "/v2/passwordPolicy",
        ]
        + adminVersions.flatMap { version in
            ["", "/tenants/:tenant"].flatMap { scope in
                ["defaultSupportedIdpConfigs", "inboundSamlConfigs"].flatMap { name in
                    [
                        "\(version)/projects/:project\(scope)/\(name)",
                        "\(version)/projects/:project\(scope)/\(name)/:id",
                    ]
                }
            } + ["\(version)/defaultSupportedIdps", "\(version)/projects/:project/identityPlatform:initializeAuth"]
        }

    static func notPlayed(_ exchange: Exchange) -> Response {
        let message = "\(exchange.address.path.split(separator: "/").last ?? "This") is not implemented here."
        let error: JSONValue = [
            "error": [
                "code": 501, "message": .string(message),
                "errors": [["message": .string(message), "reason": "unimplemented"]], "status": "NOT_IMPLEMENTED",
            ]
        ]
        return json(error, status: 501).diagnosed(
            Diagnosis("the service has this operation, and this stand-in hasn't: docs/firebase.md lists what it has"))
    }

    /// Production verifies an iOS app by a silent push. Here every app counts as verified.
    private static func verifyClient() -> FirebaseAnswer {
        FirebaseAnswer(body: JSONObject([("receipt", "understudy-receipt"), ("suggestedTimeout", "5")]))
    }
}
