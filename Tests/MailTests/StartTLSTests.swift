import Foundation
import TestSupport
import Testing
import Time
import Understudy

@Suite("Mail by SMTP over TLS", .timeLimit(.minutes(30)))
struct StartTLSTests {
    private let fixture: MailFixture
    private let folder: URL

    init() throws {
        let authority = try LocalAuthority.inMemory()
        fixture = try MailFixture {
            $0.authority = authority
            $0.tlsPort = 0
            $0.certificateLifetime = .seconds(16)
            $0.certificateInterval = .milliseconds(100)
        }
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try authority.certificate().write(to: folder.appending(path: "ca.pem"), atomically: true, encoding: .utf8)
        try "Subject: Hi\r\n\r\nText\r\n".write(to: folder.appending(path: "mail"), atomically: true, encoding: .utf8)
    }

    private func curl(_ arguments: String...) throws -> Shell.Result {
        try Shell.run(
            "curl",
            [
                "-sS", "--ssl-reqd", "--mail-from", "a@b.test", "--mail-rcpt", "max@example.org", "-T",
                folder.appending(path: "mail").path(), "smtp://localhost:\(fixture.port)",
            ] + arguments)
    }

    @Test("a client that trusts the authority sends mail, one that doesn't leaves a trace") func trust() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let sent = try curl("--cacert", folder.appending(path: "ca.pem").path(), "--user", "default:secret")
        #expect(sent.status == 0, "\(sent)")
        #expect(try fixture.mails().count == 1)
        let mail = try fixture.requests("method=SMTP").first?["mail"] as? [String: Any]
        #expect(mail?["tls"] as? Bool == true && mail?["user"] as? String == "default")
        #expect(try curl().status != 0)
        let failed = try fixture.requests("path=/STARTTLS&wait=1m")
        #expect((failed.first?["diagnosis"] as? String)?.contains("trust the certificate authority") == true)
        #expect(try fixture.mails().count == 1)
    }

    @Test("commands that came with STARTTLS, before it began, are thrown away") func injection() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        var wire: MailWire? = try fixture.wire()
        wire?.say("EHLO a")
        wire?.send("STARTTLS\r\nNOOP\r\nMAIL FROM:<evil@b.test>\r\n")
        #expect(wire?.reply()?.hasPrefix("220") == true)
        wire = nil
        let failed = try fixture.requests("path=/STARTTLS&wait=1m")
        let conversation = MailFixture.conversation(failed.first)
        #expect(
            conversation.contains("C: STARTTLS") && !conversation.contains("NOOP") && !conversation.contains("evil"))
    }

    @Test("a renewed certificate is taken over") func renewal() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        func serial() throws -> String {
            try Shell.run(
                "bash",
                [
                    "-c",
                    "openssl s_client -connect localhost:\(fixture.port) -starttls smtp < /dev/null 2> /dev/null "
                        + "| openssl x509 -noout -serial",
                ]
            ).output
        }
        let first = try serial()
        #expect(first.hasPrefix("serial="))
        var second = first
        #expect(
            try eventually {
                second = try serial()
                return second != first
            })
        #expect(second.hasPrefix("serial="))
    }
}
