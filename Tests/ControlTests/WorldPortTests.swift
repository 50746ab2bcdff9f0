import EmulatorCore
import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Worlds by port and by host name", .oneProcess("a world's port is one replica's"))
struct WorldPortTests {
    private static let worlds = "\(FaultFixture.api)/worlds"
    private let fixture: FaultFixture

    init() throws { fixture = try FaultFixture(isAlone: true) }

    /// Returns a client at a new world's own port.
    private func open(_ name: String, listen: Int = 0) throws -> TestClient {
        let made = try fixture.client.post(WorldPortTests.worlds, json: ["name": name, "listen": listen])
        #expect(made.status == 201, "\(made.text)")
        let url = made.json["url"] as? String ?? ""
        #expect(url.hasPrefix("http://") && made.json["name"] as? String == name)
        return TestClient(port: try #require(Int(url.split(separator: ":").last ?? "")))
    }

    private func people(_ client: TestClient, _ world: String = "") throws -> Int {
        (try client.get("\(world)\(FaultFixture.api)/accounts").json["accounts"] as? [Any])?.count ?? -1
    }

    @Test("every request to a world's own port is for that world, the control API and the page included")
    func ownPort() throws {
        let client = try open("w1")
        let before = try people(fixture.client)
        #expect(try client.post("\(FaultFixture.api)/accounts", json: ["id": "max"]).status == 201)
        #expect(try people(client) == before + 1)
        #expect(try people(client, "/~w1") == before + 1)
        #expect(try people(fixture.client, "/~w1") == before + 1)
        #expect(try people(fixture.client) == before)
        #expect(try client.get("\(FaultFixture.api)/").json["world"] as? String == "w1")
        let document = try client.get("/accounts.google.com/.well-known/openid-configuration")
        #expect(
            document.json["token_endpoint"] as? String == "http://localhost:\(client.port)/oauth2.googleapis.com/token")
        #expect(try client.get("/", headers: ["Accept": "text/html"]).status == 200)
        for other in ["/~w2/", "/~default/appleid.apple.com/auth/keys"] {
            let refused = try client.get(other)
            #expect(refused.status == 400)
            #expect(refused.diagnosis.contains("\"w1\""), "\(refused.diagnosis)")
        }
    }

    @Test("a world has one port: it is told again, and closed with the world")
    func onePort() throws {
        let client = try open("w1")
        let again = try fixture.client.post(WorldPortTests.worlds, json: ["name": "w1", "listen": 0])
        #expect(again.status == 200 && again.json["url"] as? String == "http://localhost:\(client.port)")
        let other = try fixture.client.post(WorldPortTests.worlds, json: ["name": "w1", "listen": fixture.client.port])
        #expect(other.status == 409 && other.text.contains("\"otherPort\""))
        let taken = try fixture.client.post(WorldPortTests.worlds, json: ["name": "w2", "listen": fixture.client.port])
        #expect(taken.status == 409 && taken.text.contains("\"cannotListen\""))
        #expect(!taken.text.contains("--"))
        let listed = try fixture.client.get(WorldPortTests.worlds).json["worlds"] as? [[String: Any]] ?? []
        #expect(listed.first { $0["name"] as? String == "w1" }?["url"] as? String == "http://localhost:\(client.port)")
        #expect(try fixture.client.request("DELETE", "\(WorldPortTests.worlds)/w1").status == 204)
        #expect(throws: (any Error).self) { try TestClient(port: client.port).get("/") }
        // The port is free again.
        _ = try open("w1", listen: client.port)
        #expect(try people(client) == people(fixture.client))
    }

    @Test("without a port, a world is made and its address told")
    func withoutPort() throws {
        let made = try fixture.client.post(WorldPortTests.worlds, json: ["name": "w1"])
        #expect(made.status == 201 && made.json["url"] as? String == "http://localhost:\(fixture.client.port)/~w1")
        #expect(
            try open("w2").post(WorldPortTests.worlds, json: ["name": "w1"]).json["url"] as? String == made.json["url"]
                as? String)
        #expect(try fixture.client.post(WorldPortTests.worlds, json: ["name": "default"]).status == 200)
        for name in ["", "a/b", String(repeating: "a", count: 65)] {
            let refused = try fixture.client.post(WorldPortTests.worlds, json: ["name": name])
            #expect(refused.status == 400 && refused.text.contains("\"path\":\"$.name\""), "\(refused.text)")
        }
    }

    @Test("so many worlds have ports at once, and no more")
    func limit() throws {
        for number in 0..<WorldPorts.limit { _ = try open("w\(number)") }
        let refused = try fixture.client.post(WorldPortTests.worlds, json: ["name": "one-more", "listen": 0])
        #expect(refused.status == 503 && refused.text.contains("tooManyPorts"))
        #expect(try fixture.client.request("DELETE", "\(WorldPortTests.worlds)/w7").status == 204)
        _ = try open("another")
    }

    @Test("two Firebase SDKs that know a host and a port only don't meet")
    func firebase() throws {
        let person: [String: Any] = ["email": "same@example.com", "password": "correct horse"]
        let target = "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key"
        let ids = try [open("one"), open("two")].map { client in
            let made = try client.post(target, json: person)
            #expect(made.status == 200, "\(made.text)")
            #expect(try client.post(target, json: person).text.contains("EMAIL_EXISTS"))
            return made.json["localId"] as? String
        }
        #expect(ids[0] != ids[1])
        // Two host names, by which worlds are named, share one port.
        for name in ["three", "four"] {
            var client = fixture.client
            client.host = "\(name).localhost"
            #expect(try client.post(target, json: person).status == 200)
            #expect(try client.post(target, json: person).text.contains("EMAIL_EXISTS"))
        }
        #expect(try fixture.client.post(target, json: person).status == 200)
    }

    @Test("a sign-in by a world's host name stays there, in every address that it is told")
    func hostName() throws {
        let port = fixture.client.port
        for (host, prefix) in [
            ("w1.localhost:\(port)", "/accounts.google.com"), ("accounts.google.com.w1.localhost:\(port)", ""),
        ] {
            let document = try fixture.client.get(
                "\(prefix)/.well-known/openid-configuration", headers: ["Host": host])
            let token = document.json["token_endpoint"] as? String
            #expect(
                token
                    == (prefix.isEmpty
                        ? "http://oauth2.googleapis.com.w1.localhost:\(port)/token"
                        : "http://w1.localhost:\(port)/oauth2.googleapis.com/token"))
        }
        let recorded = try fixture.client.get("/~w1\(FaultFixture.api)/requests").json["requests"] as? [Any]
        #expect(recorded?.count == 2)
        let unknown = try fixture.client.get("/", headers: ["Host": "appleid.aple.com.w1.localhost"])
        #expect(unknown.status == 404 && unknown.diagnosis.contains("appleid.aple.com"))
    }
}
