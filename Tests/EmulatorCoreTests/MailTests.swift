import Foundation
import TestSupport
import Testing
import Time
import Understudy

@testable import EmulatorCore

/// Tests the mails that are written here with Python's parser.
@Suite("mails as messages in the Internet Message Format")
struct MailTests {
    struct Parsed: Codable, Equatable {
        let names: [String]
        let from: [[String]]
        let to: [[String]]
        let subject: String
        let date: String
        let text: String?
        let html: String?
        let defects: [String]
    }

    private static let script = """
        import email, email.policy, json, sys, base64
        raw = base64.b64decode(sys.stdin.read())
        mail = email.message_from_bytes(raw, policy=email.policy.SMTPUTF8)
        people = lambda name: [[a.display_name, a.addr_spec] for a in mail[name].addresses] if mail[name] else []
        def part(kind):
            found = mail.get_body(preferencelist=(kind,))
            return found.get_content().replace("\\r\\n", "\\n") if found else None
        long = [line for line in raw.split(b"\\r\\n") if len(line) > 998]
        bare = [1] if b"\\n" in raw.replace(b"\\r\\n", b"") or b"\\r" in raw.replace(b"\\r\\n", b"") else []
        print(json.dumps({"names": mail.keys(), "from": people("From"), "to": people("To"), "subject": mail["Subject"],
            "date": mail["Date"].datetime.isoformat(), "text": part("plain"), "html": part("html"),
            "defects": [str(d) for d in mail.defects] + ["long" for _ in long] + ["bare" for _ in bare]}))
        """

    private func parsed(_ row: InboxMessage) throws -> Parsed {
        let result = try Shell.run(
            "python3", ["-c", MailTests.script], input: Data(row.raw).base64EncodedString())
        guard result.status == 0 else { throw TransportError(reason: result.errors) }
        return try JSONDecoder().decode(Parsed.self, from: Data(result.output.utf8))
    }

    private func row(
        from: Mailbox = Mailbox("noreply@example.com", name: "Example"), to: Mailbox = Mailbox("ada@example.com"),
        subject: String = "Hello", text: String? = "Hello\n", html: String? = nil
    ) throws -> InboxMessage {
        let time = try #require(Instant("2030-01-01T12:34:56Z"))
        return InboxMessage(
            number: 7, time: time,
            message: SentMessage(.mail, from: from, to: to, subject: subject, text: text, html: html, request: "r1"))
    }

    @Test(
        "the subject, whatever it holds",
        arguments: [
            ("Hello", "Hello"), ("Grüße, Ada · 你好 👩‍👩‍👧", "Grüße, Ada · 你好 👩‍👩‍👧"),
            (String(repeating: "wörter ", count: 60) + "end", String(repeating: "wörter ", count: 60) + "end"),
            ("=?UTF-8?B?SGVsbG8=?=", "=?UTF-8?B?SGVsbG8=?="),
            (String(repeating: "a", count: 3_000), String(repeating: "a", count: 3_000)),
            ("Hi\r\nBcc: eve@example.com\r\n\r\n<b>body</b>", "Hi  Bcc: eve@example.com    <b>body</b>"),
            ("Hi\u{2028}X: y\u{85}Z: y", "Hi X: y Z: y"), ("zero\0byte", "zero byte"),
        ])
    func subject(written: String, read: String) throws {
        let mail = try parsed(try row(subject: written))
        #expect(mail.subject == read)
        #expect(
            mail.names == [
                "From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type",
                "Content-Transfer-Encoding",
            ])
        #expect(mail.text == "Hello\n\n" && mail.defects.isEmpty)
        #expect(mail.date == "2030-01-01T12:34:56+00:00")
    }

    @Test(
        "senders and recipients, whatever they hold",
        arguments: [
            (
                Mailbox("noreply@example.com", name: "Example, Inc. \"the\" \\ best"),
                ["Example, Inc. \"the\" \\ best", "noreply@example.com"]
            ),
            (Mailbox("noreply@example.com", name: "Ünïcode"), ["Ünïcode", "noreply@example.com"]),
            (
                Mailbox("noreply@example.com", name: "x\r\nBcc: eve@example.com"),
                ["x  Bcc: eve@example.com", "noreply@example.com"]
            ),
            (Mailbox("a,b@example.com"), ["", "\"a,b\"@example.com"]),
            (Mailbox("a>,<eve@example.com"), ["", "\"a>,<eve\"@example.com"]),
            (Mailbox("ada@exam>ple.com,<eve.example"), ["", "ada@example.comeve.example"]),
        ])
    func people(mailbox: Mailbox, read: [String]) throws {
        let mail = try parsed(try row(from: mailbox))
        #expect(mail.from == [read])
        #expect(mail.to == [["", "ada@example.com"]])
        #expect(!mail.names.contains("Bcc"))
    }

    @Test("both forms of a mail, with long lines, blanks at the ends of lines and every character")
    func parts() throws {
        let long = String(repeating: "Zeile mit Ä und = und\ttab ", count: 200)
        let text = "Hello \nA line\t\r\n.\nFrom here\n--=_part_7--\n\(long)\nend"
        let html = "<p>\(String(repeating: "ä=3D", count: 500))</p>\n"
        let mail = try parsed(try row(text: text, html: html))
        #expect(mail.text == text.replacingOccurrences(of: "\r\n", with: "\n"))
        #expect(mail.html == html)
        #expect(mail.names.last == "Content-Type")
        #expect(mail.defects.isEmpty)
        #expect(try parsed(try row(text: nil, html: html)).html == html + "\n")
    }

    @Test(
        "days of the week",
        arguments: [
            ("1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 +0000"),
            ("2026-11-22T15:04:05Z", "Sun, 22 Nov 2026 15:04:05 +0000"),
            ("9999-12-31T23:59:59Z", "Fri, 31 Dec 9999 23:59:59 +0000"),
        ])
    func date(time: String, written: String) throws { #expect(try #require(Instant(time)).mailDate == written) }

    // MARK: - The inbox

    private func world() throws -> World {
        let seed = try Seed([SeedSource(name: "seed", text: "{}", directory: ".")], format: Providers.seedFormat)
        return WorldRegistry(seed: seed, generator: .ofTests).main
    }

    private func mail(to address: String, size: Int = 10) -> SentMessage {
        SentMessage(
            .mail, from: Mailbox("a@example.com"), to: Mailbox(address), subject: "x",
            text: String(repeating: "x", count: size), request: nil)
    }

    @Test("the oldest go where there are too many, or too large ones; the last one stays")
    func bounds() throws {
        let world = try world()
        for number in 0..<Inbox.countLimit + 5 { try world.deliver(mail(to: "\(number)@example.com")) }
        #expect(world.read { $0.messages() }.map(\.number) == Array(6...Inbox.countLimit + 5))
        #expect(world.read { $0.inbox.dropped } == 5)
        try world.deliver(mail(to: "large@example.com", size: Inbox.sizeLimit + 1))
        #expect(world.read { $0.messages() }.map(\.message.to.address) == ["large@example.com"])
        try world.deliver(mail(to: "next@example.com"))
        #expect(world.read { $0.messages() }.map(\.message.to.address) == ["next@example.com"])
        // Dropped messages don't count.
        for number in 0..<20 { try world.deliver(mail(to: "\(number)@example.com", size: 1_000)) }
        #expect(world.read { $0.messages() }.count == 21)
    }

    @Test("where all inboxes together hold too much, one that gets a message keeps little") func budget() throws {
        let budget = ProcessBudget()
        let seed = try Seed([SeedSource(name: "seed", text: "{}", directory: ".")], format: Providers.seedFormat)
        let worlds = WorldRegistry(seed: seed, generator: .ofTests, budget: budget)
        let count = budget.mail.limit / Inbox.sizeLimit + 1
        for number in 0..<count {
            for _ in 0..<4 {
                try worlds.world("w\(number)")?.deliver(mail(to: "a@example.com", size: Inbox.sizeLimit / 4 - 1_000))
            }
        }
        #expect(budget.mail.bytes > budget.mail.limit)
        let last = try #require(try worlds.world("w\(count - 1)"))
        try last.deliver(mail(to: "a@example.com"))
        #expect(last.read { $0.messages() }.count == 1)
        #expect(budget.mail.bytes <= budget.mail.limit)
        try last.deliver(mail(to: "a@example.com"))
        #expect(last.read { $0.messages() }.count == 2)
        for number in 0..<count { try worlds.world("w\(number)")?.reset() }
        #expect(budget.mail.bytes == 0)
    }

    @Test("messages are found by recipient and after others, also after those that are gone")
    func finding() throws {
        let world = try world()
        for address in ["Ada@example.com", "b@example.com", "ada@example.com"] { try world.deliver(mail(to: address)) }
        #expect(world.read { $0.messages(to: "ADA@example.com") }.map(\.id) == ["m1", "m3"])
        #expect(world.read { $0.messages(after: 1) }.map(\.id) == ["m2", "m3"])
        try #expect(world.deleteMessage("m2") && !world.deleteMessage("m2"))
        #expect(world.read { $0.messages(after: 2) }.map(\.id) == ["m3"])
        #expect(world.read { $0.messages(after: 99) }.isEmpty)
        try world.deleteMessages()
        try #expect(world.deliver(mail(to: "c@example.com")).id == "m4")
        try world.reset()
        try #expect(world.deliver(mail(to: "c@example.com")).id == "m1")
    }
}
