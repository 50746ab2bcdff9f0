import HTTPServer
import JSON
import EmulatorCore
import Recordings

/// The endpoints, under the names by which clients call them.
extension FirebaseProvider {
    /// The code of an endpoint: it takes an authorized call and returns the answer.
    typealias Method = @Sendable (FirebaseCall) async throws -> FirebaseAnswer

    package var endpoints: [Endpoint] {
        methods + publicDocuments + tokenEndpoints + keySets + pages + scripts + emulatorEndpoints + exportCalls
    }

    private var methods: [Endpoint] {
        legacyAdminMethods.map { served in
            method("POST", FirebaseProvider.legacyHost, "\(FirebaseProvider.legacyPrefix)/\(served.name)") { call in
                // Only the body names the project. Production refuses a body without one, too.
                guard call.isAdmin, call.has("targetProjectId") else {
                    throw FirebaseError(
                        "INSUFFICIENT_PERMISSION",
                        because: "it is for administrators (Authorization: Bearer owner) who send targetProjectId")
                }
                return try await served.run(call)
            }
        }
            + clientMethods.flatMap { legacy, served in
                [
                    method(
                        "POST", FirebaseProvider.host, "/v1/accounts:\(served.path)", title: served.title,
                        step: served.step, run: served.run),
                    method(
                        "POST", FirebaseProvider.legacyHost, "\(FirebaseProvider.legacyPrefix)/\(legacy)",
                        step: served.step, run: served.run),
                ].map { legacy == "verifyAssertion" ? $0.step(FirebaseProvider.credentialStep) : $0 }
            }
            + secondMethods.map {
                method(
                    "POST", FirebaseProvider.host, "/v2/accounts\($0.path)", title: $0.title, step: $0.step,
                    in: .status,
                    run: $0.run)
            }
            + adminMethods.flatMap { method, served in
                FirebaseProvider.scopes.map {
                    adminMethod(method, $0 + served.path, step: served.step, run: served.run)
                }
            }
            // The last segment is the ID of the project or tenant, a colon and the name of the action.
            + FirebaseProvider.scopes.map { scope in
                adminMethod("POST", scope) { call in
                    FirebaseProvider.scopeMethod(of: call.exchange) == "queryAccounts"
                        ? try query(call) : try createSessionCookie(call)
                }
            }
            + FirebaseProvider.adminVersions.flatMap { version in
                [
                    Endpoint("GET", [FirebaseProvider.host], "\(version)/defaultSupportedIdps", cors: .any) { _ in
                        FirebaseProvider.supportedProviders
                    }
                ]
                    + (configMethods + idpConfigMethods).map {
                        adminMethod($0.method, "\(version)/projects/:project\($0.path)", in: .status, run: $0.run)
                    }
                    + idpConfigMethods.map {
                        adminMethod(
                            $0.method, "\(version)/projects/:project/tenants/:tenant\($0.path)", in: .status,
                            run: $0.run)
                    }
            }
    }

    private static func credentialStep(_ exchange: RecordedExchange) -> Step {
        Step(.service, "sign in by \(exchange.notes.request["providerid"] ?? "a provider's credential")")
    }

    /// The paths of administrators' methods. Production answers at both; many public scripts use the second. Recorded
    /// as `config/read#admin-get` and `#admin-get-v2-path` (https://github.com/t-k/fireemu,
    /// conformance/auth-config-sdk-production.json).
    static let adminVersions = ["/v2", "/admin/v2"]

    private static let scopes = ["/v1/projects/:project", "/v1/projects/:project/tenants/:tenant"]

    private var publicDocuments: [Endpoint] {
        let (host, legacyHost) = (FirebaseProvider.host, FirebaseProvider.legacyHost)
        let configuration: Method = FirebaseProvider.configuration
        let recaptcha: Method = FirebaseProvider.recaptchaParameters
        let settings = Step(.api, "get the project's settings")
        return [
            method("GET", host, "/v1/projects", title: "the project's settings", step: settings, run: configuration),
            method(
                "GET", legacyHost, "\(FirebaseProvider.legacyPrefix)/getProjectConfig", step: settings,
                run: configuration),
            method("GET", host, "/v2/passwordPolicy", in: .status, run: FirebaseProvider.passwordPolicy),
            method("GET", host, "/v2/recaptchaConfig", in: .status, run: FirebaseProvider.recaptcha),
            method("GET", host, "/v1/recaptchaParams", run: recaptcha),
            method("GET", legacyHost, "\(FirebaseProvider.legacyPrefix)/getRecaptchaParam", run: recaptcha),
            Endpoint(
                "GET", [host], "/v1/sessionCookiePublicKeys", cors: .any, keys: [.firebase], .keySet(.firebase)
            ) { keySet($0) },
        ]
            + FirebaseProvider.unplayed.flatMap { path in
                ["GET", "POST", "PATCH", "DELETE"].map { method in
                    Endpoint(method, [host], path, cors: .any) { FirebaseProvider.notPlayed($0) }
                }
            }
    }

    private var tokenEndpoints: [Endpoint] {
        [
            Endpoint(
                "POST", [FirebaseProvider.tokenHost, FirebaseProvider.legacyHost], "/v1/token",
                title: "refresh a session", cors: .any, keys: [.firebase],
                .api(FirebaseError.ordered(.status), mints: .firebase), token)
        ]
    }

    private var keySets: [Endpoint] {
        let account = "securetoken@system.gserviceaccount.com"
        let sets = ["/service_accounts/v1/jwk/\(account)", "/robot/v1/metadata/jwk/\(account)"]
        let certificates = [
            "/robot/v1/metadata/x509/\(account)", "/service_accounts/v1/metadata/x509/\(account)",
            "\(FirebaseProvider.legacyPrefix)/publicKeys",
        ]
        func endpoint(
            _ path: String, _ traits: EndpointTraits, _ respond: @escaping @Sendable (Exchange) -> Response
        ) -> Endpoint {
            Endpoint("GET", [FirebaseProvider.legacyHost], path, cors: .any, keys: [.firebase], traits, respond)
        }
        return sets.map { endpoint($0, .keySet(.firebase)) { keySet($0) } }
            + certificates.map { endpoint($0, .certificates(.firebase)) { self.certificates($0) } }
    }

    /// The web handler and the page to which links in e-mails lead: at a project's own domain, and at the daemon's address
    /// as in the Emulator Suite.
    private var pages: [Endpoint] {
        let domains = ["*.firebaseapp.com"]
        return handlerEndpoints(at: domains, below: "/__/auth") + actionEndpoints(at: domains, "/__/auth/action")
            + linkEndpoints(at: domains)
            + handlerEndpoints(at: [], below: "/emulator/auth") + actionEndpoints(at: [], "/emulator/action")
    }

    /// A method with its path, title and code.
    private struct Served {
        let path: String
        /// The action in a few words, such as "redeem a code"; `nil` if it isn't part of a sign-in.
        let title: String?
        let step: Step?
        let run: Method

        init(_ path: String, title: String? = nil, step: Step? = nil, _ run: @escaping Method) {
            (self.path, self.title, self.step, self.run) = (path, title, step, run)
        }
    }

    /// The methods that apps call: below `accounts:` in version 1, and by other names in version 3.
    private var clientMethods: [(legacy: String, served: Served)] {
        func signIn(_ label: String) -> Step { Step(.service, label) }
        func call(_ label: String) -> Step { Step(.api, label) }
        return [
            ("verifyAssertion", Served("signInWithIdp", title: "sign in with a provider's credential", signInWithIdp)),
            (
                "createAuthUri",
                Served(
                    "createAuthUri", title: "begin a provider's sign-in", step: call("ask for the provider's address"),
                    createAuthUri)
            ),
            (
                "signupNewUser",
                Served("signUp", title: "sign up", step: signIn("sign up")) { call in
                    call.isAdmin ? try createAsAdmin(call) : try await signUp(call)
                }
            ),
            (
                "verifyPassword",
                Served(
                    "signInWithPassword", title: "sign in with a password", step: signIn("sign in by password"),
                    signInWithPassword)
            ),
            (
                "verifyCustomToken",
                Served(
                    "signInWithCustomToken", title: "sign in with a custom token",
                    step: signIn("sign in by custom token"), signInWithCustomToken)
            ),
            (
                "emailLinkSignin",
                Served(
                    "signInWithEmailLink", title: "sign in with a link", step: signIn("sign in by e-mail link"),
                    signInWithEmailLink)
            ),
            (
                "getOobConfirmationCode",
                Served("sendOobCode", title: "send a mail", step: call("send e-mail"), sendOobCode)
            ),
            (
                "resetPassword",
                Served("resetPassword", title: "reset a password", step: call("reset password"), resetPassword)
            ),
            (
                "sendVerificationCode",
                Served(
                    "sendVerificationCode", title: "send a text", step: call("send text message"), sendVerificationCode)
            ),
            (
                "verifyPhoneNumber",
                Served(
                    "signInWithPhoneNumber", title: "sign in with a phone's code",
                    step: signIn("sign in by text message"), signInWithPhoneNumber)
            ),
            ("getAccountInfo", Served("lookup", title: "who is signed in", step: call("look the user up"), lookup)),
            ("setAccountInfo", Served("update", title: "change a user", step: call("change user"), update)),
            ("deleteAccount", Served("delete", title: "delete a user", step: call("delete user"), delete)),
            ("verifyClient", Served("verifyIosClient") { _ in FirebaseProvider.verifyClient() }),
        ]
    }

    /// The methods that apps call and that only version 2 has.
    private var secondMethods: [Served] {
        [
            Served(
                ":revokeToken", title: "revoke a provider's token", step: Step(.api, "revoke the provider's token"),
                revokeToken),
            Served("/mfaEnrollment:start", startEnrollment),
            Served("/mfaEnrollment:finalize", finalizeEnrollment),
            Served("/mfaEnrollment:withdraw", withdrawEnrollment),
            Served(
                "/mfaSignIn:start", title: "ask for a second factor", step: Step(.service, "ask for a second factor"),
                startSecondFactor),
            Served(
                "/mfaSignIn:finalize", title: "give a second factor", step: Step(.service, "sign in by second factor"),
                finalizeSecondFactor),
            Served("/passkeyEnrollment:start", startPasskeyEnrollment),
            Served("/passkeyEnrollment:finalize", finalizePasskeyEnrollment),
            Served("/passkeySignIn:start", step: Step(.service, "ask for a passkey"), startPasskeySignIn),
            Served("/passkeySignIn:finalize", step: Step(.service, "sign in by passkey"), finalizePasskeySignIn),
        ]
    }

    /// The methods that administrators call, below a project or one of its tenants.
    private var adminMethods: [(method: String, served: Served)] {
        [
            ("POST", Served("/accounts", createAsAdmin)),
            ("POST", Served("/accounts:lookup", step: Step(.api, "look the user up"), lookup)),
            ("POST", Served("/accounts:update", step: Step(.api, "change user"), update)),
            ("POST", Served("/accounts:delete", step: Step(.api, "delete user"), delete)),
            ("POST", Served("/accounts:sendOobCode", step: Step(.api, "send e-mail"), sendOobCode)),
            ("POST", Served("/accounts:query", query)),
            ("GET", Served("/accounts:batchGet", batchGet)),
            ("POST", Served("/accounts:batchCreate", batchCreate)),
            ("POST", Served("/accounts:batchDelete", batchDelete)),
        ]
    }

    /// The methods that administrators call by their names in version 3.
    private var legacyAdminMethods: [(name: String, run: Method)] {
        [
            ("uploadAccount", batchCreate),
            ("downloadAccount", batchGet),
            ("queryAccounts", query),
            ("signOutUser", signOut),
        ]
    }

    /// The methods for a project's settings and tenants, in version 2.
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

    /// The methods for the providers of a project or one of its tenants, in version 2.
    private var idpConfigMethods: [(method: String, path: String, run: Method)] {
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
        ] + providerConfigMethods
    }

    /// The paths that the service has and Understudy doesn't play: they answer 501, as the official emulator does.
    static let unplayed: [String] =
        [
            "/v1/accounts:issueSamlResponse", "/v1/accounts:signInWithGameCenter",
        ]
        + adminVersions.map { "\($0)/projects/:project/identityPlatform:initializeAuth" }

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

    /// Answers that the app is verified. Production verifies an iOS app by a silent push; here every app counts as
    /// verified.
    private static func verifyClient() -> FirebaseAnswer {
        FirebaseAnswer(["receipt": "understudy-receipt", "suggestedTimeout": "5"])
    }
}
