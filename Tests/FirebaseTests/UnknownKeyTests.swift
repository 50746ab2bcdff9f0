import Foundation
import Logging
import Synchronization
import TestSupport
import Testing
import Understudy

@Suite("Firebase: API keys and projects that no seed holds")
struct UnknownKeyTests {
    private static let account: [String: String] = ["email": "ada@example.org", "password": "correct horse"]

    /// Signs up with an API key, at the daemon's own address or the real host name, and returns the project of the new
    /// ID token.
    private func audience(_ fixture: FirebaseFixture, key: String, isHosted: Bool = false) throws -> String? {
        let path = "/v1/accounts:signUp?key=\(key)"
        let answer = try fixture.client.request(
            "POST", isHosted ? path : FirebaseFixture.toolkit + path,
            headers: isHosted ? ["Host": "identitytoolkit.googleapis.com"] : [:])
        guard answer.status == 200 else {
            #expect(answer.message == "API key not valid. Please pass a valid API key.")
            return nil
        }
        return answer.claims()["aud"] as? String
    }

    @Test(
        "unknownKeys decides which addresses take any key",
        arguments: [
            ("auto", "demo-app", nil), ("accept", "demo-app", "demo-app"), ("refuse", nil, nil),
        ] as [(String, String?, String?)])
    func keys(setting: String, emulator: String?, hosted: String?) throws {
        let fixture = try FirebaseFixture(seed: #"{"firebase": {"unknownKeys": "\#(setting)"}}"#)
        let key = "AIzaSyOfSomebodysOwnConfiguration000000"
        #expect(try audience(fixture, key: key) == emulator)
        #expect(try audience(fixture, key: key, isHosted: true) == hosted)
        #expect(try audience(fixture, key: FirebaseFixture.key, isHosted: true) == "demo-app")
    }

    @Test(
        "the default project is the seed's, or its first one; it need not be seeded",
        arguments: [
            (#"{}"#, "demo-app"),
            (
                #"{"firebase": {"defaultProject": "second", "projects": [{"id": "second", "providers": {"anonymous": {}}}]}}"#,
                "second"
            ),
            (#"{"firebase": {"defaultProject": "my-app"}}"#, "my-app"),
        ])
    func defaultProject(seed: String, wanted: String) throws {
        let fixture = try FirebaseFixture(seed: seed)
        #expect(try audience(fixture, key: "whatever") == wanted)
        #expect(try audience(fixture, key: FirebaseFixture.key) == "demo-app")
        let owner = try fixture.client.request(
            "POST", "\(FirebaseFixture.toolkit)/v1/accounts:signUp",
            headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"],
            body: Array(Data(#"{"localId": "u1"}"#.utf8)))
        #expect(owner["localId"] == "u1")
        #expect(
            try fixture.admin("POST", "/accounts:lookup", ["localId": ["u1"]], project: wanted).json["users"] != nil)
    }

    @Test("a default project that no seed has exists by the real host name, too")
    func unseededDefault() throws {
        let server = try TestServer.start(seeds: [.builtIn, .firebaseProject("my-app")])
        defer { server.stop() }
        let answer = try TestClient(port: server.port).request(
            "POST", "/v1/accounts:signUp?key=my-app", headers: ["Host": "identitytoolkit.googleapis.com"])
        #expect(answer.claims()["aud"] as? String == "my-app")
        #expect(SeedInput.faults(in: [.firebaseProject("my app")]).first?.contains("$.firebase.defaultProject") == true)
    }

    @Test("Bearer owner with an API key is the administrator of the key's project")
    func owner() throws {
        let fixture = try FirebaseFixture()
        func call(_ name: String, _ body: [String: Any], key: String) throws -> Answer {
            try fixture.client.request(
                "POST", "\(FirebaseFixture.toolkit)/v1/accounts:\(name)?key=\(key)",
                headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"],
                body: Array(try JSONSerialization.data(withJSONObject: body)))
        }
        #expect(try call("signUp", ["localId": "u1"], key: "demo-other")["localId"] == "u1")
        #expect(try call("lookup", ["localId": ["u1"]], key: "demo-other").json["users"] != nil)
        #expect(try call("lookup", ["localId": ["u1"]], key: FirebaseFixture.key).json["users"] == nil)
        let user = try fixture.signUp("ada@example.org")
        let changed = try call(
            "update", ["idToken": user["idToken"] ?? "", "displayName": "Ada"], key: FirebaseFixture.key)
        #expect(changed["displayName"] == "Ada")
        #expect(try fixture.lookup(user["idToken"])["displayName"] as? String == "Ada")
    }

    @Test(
        "a project or an API key that is nearly one of the seed's is accepted with a note",
        arguments: [
            ("demo-apq", "demo-app"), ("demo-api-kye", "demo-api-key"), ("dmo-api-key", "demo-api-key"),
            ("demo-other", nil), ("demo-app-2", nil), (FirebaseFixture.key, nil),
        ] as [(String, String?)])
    func misspelled(key: String, meant: String?) throws {
        let fixture = try FirebaseFixture()
        let answer = try fixture.v1("signUp", [:], key: key)
        #expect(answer.status == 200)
        if let meant {
            #expect(answer.note.contains("did you mean \"\(meant)\"?"), "\(answer)")
        } else {
            #expect(answer.note.isEmpty, "\(answer)")
        }
    }

    @Test("an administrator's project that is nearly one of the seed's is accepted with a note")
    func misspelledProject() throws {
        let answer = try FirebaseFixture().admin("POST", "/accounts:lookup", [:], project: "demo-apq")
        #expect(answer.status == 200)
        #expect(answer.note.contains("did you mean \"demo-app\"?"), "\(answer)")
    }

    @Test("who isn't an administrator, and projects that aren't there")
    func access() throws {
        let fixture = try FirebaseFixture()
        let path = "\(FirebaseFixture.toolkit)/v1/projects/demo-app/accounts:lookup"
        #expect(try fixture.client.post(path, json: ["localId": ["x"]]).status == 403)
        let wrong = try fixture.client.request("POST", path, headers: ["Authorization": "Bearer nonsense"])
        #expect(wrong.status == 401)
        #expect((wrong.json["error"] as? [String: Any])?["status"] as? String == "UNAUTHENTICATED")
        #expect(
            try fixture.admin("POST", "/accounts:lookup", [:], project: "no%20thing").message
                == "CONFIGURATION_NOT_FOUND")
        #expect(try fixture.admin("POST", "/accounts:lookup", [:], project: "demo-other").status == 200)
        #expect(try fixture.admin("POST", ":nothing", [:]).status == 404)
    }

    @Test("a project that no seed has is as the Emulator Suite makes it: addresses aren't hidden, fakes are taken")
    func emulatorDefaults() throws {
        let fixture = try FirebaseFixture()
        for key in ["demo-other", FirebaseFixture.key] {
            let unknown = try fixture.v1("signInWithPassword", UnknownKeyTests.account, key: key)
            #expect(unknown.message == (key == "demo-other" ? "EMAIL_NOT_FOUND" : "INVALID_LOGIN_CREDENTIALS"))
        }
        let fake = try fixture.v1(
            "signInWithIdp",
            [
                "requestUri": "http://localhost", "returnSecureToken": true,
                "postBody": #"providerId=google.com&id_token={"sub":"abc","email":"a@example.org"}"#,
            ], key: "demo-other")
        #expect(fake.status == 200, "\(fake.text)")
        let config = try fixture.client.get("/emulator/v1/projects/never-seeded/config").json
        #expect((config["emailPrivacyConfig"] as? [String: Any])?["enableImprovedEmailPrivacy"] as? Bool == false)
        let hosted = try fixture.client.request(
            "POST", "/v1/projects/never-seeded/accounts:lookup",
            headers: ["Host": "identitytoolkit.googleapis.com", "Authorization": "Bearer owner"])
        #expect(hosted.message == "CONFIGURATION_NOT_FOUND")
    }

    @Test("what was accepted outside the seed is on the inspector's page and once in the log")
    func said() throws {
        let lines = Mutex<[String]>([])
        let handler = LineHandler { line in lines.withLock { $0.append(line) } }
        let server = try TestServer.start(
            options: RunningServer.Options(logger: Logger(label: "test") { _ in handler }))
        defer { server.stop() }
        let client = TestClient(port: server.port)
        func page() throws -> String { try client.get("/_understudy/setup", headers: ["Accept": "text/html"]).text }
        #expect(!(try page()).contains("Unknown, but accepted"))
        for _ in 0..<3 {
            for key in ["somebodys-key", "demo-fresh", FirebaseFixture.key] {
                _ = try client.request("POST", "\(FirebaseFixture.toolkit)/v1/accounts:signUp?key=\(key)")
            }
        }
        let taken = try page()
        #expect(taken.contains("Unknown, but accepted"))
        let sentences = [
            "somebodys-key\", which no project has, as one of \"demo-app\"",
            "project \"demo-fresh\", which no seed has",
        ]
        for sentence in sentences {
            let escaped = sentence.replacingOccurrences(of: "\"", with: "&quot;")
            #expect(taken.contains(escaped) || taken.contains(sentence))
            let said = lines.withLock { $0 }.filter { $0.contains(sentence) }
            #expect(said.count == 1)
        }
        #expect(!taken.contains("\"\(FirebaseFixture.key)\", which"))
        _ = try client.request("POST", "\(FirebaseFixture.control)/reset")
        #expect(!(try page()).contains("Unknown, but accepted"))
    }

    @Test("no more than 50 of what was taken is remembered")
    func bounded() throws {
        let fixture = try FirebaseFixture()
        for number in 0..<60 { #expect(try audience(fixture, key: "key-\(number)") == "demo-app") }
        let page = try fixture.client.get("/_understudy/setup", headers: ["Accept": "text/html"]).text
        #expect(page.components(separatedBy: ", which no project has").count - 1 == 50)
    }
}

private struct LineHandler: LogHandler {
    let write: @Sendable (String) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    init(_ write: @escaping @Sendable (String) -> Void) { self.write = write }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { write("\(event.message)") }
}
