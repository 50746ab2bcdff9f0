import Foundation
import TestSupport
import Testing
import Understudy

@Suite("The proxy")
struct ProxyTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    private func start(_ change: (inout RunningServer.Options) -> Void = { _ in }) throws -> TestServer {
        try folder.start {
            $0.proxyPort = 0
            change(&$0)
        }
    }

    private func curl(_ server: TestServer, _ arguments: String...) throws -> Shell.Result {
        try Shell.run("curl", options(server) + arguments)
    }

    /// Returns options for curl. The proxy gets the host's name, so no resolver is asked.
    private func options(_ server: TestServer) -> [String] {
        [
            "--silent", "--show-error", "--noproxy", "", "--proxy", server.proxyURL ?? "", "--cacert",
            folder.certificate,
        ]
    }

    @Test("a request goes to its target, whatever its Host says")
    func target() throws {
        let server = try start()
        defer { server.stop() }
        let keys = try curl(server, "-f", "-H", "Host: localhost", "http://appleid.apple.com/auth/keys")
        #expect(keys.output.contains("\"keys\""), "\(keys)")
        let control = try curl(server, "-H", "Host: localhost", "http://github.com/_understudy/v1/worlds")
        #expect(!control.output.contains("\"worlds\""), "\(control)")
    }

    @Test(
        "a client of another machine may not choose addresses through the proxy, either",
        .enabled(if: ownAddress != nil))
    func remoteClient() throws {
        let server = try start { $0.host = "0.0.0.0" }
        defer { server.stop() }
        let port = try #require(server.proxyURL.flatMap { URL(string: $0)?.port })
        let body = #"{"blockingFunctions":{"triggers":{"beforeCreate":{"functionUri":"http://localhost:1/"}}}}"#
        func patch(from host: String) throws -> Answer {
            let wire = try Wire(port: port, host: host)
            wire.send(
                "PATCH http://identitytoolkit.googleapis.com/v2/projects/demo-app/config?updateMask=blockingFunctions "
                    + "HTTP/1.1\r\nHost: identitytoolkit.googleapis.com\r\nAuthorization: Bearer owner\r\n"
                    + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            return try wire.receive()
        }
        let own = try #require(ownAddress)
        let refused = try patch(from: own)
        #expect(refused.status == 403 && refused.text.contains("PERMISSION_DENIED"), "\(refused)")
        #expect(try patch(from: "127.0.0.1").status == 200)
    }

    @Test("real names over HTTPS, by CONNECT; and over HTTP, in absolute form")
    func played() throws {
        let server = try start()
        defer { server.stop() }
        let keys = try curl(server, "-f", "https://appleid.apple.com/auth/keys")
        #expect(keys.output.contains("\"keys\""), "\(keys)")
        let document = try curl(server, "-f", "https://appleid.apple.com/.well-known/openid-configuration")
        #expect(document.output.contains("\"token_endpoint\":\"https://appleid.apple.com/auth/token\""))
        #expect(try curl(server, "-f", "https://any-project.firebaseapp.com/__/auth/handler?eventId=e").status == 22)
        #expect(try curl(server, "-f", "http://appleid.apple.com/auth/keys").output.contains("\"keys\""))
        // The connection carries many requests, and large ones.
        let body = String(repeating: "x", count: 500_000)
        let file = "\(folder.path)/body"
        try body.write(toFile: file, atomically: true, encoding: .utf8)
        let shown = ["-o", "/dev/null", "-w", "%{http_code} "]
        let large = try Shell.run(
            "curl",
            options(server) + shown + ["--data-binary", "@\(file)", "https://appleid.apple.com/auth/token", "--next"]
                + options(server) + shown + ["https://appleid.apple.com/auth/keys"])
        #expect(large.output == "400 200 ", "\(large)")
        let recorded = try TestClient(port: server.port).get("/_understudy/v1/requests?host=appleid.apple.com")
        #expect((recorded.json["requests"] as? [Any])?.count == 5)
    }

    @Test(
        "any other host is refused, and told why; nothing goes out",
        arguments: [
            ("https://example.com/", "doesn't stand in for example.com"),
            ("http://example.com/", "doesn't stand in for example.com"),
            ("https://appleid.apple.com:8443/", "is served at port 443"),
        ])
    func refused(url: String, advice: String) throws {
        let server = try start()
        defer { server.stop() }
        let result = try curl(server, "-v", url)
        #expect(result.errors.contains("403 Forbidden"))
        #expect((result.errors + result.output).contains(advice), "\(result)")
    }

    @Test("each request of a connection is looked at, not the first alone")
    func reused() throws {
        let server = try start()
        defer { server.stop() }
        let shown = ["-o", "/dev/null", "-w", "%{http_code} "]
        let urls = [
            "http://appleid.apple.com/auth/keys", "http://www.googleapis.com/oauth2/v3/certs", "http://example.com/",
            "http://appleid.apple.com/auth/keys",
        ]
        let result = try Shell.run("curl", options(server) + urls.flatMap { shown + [$0] })
        #expect(result.output == "200 200 403 200 ", "\(result)")
    }

    @Test("the user names the world, also of what TLS hides; the password doesn't matter")
    func worlds() throws {
        let server = try start()
        defer { server.stop() }
        func proxied(_ user: String, _ url: String) throws -> Shell.Result {
            try curl(server, "--proxy-user", user, "-f", url)
        }
        #expect(try proxied("w1:", "https://appleid.apple.com/auth/keys").output.contains("\"keys\""))
        #expect(try proxied("w1:any", "http://appleid.apple.com/auth/keys").output.contains("\"keys\""))
        #expect(try proxied("w2:", "https://appleid.apple.com/auth/keys").output.contains("\"keys\""))
        #expect(try proxied(":", "https://appleid.apple.com/auth/keys").output.contains("\"keys\""))
        #expect(try curl(server, "-f", "https://appleid.apple.com/auth/keys").status == 0)
        let client = TestClient(port: server.port)
        for (world, count) in [("w1", 2), ("w2", 1), ("default", 2)] {
            let recorded = try client.get("/~\(world)/_understudy/v1/requests").json["requests"] as? [[String: Any]]
            #expect(recorded?.count == count, "\(world)")
            let headers = recorded?.compactMap { ($0["request"] as? [String: Any])?["headers"] } ?? []
            #expect(!"\(headers)".lowercased().contains("proxy-authorization"))
        }
        // A provider's answers contain the real names, which the proxy leads to the same world.
        let document = try proxied("w1:", "https://accounts.google.com/.well-known/openid-configuration")
        #expect(document.output.contains("\"https://oauth2.googleapis.com/token\""))
        let wrong = try curl(server, "-v", "--proxy-user", "a b:", "https://appleid.apple.com/auth/keys")
        #expect((wrong.errors + wrong.output).contains("400 Bad World Name"), "\(wrong)")
        let bearer = try curl(
            server, "-v", "--proxy-header", "Proxy-Authorization: Bearer x", "https://appleid.apple.com/")
        #expect((bearer.errors + bearer.output).contains("isn't Basic"), "\(bearer)")
    }

    @Test("a world of its own port is served beside, and the daemon's default world can have any name")
    func ports() throws {
        let server = try start {
            $0.defaultWorld = "mine"
            $0.worldPorts = [("w1", 0), ("w2", 0)]
        }
        defer { server.stop() }
        #expect(server.worldURLs.map(\.world) == ["w1", "w2"])
        for (world, url) in server.worldURLs + [("mine", server.url)] {
            let client = TestClient(port: Int(url.split(separator: ":").last ?? "") ?? 0)
            #expect(try client.get("/_understudy/v1/").json["world"] as? String == world)
        }
        let client = TestClient(port: server.port)
        #expect(try client.get("/~default/_understudy/v1/").json["world"] as? String == "default")
        #expect(try client.request("DELETE", "/_understudy/v1/worlds/mine").status == 409)
        _ = try curl(server, "https://appleid.apple.com/auth/keys")
        let recorded = try client.get("/~mine/_understudy/v1/requests").json["requests"] as? [Any]
        #expect(recorded?.count == 1)
        for name in ["", "a b"] {
            #expect(throws: StartError.self) { try start { $0.worldPorts = [(name, 0)] } }
        }
    }

    @Test(
        "what isn't a proxy request is refused",
        arguments: [
            "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT appleid.apple.com HTTP\r\n\r\n", "\r\n\r\n", "x\r\n\r\n",
            "CONNECT :443 HTTP/1.1\r\n\r\n", "CONNECT appleid.apple.com:99999 HTTP/1.1\r\n\r\n",
            "CONNECT [::1 HTTP/1.1\r\n\r\n", "GET https://appleid.apple.com/ HTTP/1.1\r\n\r\n",
            "GET http:///x HTTP/1.1\r\n\r\n", "CONNECT a\u{0}b:443 HTTP/1.1\r\n\r\n",
        ])
    func mistakes(request: String) throws {
        let server = try start()
        defer { server.stop() }
        let port = Int(server.proxyURL?.split(separator: ":").last ?? "") ?? 0
        let wire = try Wire(port: port)
        wire.send(request)
        let answer = try wire.receive()
        #expect(answer.status == 400)
        #expect(!answer.diagnosis.isEmpty)
    }

    @Test("with pass-through, another host is reached; stopping ends its tunnel")
    func passThrough() throws {
        let other = try Receiver()
        defer { other.stop() }
        let server = try start { $0.proxyPassesThrough = true }
        let path = other.url.replacingOccurrences(of: "127.0.0.1", with: "localhost")
        #expect(try curl(server, "-f", "-d", "x=1", path).status == 0)
        #expect(other.requests.count == 1)
        #expect(try curl(server, "-f", "-p", "-d", "x=2", path).status == 0)
        #expect(other.requests.count == 2)
        #expect(try curl(server, "-f", "https://appleid.apple.com/auth/keys").status == 0)
        let port = Int(server.proxyURL?.split(separator: ":").last ?? "") ?? 0
        let idle = try Wire(port: port)
        idle.send("CONNECT appleid.apple.com:443 HTTP/1.1\r\n\r\n")
        #expect(try idle.receive().status == 200)
        server.stop()
        #expect(idle.isClosed)
    }

    @Test("fifty tunnels at once")
    func many() throws {
        let server = try start()
        defer { server.stop() }
        let urls = (0..<50).map { "https://appleid.apple.com/auth/keys?\($0)" }
        let result = try Shell.run(
            "curl",
            options(server) + ["-Z", "--parallel-immediate", "--parallel-max", "50", "-w", "%{http_code}\n"]
                + urls.flatMap { ["-o", "/dev/null", $0] })
        #expect(result.output == String(repeating: "200\n", count: 50), "\(result)")
    }
}
