import Foundation
import TestSupport
import Testing

@Suite("Mail by SMTP, from the command line", .serialized)
struct MailOptionTests {
    private static let send =
        #"printf 'Subject: Hi\r\n\r\nText\r\n' | curl -s "smtp://$UNDERSTUDY_SMTP_HOST:$UNDERSTUDY_SMTP_PORT" "#
        + "--mail-from a@example.com --mail-rcpt max@example.org -T -"

    @Test("exec takes mail without being asked, of the command's world")
    func exec() throws {
        let script = """
            set -e
            \(MailOptionTests.send)
            curl -sf "$UNDERSTUDY_CONTROL_URL/mail" | grep -q '"subject":"Hi"'
            curl -sf "$UNDERSTUDY_CONTROL_URL/requests?method=SMTP" | grep -q /MESSAGE
            """
        for arguments in [["exec"], ["exec", "--world", "w1"]] {
            let result = try Shell.run(Tool.path, arguments + ["--", "bash", "-c", script])
            #expect(result.status == 0, "\(arguments) \(result)")
        }
    }

    @Test("serve prints where it takes mail, and stops without waiting for clients that do")
    func serve() throws {
        let daemon = try Daemon(["--port", "0"], environment: ["UNDERSTUDY_SMTP_PORT": "0"])
        let health = try TestClient(port: daemon.port).get("/_understudy/v1/health").json
        let port = try #require((health["ports"] as? [String: Any])?["smtp"] as? Int)
        let wire = try MailWire(port: port)
        #expect(wire.codes("EHLO a", "MAIL FROM:<a@b.test>") == [250, 250])
        let end = daemon.stop()
        #expect(end.status == 0, "\(end)")
        #expect(wire.reply()?.hasPrefix("421 4.3.2") == true)
    }

    @Test("without the option, no mail is taken") func without() throws {
        let daemon = try Daemon(["--port", "0"])
        defer { _ = daemon.stop() }
        let ports = try TestClient(port: daemon.port).get("/_understudy/v1/health").json["ports"] as? [String: Any]
        #expect(ports?["smtp"] == nil && ports?["http"] != nil)
    }

    @Test(
        "what can't be is one line",
        arguments: [
            (["--smtp-port", "70000"], 64, "--smtp-port"), (["--smtp-world", "w1=0"], 64, "goes with --smtp-port"),
            (["--smtp-port", "0", "--smtp-world", "w1"], 64, "give the world's SMTP port"),
            (["--smtp-port", "0", "--smtp-world", "a b=0"], 64, "can't be a test world's name"),
            (["--smtp-port", "0", "--smtp-world", "a=0", "--smtp-world", "a=0"], 64, "two ports are given"),
        ])
    func misuse(arguments: [String], status: Int, words: String) throws {
        let result = try Shell.run(Tool.path, ["serve", "--port", "0"] + arguments)
        #expect(Int(result.status) == status && result.errors.contains(words), "\(result)")
    }

    @Test("a port that is taken is said with the option") func taken() throws {
        let daemon = try Daemon(["--port", "0"])
        defer { _ = daemon.stop() }
        let result = try Tool.run("serve", "--port", "0", "--smtp-port", "\(daemon.port)")
        #expect(result.status == 1 && result.errors.contains("--smtp-port 0 for any that is free"), "\(result)")
    }
}
