import Foundation
import HTTPServer
import TestSupport
import Testing
import UnderstudyClient

@Suite("A world, by the client")
struct WorldTests {
    let fixture: ClientFixture
    var world: World { fixture.world }

    init() throws { fixture = try ClientFixture(isAlone: true) }

    @Test("has the addresses that lead to it")
    func addresses() {
        let named = Understudy(url: "http://localhost:9099/").world("w1")
        #expect(named.url == "http://localhost:9099/~w1")
        #expect(named.controlURL == "http://localhost:9099/~w1/_understudy/v1")
        #expect(named.hostURL("github.com") == "http://localhost:9099/~w1/github.com")
        #expect(Understudy(url: "http://localhost:9099").world().url == "http://localhost:9099")
    }

    @Test("is the one that the daemon's address names, unless a name is given")
    func namedByAddress() {
        let daemon = Understudy(url: "https://idp.example/~w1/")
        #expect(daemon.url == "https://idp.example")
        #expect(daemon.worldName == "w1")
        #expect(daemon.world().name == "w1")
        #expect(daemon.world("w2").url == "https://idp.example/~w2")
    }

    @Test("is found by the environment")
    func environment() {
        let none = Understudy(environment: ["UNDERSTUDY_URL": ""])
        #expect(none.url == Understudy.defaultURL)
        #expect(none.controlToken == nil)
        let daemon = Understudy(environment: [
            "UNDERSTUDY_URL": "http://127.0.0.1:1", "UNDERSTUDY_CONTROL_TOKEN": "secret-secret-secret",
        ])
        #expect(daemon.url == "http://127.0.0.1:1")
        #expect(daemon.controlToken == "secret-secret-secret")
        #expect(Understudy.world("w1") == Understudy().world("w1"))
    }

    @Test("reads the control token from a file, too")
    func tokenFile() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "token-\(UUID().uuidString)")
        try Data("0123456789abcdef\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let environment = ["UNDERSTUDY_CONTROL_TOKEN_FILE": file.path()]
        #expect(Understudy(environment: environment).controlToken == "0123456789abcdef")
        let both = environment.merging(["UNDERSTUDY_CONTROL_TOKEN": "fedcba9876543210"]) { $1 }
        #expect(Understudy(environment: both).controlToken == "fedcba9876543210")
        #expect(Understudy(environment: ["UNDERSTUDY_CONTROL_TOKEN_FILE": "/nowhere"]).controlToken == nil)
    }

    @Test("begins with nobody's doings, and is afresh after a reset")
    func reset() async throws {
        _ = try await world.apple.authorize(client: ClientFixture.app, account: "ada")
        #expect(try await world.requests().count == 1)
        #expect(try await fixture.daemon.world("w2").requests().isEmpty)
        try await world.reset()
        #expect(try await world.requests().isEmpty)
    }

    @Test("is listed until it is deleted, and deleting it twice is no error")
    func delete() async throws {
        _ = try await world.apple.authorize(client: ClientFixture.app, account: "ada")
        let listed = try #require(try await fixture.daemon.worlds().first { $0.name == "w1" })
        #expect(listed.requests == 1)
        #expect(listed.url == nil)
        try await world.delete()
        try await world.delete()
        #expect(try await fixture.daemon.worlds().map(\.name) == ["default"])
    }

    @Test("that is the default one is reset in place of being deleted")
    func deleteDefault() async throws {
        let world = fixture.daemon.world()
        for world in [world, fixture.daemon.world("default")] {
            _ = try await world.apple.authorize(client: ClientFixture.app, account: "ada")
            try await world.delete()
            #expect(try await world.requests().isEmpty)
        }
    }

    @Test(
        "isn't asked by a name that no world can have",
        arguments: ["", "a b", "a/b", "../x", "a?b", "a#b", "é", "a%41"])
    func invalidName(name: String) async {
        let world = fixture.daemon.world(name)
        for call in [world.reset, world.delete, world.forgetRequests] {
            let error = await #expect(throws: UnderstudyError.self) { try await call() }
            #expect(error?.code == "invalidWorldName")
            #expect(error?.message.contains("worldName(from:)") == true)
        }
    }

    @Test("has a port of its own, the same when asked again", .oneProcess("a world's port is one replica's"))
    func port() async throws {
        let fixture = try ClientFixture(isAlone: true)
        let opened = try await fixture.world.opened()
        #expect(try await fixture.world.opened() == opened)
        _ = try await opened.apple.authorize(client: ClientFixture.app, account: "ada")
        #expect(try await fixture.world.requests().count == 1)
        #expect(try await fixture.daemon.worlds().first { $0.name == "w1" }?.url == opened.url)
        #expect(try await fixture.daemon.world().opened().url.hasPrefix("http://127.0.0.1:"))
    }

    @Test("is found by Firebase's SDKs by host and port", .oneProcess("a world's port is one replica's"))
    func firebase() async throws {
        let fixture = try ClientFixture(isAlone: true)
        let emulator = try await fixture.world.firebaseEmulator()
        #expect(emulator.host == "127.0.0.1")
        #expect(emulator.port != fixture.server.port)
        let answer = try TestClient(port: emulator.port).post(
            "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key", json: ["returnSecureToken": true])
        #expect(answer.status == 200)
        #expect(try await fixture.world.requests(path: "/v1/accounts:signUp").count == 1)
        let unnamed = try await fixture.daemon.world().firebaseEmulator()
        #expect(unnamed.port == fixture.server.port)
    }

    @Test("says of a daemon that it is ready")
    func health() async throws {
        let health = try await fixture.daemon.health()
        #expect(health.status == "ok")
        #expect(health.version.split(separator: ".").count == 3)
        #expect(health.worlds != nil)
    }

    @Test("takes any other call")
    func call() async throws {
        let clock = try await world.call("POST", "clock", body: ["set": "2030-01-01T00:00:00Z", "freeze": true])
        #expect(clock["now"] == "2030-01-01T00:00:00Z")
        #expect(try await world.call("GET", "requests?limit=1")["requests"] == [])
        #expect(try await world.call("DELETE", "requests") == .null)
    }
}

@Suite("The client, where something else than a daemon answers")
struct OtherServerTests {
    private static func other(_ response: Response) throws -> (Receiver, UnderstudyClient.Understudy) {
        let server = try Receiver { _ in .now(response) }
        let url = server.url.replacingOccurrences(of: "/events", with: "")
        return (server, UnderstudyClient.Understudy(url: url, controlToken: "0123456789abcdef"))
    }

    @Test("follows no redirect, which would take the control token along", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) async throws {
        let target = try Receiver()
        let (server, daemon) = try OtherServerTests.other(.redirect(to: target.url, status: status))
        let error = await #expect(throws: UnderstudyError.self) { try await daemon.world("w1").reset() }
        #expect(error?.code == "notADaemon")
        #expect(error?.status == status)
        #expect(server.requests.count == 1)
        #expect(target.requests.isEmpty)
    }

    @Test("takes no success for one that isn't the daemon's")
    func page() async throws {
        let (server, daemon) = try OtherServerTests.other(
            Response(status: 200, contentType: "text/html", body: "<h1>Welcome</h1>"))
        for call in [daemon.world("w1").reset, daemon.world().removeFaults, { _ = try await daemon.health() }] {
            let error = await #expect(throws: UnderstudyError.self) { try await call() }
            #expect(error?.code == "notADaemon")
            #expect(error?.message.contains(daemon.url) == true)
        }
        #expect(server.requests.count == 3)
    }

    @Test("says no user name to who asks for one, and ends")
    func challenge() async throws {
        let (server, daemon) = try OtherServerTests.other(
            Response(status: 401, headers: [(name: "WWW-Authenticate", value: #"Basic realm="proxy""#)]))
        let error = await #expect(throws: UnderstudyError.self) { try await daemon.health() }
        // Foundation on Linux drops an answer that has a challenge.
        #expect(["notADaemon", "unreachable"].contains(error?.code))
        #expect(server.requests.count == 1)
    }
}

@Suite("The client's errors")
struct ErrorTests {
    @Test("say what the daemon said, and at which call")
    func refusal() async throws {
        let fixture = try ClientFixture(isAlone: true)
        let error = try #require(
            await #expect(throws: UnderstudyError.self) {
                try await fixture.world.order(.approve(account: "nobody"))
            })
        #expect(error.call == "POST outcomes")
        #expect(error.status == 400)
        #expect(error.code == "noSuchAccount")
        #expect(error.path == "$.account")
        #expect(error.description.contains("POST outcomes was answered 400 (noSuchAccount): $.account: "))
        #expect((error as any Error).localizedDescription == error.description)
    }

    @Test("say that nobody answers, and what to do")
    func unreachable() async throws {
        // No process listens on this system port.
        let error = await #expect(throws: UnderstudyError.self) {
            try await Understudy(url: "http://127.0.0.1:1").health()
        }
        #expect(error?.code == "unreachable")
        #expect(error?.status == nil)
        #expect(error?.message.contains("understudy serve") == true)
    }

    @Test(
        "say that an address is none",
        arguments: [
            "", "localhost:9099", "ftp://localhost", "http://", "http://a b", "http://localhost?a=b",
            "http://localhost/#a",
            "http://ada:secret@localhost",
        ])
    func address(_ url: String) async {
        let error = await #expect(throws: UnderstudyError.self) { try await Understudy(url: url).health() }
        #expect(error?.code == "invalidURL")
    }

    @Test("don't take the place of a cancellation")
    func cancelled() async throws {
        let fixture = try ClientFixture(isAlone: true)
        let call = Task { try await fixture.world.requests(waitingAtMost: .seconds(60)) }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test("say that the token is missing or another one")
    func token() async throws {
        let token = "0123456789abcdef"
        var options = ClientFixture.options
        options.controlToken = token
        let fixture = try ClientFixture(options: options, token: token)
        _ = try await fixture.world.outcomes()
        let missing = await #expect(throws: UnderstudyError.self) {
            try await Understudy(url: fixture.server.url).world("w1").outcomes()
        }
        #expect(missing?.code == "noToken")
        let wrong = await #expect(throws: UnderstudyError.self) {
            try await Understudy(url: fixture.server.url, controlToken: "fedcba9876543210").world("w1").outcomes()
        }
        #expect(wrong?.code == "wrongToken")
    }
}
