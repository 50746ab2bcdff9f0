import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Mail that comes in", .timeLimit(.minutes(30)))
struct ReceivingTests {
    @Test("a mail is in the inbox and in the recording, and each leads to the other") func taken() throws {
        let fixture = try MailFixture()
        let wire = try fixture.wire()
        let reply = wire.mail(
            from: "app@example.com", to: ["max@example.org", "eva@example.org"], user: "default",
            "From: App <app@example.com>\r\nSubject: Hello\r\n\r\nThe body.\r\n")
        #expect(reply == "250 2.0.0 ok: queued as m1")
        let mails = try fixture.mails()
        #expect(mails.count == 1 && mails.first?["subject"] as? String == "Hello")
        let request = try #require(mails.first?["request"] as? String)
        let recorded = try fixture.requests("method=SMTP&host=example.org")
        #expect(recorded.count == 1)
        let exchange = try #require(recorded.first)
        #expect(exchange["id"] as? String == request && exchange["path"] as? String == "/MESSAGE")
        #expect(exchange["status"] as? Int == 250 && exchange["diagnosis"] == nil)
        let mail = exchange["mail"] as? [String: Any]
        #expect(mail?["from"] as? String == "app@example.com" && mail?["messages"] as? [String] == ["m1"])
        #expect(mail?["to"] as? [String] == ["max@example.org", "eva@example.org"])
        #expect(mail?["user"] as? String == "default" && mail?["tls"] as? Bool == false)
        let conversation = MailFixture.conversation(exchange)
        #expect(conversation.contains("C: AUTH PLAIN ********\nS: 235") && conversation.contains("C: Subject: Hello\n"))
        #expect(conversation.hasSuffix("S: 250 2.0.0 ok: queued as m1\n") && !conversation.contains("The body."))
    }

    @Test("no password is in the recording, however it was sent") func passwords() throws {
        let fixture = try MailFixture()
        for lines in [["AUTH PLAIN AGFkYQBzZWNyZXQ="], ["AUTH LOGIN", "YWRh", "c2VjcmV0"]] {
            let wire = try fixture.wire()
            wire.say("EHLO a")
            for line in lines { wire.say(line) }
            wire.say("QUIT")
        }
        var found: [[String: Any]] = []
        #expect(
            try eventually {
                found = try fixture.requests("path=/AUTH", world: "ada")
                return found.count >= 2
            })
        #expect(found.count == 2 && found.allSatisfy { ($0["mail"] as? [String: Any])?["user"] as? String == "ada" })
        let all = try fixture.client.get("/~ada\(MailFixture.api)/requests").text
        #expect(all.contains("********") && !all.contains("c2VjcmV0") && !all.contains("AGFkYQBz"))
    }

    @Test(
        "a mail's world is the header's, else the port's, else that of AUTH's user, else the default",
        .oneProcess("a world's port is one replica's"))
    func worlds() throws {
        let fixture = try MailFixture { $0.worldMailPorts = [(world: "fixed", port: 0)] }
        let made = try fixture.client.post("\(MailFixture.api)/worlds", json: ["name": "own", "smtp": 0])
        let own = try #require(made["smtp"].flatMap { Int($0.split(separator: ":").last ?? "") })
        let fixed = try #require(fixture.server.worldMailAddresses.first)
        #expect(fixed.world == "fixed")
        let fixedPort = try #require(Int(fixed.address.split(separator: ":").last ?? ""))
        let named = "X-Understudy-World: w1\r\nSubject: a\r\n\r\nb\r\n"
        for (port, user, content, world) in [
            (fixture.port, nil, "Subject: a\r\n\r\nb\r\n", "default"),
            (fixture.port, "w2", "Subject: a\r\n\r\nb\r\n", "w2"),
            (fixture.port, "ada@example.com", "Subject: a\r\n\r\nb\r\n", "default"),
            (fixture.port, "w2", named, "w1"), (own, nil, "Subject: a\r\n\r\nb\r\n", "own"),
            (fixedPort, "w2", "Subject: a\r\n\r\nb\r\n", "fixed"),
        ] {
            let before = try fixture.mails(world: world).count
            let reply = try MailWire(port: port).mail(to: ["max@example.org"], user: user, content)
            #expect(reply?.hasPrefix("250") == true, "\(reply ?? "")")
            #expect(try fixture.mails(world: world).count == before + 1, "\(world)")
            #expect(try fixture.requests("method=SMTP", world: world).count == before + 1, "\(world)")
        }
        #expect(
            MailFixture.conversation(try fixture.requests("method=SMTP").last).contains(
                "(the user name \"ada@example.com\" isn't a valid world name"))
        for (port, name) in [(own, "w1"), (fixture.port, "no world")] {
            let reply = try MailWire(port: port).mail(
                to: ["max@example.org"], "X-Understudy-World: \(name)\r\n\r\nb\r\n")
            #expect(reply?.hasPrefix("550 5.6.0") == true, "\(reply ?? "")")
        }
        #expect(try fixture.client.get("\(MailFixture.api)/worlds").text.contains("\"smtp\":\"localhost:\(own)\""))
        // A world's port is closed with the world.
        #expect(try fixture.client.request("DELETE", "\(MailFixture.api)/worlds/own").status == 204)
        #expect(throws: (any Error).self) { try Wire(port: own) }
    }

    @Test("without mail, no world gets a port for it") func noMail() throws {
        let server = try TestServer.start()
        defer { server.stop() }
        let answer = try TestClient(port: server.port).post(
            "\(MailFixture.api)/worlds", json: ["name": "own", "smtp": 0])
        #expect(answer.status == 409 && answer.text.contains("--smtp-port") && answer.text.contains("$.smtp"))
        #expect(server.smtpPort == nil)
    }

    @Test("a browser that a page leads to the port sends no mail") func request() throws {
        let fixture = try MailFixture()
        let wire = try fixture.wire()
        wire.send(
            "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\nEHLO x\r\nMAIL FROM:<a@b.test>\r\n"
                + "RCPT TO:<c@d.test>\r\nDATA\r\nSubject: from a page\r\n\r\nx\r\n.\r\n")
        #expect(wire.reply()?.hasPrefix("421 4.7.0") == true && wire.reply() == nil)
        #expect(try fixture.mails().isEmpty)
        #expect(try fixture.requests("refused=true").map { $0["path"] as? String } == ["/COMMAND"])
    }

    @Test("a mail for another world than the default one is told so") func namedWorld() throws {
        let fixture = try MailFixture()
        let wire = try fixture.wire()
        #expect(wire.mail(to: ["c@d.test"], user: "apikey")?.hasSuffix("queued as m1 in world apikey") == true)
    }

    @Test("each refused command is recorded, with the commands that lead to it") func refusedCommands() throws {
        let fixture = try MailFixture()
        let wire = try fixture.wire()
        let codes = wire.codes(
            "EHLO a", "BLA", "MAIL FROM:nobody", "RCPT TO:<a@b.test>", "MAIL FROM:<a@b.test> X=1", "STARTTLS", "QUIT")
        #expect(codes == [250, 500, 501, 503, 555, 502, 221])
        let recorded = try fixture.requests("refused=true")
        #expect(recorded.map { $0["path"] as? String } == ["/COMMAND", "/MAIL", "/RCPT", "/MAIL", "/STARTTLS"])
        #expect(recorded.map { $0["status"] as? Int } == [500, 501, 503, 555, 502])
        #expect(MailFixture.conversation(recorded.first).hasSuffix("C: BLA\nS: 500 5.5.2 command not recognized\n"))
    }

    @Test("a conversation that breaks off within a message is recorded") func brokenOff() throws {
        let fixture = try MailFixture()
        var wire: MailWire? = try fixture.wire()
        wire?.say("EHLO a")
        wire?.say("MAIL FROM:<a@b.test>")
        wire?.say("RCPT TO:<c@d.test>")
        wire?.say("DATA")
        wire?.send("half")
        wire = nil
        let found = try fixture.requests("wait=1m&method=SMTP")
        #expect(found.first?["path"] as? String == "/DATA" && found.first?["host"] as? String == "d.test")
        #expect((found.first?["diagnosis"] as? String)?.contains("closed the connection") == true)
        #expect(try fixture.mails().isEmpty)
        // A message that was cancelled isn't in the inbox.
        wire = try fixture.wire()
        #expect(wire?.codes("EHLO a", "MAIL FROM:<a@b.test>", "RCPT TO:<c@d.test>", "RSET") == [250, 250, 250, 250])
        wire = nil
        #expect(try fixture.requests("wait=1s&method=SMTP&after=\(found.first?["id"] as? String ?? "")").isEmpty)
    }

    @Test("a HAR file has mail beside the entries, which are HTTP's") func har() throws {
        let fixture = try MailFixture()
        try fixture.wire().mail(to: ["max@example.org"])
        _ = try fixture.client.get("/appleid.apple.com/auth/keys")
        let log = try fixture.client.get("\(MailFixture.api)/requests?format=har").json["log"] as? [String: Any]
        #expect((log?["entries"] as? [Any])?.count == 1)
        let mail = (log?["_mail"] as? [[String: Any]])?.first
        #expect(mail?["method"] as? String == "SMTP" && MailFixture.conversation(mail).contains("DATA"))
    }

    @Test("with masked secrets, a conversation isn't shown") func masked() throws {
        let fixture = try MailFixture { $0.masksSecrets = true }
        try fixture.wire().mail(to: ["max@example.org"], "Subject: Code 123456\r\n\r\nb\r\n")
        let text = try fixture.client.get("\(MailFixture.api)/requests").text
        #expect(text.contains("max@example.org") && !text.contains("123456") && text.contains("masked-"))
    }

    @Test(
        "health tells the port, and the run's report counts mail",
        .oneProcess("each replica takes mail at a port of its own"))
    func health() throws {
        let fixture = try MailFixture()
        try fixture.wire().mail(to: ["max@example.org"])
        let ports = try fixture.client.get("\(MailFixture.api)/health").json["ports"] as? [String: Any]
        #expect(ports?["smtp"] as? Int == fixture.port)
        #expect(fixture.server.smtpAddress == "127.0.0.1:\(fixture.port)")
    }
}
