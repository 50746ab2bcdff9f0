import Foundation

/// Lets an app's users sign in with Apple. On a device, the system's sheet is shown; in a UI test, Understudy's daemon
/// answers at once, without a sheet.
///
///     let nonce = NoncePair()
///     let credential = try await SignInWithApple.authorize(AppleIDRequest(nonce: nonce.sha256))
///
/// If the app was launched with the environment variable `UNDERSTUDY_URL`, as ``World/environment`` sets it, the test
/// world at that address answers (``SignInWithAppleStandIn``). Otherwise, the system answers
/// (`SignInWithAppleController`). A release build always uses the system.
public enum SignInWithApple {
    /// The object that signs users in with Apple: Understudy's stand-in if the environment names a daemon and this is a
    /// debug build, and otherwise the system's.
    public static let authorizer: any SignInWithAppleAuthorizing = authorizer(for: ProcessInfo.processInfo.environment)

    /// Asks the user to sign in with Apple.
    ///
    /// - Throws: ``AppleAuthorizationError`` if the sign-in fails, such as `canceled`; ``UnderstudyError`` if the
    ///   daemon can't be reached or refuses the call.
    @MainActor
    public static func authorize(_ request: AppleIDRequest = AppleIDRequest()) async throws -> AppleIDCredential {
        try await authorizer.authorize(request)
    }

    /// Returns the state of a user's sign-in with Apple, such as authorized or revoked.
    ///
    /// - Parameter user: the user's ID at Apple: the credential's ``AppleIDCredential/user``.
    /// - Throws: The system's error; ``UnderstudyError`` if the daemon can't be reached or refuses the call.
    public static func credentialState(forUserID user: String) async throws -> AppleIDCredential.State {
        try await authorizer.credentialState(forUserID: user)
    }

    /// Whether this module, and the app that uses it, were built for debugging.
    static var isDebugBuild: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }

    /// Returns the object that signs users in with Apple: Understudy's stand-in if `environment` names a daemon and
    /// `mayStandIn` is true, and otherwise the system's sheet. On a system without Sign in with Apple, an object that
    /// refuses every sign-in takes the place of the sheet.
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
    /// The user's data that the app requests at the sign-in with Apple.
    public var requestedScopes: [AppleIDCredential.Scope]
    /// The nonce that Apple's ID token will contain: a ``NoncePair``'s ``NoncePair/sha256``.
    public var nonce: String?
    /// The `state` of the sign-in request, which the resulting credential will contain unchanged.
    public var state: String?
    /// The user who should sign in, by the user ID of an earlier sign-in with Apple. Understudy's stand-in ignores it.
    public var user: String?

    /// Makes a request for a sign-in with Apple, by default for name and e-mail address.
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

/// A way to sign in with Apple: the system's sheet, or Understudy's stand-in. An app's unit tests can implement their
/// own.
public protocol SignInWithAppleAuthorizing: Sendable {
    /// Asks the user to sign in with Apple.
    ///
    /// - Throws: ``AppleAuthorizationError``. Understudy's stand-in also throws ``UnderstudyError``.
    @MainActor
    func authorize(_ request: AppleIDRequest) async throws -> AppleIDCredential

    /// Returns the state of a user's sign-in with Apple, such as authorized or revoked.
    func credentialState(forUserID user: String) async throws -> AppleIDCredential.State
}

/// Lets a test world of Understudy's daemon answer a sign-in with Apple, instead of the operating system. No person is
/// asked: the test or the seed (the world's test data) decides in advance who signs in and how the sign-in ends.
public struct SignInWithAppleStandIn: SignInWithAppleAuthorizing, Hashable {
    /// The test world that answers the sign-in with Apple in place of the operating system.
    public let world: World
    /// The app's bundle ID, which must be in the test world's seed (its test data).
    public let client: String

    /// Makes a stand-in for Sign in with Apple. The test world `world` decides how each sign-in ends.
    public init(world: World, client: String) {
        self.world = world
        self.client = client
    }

    /// Signs in with Apple in the test world. A test can decide in advance how the sign-in ends.
    @MainActor
    public func authorize(_ request: AppleIDRequest) async throws -> AppleIDCredential {
        try await world.apple.authorize(
            client: client, nonce: request.nonce, scopes: request.requestedScopes, state: request.state)
    }

    /// Asks the test world for the state of a user's sign-in with Apple, such as authorized or revoked.
    public func credentialState(forUserID user: String) async throws -> AppleIDCredential.State {
        try await world.apple.credentialState(client: client, user: user)
    }
}

#if !canImport(AuthenticationServices)
    /// Refuses every sign-in. It is used on systems without Sign in with Apple if no daemon stands in for Apple.
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
