import Foundation
import Testing
import UnderstudyInProcess
import UnderstudyTesting
import XCTest

@testable import UnderstudyClient

// These tests fail on purpose. They run only in a child process, which `ChildTests` starts to see their traces.

enum Child {
    static let variable = "UNDERSTUDY_TESTING_CHILD"
    static let isThisOne = ProcessInfo.processInfo.environment[variable] != nil

    static func cancelledSignIn(in world: World) async throws {
        try await world.order(.cancel)
        _ = try? await world.apple.authorize(client: "com.example.app")
    }
}

@Suite("Examples that fail", .world(at: .process), .enabled(if: Child.isThisOne))
struct FailingExamples {
    @Test("fails by an expectation")
    func expectation() async throws {
        try await Child.cancelledSignIn(in: World.current)
        #expect(Bool(false), "on purpose")
    }

    @Test("fails by an error")
    func error() async throws { _ = try await World.current.apple.authorize(client: "com.nobody") }

    @Test("fails before any request")
    func silent() throws { #expect(try World.current.name == nil) }

    @Test("fails within a second trait", .world(seed: ["accounts": [["id": "zoe"]]]))
    func nested() async throws {
        try await Child.cancelledSignIn(in: World.current)
        #expect(Bool(false), "on purpose")
    }

    @Test("fails with orders that nothing met")
    func orders() async throws {
        let world = try World.current
        try await world.fault(.status(503), host: "*", path: "*/apple/authorizations")
        try await world.order(.cancel, at: .github)
        _ = try await world.apple.authorize(client: "com.example.app")
        #expect(Bool(false), "on purpose")
    }

    @Test("passes")
    func passing() async throws {
        try await Child.cancelledSignIn(in: World.current)
    }
}

final class CaseExamples: WorldTestCase {
    override class var source: DaemonSource { .process }

    override func setUp() async throws {
        guard Child.isThisOne else { throw XCTSkip("an example for ChildTests") }
        try await super.setUp()
    }

    func testFails() async throws {
        try await Child.cancelledSignIn(in: world)
        XCTFail("on purpose")
    }

    func testPasses() async throws {
        XCTAssertTrue(world.name?.contains("testpasses") == true)
        XCTAssertEqual(world, world)
        try await Child.cancelledSignIn(in: world)
        let refused = try await world.refusals().count
        XCTAssertEqual(refused, 1)
    }
}

final class UnstartableCaseExamples: WorldTestCase {
    override class var source: DaemonSource {
        DaemonSource { throw UnderstudyError(call: "start", code: "no", message: "no daemon") }
    }

    override func setUp() async throws {
        guard Child.isThisOne else { throw XCTSkip("an example for ChildTests") }
        try await super.setUp()
    }

    func testNothing() { XCTAssertNotNil(world.name) }
}
