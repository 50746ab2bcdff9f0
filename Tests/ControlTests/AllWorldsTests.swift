import Foundation
import TestSupport
import Testing
import Understudy

@Suite("The recording of all worlds")
struct AllWorldsTests {
    private let fixture: FaultFixture
    private var client: TestClient { fixture.client }

    init() throws {
        var options = RunningServer.Options()
        options.keepsRefusalsOfGoneWorlds = true
        fixture = try FaultFixture(options: options)
    }

    private func requests(_ query: String = "", world: String = "*") throws -> [[String: Any]] {
        let answer = try client.get("\(FaultFixture.api)/requests?world=\(world)\(query)")
        #expect(answer.status == 200, "\(answer)")
        return answer.json["requests"] as? [[String: Any]] ?? []
    }

    private func paths(_ query: String = "", world: String = "*") throws -> [String] {
        try requests(query, world: world).map { "\($0["world"] ?? "")\($0["path"] ?? "")" }
    }

    private func ask(_ world: String, _ path: String) throws {
        _ = try client.get("\(world)/appleid.apple.com\(path)")
    }

    @Test("stands in the order of the answers, with each exchange's world, and no world is made by asking")
    func order() throws {
        for (world, number) in [("/~a", 1), ("", 2), ("/~b", 3), ("/~a", 4)] { try ask(world, "/nowhere/\(number)") }
        #expect(try paths() == ["a/nowhere/1", "default/nowhere/2", "b/nowhere/3", "a/nowhere/4"])
        #expect(try paths(world: "a") == ["a/nowhere/1", "a/nowhere/4"])
        #expect(try paths("&limit=1") == ["a/nowhere/4"])
        #expect(try paths("&path=*3") == ["b/nowhere/3"])
        #expect(try paths(world: "c").isEmpty)
        let worlds = try client.get("\(FaultFixture.api)/worlds").json["worlds"] as? [Any]
        #expect(worlds?.count == 3)
        let har = try client.get("\(FaultFixture.api)/requests?world=*&format=har").json["log"] as? [String: Any]
        #expect((har?["pages"] as? [[String: Any]])?.compactMap { $0["id"] as? String } == ["a", "default", "b"])
        #expect((har?["entries"] as? [[String: Any]])?.last?["pageref"] as? String == "a")
    }

    @Test("is read page by page, also when the last exchange that was read is gone")
    func pages() throws {
        for number in 1...6 { try ask(number % 2 == 0 ? "/~a" : "/~b", "/nowhere/\(number)") }
        var read: [String] = []
        var after = "r0"
        for _ in 0..<3 {
            let page = try requests("&limit=2&after=\(after)")
            read += page.compactMap { $0["path"] as? String }
            after = page.last?["id"] as? String ?? ""
        }
        #expect(read == (1...6).map { "/nowhere/\($0)" })
        _ = try client.request("DELETE", "/~a\(FaultFixture.api)/requests")
        try ask("", "/nowhere/7")
        #expect(try paths("&after=\(after)") == ["default/nowhere/7"])
        for query in ["wait=1s", "after=x"] {
            #expect(try client.get("\(FaultFixture.api)/requests?world=*&\(query)").status == 400)
        }
    }

    @Test("keeps what worlds refused that were deleted or reset, until all is forgotten")
    func gone() throws {
        try ask("/~a", "/nowhere/1")
        try ask("/~a", "/auth/keys")
        try ask("", "/nowhere/2")
        #expect(try client.request("DELETE", "\(FaultFixture.api)/worlds/a").status == 204)
        _ = try client.request("POST", "\(FaultFixture.api)/reset")
        #expect(try paths() == ["a/nowhere/1", "default/nowhere/2"])
        #expect(try requests().allSatisfy { $0["gone"] as? Bool == true })
        let own = try client.get("\(FaultFixture.api)/requests").json["requests"] as? [Any]
        #expect(own?.isEmpty ?? false)
        #expect(fixture.server.lastRefusals(1).first?.hasPrefix("GET appleid.apple.com/nowhere/2: ") ?? false)
        #expect(try client.request("DELETE", "\(FaultFixture.api)/requests?world=*").status == 204)
        #expect(try paths().isEmpty)
    }

    @Test("keeps what a world refused also when somebody had waited for that")
    func goneAfterWaiting() throws {
        try ask("/~a", "/nowhere/1")
        let found = try client.get("/~a\(FaultFixture.api)/requests?wait=1m&count=1")
        #expect((found.json["requests"] as? [Any])?.count == 1)
        #expect(try client.request("DELETE", "\(FaultFixture.api)/worlds/a").status == 204)
        #expect(eventually { (try? paths()) == ["a/nowhere/1"] })
    }

    @Test("masks secrets")
    func masked() throws {
        var options = RunningServer.Options()
        options.masksSecrets = true
        options.keepsRefusalsOfGoneWorlds = true
        let fixture = try FaultFixture(options: options)
        _ = try fixture.client.post(
            "/~a/appleid.apple.com/auth/token", form: ["client_id": "x", "client_secret": "a-secret-of-the-test"])
        _ = try fixture.client.request("DELETE", "\(FaultFixture.api)/worlds/a")
        let shown = try fixture.client.get("\(FaultFixture.api)/requests?world=*").text
        #expect(shown.contains("masked-20") && !shown.contains("a-secret-of-the-test"))
    }
}
