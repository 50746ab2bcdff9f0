import HTTPServer
import JSON
import EmulatorCore
import Recordings

/// The endpoints, under the names by which clients call them.
extension FirebaseProvider {
    /// The code of an endpoint: it takes an authorized call and returns the answer.
    typealias Method = @Sendable (FirebaseCall) async throws -> FirebaseAnswer

    package var endpoints: [Endpoint] {
        methods + publicDocuments + tokenEndpoints + keySets + pages + scripts + recaptchaScripts + appCheckEndpoints
            + emulatorEndpoints + exportCalls
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
            + clientMethods.flatMap { served in
                [
                    method(
                        "POST", FirebaseProvider.host, "/v1/accounts:\(served.path)", title: served.title,
                        step: served.step, run: served.run),
                    method(
                        "POST", FirebaseProvider.legacyHost,
                        "\(FirebaseProvider.legacyPrefix)/\(served.legacyName ?? served.path)", step: served.step,
                        run: served.run),
                ].map { served.path == "signInWithIdp" ? $0.step(FirebaseProvider.credentialStep) : $0 }
            }
            + secondMethods.map {
                method(
                    "POST", FirebaseProvider.host, "/v2/accounts\($0.path)", title: $0.title, step: $0.step,
                    in: .status, run: $0.run)
            }
            + adminMethods.flatMap { served in
                FirebaseProvider.scopes.map {
                    adminMethod(served.method, $0 + served.path, step: served.step, run: served.run)
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

    /// A method with its path, title, step and code.
    private struct Served {
        let method: String
        let path: String
        /// The name in version 3, if apps may call it by that.
        let legacyName: String?
        /// The action in a few words, such as "redeem a code"; `nil` if it isn't part of a sign-in.
        let title: String?
        let step: Step?
        let run: Method

        /// Makes a method. Its step is a call of an API, `api`, or of the service, `service`.
        init(
            _ path: String, legacy legacyName: String? = nil, method: String = "POST", title: String? = nil,
            api: String? = nil, service: String? = nil, _ run: @escaping Method
        ) {
            (self.path, self.legacyName, self.method, self.title, self.run) = (path, legacyName, method, title, run)
            step = api.map { Step(.api, $0) } ?? service.map { Step(.service, $0) }
        }
    }

    /// The methods that apps call: below `accounts:` in version 1, and by other names in version 3.
    private var clientMethods: [Served] {
        [
            Served(
                "signInWithIdp", legacy: "verifyAssertion", title: "sign in with a provider's credential", signInWithIdp
            ),
            Served(
                "createAuthUri", legacy: "createAuthUri", title: "begin a provider's sign-in",
                api: "ask for the provider's address", createAuthUri),
            Served(
                "signUp", legacy: "signupNewUser", title: "sign up", service: "sign up",
                assessed({ $0.has("email") || $0.has("password") ? .signUp : nil }) { call in
                    call.isAdmin ? try createAsAdmin(call) : try await signUp(call)
                }),
            Served(
                "signInWithPassword", legacy: "verifyPassword", title: "sign in with a password",
                service: "sign in by password", assessed({ _ in .signIn }, signInWithPassword)),
            Served(
                "signInWithCustomToken", legacy: "verifyCustomToken", title: "sign in with a custom token",
                service: "sign in by custom token", signInWithCustomToken),
            Served(
                "signInWithEmailLink", legacy: "emailLinkSignin", title: "sign in with a link",
                service: "sign in by e-mail link", signInWithEmailLink),
            Served(
                "sendOobCode", legacy: "getOobConfirmationCode", title: "send a mail", api: "send e-mail",
                assessed(
                    { call in
                        let kind = OutOfBandCode.Kind(request: call.value("requestType") ?? "")
                        return kind == .passwordReset || kind == .emailSignIn ? .mail : nil
                    }, sendOobCode)),
            Served(
                "resetPassword", legacy: "resetPassword", title: "reset a password", api: "reset password",
                resetPassword),
            Served(
                "sendVerificationCode", legacy: "sendVerificationCode", title: "send a text", api: "send text message",
                sendVerificationCode),
            Served(
                "signInWithPhoneNumber", legacy: "verifyPhoneNumber", title: "sign in with a phone's code",
                service: "sign in by text message", signInWithPhoneNumber),
            Served("lookup", legacy: "getAccountInfo", title: "who is signed in", api: "look the user up", lookup),
            Served("update", legacy: "setAccountInfo", title: "change a user", api: "change user", update),
            Served("delete", legacy: "deleteAccount", title: "delete a user", api: "delete user", delete),
            Served("verifyIosClient", legacy: "verifyClient") { _ in FirebaseProvider.verifyClient() },
        ]
    }

    /// The methods that apps call and that only version 2 has.
    private var secondMethods: [Served] {
        [
            Served(":revokeToken", title: "revoke a provider's token", api: "revoke the provider's token", revokeToken),
            Served("/mfaEnrollment:start", startEnrollment),
            Served("/mfaEnrollment:finalize", finalizeEnrollment),
            Served("/mfaEnrollment:withdraw", withdrawEnrollment),
            Served(
                "/mfaSignIn:start", title: "ask for a second factor", service: "ask for a second factor",
                startSecondFactor),
            Served(
                "/mfaSignIn:finalize", title: "give a second factor", service: "sign in by second factor",
                finalizeSecondFactor),
            Served("/passkeyEnrollment:start", startPasskeyEnrollment),
            Served("/passkeyEnrollment:finalize", finalizePasskeyEnrollment),
            Served("/passkeySignIn:start", service: "ask for a passkey", startPasskeySignIn),
            Served("/passkeySignIn:finalize", service: "sign in by passkey", finalizePasskeySignIn),
        ]
    }

    /// The methods that administrators call, below a project or one of its tenants.
    private var adminMethods: [Served] {
        [
            Served("/accounts", createAsAdmin),
            Served("/accounts:lookup", api: "look the user up", lookup),
            Served("/accounts:update", api: "change user", update),
            Served("/accounts:delete", api: "delete user", delete),
            Served("/accounts:sendOobCode", api: "send e-mail", sendOobCode),
            Served("/accounts:query", query),
            Served("/accounts:batchGet", method: "GET", batchGet),
            Served("/accounts:batchCreate", batchCreate),
            Served("/accounts:batchDelete", batchDelete),
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
            ("PATCH", "/oauthIdpConfigs/:config", patchOAuthIdpConfig),
            ("DELETE", "/oauthIdpConfigs/:config", deleteOAuthIdpConfig),
        ] + providerConfigMethods
    }

    /// The paths that the service has and Understudy doesn't play: they answer 501, as the official emulator does.
    static let unplayed: [String] =
        ["/v1/accounts:issueSamlResponse", "/v1/accounts:signInWithGameCenter"]
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
