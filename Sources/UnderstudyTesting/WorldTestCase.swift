#if canImport(XCTest)
    import Foundation
    import UnderstudyClient
    import XCTest

    /// A test case that gives each of its tests a ``world``, an isolated environment in Understudy's daemon. The world
    /// is deleted after the test. If the test failed, a report on its requests is printed, and on Apple's systems also
    /// attached to the test. The report lists the refused requests or, if there are none, all requests.
    ///
    ///     final class SignInTests: WorldTestCase {
    ///         func testCancel() async throws {
    ///             try await world.order(.cancel)
    ///             …
    ///         }
    ///     }
    open class WorldTestCase: XCTestCase {
        /// The daemon that has the test worlds of this class's tests. Override the property to use another daemon than
        /// the one at `UNDERSTUDY_URL` or at `http://localhost:9099`.
        open class var source: DaemonSource { .environment }

        private var made: Result<World, any Error>?

        /// The test world of the running test. If `setUp` couldn't start the test's daemon, the test has failed, but
        /// this property still returns a world: one of the daemon at `UNDERSTUDY_URL` or at `http://localhost:9099`.
        public var world: World { (try? made?.get()) ?? Understudy.world(Understudy.uniqueWorldName(from: name)) }

        /// Gives the test a new test world, which the daemon makes at its first use. An override must call `super`.
        open override func setUp() async throws {
            try await super.setUp()
            let name = Understudy.uniqueWorldName(from: self.name)
            let made = Result { try Self.source.daemon().world(name) }
            self.made = made
            _ = try made.get()
        }

        /// Deletes the world of the test. If the test failed, its requests are reported first. An override must call
        /// `super`.
        open override func tearDown() async throws {
            if let world = try? made?.get() {
                if let run = testRun, run.totalFailureCount > 0 { attach(await TestAccount(of: world)) }
                await world.leave()
            }
            made = nil
            try await super.tearDown()
        }

        private func attach(_ account: TestAccount) {
            #if canImport(ObjectiveC)
                var attachments = [XCTAttachment(string: account.text)]
                if let archive = account.archive {
                    attachments.append(XCTAttachment(data: archive, uniformTypeIdentifier: "public.json"))
                }
                for (attachment, name) in zip(attachments, ["understudy.txt", "understudy.har"]) {
                    attachment.name = name
                    attachment.lifetime = .keepAlways
                    add(attachment)
                }
            #endif
            print(account.text)
        }
    }
#endif
