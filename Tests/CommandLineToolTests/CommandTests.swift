import Foundation
import TestSupport
import Testing
import Understudy

/// Runs the built executable as a user would.
enum Tool {
    static let path: String = {
        // Test bundles are beside the products.
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL ?? Bundle.main.bundleURL
        let folder = bundle.pathExtension == "xctest" ? bundle.deletingLastPathComponent() : bundle
        return folder.appending(path: "understudy").path()
    }()

    static func run(_ arguments: String..., environment: [String: String] = [:]) throws -> Shell.Result {
        try Shell.run(path, arguments, environment: environment)
    }
}

/// A running `understudy serve`.
final class Daemon {
    let process = Process()
    let firstLine: String
    let port: Int
    private let (output, errors) = (Pipe(), Pipe())

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        process.executableURL = URL(filePath: Tool.path)
        process.arguments = ["serve"] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        firstLine = Daemon.line(output)
        port = Int(firstLine.trimmingCharacters(in: .newlines).split(separator: ":").last ?? "") ?? 0
    }

    /// The next line of the daemon's standard output.
    func nextLine() -> String { Daemon.line(output) }

    private static func line(_ output: Pipe) -> String {
        var line = ""
        while !line.hasSuffix("\n") {
            let data = output.fileHandleForReading.readData(ofLength: 1)
            if data.isEmpty { break }
            line += String(decoding: data, as: UTF8.self)
        }
        return line
    }

    func stop(_ signal: Int32 = SIGTERM) -> (status: Int32, seconds: Double, errors: String) {
        let begin = Date()
        kill(process.processIdentifier, signal)
        let told = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, Date().timeIntervalSince(begin), String(decoding: told, as: UTF8.self))
    }
}

@Suite("understudy serve", .serialized)
struct ServeTests {
    @Test("prints one line when it accepts connections, and ends well on a signal", arguments: [SIGTERM, SIGINT])
    func serve(signal: Int32) throws {
        let daemon = try Daemon(["--port", "0"])
        #expect(daemon.firstLine == "understudy listening on http://127.0.0.1:\(daemon.port)\n")
        #expect(try TestClient(port: daemon.port).get("/_understudy/v1/health").status == 200)
        let end = daemon.stop(signal)
        #expect(end.status == 0)
    }

    @Test("options come from the environment, and the command line wins")
    func environment() throws {
        let other = try TestServer.start()
        defer { other.stop() }
        let daemon = try Daemon(
            ["--port", "0"],
            environment: [
                "UNDERSTUDY_PORT": "\(other.port)", "UNDERSTUDY_HOST": "::1", "UNDERSTUDY_LOG_FORMAT": "json",
            ])
        #expect(daemon.firstLine.hasPrefix("understudy listening on http://[::1]:"))
        let wire = try Wire(port: daemon.port, host: "::1")
        wire.send("GET /nothing HTTP/1.1\r\nHost: [::1]\r\n\r\n")
        #expect(try wire.receive().status == 404)
        let log = daemon.stop().errors
        #expect(log.hasPrefix("{\"level\":\"info\",\"message\":\""))
        #expect(log.contains("\"path\":\"/nothing\""))
    }

    @Test("a public address is warned about")
    func publicAddress() throws {
        let daemon = try Daemon(["--port", "0", "--host", "0.0.0.0"])
        #expect(daemon.port > 0)
        #expect(daemon.stop().errors.contains("WARNING: listening on 0.0.0.0"))
    }

    @Test("no secret is logged at the default level")
    func secrets() throws {
        let daemon = try Daemon(["--port", "0"])
        let client = TestClient(port: daemon.port)
        let secret = try AppleFixture.secret(claims: ["aud": "wrong"])
        _ = try client.post(
            "/appleid.apple.com/auth/token",
            form: ["client_id": AppleFixture.service, "client_secret": secret, "code": "c0ffee"])
        _ = try client.get("/appleid.apple.com/auth/authorize?client_id=x&state=s3cret-state")
        let log = daemon.stop().errors
        #expect(log.contains("aud is"))
        for text in [secret, "c0ffee", "s3cret-state"] { #expect(!log.contains(text)) }
    }

    @Test(
        "--project, UNDERSTUDY_PROJECT and GCLOUD_PROJECT name the Firebase project of requests that name none",
        arguments: [
            (["--project", "a"], ["UNDERSTUDY_PROJECT": "b", "GCLOUD_PROJECT": "c"], "a"),
            ([], ["UNDERSTUDY_PROJECT": "b", "GCLOUD_PROJECT": "c"], "b"), ([], ["GCLOUD_PROJECT": "c"], "c"),
            ([], ["GCLOUD_PROJECT": ""], "demo-app"),
        ] as [([String], [String: String], String)])
    func project(options: [String], environment: [String: String], wanted: String) throws {
        let daemon = try Daemon(["--port", "0"] + options, environment: environment)
        let answer = try TestClient(port: daemon.port).request(
            "POST", "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=unknown")
        #expect(answer.claims()["aud"] as? String == wanted)
        _ = daemon.stop()
    }

    // firebase-tools sets GCLOUD_PROJECT for the command of emulators:exec: src/emulator/commandUtils.ts, runScript.
    @Test(
        "exec tells Admin SDKs the project that was asked for, or the seed's",
        arguments: [
            (["--project", "demo-shop"], [:], "demo-shop demo-shop"),
            ([], ["UNDERSTUDY_PROJECT": "demo-shop"], "demo-shop demo-shop"), ([], [:], "none none"),
            (["--seed", "\(Repository.root)/seed-data/default.json"], [:], "demo-app demo-app"),
            (["--seed", "\(Repository.root)/seed-data/default.json"], ["GCLOUD_PROJECT": "own"], "own none"),
        ] as [([String], [String: String], String)])
    func projectOfExec(options: [String], environment: [String: String], wanted: String) throws {
        let script = "echo ${GCLOUD_PROJECT:-none} ${GOOGLE_CLOUD_PROJECT:-none}"
        let result = try Shell.run(
            Tool.path, ["exec"] + options + ["--", "sh", "-c", script], environment: environment)
        #expect(result.status == 0, "\(result)")
        #expect(result.output == "\(wanted)\n")
    }

    @Test("a port in use, an unreadable seed and a wrong value are one clear line each")
    func failures() throws {
        let other = try TestServer.start()
        defer { other.stop() }
        let inUse = try Tool.run("serve", "--port", "\(other.port)")
        #expect(inUse.status == 1)
        #expect(inUse.errors.contains(":\(other.port): "))
        #expect(inUse.errors.split(separator: "\n").count == 1)
        let noSeed = try Tool.run("serve", "--port", "0", "--seed", "/nonexistent.json")
        #expect(noSeed.status == 1)
        #expect(noSeed.errors == "understudy: /nonexistent.json: $: no such file\n")
        #expect(try Tool.run("serve", "--host", "example.com", "--port", "0").status == 1)
        #expect(try Tool.run("serve", "--port", "many").status == 64)
        #expect(try Tool.run("serve", "--prot", "1").status == 64)
        #expect(try Tool.run("nonsense").status == 64)
        for (arguments, meant) in [(["serv"], "serve"), (["sed", "check"], "seed"), (["seed", "chek", "x"], "check")] {
            let misspelt = try Shell.run(Tool.path, arguments)
            #expect(misspelt.status == 64)
            #expect(misspelt.errors.contains("did you mean \"\(meant)\"?"), "\(misspelt.errors)")
        }
        let variable = try Tool.run("serve", environment: ["UNDERSTUDY_PORT": "many"])
        #expect(variable.status == 64)
        #expect(variable.errors.contains("UNDERSTUDY_PORT"))
        // The address of a Service isn't a value of the option, so the next error is reported.
        let service = try Tool.run(
            "serve", "--seed", "/nonexistent.json", environment: ["UNDERSTUDY_PORT": "tcp://10.0.0.1:9099"])
        #expect(service.errors == "understudy: /nonexistent.json: $: no such file\n")
    }
}

@Suite("understudy seed")
struct SeedCommandTests {
    @Test("check")
    func check() throws {
        let good = try Tool.run("seed", "check", "\(Repository.root)/seed-data/default.json")
        #expect(good.status == 0)
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).json").path()
        try #"{"apple":{"teams":[{"id":"A1B2C3D4E5","services":[{"id":"s","primaryApp":"com.x"}]}]},"x":1}"#.write(
            toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let bad = try Tool.run("seed", "check", file)
        #expect(bad.status == 1)
        #expect(
            bad.errors.contains(
                "\(file): $.apple.teams[0].services[0].primaryApp: no app \"com.x\" in team \"A1B2C3D4E5\""))
        #expect(bad.errors.split(separator: "\n").count == 2)
        #expect(try Tool.run("seed", "check").status == 64)
    }

    @Test("schema")
    func schema() throws {
        #expect(try Tool.run("seed", "schema").output == Repository.read("seed-data/schema.json"))
    }
}

@Suite("understudy explain")
struct ExplainTests {
    @Test("a token with its nonce and its keys")
    func token() throws {
        let fixture = try AppleFixture()
        let raw = "n-0S6_WzA2Mj"
        let hash = "5a4f9ca29ea8ee1d4d3a1a3b1a6ff2a3"
        let keys = "http://127.0.0.1:\(fixture.client.port)/appleid.apple.com/auth/keys"
        let told = try Tool.run("explain", "--raw-nonce", raw).output
        let sha = String(told.trimmingCharacters(in: .newlines).suffix(64))
        let good = try fixture.native(["nonce": sha])["identityToken"] ?? ""
        let fine = try Tool.run("explain", "--id-token", good, "--raw-nonce", raw, "--jwks", keys)
        #expect(fine.status == 0)
        #expect(fine.output.contains("as it should be"))
        #expect(fine.output.contains("with key"))
        for (nonce, words) in [
            (raw, "raw nonce itself"), (sha.uppercased(), "upper-case hex"),
            (hash, "isn't made from"),
        ] {
            let token = try fixture.native(["nonce": nonce])["identityToken"] ?? ""
            let wrong = try Tool.run("explain", "--id-token", token, "--raw-nonce", raw)
            #expect(wrong.status == 1)
            #expect(wrong.output.contains(words))
        }
        let stranger = try AppleFixture(seed: #"{"apple":{"signingKeys":[]}}"#)
        _ = try stranger.client.request("POST", "\(AppleFixture.control)/apple/keys/rotate")
        let rotated = try stranger.native()["identityToken"] ?? ""
        let unknown = try Tool.run("explain", "--id-token", rotated, "--jwks", keys)
        #expect(unknown.status == 1)
        #expect(unknown.output.contains("the key set"))
        #expect(
            try Tool.run("explain", "--id-token", String(good.dropLast(8)) + "AAAAAAAA", "--jwks", keys).output
                .contains("the signature isn't by key"))
        let late = try Explanation(idToken: good, now: 4_000_000_000)
        #expect(!late.isClean)
    }

    @Test("a client secret, from a file, with and without its registration")
    func secret() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path()
        defer { try? FileManager.default.removeItem(atPath: file) }
        try (AppleFixture.secret() + "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let seed = "\(Repository.root)/seed-data/default.json"
        let fine = try Tool.run("explain", "--client-secret", "@\(file)", "--seed", seed)
        #expect(fine.status == 0)
        #expect(fine.output.contains("signature"))
        #expect(
            try Tool.run("explain", "--client-secret", "@\(file)").output.contains("--seed"))
        let der = try Tool.run("explain", "--client-secret", AppleFixture.secret(der: true))
        #expect(der.status == 1)
        #expect(der.output.contains("ASN.1 DER"))
        let stranger = try Tool.run(
            "explain", "--client-secret", AppleFixture.secret(key: "ZYX987WVUT"), "--seed", seed)
        #expect(stranger.status == 1 && stranger.output.contains("signature"))
    }

    @Test("a key set over TLS: the certificate and its host name are verified")
    func secureKeySet() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "understudy-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let place = folder.path()
        let made = try Shell.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost", "-keyout", "\(place)/key.pem", "-out", "\(place)/cert.pem",
            ])
        #expect(made.status == 0)
        let fixture = try AppleFixture()
        let token = try fixture.native()["identityToken"] ?? ""
        try Data(fixture.client.get("/appleid.apple.com/auth/keys").body).write(to: folder.appending(path: "keys"))
        let peer = Process()
        peer.executableURL = URL(filePath: "/usr/bin/env")
        let port = unusedPort()
        peer.arguments = [
            "openssl", "s_server", "-accept", "\(port)", "-cert", "cert.pem", "-key", "key.pem", "-WWW", "-quiet",
        ]
        peer.currentDirectoryURL = folder
        // The peer must hold nothing of ours open, and must not be ended by SIGTERM, which the test runner's threads
        // block and children inherit: a surviving peer would keep the runner from ending.
        peer.standardOutput = FileHandle.nullDevice
        peer.standardError = FileHandle.nullDevice
        peer.standardInput = FileHandle.nullDevice
        try peer.run()
        defer { kill(peer.processIdentifier, SIGKILL) }
        #expect(eventually { (try? Wire(port: port)) != nil })
        func explain(_ host: String, _ environment: [String: String]) throws -> Shell.Result {
            try Tool.run(
                "explain", "--id-token", token, "--jwks", "https://\(host):\(port)/keys", environment: environment)
        }
        let trusted = ["SSL_CERT_FILE": "\(place)/cert.pem"]
        let fine = try explain("localhost", trusted)
        #expect(fine.status == 0, "\(fine)")
        let stranger = try explain("localhost", [:])
        #expect(stranger.status == 1)
        #expect(stranger.errors.contains("self-signed certificate"))
        let misnamed = try explain("127.0.0.1", trusted)
        #expect(misnamed.status == 1)
        #expect(misnamed.errors.contains("IP address mismatch"))
    }

    @Test("GitHub's tokens: what they are, and whether the checksum fits")
    func gitHubTokens() throws {
        let genuine = "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"
        let fine = try Tool.run("explain", "--token", genuine)
        #expect(fine.status == 0)
        #expect(fine.output.contains("personal access token"))
        #expect(fine.output.contains("ok     its checksum"))
        for (token, wanted) in [
            (genuine.dropLast() + "8", "doesn't fit"), (genuine.dropLast(3), "37 characters"),
            ("gho_16C7e42F292c6912E7710c838347Ae178B4a", "in documentation"), ("nonsense", "can't be read"),
        ] as [(any StringProtocol, String)] {
            let wrong = try Tool.run("explain", "--token", String(token))
            #expect(wrong.status == 1)
            #expect(wrong.output.contains(wanted), "\(wrong.output)")
        }
        let misused = try Tool.run("explain", "--id-token", genuine)
        #expect(misused.status == 1)
        #expect(misused.output.contains("GitHub issues none"))
    }

    @Test("nothing to explain, or nothing that can be read")
    func nothing() throws {
        #expect(try Tool.run("explain").status == 64)
        #expect(try Tool.run("explain", "--id-token", "@/nonexistent").status == 64)
        let unreadable = try Tool.run("explain", "--id-token", "nonsense")
        #expect(unreadable.status == 1)
        #expect(unreadable.output.contains("can't be read"))
        #expect(try Tool.run("explain", "--id-token", "e30.e30.", "--jwks", "/nonexistent").status == 1)
    }
}
