import Testing
import Understudy

/// A test as a user of the library writes it: `@testable` and the package's other modules aren't at hand.
@Suite("The library")
struct LibraryTests {
    /// Types of the library can be named with their module's name, which no type has.
    @Test("starts a server, whose type can be named in full")
    func start() throws {
        let server: Understudy.RunningServer = try RunningServer.start()
        defer { server.stop() }
        #expect(server.url == "http://127.0.0.1:\(server.port)")
        #expect(server.lastRefusals(10).isEmpty)
    }

    @Test("says of a seed what is wrong with it")
    func faults() {
        let seed: Understudy.SeedInput = .json(#"{"nothing": 1}"#)
        #expect(SeedInput.faults(in: [seed]).count == 1)
        #expect(throws: Understudy.StartError.self) { try RunningServer.start(seeds: [seed]) }
    }

    @Test("has a version of three numbers")
    func version() {
        #expect(Understudy.Version.current.split(separator: ".").compactMap { Int($0) }.count == 3)
    }
}
