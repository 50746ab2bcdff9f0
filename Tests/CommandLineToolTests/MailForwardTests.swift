import Foundation
import TestSupport
import Testing

@testable import CommandLineTool

@Suite("Handing mail on, on the command line")
struct MailForwardTests {
    @Test("serve takes the server as an option or from the environment")
    func option() throws {
        func destination(_ arguments: [String], _ environment: [String: String] = [:]) throws -> String? {
            let daemon = try Daemon(["--port", "0"] + arguments, environment: environment)
            defer { _ = daemon.stop() }
            let health = try TestClient(port: daemon.port).get("/_understudy/v1/health").json["mail"] as? [String: Any]
            return health?["to"] as? String
        }
        #expect(try destination([]) == nil)
        #expect(try destination(["--smtp-forward", "localhost:1026"]) == "localhost:1026")
        // Callers of `health` must not see the password.
        #expect(try destination(["--smtp-forward", "me:secret@mail.test:25"]) == "mail.test:25")
        #expect(try destination([], ["UNDERSTUDY_SMTP_FORWARD": "[::1]:1026"]) == "[::1]:1026")
    }

    @Test("nonsense is one line that doesn't repeat it", arguments: ["localhost", "me:secret@host", "secret:0", ":25"])
    func nonsense(value: String) throws {
        for (arguments, environment, name) in [
            (["serve", "--smtp-forward", value], [:], "--smtp-forward"),
            (["serve"], ["UNDERSTUDY_SMTP_FORWARD": value], "UNDERSTUDY_SMTP_FORWARD"),
            (["exec", "--smtp-forward", value, "--", "true"], [:], "--smtp-forward"),
        ] as [([String], [String: String], String)] {
            let result = try Shell.run(Tool.path, arguments, environment: environment)
            #expect(result.status == 64)
            #expect(result.errors.contains("Error: \(name): expected HOST:PORT, or USER:PASSWORD@HOST:PORT."))
            #expect(!result.errors.contains("secret"))
        }
    }
}
