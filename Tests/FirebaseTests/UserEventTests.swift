import Foundation
import HTTPServer
import TestSupport
import Testing
import Understudy

@Suite("Firebase: events about new and deleted users")
struct UserEventTests {
    let receiver: Receiver
    let fixture: FirebaseFixture

    init() throws {
        let receiver = try Receiver()
        self.receiver = receiver
        let events = #"{"onCreate": "\#(receiver.url)/created", "onDelete": "\#(receiver.url)/deleted"}"#
        fixture = try FirebaseFixture(
            seed: #"{"firebase": {"projects": [{"id": "demo-app", "userEvents": \#(events)}]}}"#)
    }

    /// Returns the events, as soon as there are so many: path, and user.
    private func events(_ count: Int) throws -> [String] {
        try eventually { receiver.requests.count >= count }
        return receiver.requests.map { request in
            let body = (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any]
            let user = body?["data"] as? [String: Any]
            let type = (body?["eventType"] as? String)?.split(separator: "/").last ?? ""
            return "\(request.path) \(type) \(user?["uid"] ?? "")"
        }
    }

    private func eventually(_ isTrue: () -> Bool) throws {
        for _ in 0..<200 where !isTrue() { Thread.sleep(forTimeInterval: 0.02) }
    }

    @Test("each way to become a user, and each to be deleted")
    func ways() throws {
        defer { receiver.stop() }
        let signedUp = try fixture.signUp("ada@example.net")
        _ = try events(1)
        let anonymous = try fixture.v1("signUp", ["returnSecureToken": true])
        _ = try events(2)
        #expect(try fixture.admin("POST", "/accounts", ["localId": "made"]).status == 200)
        _ = try events(3)
        let order = ["provider": "apple", "client": AppleFixture.app, "account": "grace"]
        let apple = try fixture.client.post("/_understudy/v1/tokens", json: order)
        let body: [String: Any] = [
            "postBody": FirebaseFixture.postBody("apple.com", idToken: apple["token"]),
            "requestUri": "http://localhost", "returnSecureToken": true,
        ]
        let federated = try fixture.v1("signInWithIdp", body)
        _ = try events(4)
        // Signing in again makes nobody.
        #expect(
            try fixture.v1("signInWithPassword", ["email": "ada@example.net", "password": "correct horse"]).status
                == 200)
        #expect(try fixture.v1("delete", ["idToken": signedUp["idToken"] ?? ""]).status == 200)
        _ = try events(5)
        #expect(try fixture.admin("POST", "/accounts:delete", ["localId": "made"]).status == 200)
        _ = try events(6)
        let many: [String: Any] = ["localIds": [anonymous["localId"] ?? ""], "force": true]
        #expect(try fixture.admin("POST", "/accounts:batchDelete", many).status == 200)
        let users = [signedUp, anonymous, federated].map { $0["localId"] ?? "none" }
        #expect(
            try events(7) == [
                "/events/created user.create \(users[0])", "/events/created user.create \(users[1])",
                "/events/created user.create made",
                "/events/created user.create \(users[2])", "/events/deleted user.delete \(users[0])",
                "/events/deleted user.delete made",
                "/events/deleted user.delete \(users[1])",
            ])
        let first = try JSONSerialization.jsonObject(with: Data(receiver.requests[0].body)) as? [String: Any]
        #expect(first?["eventType"] as? String == "providers/firebase.auth/eventTypes/user.create")
        let user = first?["data"] as? [String: Any]
        #expect(user?["email"] as? String == "ada@example.net" && user?["emailVerified"] as? Bool == false)
        #expect((user?["metadata"] as? [String: Any])?["creationTime"] is String && user?["passwordHash"] == nil)
        #expect((user?["providerData"] as? [[String: Any]])?.first?["providerId"] as? String == "password")
    }

    @Test("as in production, several deletions at once have no events; imports have none anywhere")
    func none() throws {
        defer { receiver.stop() }
        let production = Production(fixture)
        _ = try production.create("a")
        _ = try events(1)
        let many: [String: Any] = ["localIds": ["a"], "force": true]
        #expect(try production.admin("/accounts:batchDelete", many).status == 200)
        #expect(try production.admin("/accounts:batchCreate", ["users": [["localId": "b"]]]).status == 200)
        _ = try production.create("c")
        #expect(try events(2) == ["/events/created user.create a", "/events/created user.create c"])
    }

    @Test("the Functions emulator gets the events of every project, and its failure changes nothing")
    func emulator() throws {
        let functions = try Receiver { _ in .now(Response(status: 500)) }
        defer { functions.stop() }
        let port = try #require(URL(string: functions.url)?.port)
        let fixture = try FirebaseFixture(seed: #"{"firebase": {"functionsEmulator": "localhost:\#(port)"}}"#)
        #expect(try fixture.v1("signUp", ["returnSecureToken": true]).status == 200)
        #expect(try fixture.v1("signUp", ["returnSecureToken": true], key: "demo-other").status == 200)
        try eventually { functions.requests.count >= 2 }
        #expect(
            Set(functions.requests.map(\.path)) == [
                "/functions/projects/demo-app/trigger_multicast", "/functions/projects/demo-other/trigger_multicast",
            ])
    }

    @Test(
        "addresses that can't be are refused with their place",
        arguments: [
            (
                #"{"projects":[{"id":"demo-app","userEvents":{"onCreate":"http://example.com/"}}]}"#,
                "userEvents.onCreate"
            ),
            (#"{"projects":[{"id":"demo-app","userEvents":{"onDelete":"x"}}]}"#, "userEvents.onDelete"),
            (#"{"functionsEmulator":"localhost"}"#, "functionsEmulator"),
            (#"{"functionsEmulator":"http://localhost:5001"}"#, "functionsEmulator"),
            (#"{"functionsEmulator":"a/b:1"}"#, "functionsEmulator"),
        ])
    func refused(section: String, place: String) {
        let faults = SeedInput.faults(in: [.builtIn, .json(#"{"firebase": \#(section)}"#)])
        #expect(faults.count == 1 && faults[0].contains(place), "\(faults)")
    }
}
