import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Control: the inbox")
struct MailCallTests {
    private static let mail = "\(FirebaseFixture.control)/mail"
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    @discardableResult
    private func resetPassword(of address: String) throws -> Answer {
        try fixture.v1("sendOobCode", ["requestType": "PASSWORD_RESET", "email": address])
    }

    private func messages(_ query: String = "") throws -> [[String: Any]] {
        let answer = try fixture.client.get(MailCallTests.mail + (query.isEmpty ? "" : "?\(query)"))
        if answer.status != 200 { Issue.record("\(answer)") }
        return answer.json["messages"] as? [[String: Any]] ?? []
    }

    private func fill() throws {
        for address in ["ada@example.org", "grace+tag@example.org"] {
            _ = try fixture.signUp(address)
            try resetPassword(of: address)
        }
        _ = try fixture.v1("sendVerificationCode", ["phoneNumber": "+15555550123"])
    }

    @Test("a mail with all that the contract says")
    func whole() throws {
        _ = try fixture.signUp("ada@example.org")
        let sent = try resetPassword(of: "ada@example.org")
        let mail = try #require(try messages().last)
        #expect(mail["id"] as? String == "m1")
        #expect(mail["kind"] as? String == "mail")
        #expect(mail["from"] as? String == "noreply@demo-app.firebaseapp.com")
        #expect(mail["to"] as? String == "ada@example.org")
        #expect((mail["envelope"] as? [String: Any])?["to"] as? [String] == ["ada@example.org"])
        #expect((mail["subject"] as? String)?.hasPrefix("Reset your password for ") == true)
        let code = try #require(try fixture.mail("ada@example.org")["oobCode"] as? String)
        #expect(mail["codes"] as? [String] == [code])
        let link = try #require((mail["links"] as? [String])?.first)
        #expect(link.contains("oobCode=\(code)"))
        #expect((mail["text"] as? String)?.contains(link) == true)
        #expect((mail["html"] as? String)?.contains("<a href=\"") == true)
        #expect(mail["request"] as? String == sent.header("Understudy-Request"))
        #expect((mail["time"] as? String)?.hasSuffix("Z") == true)
        let one = try fixture.client.get("\(MailCallTests.mail)/m1")
        #expect(one.json["subject"] as? String == mail["subject"] as? String)
        let raw = try fixture.client.get("\(MailCallTests.mail)/m1/raw")
        #expect(raw.header("Content-Type") == "message/rfc822")
        #expect(raw.text.hasPrefix("From: ") && raw.text.contains("multipart/alternative"))
    }

    @Test(
        "filters",
        arguments: [
            ("", ["m1", "m2", "m3"]), ("to=ada@example.org", ["m1"]), ("to=ADA@EXAMPLE.ORG", ["m1"]),
            ("to=*@example.org", ["m1", "m2"]), ("to=grace+tag@example.org", ["m2"]), ("to=+15555550123", ["m3"]),
            ("to=%2B15555550123", ["m3"]), ("to=nobody@example.org", []), ("subject=RESET", ["m1", "m2"]),
            ("subject=other", []), ("kind=text", ["m3"]), ("kind=mail", ["m1", "m2"]), ("after=m1", ["m2", "m3"]),
            ("limit=1", ["m3"]), ("limit=1&after=m1", ["m2"]), ("to=ada@example.org&after=m1", []), ("after=m99", []),
        ])
    func filters(query: String, found: [String]) throws {
        try fill()
        #expect(try messages(query).map { $0["id"] as? String } == found)
    }

    @Test(
        "a query that can't be is refused with its place",
        arguments: [
            ("limit=0", "$.limit"), ("wait=soon", "$.wait"), ("wait=2m", "$.wait"), ("kind=fax", "$.kind"),
            ("after=x", "$.after"), ("after=m", "$.after"), ("too=x", "$.too"), ("to=", "$.to"),
        ])
    func badQueries(query: String, path: String) throws {
        let answer = try fixture.client.get("\(MailCallTests.mail)?\(query)")
        #expect(answer.status == 400)
        #expect((answer.json["error"] as? [String: Any])?["path"] as? String == path)
    }

    @Test("one waits for a message that is still to come, and gets it at once")
    func waiting() throws {
        _ = try fixture.signUp("ada@example.org")
        let wire = try #require(
            Wire.asking(port: fixture.client.port, "\(MailCallTests.mail)?to=ada@example.org&wait=1m"))
        _ = try fixture.v1("sendVerificationCode", ["phoneNumber": "+15555550123"])
        let began = ContinuousClock.now
        try resetPassword(of: "ada@example.org")
        let answer = try wire.receive()
        #expect((answer.json["messages"] as? [[String: Any]])?.first?["to"] as? String == "ada@example.org")
        // The answer comes before the minute is over.
        #expect(ContinuousClock.now - began < .seconds(50))
        // A call doesn't wait for a message that is there already.
        #expect(try messages("to=ada@example.org&wait=30s").count == 1)
        #expect(try messages("to=nobody@example.org&wait=100ms").isEmpty)
    }

    @Test("one that waits goes on waiting through a reset")
    func waitingThroughReset() throws {
        try fill()
        let wire = try #require(Wire.asking(port: fixture.client.port, "\(MailCallTests.mail)?subject=verify&wait=1m"))
        _ = try fixture.client.post("\(FirebaseFixture.control)/reset", json: [:])
        let user = try fixture.signUp("ada@example.org")
        _ = try fixture.v1("sendOobCode", ["requestType": "VERIFY_EMAIL", "idToken": user["idToken"] ?? ""])
        #expect((try wire.receive().json["messages"] as? [[String: Any]])?.first?["id"] as? String == "m1")
    }

    @Test("a stream brings messages as they come, says that some were deleted, and can be taken up again")
    func stream() throws {
        func open(_ query: String = "", _ headers: String = "") throws -> Wire {
            let wire = try Wire(port: fixture.client.port)
            wire.send(
                "GET \(MailCallTests.mail)\(query) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\(headers)\r\n"
            )
            #expect(try wire.receive(toHEAD: true).header("Content-Type") == "text/event-stream")
            return wire
        }
        func read(_ wire: Wire, until mark: String) throws -> String {
            var text = ""
            while !text.contains(mark) || !text.hasSuffix("\n\n") {
                guard let chunk = try wire.chunk() else { throw TransportError(reason: "ended: \(text)") }
                text += chunk
            }
            return text
        }
        try fill()
        let wire = try open("?kind=mail&after=m1")
        #expect(try !read(wire, until: "id: m2\n").contains("id: m1\n"))
        try resetPassword(of: "ada@example.org")
        let fresh = try read(wire, until: "id: m4\n")
        #expect(fresh.contains("event: message\n") && !fresh.contains("id: m3\n"))
        _ = try fixture.client.request("DELETE", "\(MailCallTests.mail)/m4")
        #expect(try read(wire, until: "event: deleted").contains("data: {}"))
        _ = try fixture.client.post("\(FirebaseFixture.control)/reset", json: [:])
        _ = try fixture.signUp("new@example.org")
        try resetPassword(of: "new@example.org")
        #expect(try read(wire, until: "id: m1\n").contains("event: deleted"))
        let again = try open("", "Last-Event-ID: m1\r\n")
        try resetPassword(of: "new@example.org")
        #expect(try !read(again, until: "id: m2\n").contains("id: m1\n"))
    }

    @Test("deleting, and what isn't there")
    func deleting() throws {
        try fill()
        #expect(try fixture.client.request("DELETE", "\(MailCallTests.mail)/m1").status == 204)
        #expect(try fixture.client.request("DELETE", "\(MailCallTests.mail)/m1").status == 404)
        #expect(try fixture.client.get("\(MailCallTests.mail)/m1").status == 404)
        #expect(try fixture.client.get("\(MailCallTests.mail)/m1/raw").status == 404)
        // A text message has no raw form.
        let text = try fixture.client.get("\(MailCallTests.mail)/m3/raw")
        #expect((text.json["error"] as? [String: Any])?["code"] as? String == "notMail")
        #expect(try fixture.client.request("DELETE", MailCallTests.mail).status == 204)
        #expect(try messages().isEmpty)
    }

    @Test("worlds have inboxes of their own")
    func worlds() throws {
        let fixture = try FirebaseFixture(isAlone: true)
        _ = try fixture.v1("sendVerificationCode", ["phoneNumber": "+15555550123"])
        #expect((try fixture.client.get(MailCallTests.mail).json["messages"] as? [Any])?.count == 1)
        #expect((try fixture.client.get("/~other\(MailCallTests.mail)").json["messages"] as? [Any])?.isEmpty == true)
    }

    @Test("masked, no code is in the list, the mail, the raw mail, the stream or the page")
    func masked() throws {
        var options = RunningServer.Options()
        options.masksSecrets = true
        let server = try TestServer.start(options: options)
        defer { server.stop() }
        let client = TestClient(port: server.port)
        let toolkit = "\(FirebaseFixture.toolkit)/v1/accounts"
        _ = try client.post(
            "\(toolkit):signUp?key=demo-api-key", json: ["email": "a@example.org", "password": "secret1"])
        _ = try client.post(
            "\(toolkit):sendOobCode?key=demo-api-key",
            json: ["requestType": "PASSWORD_RESET", "email": "a@example.org"])
        _ = try client.post("\(toolkit):sendVerificationCode?key=demo-api-key", json: ["phoneNumber": "+15555550123"])
        let emulator = "/emulator/v1/projects/demo-app"
        let codes = try client.get("\(emulator)/oobCodes").json["oobCodes"] as? [[String: Any]]
        let texts = try client.get("\(emulator)/verificationCodes").json["verificationCodes"] as? [[String: Any]]
        let secrets = try [#require(codes?.first?["oobCode"] as? String), #require(texts?.first?["code"] as? String)]
        for path in [
            MailCallTests.mail, "\(MailCallTests.mail)/m1", "\(MailCallTests.mail)/m1/raw", "\(MailCallTests.mail)/m2",
            "/_understudy/inbox", "/_understudy/inbox/m1", "/_understudy/inbox/m1/html", "/_understudy/inbox/m2",
        ] {
            let answer = try client.get(path)
            #expect(answer.status == 200)
            // Soft line breaks could split a code.
            let text = answer.text.replacingOccurrences(of: "=\r\n", with: "")
            #expect(text.contains("masked-") || path.hasSuffix("inbox"), "\(path)")
            for secret in secrets { #expect(!text.contains(secret), "\(path)") }
        }
    }

    @Test("nothing in an address or a name begins another header field")
    func injection() throws {
        let name = "Eve\r\nBcc: all@example.org\r\n\r\n<script>alert(1)</script>"
        let user = try fixture.v1(
            "signUp", ["email": "e@example.org", "password": "secret1", "returnSecureToken": true])
        _ = try fixture.v1("update", ["idToken": user["idToken"] ?? "", "displayName": name])
        _ = try fixture.v1(
            "sendOobCode",
            [
                "requestType": "VERIFY_EMAIL", "idToken": user["idToken"] ?? "",
                "continueUrl": "http://localhost/\"><b>\r\nX: y",
            ])
        _ = try fixture.admin(
            "PATCH", "/config?updateMask=notification.sendEmail.verifyEmailTemplate.subject",
            ["notification": ["sendEmail": ["verifyEmailTemplate": ["subject": "%DISPLAY_NAME%"]]]], version: "v2")
        _ = try fixture.v1("sendOobCode", ["requestType": "VERIFY_EMAIL", "idToken": user["idToken"] ?? ""])
        let raw = try fixture.client.get("\(MailCallTests.mail)/\(try #require(try messages().last?["id"]))/raw").text
        let head = try #require(raw.components(separatedBy: "\r\n\r\n").first)
        #expect(head.components(separatedBy: "\r\n").allSatisfy { !$0.hasPrefix("Bcc") && !$0.hasPrefix("<script") })
        #expect(try messages().last?["html"] as? String != nil)
        for message in try messages() { #expect((message["html"] as? String)?.contains("<script") == false) }
    }
}
