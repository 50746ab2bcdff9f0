import HTTPServer
import JSON
import EmulatorCore
import Recordings

extension FirebaseProvider {
    /// The implementation of an API method. It takes a call whose API key or credentials have been checked, and returns
    /// the answer.
    typealias Method = @Sendable (FirebaseCall) async throws -> FirebaseAnswer

    package var endpoints: [Endpoint] {
        legacyMethods.known(by: FirebaseProvider.inSDKs) + clientEndpoints + adminEndpoints + configEndpoints
            + publicDocuments
            + tokenEndpoints.known(
                by: .documented("https://firebase.google.com/docs/reference/rest/auth#section-refresh-token"))
            + keySets.known(by: .documented("https://firebase.google.com/docs/auth/admin/verify-id-tokens"))
            + pages
            + scripts.known(
                by: .documented(
                    "https://github.com/firebase/firebase-js-sdk/tree/main/packages/auth/src/platform_browser"))
            + recaptchaScripts.known(by: .documented("https://developers.google.com/recaptcha/docs/display"))
            + appCheckEndpoints.known(by: .documented("https://firebase.google.com/docs/reference/appcheck/rest"))
            + emulatorEndpoints.known(
                by: .documented("https://firebase.google.com/docs/reference/rest/auth#section-auth-emulator"))
            + exportCalls
    }

    /// A link to the public code of Firebase's SDKs. It proves that endpoints exist that Google doesn't document, such
    /// as the methods of Identity Toolkit v3.
    static let inSDKs = Evidence.documented(
        "https://github.com/firebase/firebase-ios-sdk/tree/main/FirebaseAuth/Sources/Swift/Backend/RPC")

    /// A link that proves how the Firebase Emulator Suite answers a request for a link in a mail.
    static let inEmulator = Evidence.documented(
        "https://github.com/firebase/firebase-tools/blob/master/src/emulator/auth/handlers.ts")

    /// Returns a link to a page of Google's API reference, such as `v1/accounts/signUp`. The link proves that an API
    /// method exists.
    private static func reference(_ page: String) -> Evidence {
        .documented("https://cloud.google.com/identity-platform/docs/reference/rest/\(page)")
    }

    private var legacyMethods: [Endpoint] {
        let admin: [Endpoint] = legacyAdminMethods.map { served in
            method("POST", FirebaseProvider.legacyHost, "\(FirebaseProvider.legacyPrefix)/\(served.name)") { call in
                // Only the body names the project. Production refuses a body without one, too.
                guard call.isAdmin, call.has("targetProjectId") else {
                    throw FirebaseError(
                        "INSUFFICIENT_PERMISSION",
                        because:
                            "only administrators may call this method: send Authorization: Bearer owner, and targetProjectId"
                    )
                }
                return try await served.run(call)
            }
        }
        let client: [Endpoint] = clientMethods.map { served in
            let path = "\(FirebaseProvider.legacyPrefix)/\(served.legacyName ?? served.path)"
            return method("POST", FirebaseProvider.legacyHost, path, step: served.step, run: served.run)
                .step(of: served)
        }
        return admin + client
    }

    private var clientEndpoints: [Endpoint] {
        let first: [Endpoint] = clientMethods.map { served in
            method(
                "POST", FirebaseProvider.host, "/v1/accounts:\(served.path)", title: served.title, step: served.step,
                run: served.run
            ).step(of: served).known(by: FirebaseProvider.reference("v1/accounts/\(served.path)"))
        }
        let second: [Endpoint] = secondMethods.map { served in
            let endpoint = method(
                "POST", FirebaseProvider.host, "/v2/accounts\(served.path)", title: served.title, step: served.step,
                in: .status, run: served.run)
            // The reference has mfaEnrollment/start, and neither passkeys nor revokeToken.
            guard served.path.hasPrefix("/mfa") else { return endpoint.known(by: FirebaseProvider.inSDKs) }
            let page = served.path.dropFirst().replacing(":", with: "/")
            return endpoint.known(by: FirebaseProvider.reference("v2/accounts.\(page)"))
        }
        return first + second
    }

    /// Makes a method of `run`, which takes long in a project with many users, and so doesn't run on a thread that serves
    /// requests.
    static func aside(_ run: @escaping @Sendable (FirebaseCall) throws -> FirebaseAnswer) -> Method {
        { call in try await call.exchange.onWorkThread { try run(call) } }
    }

    private var adminEndpoints: [Endpoint] {
        let methods: [Endpoint] = adminMethods.flatMap { served -> [Endpoint] in
            let name = served.path.split(separator: ":").dropFirst().first.map { "/\($0)" } ?? ""
            return FirebaseProvider.scopes.map {
                adminMethod(served.method, $0 + served.path, step: served.step, run: served.run)
                    .known(by: FirebaseProvider.reference("v1/projects.accounts\(name)"))
            }
        }
        // The last segment is the ID of the project or tenant, a colon and the name of the action.
        let actions: [Endpoint] = FirebaseProvider.scopes.map { scope in
            adminMethod("POST", scope) { call in
                FirebaseProvider.scopeMethod(of: call.exchange) == "queryAccounts"
                    ? try await FirebaseProvider.aside(query)(call) : try createSessionCookie(call)
            }.known(by: FirebaseProvider.reference("v1/projects/createSessionCookie"))
        }
        return methods + actions
    }

    private var configEndpoints: [Endpoint] {
        FirebaseProvider.adminVersions.flatMap { version -> [Endpoint] in
            let supported = Endpoint("GET", [FirebaseProvider.host], "\(version)/defaultSupportedIdps", cors: .any) {
                _ in
                FirebaseProvider.supportedProviders
            }.known(by: FirebaseProvider.reference("v2/defaultSupportedIdps/list"))
            func endpoints(_ methods: [(method: String, path: String, run: Method)], below scope: String) -> [Endpoint]
            {
                methods.map { served in
                    // The resource is the path's first segment: config, tenants, oauthIdpConfigs.
                    let resource = served.path.split(separator: "/").first.map { $0 == "config" ? "" : ".\($0)" } ?? ""
                    return adminMethod(served.method, "\(version)\(scope)\(served.path)", in: .status, run: served.run)
                        .known(by: FirebaseProvider.reference("v2/projects\(resource)"))
                }
            }
            return [supported] + endpoints(configMethods + idpConfigMethods, below: "/projects/:project")
                + endpoints(idpConfigMethods, below: "/projects/:project/tenants/:tenant")
        }
    }

    fileprivate static func credentialStep(_ exchange: RecordedExchange) -> SignInStep {
        SignInStep(.service, "sign in by \(exchange.notes.request["providerid"] ?? "a provider's credential")")
    }

    /// The two path prefixes of administrators' API methods in Identity Toolkit v2. Many public scripts use
    /// `/admin/v2`. Production answers at both (recordings `config/read#admin-get` and `config/read#admin-get-v2-path`:
    /// https://github.com/t-k/fireemu, conformance/auth-config-sdk-production.json).
    static let adminVersions = ["/v2", "/admin/v2"]

    private static let scopes = ["/v1/projects/:project", "/v1/projects/:project/tenants/:tenant"]

    private var publicDocuments: [Endpoint] {
        let (host, legacyHost) = (FirebaseProvider.host, FirebaseProvider.legacyHost)
        let configuration: Method = FirebaseProvider.configuration
        let recaptcha: Method = FirebaseProvider.recaptchaParameters
        let settings = SignInStep(.api, "get the project's settings")
        let documents: [Endpoint] = [
            method("GET", host, "/v1/projects", title: "the project's settings", step: settings, run: configuration)
                .known(by: FirebaseProvider.reference("v1/TopLevel/getProjects")),
            method(
                "GET", legacyHost, "\(FirebaseProvider.legacyPrefix)/getProjectConfig", step: settings,
                run: configuration
            ).known(by: FirebaseProvider.inSDKs),
            method("GET", host, "/v2/passwordPolicy", in: .status, run: FirebaseProvider.passwordPolicy)
                .known(by: FirebaseProvider.reference("v2/TopLevel/getPasswordPolicy")),
            method("GET", host, "/v2/recaptchaConfig", in: .status, run: FirebaseProvider.recaptcha)
                .known(by: FirebaseProvider.reference("v2/TopLevel/getRecaptchaConfig")),
            method("GET", host, "/v1/recaptchaParams", run: recaptcha)
                .known(by: FirebaseProvider.reference("v1/TopLevel/getRecaptchaParams")),
            method("GET", legacyHost, "\(FirebaseProvider.legacyPrefix)/getRecaptchaParam", run: recaptcha)
                .known(by: FirebaseProvider.inSDKs),
            Endpoint(
                "GET", [host], "/v1/sessionCookiePublicKeys", cors: .any, keys: [.firebase], .keySet(.firebase)
            ) { keySet($0) }.known(by: FirebaseProvider.reference("v1/TopLevel/getSessionCookiePublicKeys")),
        ]
        let unplayed: [Endpoint] = FirebaseProvider.unplayed.flatMap { path in
            ["GET", "POST", "PATCH", "DELETE"].map { method in
                Endpoint(method, [host], path, cors: .any) { FirebaseProvider.notPlayed($0) }
            }
        }
        return documents
            + unplayed.known(
                by: .documented("https://github.com/firebase/firebase-tools/blob/master/src/emulator/auth/server.ts"))
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

    /// The endpoints for browsers: Firebase's sign-in handler, and the pages to which links in mails lead. They are at
    /// a project's own domain and, as in the Emulator Suite, at the daemon's own address. Links that open an app are
    /// only at the project's domain.
    private var pages: [Endpoint] {
        let domains = ["*.firebaseapp.com"]
        let inSDKs =
            handlerEndpoints(at: domains, below: "/__/auth") + linkEndpoints(at: domains)
            + handlerEndpoints(at: [], below: "/emulator/auth")
        return inSDKs.known(by: FirebaseProvider.inSDKs)
            + actionEndpoints(at: domains, "/__/auth/action").known(by: .ownPage)
            + actionEndpoints(at: [], "/emulator/action").known(by: FirebaseProvider.inEmulator)
    }

    /// A method of the Firebase API: its HTTP method, its path, its names, and its implementation.
    fileprivate struct Served {
        let method: String
        let path: String
        /// The name of the API method in Identity Toolkit v3; `nil` if apps can't call the method in v3.
        let legacyName: String?
        /// A short description of the API method, such as "sign in with a password"; `nil` for a method without one.
        let title: String?
        let step: SignInStep?
        let run: Method

        /// Makes an API method. `service` or `api` is the name of the step that a recorded sign-in shows for a call of
        /// the method. It is `service` if the method is needed to sign a user in, and `api` for other methods. At most
        /// one of the two is given.
        init(
            _ path: String, legacy legacyName: String? = nil, method: String = "POST", title: String? = nil,
            api: String? = nil, service: String? = nil, _ run: @escaping Method
        ) {
            (self.path, self.legacyName, self.method, self.title, self.run) = (path, legacyName, method, title, run)
            step = api.map { SignInStep(.api, $0) } ?? service.map { SignInStep(.service, $0) }
        }
    }

    /// The API methods that apps call. Their paths begin with `accounts:` in Identity Toolkit v1, and most of their
    /// names differ in v3.
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

    /// The API methods that apps call and that exist only in Identity Toolkit v2.
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

    /// The API methods for administrators, with paths below a project or a tenant.
    private var adminMethods: [Served] {
        [
            Served("/accounts", createAsAdmin),
            Served("/accounts:lookup", api: "look the user up", lookup),
            Served("/accounts:update", api: "change user", update),
            Served("/accounts:delete", api: "delete user", delete),
            Served("/accounts:sendOobCode", api: "send e-mail", sendOobCode),
            Served("/accounts:query", FirebaseProvider.aside(query)),
            Served("/accounts:batchGet", method: "GET", batchGet),
            Served("/accounts:batchCreate", batchCreate),
            Served("/accounts:batchDelete", batchDelete),
        ]
    }

    /// The API methods for administrators in Identity Toolkit v3, by name.
    private var legacyAdminMethods: [(name: String, run: Method)] {
        [
            ("uploadAccount", batchCreate),
            ("downloadAccount", batchGet),
            ("queryAccounts", FirebaseProvider.aside(query)),
            ("signOutUser", signOut),
        ]
    }

    /// The methods of Identity Toolkit v2 by which administrators read and change a project's settings and tenants.
    private var configMethods: [(method: String, path: String, run: Method)] {
        [
            ("GET", "/config", config),
            ("PATCH", "/config", updateConfig),
            ("GET", "/tenants", listTenants),
            ("POST", "/tenants", createTenant),
            ("GET", "/tenants/:tenant", getTenant),
            ("PATCH", "/tenants/:tenant", patchTenant),
            ("DELETE", "/tenants/:tenant", FirebaseProvider.aside(deleteTenant)),
        ]
    }

    /// The methods of Identity Toolkit v2 by which administrators configure the identity providers of a project or
    /// tenant.
    private var idpConfigMethods: [(method: String, path: String, run: Method)] {
        [
            ("GET", "/oauthIdpConfigs", listOAuthIdpConfigs),
            ("POST", "/oauthIdpConfigs", createOAuthIdpConfig),
            ("GET", "/oauthIdpConfigs/:config", getOAuthIdpConfig),
            ("PATCH", "/oauthIdpConfigs/:config", patchOAuthIdpConfig),
            ("DELETE", "/oauthIdpConfigs/:config", deleteOAuthIdpConfig),
        ] + providerConfigMethods
    }

    /// The API methods of production that Understudy answers with 501, as the Firebase emulator does.
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
            Diagnosis(
                "Firebase has this method, but Understudy doesn't support it: docs/firebase.md lists the supported methods"
            )
        ).known(
            by: .documented("https://github.com/firebase/firebase-tools/blob/master/src/emulator/auth/server.ts"))
    }

    /// Returns the answer to an iOS app that asks to be verified. Production verifies an app by a silent push
    /// notification; Understudy regards every app as verified.
    private static func verifyClient() -> FirebaseAnswer {
        FirebaseAnswer(["receipt": "understudy-receipt", "suggestedTimeout": "5"])
    }
}

extension Endpoint {
    fileprivate func step(of served: FirebaseProvider.Served) -> Endpoint {
        served.path == "signInWithIdp" ? step(FirebaseProvider.credentialStep) : self
    }
}
