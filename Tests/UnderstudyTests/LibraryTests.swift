import Testing
import Understudy

/// A test as a user of the library would write it, without `@testable` and the package's other modules.
@Suite("The library")
struct LibraryTests {
    /// A type of the library can be named with its module, because no type has the module's name.
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
