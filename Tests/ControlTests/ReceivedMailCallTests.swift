import EmulatorCore
import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Control: mails that came from outside", .oneProcess("who hands mail on is set in the process"))
struct ReceivedMailCallTests {
    private static let mail = "\(FirebaseFixture.control)/mail"
    let server: TestServer
    let client: TestClient
    private let submission = SampleSubmission()

    init() throws {
        server = try TestServer.start()
        client = TestClient(port: server.port)
        server.worlds.budget.mailRoutes.submission = submission
    }

    private func get(_ path: String) throws -> Answer { try client.get("\(ReceivedMailCallTests.mail)\(path)") }

    private func messages(_ query: String = "") throws -> [[String: Any]] {
        let answer = try get(query.isEmpty ? "" : "?\(query)")
        if answer.status != 200 { Issue.record("\(answer)") }
        return answer.json["messages"] as? [[String: Any]] ?? []
    }

    @Test("what a mail says, who gets it, its links, codes and attachments")
    func whole() throws {
        let relay = forwardingRelay()
        try server.worlds.main.deliver(
            try SampleMail.rails.message(
                to: ["x@privaterelay.appleid.com", "b@example.com"], relay: relay))
        let mail = try #require(try messages().first)
        #expect(
            mail["from"] as? String == "noreply@example.com" && mail["to"] as? String == "x@privaterelay.appleid.com")
        let envelope = try #require(mail["envelope"] as? [String: Any])
        #expect(envelope["from"] as? String == "bounces@example.com")
        #expect(envelope["to"] as? [String] == ["x@privaterelay.appleid.com", "b@example.com"])
        #expect(mail["subject"] as? String == "Reset your pässword")
        #expect((mail["text"] as? String)?.hasPrefix("Hello Ada,\n\nhttp://localhost:8000/reset/MQ/") == true)
        #expect((mail["html"] as? String)?.hasPrefix("<p>Hello <b>Ada</b></p>") == true)
        #expect((mail["links"] as? [String])?.count == 1 && mail["codes"] as? [String] == ["123456"])
        let shown = try #require(mail["relay"] as? [String: Any])
        #expect(shown["sender"] as? String == relay.sender && shown["forwardedTo"] as? String == "ada@home.example")
        let attachments = try #require(mail["attachments"] as? [[String: Any]])
        #expect(attachments.map { $0["name"] as? String } == ["Rechnung €.pdf", "data.csv", "page.html"])
        #expect(attachments.map { $0["size"] as? Int } == [2_700, 10, 27])
        let one = try get("/m1")
        #expect(one.json["cut"] == nil && one.json["html"] as? String == mail["html"] as? String)
        #expect((one.json["headers"] as? [[String: Any]])?.first?["name"] as? String == "Subject")
        #expect(try get("/m1/raw").body == SampleMail.rails.raw)
    }

    @Test("mails of each kind", arguments: SampleMail.allCases) func kinds(mail: SampleMail) throws {
        try server.worlds.main.deliver(try mail.message())
        let shown = try #require(try messages().first)
        let types = (shown["attachments"] as? [[String: Any]] ?? []).map { $0["type"] as? String ?? "" }
        let expected: [SampleMail: [String]] = [
            .django: [], .rails: ["application/pdf", "text/csv", "text/html"], .invitation: ["text/calendar"],
            .newsletter: ["image/png"],
        ]
        #expect(types == expected[mail])
        #expect((shown["text"] != nil) == (mail != .newsletter) && shown["html"] is String)
        #expect(shown["codes"] as? [String] == (mail == .newsletter ? [] : ["123456"]))
        #expect(shown["notes"] == nil)
    }

    @Test("attachments are saved, never opened")
    func attachments() throws {
        try server.worlds.main.deliver(try SampleMail.rails.message())
        let pdf = try get("/m1/attachments/1")
        #expect(pdf.status == 200 && pdf.body == Array(String(repeating: "%PDF-1.4\n", count: 300).utf8))
        #expect(pdf.header("Content-Type") == "application/pdf" && pdf.header("X-Content-Type-Options") == "nosniff")
        #expect(
            pdf.header("Content-Disposition")
                == "attachment; filename=\"Rechnung _.pdf\"; filename*=UTF-8''Rechnung%20%E2%82%AC.pdf")
        let page = try get("/m1/attachments/3")
        #expect(page.header("Content-Type") == "application/octet-stream" && page.text.contains("<script>"))
        #expect(page.header("Content-Security-Policy") == "default-src 'none'; sandbox")
        for number in ["0", "4", "x", "99999999999999999999"] {
            #expect(try get("/m1/attachments/\(number)").status == 404)
        }
        #expect(try get("/m9/attachments/1").status == 404)
    }

    @Test(
        "filters",
        arguments: [
            ("from=noreply@example.com", ["m1"]), ("from=BOUNCES@*", ["m1", "m2"]), ("from=news*", ["m2"]),
            ("to=b@example.com", ["m2"]), ("to=ada@example.com", ["m1", "m2"]), ("text=your+code", ["m1"]),
            ("text=ID%3D%22shown", ["m2"]), ("text=nothing", []), ("from=ada@example.com", []),
        ])
    func filters(query: String, found: [String]) throws {
        try server.worlds.main.deliver(try SampleMail.django.message())
        try server.worlds.main.deliver(try SampleMail.newsletter.message(to: ["ada@example.com", "b@example.com"]))
        #expect(try messages(query).map { $0["id"] as? String } == found)
    }

    @Test("lists cut what is long, one message is whole, and lists have pages")
    func long() throws {
        let line = String(repeating: "Grüße ", count: 20) + "\r\n"
        let raw =
            Array("Subject: x\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n".utf8)
            + Array(String(repeating: line, count: 6_000).utf8)
        for _ in 0..<7 {
            try server.worlds.main.deliver(
                SentMessage(received: ReceivedContent(raw), from: "a@b.c", to: ["d@e.f"], request: nil))
        }
        let listed = try #require(try messages().first)
        #expect(listed["cut"] as? Bool == true && (listed["text"] as? String)?.utf8.count ?? 0 <= 128 << 10)
        let list = try get("")
        #expect(list.body.count < 3 << 20)
        let one = try get("/m7")
        #expect(one.json["cut"] == nil)
        #expect((one.json["text"] as? String)?.utf8.count == line.utf8.count * 6_000 - 6_000)
    }

    @Test("the largest mail is kept, and its list stays small")
    func largest() throws {
        let raw =
            Array("Content-Type: application/octet-stream\r\n\r\n".utf8) + [UInt8](repeating: 0x41, count: 10 << 20)
        try server.worlds.main.deliver(
            SentMessage(received: ReceivedContent(raw), from: "a@b.c", to: ["d@e.f"], request: nil))
        #expect(try get("").body.count < 2_000)
        #expect(try get("/m1/raw").body.count == raw.count)
        #expect(try get("/m1/attachments/1").body.count == 10 << 20)
    }

    @Test("as the person gets it behind the relay")
    func forwarded() throws {
        try server.worlds.main.deliver(try SampleMail.rails.message(relay: forwardingRelay()))
        try server.worlds.main.deliver(try SampleMail.rails.message())
        let mail = ReadMail(try get("/m1/raw?as=forwarded").body)
        #expect(mail.from == [Mailbox("noreply_at_example@privaterelay.appleid.com", name: "Example Shop, Inc.")])
        #expect(mail.attachments.count == 3)
        #expect(try get("/m1/raw?as=sent").body == SampleMail.rails.raw)
        #expect((try get("/m2/raw?as=forwarded").json["error"] as? [String: Any])?["code"] as? String == "notForwarded")
        #expect((try get("/m1/raw?as=x").json["error"] as? [String: Any])?["path"] as? String == "$.as")
    }

    // MARK: - Sending

    private func post(_ path: String, _ body: [String: Any]) throws -> Answer {
        try client.post("\(ReceivedMailCallTests.mail)\(path)", json: body)
    }

    @Test("a mail without an SMTP client")
    func sending() throws {
        let answer = try post(
            "",
            [
                "from": "app@example.com", "to": ["ada@example.com"], "cc": ["b@example.com"], "subject": "Grüße",
                "text": "Hello", "html": "<p>Hello</p>", "replyTo": "help@example.com",
            ])
        #expect(answer.status == 200)
        #expect((answer.json["smtp"] as? [String: Any])?["code"] as? Int == 250)
        let mail = try #require((answer.json["messages"] as? [[String: Any]])?.first)
        #expect(mail["subject"] as? String == "Grüße" && mail["text"] as? String == "Hello")
        #expect(
            mail["html"] as? String == "<p>Hello</p>" && mail["request"] == nil)
        let sent = try #require(submission.submitted.first)
        #expect(sent.sender == "app@example.com" && sent.recipients == ["ada@example.com", "b@example.com"])
        let read = ReadMail(sent.raw)
        #expect(read.to.map(\.address) == ["ada@example.com"] && read.cc.map(\.address) == ["b@example.com"])
        #expect(read.replyTo.map(\.address) == ["help@example.com"])
        #expect(read.header("Message-ID")?.hasSuffix("@example.com>") == true)
    }

    @Test("a refusal is the answer, with what to do")
    func refused() throws {
        let answer = try post("", ["from": "a@example.com", "to": ["x@refused.example"], "text": "Hello"])
        #expect(answer.status == 200)
        let smtp = try #require(answer.json["smtp"] as? [String: Any])
        #expect(smtp["code"] as? Int == 550 && smtp["status"] as? String == "5.1.1")
        #expect(smtp["text"] as? String == "<x@refused.example>: refused")
        #expect(answer.header("Understudy-Diagnosis") == "write to somebody else")
        let some = try post(
            "", ["from": "a@example.com", "to": ["x@refused.example", "b@example.com"], "text": "Hello"])
        #expect((some.json["smtp"] as? [String: Any])?["code"] as? Int == 250)
        let refused = try #require((some.json["refused"] as? [[String: Any]])?.first)
        #expect(
            refused["to"] as? String == "x@refused.example" && refused["reason"] as? String == "write to somebody else")
        #expect((some.json["messages"] as? [Any])?.count == 2)
    }

    @Test(
        "a mail that can't be is refused with its place",
        arguments: [
            (#"{"from":"a@b.c","text":"x"}"#, "$.to"), (#"{"from":"a@b.c","to":[]}"#, "$.to"),
            (#"{"to":["a@b.c"]}"#, "$"), (#"{"from":"a","to":["a@b.c"]}"#, "$.from"),
            (#"{"from":"a@b.c>","to":["a@b.c"]}"#, "$.from"), (#"{"from":"a@b.c","to":["<a@b.c"]}"#, "$.to[0]"),
            (#"{"from":"a@b.c,d","to":["a@b.c"]}"#, "$.from"), (#"{"from":"a\u0001@b.c","to":["a@b.c"]}"#, "$.from"),
            (#"{"from":"a@b.c","to":["x y"]}"#, "$.to[0]"), (#"{"from":"a@b.c","to":["a@b.c"],"x":1}"#, "$.x"),
            (#"{"from":"a@b.c","to":["# + String(repeating: #""a@b.c","#, count: 100) + #""a@b.c"]}"#, "$.to"),
        ])
    func badMails(body: String, path: String) throws {
        let fields = try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
        let answer = try post("", fields)
        #expect(answer.status == 400)
        #expect((answer.json["error"] as? [String: Any])?["path"] as? String == path, "\(answer)")
        #expect(submission.submitted.isEmpty)
    }

    @Test("the person answers a mail that came through the relay: to the address that the relay gave the sender")
    func replies() throws {
        try server.worlds.main.deliver(try SampleMail.rails.message(relay: forwardingRelay()))
        let answer = try post("/m1/replies", ["text": "Thanks"])
        #expect((answer.json["smtp"] as? [String: Any])?["code"] as? Int == 250)
        let sent = try #require(submission.submitted.first)
        #expect(sent.sender == "ada@home.example" && sent.recipients == ["noreply_at_example@privaterelay.appleid.com"])
        let read = ReadMail(sent.raw)
        #expect(read.header("Subject") == "Re: Reset your pässword" && read.text == "Thanks\n")
        #expect(
            read.header("In-Reply-To") == "<first@example.com>" && read.header("References") == "<first@example.com>")
        #expect(read.from.map(\.address) == ["ada@home.example"])
        // A reply to the reply has both in its references.
        _ = try post("/m2/replies", ["text": "Welcome", "html": "<p>Welcome</p>", "from": "app@example.com"])
        let second = try #require(submission.submitted.last)
        #expect(second.sender == "app@example.com" && second.recipients == ["ada@home.example"])
        let again = ReadMail(second.raw)
        #expect(again.header("Subject") == "Re: Reset your pässword" && again.html == "<p>Welcome</p>")
        let id = try #require(read.header("Message-ID"))
        #expect(again.header("References") == "<first@example.com> \(id)")
    }

    @Test("what nobody got isn't answered, nor a text message")
    func unanswerable() throws {
        let refusal = MailRefusal(550, nil, "no", Diagnosis("x"))
        try server.worlds.main.deliver(
            try SampleMail.rails.message(relay: SentMessage.Relay(title: "R", address: "a@b.c", refused: refusal)))
        try server.worlds.main.deliver(
            SentMessage(.text, from: Mailbox("App"), to: Mailbox("+15555550123"), text: "Hi", request: nil))
        try server.worlds.main.deliver(
            SentMessage(received: ReceivedContent([]), from: "", to: ["ada@example.com"], request: nil))
        for (id, status) in [("m1", 409), ("m2", 404), ("m3", 409), ("m4", 404)] {
            #expect(try post("/\(id)/replies", ["text": "x"]).status == status)
        }
        #expect(try post("/m1/replies", [:]).status == 400)
        #expect(submission.submitted.isEmpty)
    }

    @Test(
        "masked, no secret is in the list, the mail, the raw mail, the forwarded one or the pages, and no attachment is given out"
    )
    func masked() throws {
        var options = RunningServer.Options()
        options.masksSecrets = true
        let server = try TestServer.start(options: options)
        defer { server.stop() }
        let client = TestClient(port: server.port)
        try server.worlds.main.deliver(try SampleMail.rails.message(relay: forwardingRelay()))
        let secrets = ["123456", "c1f2e3-0123456789abcdef0123456789abcdef"]
        for path in [
            ReceivedMailCallTests.mail, "\(ReceivedMailCallTests.mail)/m1", "\(ReceivedMailCallTests.mail)/m1/raw",
            "\(ReceivedMailCallTests.mail)/m1/raw?as=forwarded", "/_understudy/inbox", "/_understudy/inbox/m1",
            "/_understudy/inbox/m1/html",
        ] {
            let answer = try client.get(path)
            #expect(answer.status == 200, "\(path)")
            let text = answer.text.replacingOccurrences(of: "=\r\n", with: "")
            #expect(text.contains("masked-") || path.hasSuffix("inbox"), "\(path)")
            for secret in secrets {
                #expect(!text.contains(secret), "\(path)")
                #expect(!text.contains(Data(secret.utf8).base64EncodedString().prefix(6)), "\(path)")
            }
        }
        try server.worlds.main.deliver(
            SentMessage(
                .mail, from: Mailbox("a@b.test", name: "123456 is your code"), to: Mailbox("c@d.test"),
                text: "Your code is 123456.", codes: ["123456"], request: nil))
        for path in ["\(ReceivedMailCallTests.mail)/m2", "/_understudy/inbox", "/_understudy/inbox/m2"] {
            #expect(try !client.get(path).text.contains("123456"), "\(path)")
        }
        // A search can't reveal masked texts.
        for query in ["text=123456", "text=1234", "text=c1f2e3", "subject=123456"] {
            let found = try client.get("\(ReceivedMailCallTests.mail)?\(query)").json["messages"] as? [Any]
            #expect(found?.isEmpty == true, "\(query)")
        }
        let list = try client.get(ReceivedMailCallTests.mail).json["messages"] as? [[String: Any]]
        let attachments = try #require(list?.first?["attachments"] as? [[String: Any]])
        #expect(attachments.allSatisfy { $0["withheld"] as? Bool == true && $0["url"] == nil })
        #expect(try client.get("\(ReceivedMailCallTests.mail)/m1/attachments/1").status == 403)
        // The masked raw mail can still be parsed by other programs.
        let raw = ReadMail(try client.get("\(ReceivedMailCallTests.mail)/m1/raw").body)
        #expect(raw.header("Subject") == "Reset your pässword" && raw.html?.contains("masked-") == true)
        #expect(raw.from == [Mailbox("noreply@example.com", name: "Example Shop, Inc.")])
    }
}
