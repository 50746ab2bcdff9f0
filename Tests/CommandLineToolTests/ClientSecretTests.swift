import Foundation
import TestSupport
import Testing
import Understudy

@Suite("understudy client-secret")
struct ClientSecretTests {
    private let seed = "\(Repository.root)/seed-data/default.json"

    private func secret(_ arguments: String...) throws -> String {
        let made = try Shell.run(Tool.path, ["client-secret"] + arguments)
        #expect(made.status == 0, "\(made.errors)")
        return made.output.trimmingCharacters(in: .newlines)
    }

    @Test(
        "signs with the built-in seed's key what the daemon takes", arguments: ["com.example.web", "com.example.app"])
    func builtIn(client: String) throws {
        let fixture = try AppleFixture()
        let form = ["grant_type": "authorization_code", "client_id": client, "code": "c.0.nothing"]
        func error(_ secret: String) throws -> String? {
            try fixture.client.post(
                "/appleid.apple.com/auth/token", form: form.merging(["client_secret": secret]) { $1 })["error"]
        }
        #expect(try error(secret(client)) == "invalid_grant")
        #expect(try error(secret("--expires-in=-1s", client)) == "invalid_client")
        #expect(try error(secret("com.example.web.local")) == "invalid_client")
    }

    @Test("lasts as long as it is told to, at most Apple's six months")
    func lifetime() throws {
        for (asked, seconds) in [("1h", 3_600), ("15777000s", 15_777_000), ("0s", 3_600)] {
            let text = try secret("--expires-in", asked, "--seed", seed, "com.example.web")
            let claims = AppleFixture.claims(text)
            let (issued, expires) = (claims["iat"] as? Int ?? 0, claims["exp"] as? Int ?? 0)
            #expect(expires - issued == seconds)
            #expect(claims["iss"] as? String == "A1B2C3D4E5")
            let explained = try Tool.run("explain", "--client-secret", text, "--seed", seed)
            #expect((explained.status == 0) == (asked != "0s"))
        }
    }

    @Test(
        "says what is missing",
        arguments: [
            (
                ["com.example.wbe"],
                "did you mean \"com.example.web\"?; this is the built-in seed: give yours with --seed"
            ),
            (["Iv1.0123456789abcdef"], "\"Iv1.0123456789abcdef\" (OAuth app at GitHub) has no signed client secret"),
            (["--key-id", "ABC123DEFH", "com.example.web"], "did you mean \"ABC123DEFG\"?"),
            (["--expires-in", "15777001s", "com.example.web"], "Apple allows 15777000s at most"),
            (["--seed", "/nonexistent", "com.example.web"], "/nonexistent: $: no such file"),
        ])
    func refusals(arguments: [String], words: String) throws {
        let told = try Shell.run(Tool.path, ["client-secret"] + arguments)
        #expect(told.status == 1)
        #expect(told.output.isEmpty)
        #expect(told.errors.contains(words), "\(told.errors)")
        #expect(told.errors.split(separator: "\n").count == 1)
    }

    @Test("needs the private half of the team's key, from which the public one follows")
    func keys() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "secret-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let keys = "\(Repository.root)/seed-data/keys/AuthKey_ABC123DEFG"
        func write(_ keys: String) throws -> String {
            let file = folder.appending(path: "seed.json")
            let team = #"{"id":"A1B2C3D4E5","keys":[\#(keys)],"apps":[{"bundleID":"com.x"}]}"#
            try #"{"apple":{"teams":[\#(team)]}}"#.write(to: file, atomically: true, encoding: .utf8)
            return file.path()
        }
        for (keys, words) in [
            ("", "team \"A1B2C3D4E5\" has no key"),
            (#"{"id":"ABC123DEFG","publicKeyFile":"\#(keys).pub.pem"}"#, "add its \"privateKeyFile\""),
        ] {
            let told = try Tool.run("client-secret", "--seed", write(keys), "com.x")
            #expect(told.status == 1)
            #expect(told.errors.contains(words), "\(told.errors)")
        }
        let file = try write(#"{"id":"ABC123DEFG","privateKeyFile":"\#(keys).p8"}"#)
        let text = try secret("--seed", file, "com.x")
        #expect(try Tool.run("explain", "--client-secret", text, "--seed", file).status == 0)
        #expect(try Tool.run("client-secret", "com.x", environment: ["UNDERSTUDY_SEED": file]).status == 0)
    }
}
