import Foundation
import TestSupport
import Testing

@testable import EmulatorCore

/// Tests mails that Python's library writes, and broken ones.
@Suite("reading mails that others wrote")
struct ReadMailTests {
    private static let script = """
        import email.message, email.policy, sys
        mail = email.message.EmailMessage(policy=email.policy.SMTP)
        mail["From"] = "Adá Lovelace <ada@example.com>"
        mail["To"] = "grace@example.com"
        mail["Subject"] = "Grüße an alle, und noch viel mehr, damit es mehrere Wörter werden: 你好"
        mail.set_content("Grüße,\\nZeile = zwei\\n", charset=sys.argv[1], cte=sys.argv[2])
        if sys.argv[3] == "all":
            mail.add_alternative("<p>Grüße</p>", subtype="html")
            mail.add_attachment(b"\\x89PNG" * 1000, maintype="image", subtype="png", filename="Bild €.png")
            mail.add_attachment("Zeile", filename="a.txt")
        sys.stdout.buffer.write(mail.as_bytes())
        """

    private func written(_ arguments: [String]) throws -> ReadMail {
        let script = "python3 -c \"$1\" \"${@:2}\" | base64 -w0"
        let result = try Shell.run("bash", ["-c", script, "bash", ReadMailTests.script] + arguments)
        return ReadMail(Array(try #require(Data(base64Encoded: result.output))))
    }

    @Test(
        "texts in each charset and encoding",
        arguments: [
            ["utf-8", "quoted-printable"], ["utf-8", "base64"], ["utf-8", "8bit"], ["iso-8859-1", "quoted-printable"],
            ["iso-8859-1", "8bit"], ["windows-1252", "base64"],
        ])
    func texts(arguments: [String]) throws {
        let mail = try written(arguments + ["text"])
        #expect(mail.text == "Grüße,\nZeile = zwei\n")
        #expect(mail.html == nil && mail.attachments.isEmpty)
        #expect(mail.header("subject") == "Grüße an alle, und noch viel mehr, damit es mehrere Wörter werden: 你好")
        #expect(mail.header("From") == "Adá Lovelace <ada@example.com>")
    }

    @Test("text, HTML and attachments, nested") func parts() throws {
        let mail = try written(["utf-8", "base64", "all"])
        #expect(mail.text == "Grüße,\nZeile = zwei\n")
        #expect(mail.html == "<p>Grüße</p>\n")
        #expect(
            mail.attachments == [
                ReadMail.Attachment(name: "Bild €.png", type: "image/png", size: 4_000),
                ReadMail.Attachment(name: "a.txt", type: "text/plain", size: 7),
            ])
    }

    private func read(_ mail: String) -> ReadMail {
        ReadMail(Array(mail.replacingOccurrences(of: "\n", with: "\r\n").utf8))
    }

    @Test(
        "paragraphs that were broken into lines are whole again",
        arguments: [
            ("flowed", "one \ntwo\nthree\n", "one two\nthree\n"), ("flowed", "> a \n> b\nc\n", "> a b\nc\n"),
            ("flowed", "> a \nb\n", "> a \nb\n"), ("flowed", " >x\n From\n", ">x\nFrom\n"),
            ("flowed", "a\n-- \nAda\n", "a\n-- \nAda\n"), ("flowed; delsp=yes", "a \nb\n", "ab\n"),
            ("fixed", "one \ntwo\n", "one \ntwo\n"),
        ])
    func flowed(format: String, written: String, shown: String) {
        #expect(read("Content-Type: text/plain; format=\(format)\n\n\(written)").text == shown)
    }

    @Test("a forwarded mail, a delivery report and a calendar invite are attachments")
    func kinds() {
        let mail = read(
            """
            Content-Type: multipart/report; report-type=delivery-status; boundary=b

            --b

            It failed.
            --b
            Content-Type: message/delivery-status

            Action: failed
            --b
            Content-Type: message/rfc822

            Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=

            Hello
            --b
            Content-Type: text/calendar; method=REQUEST

            BEGIN:VCALENDAR
            --b
            Content-Type: text/plain

            A second text.
            --b--
            """)
        #expect(mail.text == "It failed.")
        #expect(
            mail.attachments.map(\.type) == [
                "message/delivery-status", "message/rfc822", "text/calendar", "text/plain",
            ])
        #expect(mail.attachments.map(\.name) == [nil, "Grüße.eml", nil, nil])
        #expect(String(decoding: mail.content(of: 2), as: UTF8.self) == "BEGIN:VCALENDAR")
    }

    @Test("an unknown character set is told")
    func unknownCharset() {
        let mail = read("Content-Type: text/plain; charset=koi8-r\nContent-Transfer-Encoding: quoted-printable\n\n=E4")
        #expect(mail.text == "ä" && mail.notes.count == 1 && mail.notes[0].contains("koi8-r"))
        #expect(read("Content-Type: text/plain\n\nä").notes.isEmpty)
    }

    @Test("parts without a boundary are shown as they stand")
    func withoutBoundary() {
        let mail = read("Content-Type: multipart/alternative\n\n--b\n\nHello\n--b--\n")
        #expect(mail.text == "--b\n\nHello\n--b--\n" && mail.attachments.isEmpty)
    }

    @Test(
        "encoded words",
        arguments: [
            ("=?UTF-8?B?SGVsbG8=?=", "Hello"), ("a =?utf-8?q?b_c?= d", "a b c d"),
            ("=?utf-8?q?a?= \t =?utf-8?q?b?=", "ab"), ("=?utf-8?q?a?= x =?utf-8?q?b?=", "a x b"),
            ("=?iso-8859-1*de?Q?=FC?=", "ü"), ("=?windows-1252?Q?=80?=", "€"), ("=?utf-8?x?a?=", "=?utf-8?x?a?="),
            ("=?utf-8?b?", "=?utf-8?b?"), ("=??b?YQ==?=", "=??b?YQ==?="), ("=?utf-8?q?=ZZ=?=", "=ZZ="), ("=?", "=?"),
            ("=?utf-8?q?=E4?=", "\u{FFFD}"), ("Grüße", "Grüße"), ("=?iso-8859-15?q?=A4=BC?=", "€Œ"),
            ("=?utf-16?b?AEEgrA==?=", "A€"), ("=?utf-16?b?//5BAA==?=", "A"), ("=?utf-16le?b?QQCsIA==?=", "A€"),
            ("=?us-ascii?q?=E4?=", "ä"), ("=?koi8-r?q?=E4?=", "ä"), ("=?x-unknown?q?=C3=A4?=", "ä"),
        ])
    func words(written: String, read: String) { #expect(EncodedWords.decode(written) == read) }

    @Test(
        "parameters",
        arguments: [
            ("text/plain; charset=\"utf-8\"; a=b", "charset", "utf-8"),
            ("a/b; x=\"q\\\"u;o\\\\te\" ; y=2", "x", "q\"u;o\\te"),
            ("a/b; x=\"q\" ; y=2", "y", "2"), ("a/b;;; Y = z ;", "y", "z"),
            ("attachment; filename*=iso-8859-1'en'%A3.txt", "filename", "£.txt"),
            ("attachment; filename*0=\"a b\"; filename*1=\"c.txt\"", "filename", "a bc.txt"),
            ("a; filename*1=\"c.txt\"; filename*0*=UTF-8''%C3", "filename", "\u{FFFD}c.txt"),
            ("a; f*0*=utf-8'en'%C3; f*1*=%BC'%20; f*2=\"'x'\"", "f", "ü' 'x'"),
            ("a; f*10=\"c\"; f*2=\"b\"; f*0=\"a\"", "f", "abc"),
            ("a/b; x=\"open", "x", "open"),
        ])
    func parameters(written: String, name: String, value: String) {
        #expect(HeaderParameters(written).parameters[name] == value)
    }

    @Test(
        "what no reader understands is shown as it stands",
        arguments: ["", "\n", "\n\nbody", "no header", ":\n\n", "a\0b: c\n\n\0"])
    func broken(raw: String) { _ = ReadMail(Array(raw.utf8)) }

    @Test("parts in parts without end, and mails of one sort of byte, take no time")
    func hostile() {
        let nested = (0..<5_000).map { "Content-Type: multipart/mixed; boundary=b\($0)\r\n\r\n--b\($0)\r\n" }.joined()
        let same =
            "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + String(repeating: "--b\r\n\r\nx\r\n", count: 100_000)
        let header = "Subject: " + String(repeating: "=?utf-8?q?", count: 100_000)
        let folded = "Subject: x\r\n" + String(repeating: " y\r\n", count: 300_000)
        let fields = String(repeating: "a: b\r\n", count: 200_000)
        let parameters = "Content-Type: a/b" + String(repeating: ";x*0=\"", count: 200_000)
        let began = ContinuousClock.now
        for text in [nested, same, header, folded, fields, parameters] {
            let mail = ReadMail(Array(text.utf8))
            #expect(mail.headers.count <= 1_000 && mail.attachments.count <= 200)
        }
        for byte in [0x0A, 0x0D, 0x20, 0x22, 0x2D, 0x3A, 0x3D] as [UInt8] {
            _ = ReadMail([UInt8](repeating: byte, count: 1 << 20))
        }
        #expect(ContinuousClock.now - began < .seconds(300))
    }
}
