import Foundation
import TestSupport
import Testing

@testable import UnderstudyClient

@Suite("The stand-in for the button")
struct SignInWithAppleTests {
    let fixture: ClientFixture

    init() throws { fixture = try ClientFixture() }

    @Test("answers an app that was launched with a world's environment")
    func launched() async throws {
        let authorizer = SignInWithApple.authorizer(for: fixture.world.environment, bundleID: ClientFixture.app)
        let nonce = NoncePair()
        let request = AppleIDRequest(scopes: [.email], nonce: nonce.sha256, state: "abc")
        try await fixture.world.order(.approve(account: "ada"))
        let credential = try await authorizer.authorize(request)
        #expect(credential.email == "ada@example.com")
        #expect(credential.authorizedScopes == [.email])
        #expect(credential.state == "abc")
        #expect(try await authorizer.credentialState(forUserID: credential.user) == .authorized)
        try await fixture.world.verify(.exactly(1), path: "*/apple/authorizations", fields: ["nonce": nonce.sha256])

        try await fixture.world.order(.cancel)
        let error = await #expect(throws: AppleAuthorizationError.self) { try await authorizer.authorize(request) }
        #expect(error?.code == .canceled)
    }

    @Test("answers no app that was built for release", .enabled(if: Machine.isLinux, "a system may ask"))
    func release() async {
        let authorizer = SignInWithApple.authorizer(
            for: fixture.world.environment, bundleID: ClientFixture.app, mayStandIn: false)
        let error = await #expect(throws: AppleAuthorizationError.self) {
            try await authorizer.authorize(AppleIDRequest())
        }
        #expect(error?.code == .notHandled)
    }

    @Test("shows the control token where the environment has one")
    func token() async throws {
        let token = "0123456789abcdef"
        var options = ClientFixture.options
        options.controlToken = token
        let fixture = try ClientFixture(options: options, token: token)
        let stand = SignInWithApple.authorizer(for: fixture.world.environment, bundleID: ClientFixture.app)
        #expect(try await stand.authorize(AppleIDRequest()).user.isEmpty == false)
        #expect(
            stand as? SignInWithAppleStandIn == SignInWithAppleStandIn(world: fixture.world, client: ClientFixture.app))
    }

    @Test("says of an app whose bundle ID nobody registered that it is unknown")
    func unregistered() async {
        let stand = SignInWithApple.authorizer(for: fixture.world.environment, bundleID: nil)
        await #expect(throws: (any Error).self) { try await stand.authorize(AppleIDRequest()) }
        let other = SignInWithAppleStandIn(world: fixture.world, client: "com.nobody")
        let error = await #expect(throws: AppleAuthorizationError.self) {
            try await other.authorize(AppleIDRequest())
        }
        #expect(error?.code == .unknown)
        #expect(error?.reason?.contains(#""com.nobody""#) == true)
        #expect(error?.reason?.contains(#""com.example.app""#) == true)
    }

    @Test("leaves the answer to the system where no daemon is named", .enabled(if: Machine.isLinux, "a system may ask"))
    func system() async throws {
        for environment in [[:], ["UNDERSTUDY_URL": ""]] {
            let authorizer = SignInWithApple.authorizer(for: environment, bundleID: ClientFixture.app)
            #expect(authorizer as? SignInWithAppleStandIn == nil)
            let error = await #expect(throws: AppleAuthorizationError.self) {
                try await authorizer.authorize(AppleIDRequest())
            }
            #expect(error?.code == .notHandled)
            #expect(try await authorizer.credentialState(forUserID: "000.a.000") == .notFound)
        }
    }

    @Test("is what the app's own function asks", .enabled(if: Machine.isLinux, "a system may ask"))
    func shared() async throws {
        // The authorizer was chosen once, by this process's environment.
        guard !(SignInWithApple.authorizer is SignInWithAppleStandIn) else { return }
        await #expect(throws: AppleAuthorizationError.self) { try await SignInWithApple.authorize() }
        #expect(try await SignInWithApple.credentialState(forUserID: "000.a.000") == .notFound)
    }
}
