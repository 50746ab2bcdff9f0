import Foundation
import TestSupport
import Testing
import Understudy

@Suite("docker-compose.yml")
struct ComposeTests {
    @Test("has an alias for every host that the daemon plays, on a network of its own")
    func aliases() throws {
        let text = try Repository.read("docker-compose.yml")
        let section = try #require(
            text.components(separatedBy: "aliases:\n").last?.components(separatedBy: "    read_only").first)
        let aliases = section.split(separator: "\n").filter { $0.contains("- ") }.map {
            $0.trimmingCharacters(in: CharacterSet(charactersIn: " -"))
        }
        #expect(aliases == (try PlayedHosts.names()))
        let before = try #require(text.components(separatedBy: "aliases:\n").first)
        #expect(before.contains("      default: {}\n      intercepted:\n"))
    }
}
