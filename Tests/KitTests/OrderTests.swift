import Foundation
import Testing
import UnderstudyClient

@Suite("Orders, by the client")
struct OrderTests {
    let fixture: ClientFixture
    var world: World { fixture.world }

    init() throws { fixture = try ClientFixture() }

    private let authorize =
        "/auth/authorize?client_id=com.example.web&redirect_uri=https://example.com/callback&response_type=code"

    @Test("an outcome waits for its sign-in, and is spent with it")
    func outcome() async throws {
        let ordered = try await world.order(.cancel, client: ClientFixture.app, times: 2)
        #expect(ordered.provider == .apple)
        #expect(ordered.client == ClientFixture.app)
        #expect(ordered.outcome == "cancel")
        #expect(ordered.times == 2)
        #expect(try await world.outcomes() == [ordered])
        _ = try? await world.apple.authorize(client: ClientFixture.app, account: "ada")
        #expect(try await world.outcomes().map(\.times) == [1])
        _ = try? await world.apple.authorize(client: ClientFixture.app, account: "ada")
        #expect(try await world.outcomes().isEmpty)
    }

    @Test("an outcome says who signs in, and what they grant")
    func approval() async throws {
        let approval = World.Outcome.approve(
            account: "grace", shareEmail: false, name: World.PersonName(given: "G", family: "H"),
            scopes: ["email", "name"])
        #expect(try await world.order(approval).account == "grace")
        let credential = try await world.apple.authorize(client: ClientFixture.app)
        #expect(credential.email?.hasSuffix("@privaterelay.appleid.com") == true)
        #expect(credential.fullName?.givenName == "G")
        try await world.order(.approve)
        #expect(try await world.apple.authorize(client: ClientFixture.app, account: "ada").email == "ada@example.com")
    }

    @Test("an outcome holds on the web, too, and for ever if it is to")
    func web() async throws {
        #expect(try await world.order(.cancel, times: .forever).times == nil)
        for _ in 1...3 {
            #expect(try fixture.ask("appleid.apple.com", authorize).redirect["error"] == "user_cancelled_authorize")
        }
        try await world.removeOutcomes()
        #expect(try fixture.ask("appleid.apple.com", authorize).status == 200)
    }

    @Test("an outcome can be removed")
    func removal() async throws {
        let first = try await world.order(.cancel)
        let second = try await world.order(.error("access_denied"), at: .github, times: World.Times(3))
        try await world.remove(first)
        #expect(try await world.outcomes() == [second])
        let gone = await #expect(throws: UnderstudyError.self) { try await world.remove(first) }
        #expect(gone?.code == "noSuchOutcome")
    }

    @Test("a fault answers in an endpoint's place, later, and as often as is ordered")
    func fault() async throws {
        let ordered = try await world.fault(
            .status(503, headers: ["Retry-After": "3"], body: ["busy": true]), .delay(.milliseconds(5)),
            host: "appleid.apple.com", path: "/auth/*", method: "GET", after: 1, times: 1)
        #expect(ordered.match?["host"] == "appleid.apple.com")
        #expect(ordered.effect["delay"] == "5ms")
        #expect(ordered.after == 1)
        #expect(ordered.times == 1)
        #expect(try await world.faults().map(\.id) == [ordered.id])
        #expect(try await world.faults().first?.seen == 0)
        #expect(try fixture.ask("appleid.apple.com", "/auth/keys").status == 200)
        let answer = try fixture.ask("appleid.apple.com", "/auth/keys")
        #expect(answer.status == 503)
        #expect(answer.header("Retry-After") == "3")
        #expect(answer.json["busy"] as? Bool == true)
        #expect(try fixture.ask("appleid.apple.com", "/auth/keys").status == 200)
        #expect(try await world.requests(status: 503).first?.fault?.contains(ordered.id) == true)
    }

    @Test("a fault is for a client, and for fields of a request")
    func narrowFault() async throws {
        try await world.fault(
            .error("invalid_grant", description: "so it is"), path: "/auth/token", client: ClientFixture.service,
            fields: ["grant_type": "refresh_token"], times: .forever)
        func token(_ grant: String) throws -> String? {
            let form = ["client_id": ClientFixture.service, "client_secret": "s", "grant_type": grant, "code": "c"]
            return try fixture.ask("appleid.apple.com", "/auth/token", form: form)["error_description"]
        }
        #expect(try token("refresh_token") == "so it is")
        #expect(try token("authorization_code") != "so it is")
        try await world.removeFaults()
        #expect(try token("refresh_token") != "so it is")
    }

    @Test(
        "a fault can be all that the daemon knows",
        arguments: [
            (World.FaultEffect.token(claims: ["aud": "other"], header: ["kid": "k"], signature: .none), "/auth/token"),
            (.rotateKeys(), "/auth/keys"), (.rotateKeys(droppingOld: true), "/auth/keys"),
            (.keySet(.empty), "/auth/keys"), (.keySet(.stale), "/auth/keys"), (.malformedJSON, "/auth/keys"),
            (.response(["keys": nil, "more": 1]), "/auth/keys"),
            (.state(.missing), "/auth/authorize"), (.state(.wrong), "/auth/authorize"), (.usedCode, "/auth/authorize"),
            (.disconnect(), "/auth/keys"), (.disconnect(.midBody), "/auth/keys"),
            (.delay(.days(-1) + .days(1)), "/auth/keys"),
            (World.FaultEffect(["status": 418]), "/auth/keys"),
        ])
    func effects(effect: World.FaultEffect, path: String) async throws {
        let ordered = try await world.fault(effect, host: "appleid.apple.com", path: path, probability: 0.5)
        try await world.remove(ordered)
        #expect(try await world.faults().isEmpty)
    }

    @Test("a fault that doesn't fit is refused with what would")
    func misfit() async {
        let error = await #expect(throws: UnderstudyError.self) {
            try await world.fault(.usedCode, host: "appleid.apple.com", path: "/auth/keys")
        }
        #expect(error?.path?.hasPrefix("$.effect") == true)
    }

    @Test("mail goes wrong, too")
    func mailFault() async throws {
        let lost = World.FaultEffect(["lose": true])
        let ordered = try await world.mailFault(at: "MESSAGE", lost, from: "*@example.com", to: "*@example.org")
        #expect(ordered.match?["smtp"] == "MESSAGE")
        try await world.sendMail(from: "app@example.com", to: ["max@example.org"], subject: "one")
        #expect(try await world.mail().isEmpty)
        try await world.sendMail(from: "app@example.com", to: ["max@example.org"], subject: "two")
        #expect(try await world.mail().map(\.subject) == ["two"])
    }

    @Test("endpoints say what can go wrong at them")
    func endpoints() async throws {
        let endpoints = try await world.endpoints()
        let token = try #require(endpoints.first { $0.host == "appleid.apple.com" && $0.path == "/auth/token" })
        #expect(token.method == "POST")
        #expect(token.errors?.contains("invalid_grant") == true)
        #expect(token.fits.contains("token"))
        #expect(endpoints.contains { $0.smtp == "RCPT" })
    }

    @Test("a scenario begins and ends")
    func scenario() async throws {
        let name = "provider-outage"
        let found = try #require(try await world.scenarios.list().first { $0.name == name })
        #expect(!found.isPlayed)
        #expect(!found.title.isEmpty && !found.happens.isEmpty)
        try await world.scenarios.play(name, ["host": "api.github.com"])
        #expect(try await world.scenarios.list().first { $0.name == name }?.isPlayed == true)
        #expect(try fixture.ask("api.github.com", "/user").status == 503)
        try await world.scenarios.end(name)
        #expect(try fixture.ask("api.github.com", "/user").status == 403)
        let unknown = await #expect(throws: UnderstudyError.self) { try await world.scenarios.play("nothing") }
        #expect(unknown?.code == "noSuchScenario")
    }

    @Test("the clock is moved, set, stopped and brought back")
    func clock() async throws {
        let clock = world.clock
        #expect(try await clock.isFrozen() == false)
        try await clock.freeze()
        #expect(try await clock.isFrozen())
        let before = try await clock.now()
        #expect(try await clock.advance(by: .minutes(6)).timeIntervalSince(before) == 360)
        #expect(try await clock.advance(by: .milliseconds(-360_500)).timeIntervalSince(before) == -0.5)
        let moment = Date(timeIntervalSince1970: 1_900_000_000.25)
        #expect(try await clock.set(to: moment) == moment)
        #expect(try await clock.now() == moment)
        try await clock.unfreeze()
        #expect(try await clock.isFrozen() == false)
        try await clock.reset()
        #expect(abs(try await clock.now().timeIntervalSinceNow) < 60)
        let beyond = await #expect(throws: UnderstudyError.self) {
            try await clock.advance(by: .seconds(Int64.max))
        }
        #expect(beyond?.status == 400)
    }

    @Test("a code expires by the world's clock")
    func expiry() async throws {
        let code = try #require(
            try await world.apple.authorize(client: ClientFixture.app, account: "ada").authorizationCodeText)
        try await world.clock.advance(by: .minutes(6))
        #expect(try await world.explain(code).isSound == false)
    }
}
