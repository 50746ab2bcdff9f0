import Foundation
import TestSupport
import Testing

@testable import Understudy

@Suite struct SetUpTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    private var origin: String { "http://localhost:\(fixture.client.port)" }

    /// Returns the addresses of all guides, from the links on the first page.
    private func guides(world: String? = nil) throws -> [String] {
        let page = try fixture.page("setup", world: world).text
        let links = page.components(separatedBy: "/_understudy/setup/").dropFirst()
        return links.map { String($0.prefix { $0 != "\"" }) }
    }

    @Test(
        "it says what runs, what is seeded and where everything is",
        .oneProcess("a daemon knows its own ports, not the balancer's"))
    func everything() throws {
        let fixture = try InspectorFixture(isAlone: true)
        let origin = "http://localhost:\(fixture.client.port)"
        let page = try fixture.page("setup")
        #expect(page.status == 200 && page.header("Content-Type") == "text/html;charset=UTF-8")
        for text in [
            "Ada Lovelace", "com.example.web", "Ov23liSuspended00001", "GitHub App", "github-secret-for-tests",
            "signed by the client", "\(origin)/appleid.apple.com", "http at port \(fixture.client.port)",
            Version.current,
            "DELETE outcomes/:id",
        ] {
            #expect(page.text.contains(text), "\(text)")
        }
    }

    @Test("a world's page has that world's addresses")
    func world() throws {
        let fixture = try InspectorFixture(isAlone: true)
        let origin = "http://localhost:\(fixture.client.port)"
        #expect(try fixture.page("setup", world: "anna").text.contains("\(origin)/~anna/appleid.apple.com"))
        let google = try fixture.page("setup/google", world: "anna").text
        #expect(google.contains("\(origin)/~anna/oauth2.googleapis.com/token"))
        #expect(!google.contains("\(origin)/oauth2.googleapis.com/token"))
        // For SDKs that take only a host and a port, the guide says how to get them.
        #expect(try fixture.page("setup/firebase-web", world: "anna").text.contains("Give it a port of its own"))
        let host = try fixture.client.get(
            "/_understudy/setup/firebase-web",
            headers: ["Accept": "text/html", "Host": "anna.localhost:\(fixture.client.port)"])
        #expect(
            host.text.contains("connectAuthEmulator(auth, &quot;http://anna.localhost:\(fixture.client.port)&quot;)"))
    }

    @Test("every guide is a page, and every address in it is served")
    func addresses() throws {
        let guides = try guides()
        #expect(guides.count >= 15 && Set(guides).count == guides.count)
        var asked: Set<String> = []
        for guide in guides {
            let page = try fixture.page("setup/\(guide)")
            #expect(page.status == 200, "\(guide)")
            for rest in ["{url", "{part", "{shell", "{json", "&lt;!--"] {
                #expect(!page.text.contains(rest), "\(guide): \(rest)")
            }
            // Each rest begins with the path of a provider's URL.
            for rest in page.text.components(separatedBy: origin).dropFirst() {
                let path = String(rest.prefix { !"\"'<&, \\\n".contains($0) })
                guard path.count > 1, !path.hasPrefix("/_understudy/"), !path.contains("…"), !path.contains("{") else {
                    continue
                }
                asked.insert(path)
            }
        }
        #expect(asked.count > 25)
        for path in asked.sorted() where path.split(separator: "/").count > 1 && !path.hasSuffix("/") {
            let answers = try ["GET", "POST"].map { try fixture.client.request($0, path) }
            // A path without an endpoint of its own is the base of others.
            let isBase = ["/api/v3", "/graph.facebook.com/v19.0", "/oidc/corp"].contains { path.hasSuffix($0) }
            let isServed = answers.contains { answer in
                let diagnosis = answer.header("Understudy-Diagnosis") ?? ""
                return !diagnosis.contains("nothing is served") && !diagnosis.contains("this method doesn't exist")
            }
            #expect(isBase || isServed, "\(path)")
        }
    }

    @Test(
        "the commands of the guides work",
        arguments: ["apple-native", "google-native", "facebook-native", "firebase-rest"])
    func commands(guide: String) throws {
        let page = try fixture.page("setup/\(guide)").text
        let commands = page.components(separatedBy: "<pre").dropFirst().map { piece in
            piece.drop { $0 != ">" }.dropFirst().prefix { $0 != "<" }.replacingOccurrences(of: "&#39;", with: "'")
                .replacingOccurrences(of: "&quot;", with: "\"").replacingOccurrences(of: "&amp;", with: "&")
        }.filter { $0.hasPrefix("curl ") && !$0.contains("credential-state") && !$0.contains("/outcomes") }
        #expect(!commands.isEmpty)
        for command in commands {
            let process = Process()
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments = ["-c", command.replacingOccurrences(of: "curl ", with: "curl -sS --fail-with-body ")]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0, "\(command): \(String(decoding: data, as: UTF8.self))")
        }
    }

    @Test("the first request of a client is seen, with why it was refused")
    func arrival() throws {
        let fixture = try InspectorFixture(isAlone: true)
        #expect(try fixture.page("setup/firebase-web").text.contains("No request of this kind of client"))
        let path = "/identitytoolkit.googleapis.com/v1/accounts:signInWithPassword?key=demo-api-key"
        let web = ["X-Client-Version": "Chrome/JsCore/11.0.0/FirebaseCore-web"]
        _ = try fixture.client.request("POST", path, headers: web, body: Array(#"{"email":"a@b.example"}"#.utf8))
        let arrived = try fixture.page("setup/firebase-web").text
        #expect(arrived.contains("The first request has arrived.") && arrived.contains(">refused</span>"))
        #expect(arrived.contains("Password"))
        #expect(arrived.contains("/_understudy/requests/r"))
        // The request was a browser's, not another SDK's.
        let admin = try fixture.page("setup/firebase-admin").text
        #expect(admin.contains("No request of this kind of client"))
        #expect(admin.contains("The last request, whichever client sent it"))
        #expect(try fixture.page("setup", world: "w1").text.contains("No request has arrived"))
    }

    @Test("a script asks for the check alone")
    func part() throws {
        _ = try fixture.client.get("/appleid.apple.com/auth/keys")
        let part = try fixture.page("setup/apple-web?part=arrival")
        #expect(part.text.hasPrefix("<!DOCTYPE html>\n<div id=\"arrival\"") && part.text.contains("just now"))
        #expect(part.header("Content-Security-Policy") != nil && part.header("Cache-Control") == "no-store")
        #expect(try fixture.page("setup?part=arrival").text.contains("arrived"))
    }

    @Test("secrets of requests stay masked where requests are shown")
    func masked() throws {
        var options = RunningServer.Options()
        options.masksSecrets = true
        let fixture = try InspectorFixture(options: options)
        _ = try fixture.client.post(
            "/github.com/login/oauth/access_token",
            form: ["client_id": "Iv1.0123456789abcdef", "client_secret": "very-secret-text", "code": "secret-code"])
        for path in ["setup", "setup/github"] {
            let page = try fixture.page(path).text
            #expect(!page.contains("very-secret-text") && !page.contains("secret-code"))
        }
    }

    @Test("ports that are open are in the guides", .oneProcess("a daemon knows its own ports, not the balancer's"))
    func ports() throws {
        let fixture = try InspectorFixture(isAlone: true)
        let page = try fixture.page("setup/unchanged").text
        #expect(page.contains("understudy serve --proxy-port 9080"))
        let health = try fixture.client.get("/_understudy/v1/health").json
        #expect(health["ports"] as? [String: Int] == ["http": Int(fixture.client.port)])
    }

    @Test("an unknown guide is a page that says so")
    func unknown() throws {
        let page = try fixture.page("setup/%3Cscript%3E")
        #expect(page.status == 404 && !page.text.contains("<script>"))
    }
}
