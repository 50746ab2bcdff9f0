import TestSupport
import Testing

@Suite("Apple: the private e-mail relay")
struct RelayTests {
    @Test("mail goes through from registered senders, and only while the person wants it")
    func relay() throws {
        let fixture = try AppleFixture(
            seed: #"{"apple":{"teams":[{"id":"A1B2C3D4E5","notificationsURL":"http://127.0.0.1:1/"}]}}"#)
        let address = try fixture.native(["account": "grace"])["email"] ?? ""
        func send(_ sender: String, _ recipient: String) throws -> Answer {
            try fixture.client.get(
                "\(AppleFixture.control)/apple/relay?from=\(TestClient.escape(sender))&to=\(TestClient.escape(recipient))"
            )
        }
        for sender in ["noreply@demo-app.firebaseapp.com", "anyone@example.com", "Anyone@EXAMPLE.com"] {
            let answer = try send(sender, address)
            #expect(answer["to"] == "grace@example.com")
            #expect(answer["sender"]?.hasSuffix("@privaterelay.appleid.com") == true)
            let reply = try send("grace@example.com", answer["sender"] ?? "")
            #expect(reply["to"]?.lowercased() == sender.lowercased() && reply["sender"] == address)
        }
        for sender in ["other@demo-app.firebaseapp.com", "anyone@mail.example.com", "anyone@example.org"] {
            let answer = try send(sender, address)
            #expect(answer.json["forwarded"] as? Bool == false)
            #expect(answer["smtp"] == "550 5.1.1 <\(sender)>: unauthorized sender")
            #expect(answer["reason"] == "unauthorizedSender")
            #expect(!answer.diagnosis.isEmpty)
        }
        #expect(try send("anyone@example.com", "nobody@privaterelay.appleid.com").status == 404)
        #expect(try send("anyone@example.com", "ada").status == 400)
        // The notification finds nobody; the event happens all the same.
        _ = try fixture.client.post(
            "\(AppleFixture.control)/apple/notifications",
            json: ["type": "email-disabled", "account": "grace", "client": AppleFixture.app])
        #expect(try send("anyone@example.com", address)["reason"] == "switchedOff")
        #expect(try send("anyone@example.com", address)["smtp"] == "550 5.1.1 <\(address)>: user not found")
    }
}
