import Foundation
import Testing
import UnderstudyClient

@Suite("The recording, by the client")
struct RecordingTests {
    let fixture: ClientFixture
    /// The time before the first request.
    let began = Date()
    var world: World { fixture.world }

    init() throws {
        fixture = try ClientFixture(isAlone: true)
        _ = try fixture.ask("appleid.apple.com", "/auth/keys")
        _ = try fixture.ask("api.github.com", "/user?page=2")
    }

    @Test("shows a request, its answer, and why it was refused")
    func exchange() async throws {
        let all = try await world.requests()
        #expect(all.map(\.host) == ["appleid.apple.com", "api.github.com"])
        let refused = try #require(all.last)
        #expect(refused.method == "GET")
        #expect(refused.path == "/user")
        #expect(refused.status == 403 || refused.status == 401)
        #expect(refused.diagnosis?.isEmpty == false)
        #expect(refused.flow == refused.id)
        #expect(refused.parent == nil && refused.world == nil && refused.fault == nil)
        #expect(refused.durationMilliseconds > 0)
        #expect(refused.time > began - 1 && refused.time < Date() + 1)
        #expect(refused.request.target?.hasSuffix("/user?page=2") == true)
        #expect(refused.request.header("host")?.hasPrefix("localhost:") == true)
        #expect(refused.response.header("Understudy-Request") == refused.id)
        #expect(refused.response.body?.isEmpty == false)
        #expect(refused.description.hasPrefix("GET api.github.com/user 40"))
        #expect(try await world.request(refused.id) == refused)
        let unknown = await #expect(throws: UnderstudyError.self) { try await world.request("r0") }
        #expect(unknown?.code == "noSuchRequest")
    }

    @Test("is asked by conditions")
    func filters() async throws {
        #expect(try await world.requests(host: "*.apple.com").count == 1)
        #expect(try await world.requests(path: "/user", method: "GET").count == 1)
        #expect(try await world.requests(client: "nobody").isEmpty)
        #expect(try await world.requests(status: 200).map(\.path) == ["/auth/keys"])
        #expect(try await world.requests(status: .class(4)).map(\.path) == ["/user"])
        #expect(try await world.requests(status: World.StatusFilter(500)).isEmpty)
        #expect(try await world.requests(isRefused: false).map(\.path) == ["/auth/keys"])
        #expect(try await world.refusals().map(\.path) == ["/user"])
        let first = try #require(try await world.requests().first)
        #expect(try await world.requests(after: first.id).map(\.path) == ["/user"])
        #expect(try await world.requests(flow: first.flow) == [first])
    }

    @Test("is read sign-in by sign-in")
    func signIns() async throws {
        let failed = try #require(try await world.signIns(isRefused: true, waitingAtMost: .seconds(30)).last)
        #expect(failed.ending == .refused && failed.providers == ["github"])
        #expect(failed.diagnosis == (try await world.refusals().last?.diagnosis))
        #expect(failed.stoppedBy == failed.steps.last?.id && failed.steps.last?.path == "/user")
        #expect(try await world.signIn(failed.id) == failed)
        #expect(try await world.signIns(provider: "apple").isEmpty)
        let unknown = await #expect(throws: UnderstudyError.self) { try await world.signIn("r0") }
        #expect(unknown?.code == "noSuchFlow")
    }

    @Test("says from where a provider's answer is known")
    func evidence() async throws {
        let known = try #require(try await world.requests(host: "appleid.apple.com").first?.evidence)
        #expect(known.kind == "documented" && known.source.hasPrefix("https://developer.apple.com/"))
    }

    @Test("is read page by page where it is long")
    func pages() async throws {
        // A page has 2 MiB of bodies at most.
        let value = String(repeating: "x", count: 200_000)
        for _ in 1...12 { _ = try fixture.ask("appleid.apple.com", "/auth/token", form: ["code": value]) }
        #expect(try await world.requests().count == 14)
        #expect(try await world.requests(waitingAtMost: .seconds(1), forCount: 12, path: "/auth/token").count == 12)
    }

    @Test("waits for what is still to come, and no longer than it is told")
    func waiting() async throws {
        let last = try #require(try await world.requests().last?.id)
        async let found = world.requests(waitingAtMost: .seconds(30), path: "/auth/keys", after: last)
        _ = try fixture.ask("appleid.apple.com", "/auth/keys")
        #expect(try await found.count == 1)
        #expect(try await world.requests(waitingAtMost: .milliseconds(10), path: "/nothing").isEmpty)
    }

    @Test("is an HTTP archive, and is emptied")
    func archive() async throws {
        let archive = try JSONDecoder().decode(JSONValue.self, from: await world.har())
        #expect(archive["log"]?["version"] == "1.2")
        #expect(archive["log"]?["entries"]?.array?.count == 2)
        try await world.forgetRequests()
        #expect(try await world.requests().isEmpty)
    }

    @Test("of all worlds says which world each was in, also of one that is gone")
    func allWorlds() async throws {
        _ = try await fixture.daemon.world("w2").apple.authorize(client: ClientFixture.app, account: "ada")
        try await world.delete()
        let all = try await fixture.daemon.requests()
        #expect(all.map(\.world).suffix(1) == ["w2"])
        #expect(try await fixture.daemon.requests(ofWorlds: "w2", isRefused: false).count == 1)
        #expect(try await fixture.daemon.requests(host: "api.github.com", path: "/auth/keys").isEmpty)
        try await fixture.daemon.forgetRequests(ofWorlds: "w2")
        #expect(try await fixture.daemon.requests(ofWorlds: "w2").isEmpty)
    }

    @Test("meets what is expected")
    func verified() async throws {
        try await world.verify(path: "/auth/keys")
        try await world.verify(.exactly(1), host: "api.github.com", method: "GET", status: .class(4), isRefused: true)
        try await world.verify(.exactly(1), path: "/user", fields: ["page": "2"])
        try await world.verify(.atMost(2), host: "*")
        try await world.verify(.none, path: "/auth/token", client: "nobody")
        let flow = try #require(try await world.requests().first?.flow)
        try await world.verify(.atLeast(1), flow: flow)
    }

    @Test("says what came instead of what was expected")
    func unmet() async throws {
        let error = try #require(
            await #expect(throws: VerificationError.self) {
                try await world.verify(.exactly(2), host: "appleid.apple.com", path: "/auth/token")
            })
        #expect(error.message.contains("exactly 2") && error.message.contains("/auth/token"))
        #expect(error.near.first?.differences.isEmpty == false)
        #expect(error.recorded.count == 2)
        #expect(error.description.contains("recorded: r"))
        #expect(error.description.contains("GET api.github.com/user 40"))
        try await world.forgetRequests()
        let empty = await #expect(throws: VerificationError.self) { try await world.verify(path: "/auth/keys") }
        #expect(empty?.description.contains("nothing was recorded") == true)
    }

    @Test("refuses an expectation that makes no sense")
    func misused() async {
        let error = await #expect(throws: UnderstudyError.self) { try await world.verify(.exactly(-1)) }
        #expect(error?.status == 400)
    }
}
