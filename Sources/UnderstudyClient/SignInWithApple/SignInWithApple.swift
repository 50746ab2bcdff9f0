import Foundation

/// Sign in with Apple for an app's code. On a device, it shows the system's sheet; in a UI test, the daemon answers at
/// once.
///
///     let nonce = NoncePair()
///     let credential = try await SignInWithApple.authorize(AppleIDRequest(nonce: nonce.sha256))
///
/// The app's environment at its launch decides. With `UNDERSTUDY_URL`, as ``World/environment`` sets it, the world at
/// that address answers (``SignInWithAppleStandIn``); otherwise the system does (`SignInWithAppleController`). A
/// release build always uses the system.
public enum SignInWithApple {
    /// The object that signs people in: Understudy's stand-in if the environment names a daemon, and otherwise Apple's.
    public static let authorizer: any SignInWithAppleAuthorizing = authorizer(for: ProcessInfo.processInfo.environment)

    /// Asks the person to sign in.
    ///
    /// - Throws: ``AppleAuthorizationError`` if the sign-in fails, such as `canceled`; ``UnderstudyError`` if the
    ///   daemon can't be asked.
    @MainActor
    public static func authorize(_ request: AppleIDRequest = AppleIDRequest()) async throws -> AppleIDCredential {
        try await authorizer.authorize(request)
    }

    /// Returns the state of an earlier sign-in.
    ///
    /// - Parameter user: the credential's ``AppleIDCredential/user``.
    /// - Throws: The system's error; ``UnderstudyError`` if the daemon can't be asked.
    public static func credentialState(forUserID user: String) async throws -> AppleIDCredential.State {
        try await authorizer.credentialState(forUserID: user)
    }

    /// Whether this module was built for debugging, together with the app.
    static var isDebugBuild: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }

    /// Returns the authorizer for an environment.
    static func authorizer(
        for environment: [String: String], bundleID: String? = Bundle.main.bundleIdentifier,
        mayStandIn: Bool = isDebugBuild
    ) -> any SignInWithAppleAuthorizing {
        if mayStandIn, let url = environment["UNDERSTUDY_URL"], !url.isEmpty {
            let world = Understudy(environment: environment).world()
            return SignInWithAppleStandIn(world: world, client: bundleID ?? "")
        }
        #if canImport(AuthenticationServices)
            return SignInWithAppleController()
        #else
            return NoSignInWithApple()
        #endif
    }
}

/// A request for a sign-in with Apple: the properties of `ASAuthorizationAppleIDRequest`.
public struct AppleIDRequest: Sendable, Hashable {
    /// The data that the app asks for.
    public var requestedScopes: [AppleIDCredential.Scope]
    /// The nonce that the ID token will contain: a ``NoncePair``'s ``NoncePair/sha256``.
    public var nonce: String?
    /// The text that the credential will contain.
    public var state: String?
    /// The person who should sign in: an earlier credential's `user`. Only the system uses it.
    public var user: String?

    /// Makes a request, by default for name and e-mail address.
    public init(
        scopes: [AppleIDCredential.Scope] = [.fullName, .email], nonce: String? = nil, state: String? = nil,
        user: String? = nil
    ) {
        requestedScopes = scopes
        self.nonce = nonce
        self.state = state
        self.user = user
    }
}

/// A way to sign in with Apple: the system's sheet, or a stand-in. An app's unit tests can implement their own.
public protocol SignInWithAppleAuthorizing: Sendable {
    /// Asks the person to sign in.
    ///
    /// - Throws: ``AppleAuthorizationError``.
    @MainActor
    func authorize(_ request: AppleIDRequest) async throws -> AppleIDCredential

    /// Returns the state of an earlier sign-in.
    func credentialState(forUserID user: String) async throws -> AppleIDCredential.State
}

/// Lets a world answer instead of the system. No person is asked: an ordered outcome decides who signs in and how it
/// ends.
public struct SignInWithAppleStandIn: SignInWithAppleAuthorizing, Hashable {
    /// The world that answers.
    public let world: World
    /// The app's bundle ID, which must be in the world's seed.
    public let client: String

    /// Makes a stand-in that asks a world.
    public init(world: World, client: String) {
        self.world = world
        self.client = client
    }

    /// Signs in with the world's ordered outcome.
    @MainActor
    public func authorize(_ request: AppleIDRequest) async throws -> AppleIDCredential {
        try await world.apple.authorize(
            client: client, nonce: request.nonce, scopes: request.requestedScopes, state: request.state)
    }

    /// Returns the state of a sign-in in the world.
    public func credentialState(forUserID user: String) async throws -> AppleIDCredential.State {
        try await world.apple.credentialState(client: client, user: user)
    }
}

#if !canImport(AuthenticationServices)
    /// Refuses every sign-in, for systems without Sign in with Apple if no daemon is named.
    private struct NoSignInWithApple: SignInWithAppleAuthorizing {
        func authorize(_ request: AppleIDRequest) async throws -> AppleIDCredential {
            throw AppleAuthorizationError(
                .notHandled,
                reason:
                    "this system has no Sign in with Apple; in a debug build, UNDERSTUDY_URL names a daemon that stands in"
            )
        }

        func credentialState(forUserID user: String) async throws -> AppleIDCredential.State { .notFound }
    }
#endif
