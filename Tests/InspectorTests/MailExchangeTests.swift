import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Mail by SMTP, in the inspector") struct MailExchangeTests {
    private let fixture: InspectorFixture

    init() throws {
        var options = RunningServer.Options()
        options.smtpPort = 0
        fixture = try InspectorFixture(options: options)
    }

    private var port: Int { fixture.server.smtpPort ?? 0 }

    private func last() throws -> String {
        let list = try fixture.client.get("/_understudy/v1/requests?method=SMTP").json["requests"] as? [[String: Any]]
        return try #require(list?.last?["id"] as? String)
    }

    @Test(
        "a mail's page: its envelope, its conversation, the way to the inbox, and a command that sends it again",
        .oneProcess("each replica takes mail at a port of its own"))
    func taken() throws {
        _ = try MailWire(port: port).mail(
            from: "it's@example.com", to: ["max@example.org"], "Subject: <b>Hello</b>\r\n\r\nText\r\n")
        let page = try fixture.page("requests/\(last())")
        #expect(page.status == 200)
        let words = page.words
        for text in [
            "SMTP example.org/MESSAGE", "Conversation", "Envelope From it's@example.com To max@example.org",
            "C: Subject: <b>Hello</b>", "Reply", "not encrypted", "In the inbox m1",
        ] { #expect(words.contains(text), "\(text): \(words)") }
        #expect(page.text.contains("/_understudy/inbox/m1") && !page.text.contains("<b>Hello"))
        #expect(!words.contains("Save as HAR") && !words.contains("The sign-in"))
        #expect(words.contains("curl 'smtp://localhost:\(port)'") && words.contains("--mail-rcpt 'max@example.org'"))
        #expect(words.contains("--mail-from 'it'\\''s@example.com'") && words.contains("-T m1.eml"))
        #expect(try fixture.page("").status == 200)
    }

    @Test("the command works as it is printed") func command() throws {
        _ = try MailWire(port: port).mail(to: ["max@example.org", "eva@example.org"], user: "w1")
        let world = "/~w1/_understudy"
        let id = try #require(
            (try fixture.client.get("\(world)/v1/requests").json["requests"] as? [[String: Any]])?.first?["id"]
                as? String)
        let page = try fixture.page("requests/\(id)", world: "w1")
        let start = try #require(page.text.range(of: "aria-label=\"The request as a curl command\">"))
        let source = page.text[start.upperBound...].components(separatedBy: "</pre>")[0]
            .replacingOccurrences(of: "<[^>]*>", with: "", options: .regularExpression)
            .replacingOccurrences(of: "&#39;", with: "'").replacingOccurrences(of: "&#10;", with: "\n")
            .replacingOccurrences(of: "&quot;", with: "\"")
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try fixture.client.get("\(world)/v1/mail/m1/raw").text.write(
            to: folder.appending(path: "m1.eml"), atomically: true, encoding: .utf8)
        let result = try Shell.run("sh", ["-c", "cd \(folder.path()) && \(source)"])
        #expect(result.status == 0, "\(source) \(result)")
        let mails = try fixture.client.get("\(world)/v1/mail").json["messages"] as? [[String: Any]]
        #expect(mails?.count == 2)
    }

    @Test("a refusal says why, and an order for mail is shown in words") func refused() throws {
        _ = try fixture.client.post(
            "/_understudy/v1/faults",
            json: [
                "match": ["smtp": "RCPT", "to": "*@example.org"], "times": 2,
                "effect": ["reply": ["code": 450, "text": "later"]],
            ])
        let orders = try fixture.page("orders").words
        #expect(orders.contains("mail at RCPT of SMTP"), "\(orders)")
        #expect(orders.contains("reply with") && orders.contains("code 450") && orders.contains("text later"))
        _ = try MailWire(port: port).mail(to: ["max@example.org"])
        let words = try fixture.page("requests/\(last())").words
        #expect(words.contains("SMTP example.org/RCPT") && words.contains("What was ordered"), "\(words)")
        #expect(words.contains("Save the mail as"))
    }
}
