import Foundation
import TestSupport
import Testing

@Suite("What the control API refuses")
struct ControlRefusalTests {
    private let fixture: AppleFixture

    init() throws { fixture = try AppleFixture(isAlone: true) }

    private func call(_ method: String, _ path: String, _ body: String) throws -> Answer {
        try fixture.client.request(
            method, "\(ControlTests.api)/\(path)", headers: ["Content-Type": "application/json"],
            body: Array(body.utf8))
    }

    private func refusal(_ answer: Answer) -> [String] {
        let error = answer.json["error"] as? [String: Any]
        return ["\(answer.status)", error?["code"] as? String ?? "", error?["path"] as? String ?? ""]
    }

    @Test(
        "a person isn't given what another person has at a provider",
        arguments: [
            (#"{"id":"new","github":{"login":"Ada"}}"#, "$.github.login"),
            (#"{"id":"new","github":{"id":4711}}"#, "$.github.id"),
            (#"{"id":"new","facebook":{"id":"4712"}}"#, "$.facebook.id"),
            (#"{"id":"new","google":{"sub":"4713"}}"#, "$.google.sub"),
            (#"{"id":"new","openid":{"sub":"4714"}}"#, "$.openid.sub"),
        ])
    func takenIdentifier(body: String, path: String) throws {
        let other =
            #"{"id":"other","github":{"id":4711},"facebook":{"id":"4712"},"google":{"sub":"4713"},"openid":{"sub":"4714"}}"#
        #expect(try call("POST", "accounts", other).status == 201)
        let answer = try call("POST", "accounts", body)
        #expect(refusal(answer) == ["409", "identifierTaken", path])
        #expect(answer.diagnosis.contains(path == "$.github.login" ? "\"ada\"" : "\"other\""))
        #expect(try call("GET", "accounts/new", "").status == 404)
        // A change of an existing person is refused in the same way.
        #expect(try call("POST", "accounts", #"{"id":"third"}"#).status == 201)
        let patch = body.replacingOccurrences(of: #""id":"new","#, with: "")
        #expect(refusal(try call("PATCH", "accounts/third", patch)) == ["409", "identifierTaken", path])
        // Nothing is taken any more once the other person is deleted.
        #expect(try call("DELETE", "accounts/other", "").status == 204)
        #expect(try call("DELETE", "accounts/ada", "").status == 204)
        #expect(try call("PATCH", "accounts/third", patch).status == 200)
    }

    @Test("a person who is added or changed takes 64 KiB at most")
    func size() throws {
        func claims(_ length: Int) -> String {
            #""openid":{"claims":{"a":"\#(String(repeating: "x", count: length))"}}"#
        }
        #expect(try call("POST", "accounts", "{\"id\":\"long\",\(claims(65_000))}").status == 201)
        let added = try call("POST", "accounts", "{\"id\":\"longer\",\(claims(66_000))}")
        #expect(refusal(added) == ["400", "invalidBody", "$"])
        #expect(refusal(try call("PATCH", "accounts/long", "{\(claims(66_000))}")) == ["400", "invalidBody", "$"])
        #expect(try call("GET", "accounts/longer", "").status == 404)
    }

    @Test("a person keeps what is the person's own, whatever else changes")
    func ownIdentifier() throws {
        let person = #"{"id":"max","github":{"login":"maxi","company":"A"}}"#
        #expect(try call("POST", "accounts", person).status == 201)
        for patch in [#"{"github":{"login":"maxi"}}"#, #"{"github":{"company":"B"}}"#, #"{"github":{"login":"MAXI"}}"#]
        {
            #expect(try call("PATCH", "accounts/max", patch).status == 200, "\(patch)")
        }
    }

    @Test("what nobody wrote is in nobody's way")
    func defaultIdentifier() throws {
        // The numbers that follow from these IDs are equal.
        for id in ["u7358", "u10404"] {
            #expect(try call("POST", "accounts", #"{"id":"\#(id)","github":{"bio":"a"}}"#).status == 201)
        }
        #expect(try call("PATCH", "accounts/u10404", #"{"github":{"bio":"b","login":null}}"#).status == 200)
    }

    @Test("an organization that no seed has can't be a person's")
    func organizations() throws {
        let answer = try call("POST", "accounts", #"{"id":"max","github":{"orgs":["nope"]}}"#)
        #expect(refusal(answer) == ["400", "invalidBody", "$.github.orgs[0]"])
        #expect(answer.diagnosis.contains("\"nope\""))
        let changed = try call("PATCH", "accounts/ada", #"{"github":{"orgs":["nope"]}}"#)
        #expect(refusal(changed) == ["400", "invalidBody", "$.github.orgs[0]"])
    }

    @Test(
        "what the server refuses itself is in the control API's form for its calls, and a line of text elsewhere",
        .oneProcess("the balancer refuses large headers itself"))
    func forms() throws {
        let large = String(repeating: "x", count: 1_200_000)
        for path in [
            "\(ControlTests.api)/outcomes", "/~w\(ControlTests.api)/outcomes?a=b",
            "http://localhost\(ControlTests.api)/outcomes",
        ] {
            let answer = try fixture.client.request("POST", path, body: Array(large.utf8))
            #expect(refusal(answer) == ["413", "bodyTooLarge", ""])
            #expect(answer.diagnosis.contains("1048576") && answer.header("Understudy-Request") != nil)
        }
        let header = ["X-Large": String(repeating: "x", count: 40_000)]
        #expect(
            refusal(try fixture.client.get("\(ControlTests.api)/clock", headers: header)) == [
                "431", "headerTooLarge", "",
            ])
        let elsewhere = try fixture.client.request("POST", "/appleid.apple.com/auth/token", body: Array(large.utf8))
        #expect(elsewhere.status == 413 && elsewhere.text.contains("1048576"))
    }

    @Test("codes of refusals are single words")
    func codes() throws {
        #expect(refusal(try call("GET", "nothing", "")) == ["404", "noSuchCall", ""])
        #expect(refusal(try call("PUT", "outcomes", "{}")) == ["405", "methodNotAllowed", ""])
        let document = try fixture.client.get("\(ControlTests.api)/openapi.json").json
        let codes = Self.codes(in: document)
        #expect(codes.isSuperset(of: ["badHost", "bodyTooLarge", "storeFull", "identifierTaken"]))
        #expect(codes.filter { $0.contains(" ") } == [])
    }

    /// Returns the codes of errors in a description, anywhere in it.
    private static func codes(in json: Any) -> Set<String> {
        if let list = json as? [Any] { return list.reduce(into: []) { $0.formUnion(codes(in: $1)) } }
        guard let object = json as? [String: Any] else { return [] }
        let own = (object["code"] as? [String: Any])?["enum"] as? [String] ?? []
        return object.values.reduce(into: Set(own)) { $0.formUnion(codes(in: $1)) }
    }

    @Test(
        "a world whose port can't be had isn't made", .oneProcess("the balancer has its own ports"),
        arguments: ["listen", "smtp"])
    func worldWithoutPort(member: String) throws {
        let body = #"{"name":"portless","\#(member)":\#(fixture.client.port)}"#
        #expect(try call("POST", "worlds", body).status == 409)
        #expect(try !fixture.client.get("\(ControlTests.api)/worlds").text.contains("portless"))
        // A world that existed stays.
        #expect(try fixture.client.get("/~portless\(ControlTests.api)/health").status == 200)
        #expect(try call("POST", "worlds", body).status == 409)
        #expect(try fixture.client.get("\(ControlTests.api)/worlds").text.contains("portless"))
    }

    @Test(
        "an expectation that nothing can meet is refused",
        arguments: [
            (#"{"path":"/x","times":1,"atLeast":2}"#, "$"), (#"{"path":"/x","times":3,"atMost":2}"#, "$"),
            (#"{"path":"/x","atLeast":3,"atMost":2}"#, "$"), (#"{"expectations":[]}"#, "$.expectations"),
            (#"{"expectations":[{"path":"/x","times":0},{"path":"/x","times":1,"atMost":0}]}"#, "$.expectations[1]"),
        ])
    func contradictions(body: String, path: String) throws {
        #expect(refusal(try call("POST", "verify", body)) == ["400", "invalidBody", path])
    }

    @Test("expectations that agree with themselves are checked")
    func agreement() throws {
        for body in [
            #"{"path":"/x","times":0}"#, #"{"path":"/x","times":0,"atMost":2}"#,
            #"{"path":"/x","atLeast":0,"atMost":0}"#,
        ] { #expect(try call("POST", "verify", body).status == 200, "\(body)") }
    }

    @Test(
        "calls about a person who isn't there say so",
        arguments: [
            ("apple/notifications", #"{"type":"email-disabled","account":"adda","client":"com.example.app"}"#),
            ("apple/revocations", #"{"account":"adda","client":"com.example.app"}"#),
            (
                "google/security-events",
                #"{"type":"sessions-revoked","account":"adda","client":"example.apps.googleusercontent.com"}"#
            ),
            ("github/logouts", #"{"account":"adda"}"#),
            ("openid/logouts", #"{"account":"adda","issuer":"corp"}"#),
        ])
    func nobody(path: String, body: String) throws {
        let answer = try call("POST", path, body)
        #expect(refusal(answer) == ["404", "noSuchAccount", "$.account"])
        #expect(answer.diagnosis.contains("\"ada\""))
    }

    @Test("a mail by the control API is delayed by the fault that is ordered for its message")
    func delayedMail() throws {
        let fault = #"{"match":{"smtp":"MESSAGE"},"effect":{"delay":"300ms"}}"#
        let mail = #"{"from":"a@example.com","to":["b@example.com"],"text":"x"}"#
        #expect(try call("POST", "faults", fault).status == 201)
        let clock = ContinuousClock()
        let began = clock.now
        #expect(try call("POST", "mail", mail).status == 200)
        #expect(began.duration(to: clock.now) >= .milliseconds(300))
        #expect(try call("GET", "faults", "").text.contains("delay") == false)
    }

    @Test("a Services ID that is to sign in natively isn't told that it was meant")
    func servicesID() throws {
        let answer = try call("POST", "apple/authorizations", #"{"client":"com.example.web"}"#)
        #expect(answer.diagnosis.contains("Services ID"))
        #expect(!answer.diagnosis.contains("did you mean"))
    }
}
