#if canImport(AuthenticationServices)
    import AuthenticationServices
    import Foundation

    // No machine that builds this package in its CI has AuthenticationServices: this file follows
    // https://developer.apple.com/documentation/authenticationservices/asauthorizationcontroller and does nothing else.

    /// Signs in with the system's sheet: `ASAuthorizationController`.
    public struct SignInWithAppleController: SignInWithAppleAuthorizing {
        /// Makes an authorizer that shows the system's sheet.
        public init() {}

        /// Shows the system's sheet, and waits for the person.
        @MainActor
        public func authorize(_ request: AppleIDRequest) async throws -> AppleIDCredential {
            try await AppleIDSheet().credential(for: request)
        }

        /// Returns the state of a sign-in, as the system knows it.
        public func credentialState(forUserID user: String) async throws -> AppleIDCredential.State {
            let state = try await ASAuthorizationAppleIDProvider().credentialState(forUserID: user)
            return AppleIDCredential.State(rawValue: state.rawValue) ?? .notFound
        }
    }

    /// One showing of the sheet. The controller holds its delegate weakly; the running call of `credential(for:)` keeps
    /// it alive.
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
        /// Copies the system's credential.
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
