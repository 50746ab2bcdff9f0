#if canImport(AuthenticationServices)
    import AuthenticationServices
    import Foundation

    // No machine that builds this package in its CI has AuthenticationServices: this file follows
    // https://developer.apple.com/documentation/authenticationservices/asauthorizationcontroller and does nothing else.

    /// Signs users in with the system's sheet for Sign in with Apple: `ASAuthorizationController`.
    public struct SignInWithAppleController: SignInWithAppleAuthorizing {
        /// Makes an object that signs users in with the system's sheet for Sign in with Apple.
        public init() {}

        /// Shows the system's sheet for Sign in with Apple, and waits until the user has signed in or cancelled.
        @MainActor
        public func authorize(_ request: AppleIDRequest) async throws -> AppleIDCredential {
            try await AppleIDSheet().credential(for: request)
        }

        /// Asks the operating system for the state of a user's sign-in with Apple, such as authorized or revoked.
        public func credentialState(forUserID user: String) async throws -> AppleIDCredential.State {
            let state = try await ASAuthorizationAppleIDProvider().credentialState(forUserID: user)
            return AppleIDCredential.State(rawValue: state.rawValue) ?? .notFound
        }
    }

    /// Shows the system's sheet for Sign in with Apple once. `ASAuthorizationController` doesn't retain its delegate,
    /// so the running call of `credential(for:)` keeps the delegate alive.
    @MainActor
    private final class AppleIDSheet: NSObject, ASAuthorizationControllerDelegate {
        private var controller: ASAuthorizationController?
        private var answer: CheckedContinuation<AppleIDCredential, any Error>?

        func credential(for asked: AppleIDRequest) async throws -> AppleIDCredential {
            let request = ASAuthorizationAppleIDProvider().createRequest()
            request.requestedScopes = asked.requestedScopes.map { $0 == .email ? .email : .fullName }
            request.nonce = asked.nonce
            request.state = asked.state
            request.user = asked.user
            let controller = ASAuthorizationController(authorizationRequests: [request])
            controller.delegate = self
            self.controller = controller
            return try await withCheckedThrowingContinuation { continuation in
                answer = continuation
                controller.performRequests()
            }
        }

        // Some SDKs declare the delegate's methods for the main actor, others for any thread. A nonisolated method fits
        // both.

        nonisolated func authorizationController(
            controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization
        ) {
            let result = (authorization.credential as? ASAuthorizationAppleIDCredential).map { AppleIDCredential($0) }
            Task { @MainActor in
                end(
                    result.map { .success($0) }
                        ?? .failure(AppleAuthorizationError(.invalidResponse, reason: "no Apple ID credential came")))
            }
        }

        nonisolated func authorizationController(
            controller: ASAuthorizationController, didCompleteWithError error: any Error
        ) {
            let error = error as NSError
            let isKnown = error.domain == AppleAuthorizationError.domain
            let failure = AppleAuthorizationError(
                isKnown ? AppleAuthorizationError.Code(rawValue: error.code) : .unknown,
                reason: error.localizedDescription)
            Task { @MainActor in end(.failure(failure)) }
        }

        private func end(_ result: Result<AppleIDCredential, AppleAuthorizationError>) {
            answer?.resume(with: result)
            answer = nil
            controller = nil
        }
    }

    extension AppleIDCredential {
        /// Copies the result of a sign-in with Apple from the system's `ASAuthorizationAppleIDCredential`.
        public init(_ credential: ASAuthorizationAppleIDCredential) {
            self.init(
                user: credential.user, state: credential.state,
                authorizedScopes: credential.authorizedScopes.compactMap { scope in
                    scope == .email ? .email : scope == .fullName ? .fullName : nil
                },
                authorizationCode: credential.authorizationCode, identityToken: credential.identityToken,
                email: credential.email, fullName: credential.fullName,
                realUserStatus: RealUserStatus(rawValue: credential.realUserStatus.rawValue) ?? .unsupported)
        }
    }
#endif
