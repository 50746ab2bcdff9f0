import Foundation

/// Sign in with Apple, for an app's code: on a device the system's own sheet, and under a test the daemon's answer, at once.
///
///     let nonce = NoncePair()
///     let credential = try await SignInWithApple.authorize(AppleIDRequest(nonce: nonce.sha256))
///
/// Which of the two answers is decided when the app is launched: where its environment has `UNDERSTUDY_URL`, as
/// ``World/environment`` sets it, it is the world at that address (``SignInWithAppleStandIn``); otherwise it is the system
/// (`SignInWithAppleController`). A release build doesn't look at its environment: there, it is always the system.
public enum SignInWithApple {
    /// Who answers in this process, by its environment.
    public static let authorizer: any SignInWithAppleAuthorizing = authorizer(for: ProcessInfo.processInfo.environment)

    /// Asks the person to sign in.
    ///
    /// - Throws: ``AppleAuthorizationError``, whoever answers: `canceled` where the person doesn't want to. ``UnderstudyError``, where the
    ///   daemon can't be asked.
    @MainActor
    public static func authorize(_ request: AppleIDRequest = AppleIDRequest()) async throws -> AppleIDCredential {
        try await authorizer.authorize(request)
    }

    /// Whether a sign-in still holds.
    ///
    /// - Parameter user: the credential's ``AppleIDCredential/user``.
    /// - Throws: What the system throws; ``UnderstudyError``, where the daemon can't be asked.
    public static func credentialState(forUserID user: String) async throws -> AppleIDCredential.State {
        try await authorizer.credentialState(forUserID: user)
    }

    /// Whether this module was built for debugging, with the app that it is part of.
    static var isDebugBuild: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }

    /// Who answers in an environment.
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

/// What an app asks Apple for: the properties of `ASAuthorizationAppleIDRequest`.
public struct AppleIDRequest: Sendable, Hashable {
    /// What the app asks for.
    public var requestedScopes: [AppleIDCredential.Scope]
    /// What comes back in the ID token: a ``NoncePair``'s ``NoncePair/sha256``.
    public var nonce: String?
    /// What comes back in the credential.
    public var state: String?
    /// Who is to sign in, by an earlier credential's `user`; for the system alone.
    public var user: String?

    /// A request, by default for name and address.
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

/// Who answers when an app asks a person to sign in with Apple. An app's unit tests can have one of their own.
public protocol SignInWithAppleAuthorizing: Sendable {
    /// Asks the person to sign in.
    ///
    /// - Throws: ``AppleAuthorizationError``.
    @MainActor
    func authorize(_ request: AppleIDRequest) async throws -> AppleIDCredential

    /// Whether a sign-in still holds.
    func credentialState(forUserID user: String) async throws -> AppleIDCredential.State
}

/// Has a world answer in the system's place. Who signs in, and how it ends, is ordered there; nobody is asked.
public struct SignInWithAppleStandIn: SignInWithAppleAuthorizing, Hashable {
    /// The world that is asked.
    public let world: World
    /// The app's bundle ID, which the world's seed has to have.
    public let client: String

    /// A stand-in that asks a world.
    public init(world: World, client: String) {
        self.world = world
        self.client = client
    }

    /// Signs in as ordered.
    @MainActor
    public func authorize(_ request: AppleIDRequest) async throws -> AppleIDCredential {
        try await world.apple.authorize(
            client: client, nonce: request.nonce, scopes: request.requestedScopes, state: request.state)
    }

    /// Whether a sign-in still holds in the world.
    public func credentialState(forUserID user: String) async throws -> AppleIDCredential.State {
        try await world.apple.credentialState(client: client, user: user)
    }
}

#if !canImport(AuthenticationServices)
    /// Where the system has no Sign in with Apple, and no daemon is named.
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
