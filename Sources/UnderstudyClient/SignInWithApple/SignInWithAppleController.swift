#if canImport(AuthenticationServices)
    import AuthenticationServices
    import Foundation

    // No machine that builds this package in its CI has AuthenticationServices: this file follows
    // https://developer.apple.com/documentation/authenticationservices/asauthorizationcontroller and does nothing else.

    /// Has the system ask the person: `ASAuthorizationController`.
    public struct SignInWithAppleController: SignInWithAppleAuthorizing {
        /// The system's sign-in.
        public init() {}

        /// Shows the system's sheet.
        @MainActor
        public func authorize(_ request: AppleIDRequest) async throws -> AppleIDCredential {
            try await AppleIDSheet().credential(for: request)
        }

        /// What the system knows of a sign-in.
        public func credentialState(forUserID user: String) async throws -> AppleIDCredential.State {
            let state = try await ASAuthorizationAppleIDProvider().credentialState(forUserID: user)
            return AppleIDCredential.State(rawValue: state.rawValue) ?? .notFound
        }
    }

    /// One sheet, from its request to its answer. The controller holds its delegate weakly: the call to `credential(for:)` keeps it.
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

        // Some SDKs declare the delegate's methods for the main actor, and others for any thread. What isn't isolated fits both.

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
        /// The system's credential.
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
