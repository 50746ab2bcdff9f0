import Foundation
import TestSupport
import Testing

/// The host `www.googleapis.com` serves Google, and Firebase's methods in version 3.
@Suite("A host of two providers")
struct HostOfTwoProvidersTests {
    static let legacy = "/www.googleapis.com/identitytoolkit/v3/relyingparty"
    static let project = "demo-app"

    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    private func recorded(_ answer: Answer) throws -> [String: Any] {
        try fixture.client.get("\(AppleFixture.control)/requests/\(answer.header("Understudy-Request") ?? "")").json
    }

    @Test(
        "a fault for a project fires at each of Firebase's hosts, and nowhere else",
        arguments: [
            "/identitytoolkit.googleapis.com/v1/accounts:signUp", "\(legacy)/signupNewUser",
        ])
    func fault(path: String) throws {
        let order: [String: Any] = [
            "match": ["client": HostOfTwoProvidersTests.project], "effect": ["status": 418], "times": 1,
        ]
        let ordered = try fixture.client.post("\(AppleFixture.control)/faults", json: order)
        #expect(ordered.status == 201, "\(ordered)")
        #expect(try fixture.client.get("/www.googleapis.com/oauth2/v3/certs").status == 200)
        let broken = try fixture.client.post("\(path)?key=\(FirebaseFixture.key)", json: [:])
        #expect(broken.status == 418, "\(broken)")
        #expect(try recorded(broken)["client"] as? String == HostOfTwoProvidersTests.project)
        #expect(try fixture.client.post("\(path)?key=\(FirebaseFixture.key)", json: [:]).status == 200)
    }

    @Test(
        "the recording names the project",
        arguments: ["\(legacy)/signupNewUser", "/www.googleapis.com/v1/token"])
    func client(path: String) throws {
        let answer = try fixture.client.post("\(path)?key=\(FirebaseFixture.key)", json: [:])
        #expect(try recorded(answer)["client"] as? String == HostOfTwoProvidersTests.project)
    }

    @Test("each provider has its own words for a request that is too large")
    func tooLarge() throws {
        let form = ["client_id": String(repeating: "a", count: 2_000)]
        let google = try fixture.client.post("/www.googleapis.com/oauth2/v3/userinfo", form: form)
        #expect(google.text.contains(#""error":"invalid_request""#), "\(google)")
        let firebase = try fixture.client.post("\(HostOfTwoProvidersTests.legacy)/signupNewUser", form: form)
        #expect(firebase.text.contains("Request contains an invalid argument."), "\(firebase)")
    }

    @Test("each provider has its own words for a method or path that it doesn't serve")
    func notServed() throws {
        let firebase = try fixture.client.get("\(HostOfTwoProvidersTests.legacy)/signupNewUser")
        #expect(firebase.status == 404)
        #expect(firebase.text.contains("The requested URL was not found on this server."))
        let unknown = try fixture.client.get("\(HostOfTwoProvidersTests.legacy)/nothing")
        #expect(unknown.text == firebase.text)
        let google = try fixture.client.request("DELETE", "/www.googleapis.com/oauth2/v3/certs")
        #expect(google.status == 404 && google.text.contains("/oauth2/v3/certs was not found on this server."))
    }
}
