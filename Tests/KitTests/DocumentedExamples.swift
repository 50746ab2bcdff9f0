import Foundation
import TestSupport
import Testing
import UnderstudyClient
import UnderstudyInProcess
import UnderstudyTesting
import XCTest

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// These are the examples of docs/swift.md. `DocumentationTests` compares them with the page.

@Suite("Signing in", .world(at: .process))
struct SignInTests {
    @Test("a person who cancels stays signed out")
    func cancel() async throws {
        let world = try World.current
        try await world.order(.cancel)
        let error = await #expect(throws: AppleAuthorizationError.self) {
            try await world.apple.authorize(client: "com.example.app")
        }
        #expect(error?.code == .canceled)
    }

    @Test("Apple's key set is asked for again when it couldn't be had")
    func retry() async throws {
        let world = try World.current
        try await world.fault(.status(503), host: "appleid.apple.com", path: "/auth/keys", times: 2)
        // Point the code under test here:
        let address = world.hostURL("appleid.apple.com")
        _ = try await keys(of: address)
        try await world.verify(.exactly(3), path: "/auth/keys")
    }
}

/// The code under test: it tries three times.
private func keys(of address: String) async throws -> Data {
    for _ in 1...3 {
        let (data, response) = try await URLSession.shared.data(from: #require(URL(string: "\(address)/auth/keys")))
        if (response as? HTTPURLResponse)?.statusCode == 200 { return data }
    }
    throw URLError(.badServerResponse)
}

final class SignInCase: WorldTestCase {
    override class var source: DaemonSource { .process }

    func testExpiry() async throws {
        let code = try await world.apple.authorize(client: "com.example.app", account: "ada").authorizationCodeText
        try await world.clock.advance(by: .minutes(6))
        let explanation = try await world.explain(code ?? "")
        XCTAssertFalse(explanation.isSound)
    }
}

@MainActor
func signIn() async -> String {
    let nonce = NoncePair()
    do {
        let credential = try await SignInWithApple.authorize(AppleIDRequest(nonce: nonce.sha256))
        // Send credential.identityToken, credential.authorizationCode and nonce.raw to your backend, or to Firebase.
        return "Hello, \(credential.fullName?.givenName ?? credential.user)"
    } catch let error as AppleAuthorizationError where error.code == .canceled {
        return "Another time, then"
    } catch {
        return "That didn't work: \(error.localizedDescription)"
    }
}

@Suite("docs/swift.md", .world(at: .process))
struct DocumentationTests {
    @Test("says how Firebase gets a credential", .oneProcess("a world's port is one replica's"))
    func firebase() async throws {
        let world = try World.current
        let emulator = try await world.firebaseEmulator()
        // Auth.auth().useEmulator(withHost: emulator.host, port: emulator.port)
        let nonce = NoncePair()
        let credential = try await world.apple.authorize(client: "com.example.app", nonce: nonce.sha256)
        // OAuthProvider.appleCredential(withIDToken: credential.identityTokenText!, rawNonce: nonce.raw, fullName: credential.fullName)
        let token = try #require(credential.identityTokenText)
        let answer = try TestClient(port: emulator.port).post(
            "/identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=demo-api-key",
            json: [
                "requestUri": "http://localhost", "returnSecureToken": true,
                "postBody": "providerId=apple.com&id_token=\(token)&nonce=\(nonce.raw)",
            ])
        #expect(answer.status == 200)
    }

    /// Markers of blocks that need Apple's frameworks or another package, and can only be parsed here.
    private static let parsedOnly = ["import AuthenticationServices", "XCUIApplication", "import PackageDescription"]

    @Test("has examples that are compiled and run here, or are Swift at least")
    func examples() throws {
        let page = try Repository.read("docs/swift.md")
        let blocks = page.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
        #expect(blocks.count == 7)
        let compiled = DocumentationTests.lines(
            try Repository.read("Tests/KitTests/DocumentedExamples.swift"))
        for block in blocks {
            if DocumentationTests.parsedOnly.contains(where: { block.contains($0) }) {
                let result = try Shell.run("swiftc", ["-parse", "-"], input: block)
                #expect(result.status == 0, "\(result.errors)")
            } else {
                let lines = DocumentationTests.lines(block).filter { !$0.hasPrefix("import ") }
                #expect(compiled.firstRange(of: lines) != nil, "\(block)")
            }
        }
    }

    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}
