import Foundation
import JSON
import TestSupport
import Testing
import Understudy

@Suite("The recording, page by page")
struct RecordingPageTests {
    private let control = FirebaseFixture.control

    private func ids(_ answer: Answer) -> [String] {
        (answer.json["requests"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
    }

    @Test("with after and limit, a client that goes on after each page's last sees every exchange once")
    func pages() throws {
        let fixture = try FirebaseFixture()
        for number in 0..<23 { _ = try fixture.client.get("/appleid.apple.com/nothing/\(number)") }
        let all = ids(try fixture.client.get("\(control)/requests"))
        #expect(all.count == 23)
        var seen = [all[0]]
        var hasMore = true
        while hasMore {
            let page = try fixture.client.get("\(control)/requests?after=\(seen.last ?? "")&limit=5")
            #expect(ids(page).count <= 5)
            seen += ids(page)
            hasMore = page.json["more"] as? Bool ?? false
        }
        #expect(seen == all)
        #expect(ids(try fixture.client.get("\(control)/requests?limit=3")) == all.suffix(3))
    }

    @Test("what had to make room is told, until the recording is emptied")
    func dropped() throws {
        let fixture = try FirebaseFixture()
        let connection = Wire.asking(port: fixture.client.port, "/appleid.apple.com/nothing")
        for _ in 0..<1_004 {
            _ = try connection?.receive()
            connection?.send("GET /appleid.apple.com/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
        }
        _ = try connection?.receive()
        #expect(try fixture.client.get("\(control)/requests?limit=1").json["dropped"] as? Int == 5)
        let verdict = try fixture.client.post("\(control)/verify", json: ["path": "/none", "times": 0])
        #expect(verdict.json["verified"] as? Bool == true)
        #expect(verdict.json["dropped"] as? Int == 5)
        _ = try fixture.client.request("DELETE", "\(control)/requests")
        #expect(try fixture.client.get("\(control)/requests?limit=1").json["dropped"] == nil)
    }

    @Test("verify compares a thousand fields at once, no more")
    func fields() throws {
        let fixture = try FirebaseFixture()
        func verify(_ count: Int) throws -> Answer {
            let fields = Dictionary(uniqueKeysWithValues: (0..<count).map { ("f\($0)", "v") })
            let one: [String: Any] = ["path": "/none", "times": 0, "fields": fields]
            return try fixture.client.post("\(control)/verify", json: ["expectations": [one, one]])
        }
        #expect(try verify(500).status == 200)
        #expect(try verify(501).status == 400)
    }

    @Test(
        "an event stream that its client closes gives its place back",
        .oneProcess("health counts what its process holds"))
    func streams() throws {
        let fixture = try FirebaseFixture()
        func count() throws -> Int? {
            let memory = try fixture.client.get("\(control)/health").json["memory"] as? [String: Any]
            return (memory?["streams"] as? [String: Any])?["count"] as? Int
        }
        var streams: [Wire] = []
        for _ in 0..<20 {
            let wire = try Wire(port: fixture.client.port)
            wire.send("GET \(control)/requests HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
            streams.append(wire)
        }
        #expect(try eventually { try count() == 20 })
        streams = []
        #expect(try eventually { try count() == 0 })
    }

    @Test("with masks, no secret shows in Referer, in other credentials, or in what can't be read")
    func masks() throws {
        var options = RunningServer.Options()
        options.masksSecrets = true
        let server = try TestServer.start(seeds: [.builtIn], options: options)
        defer { server.stop() }
        let client = TestClient(port: server.port)
        let json = ["Content-Type": "application/json"]
        func post(_ path: String, _ body: String, _ headers: [String: String] = [:]) throws {
            _ = try client.request("POST", path, headers: json.merging(headers) { $1 }, body: Array(body.utf8))
        }
        try post(
            "/identitytoolkit.googleapis.com/v1/accounts:signInWithPassword?key=demo-api-key",
            #"{"password":"hush-hush-1","password":"hush-hush-2"}"#)
        try post(
            "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key", #"{"password":"hush-hush-3"} x"#)
        try post("/api.github.com/credentials/revoke", #"{"credentials":["hush-hush-4"]}"#)
        try post(
            "/appleid.apple.com/auth/token", "code=hush-hush-5&client_secret=hush-hush-6",
            ["Referer": "http://x/?code=hush-hush-7", "Proxy-Authorization": "hush-hush-8"])
        let shown = try client.get("\(control)/requests").text + client.get("\(control)/requests?format=har").text
        #expect(shown.contains("masked-"))
        #expect(!shown.contains("hush-hush"))
    }

    @Test("with masks, no secret shows in fields of all kinds, in values within values, and in what a diagnosis quotes")
    func nestedMasks() throws {
        var options = RunningServer.Options()
        options.masksSecrets = true
        let server = try TestServer.start(seeds: [.builtIn], options: options)
        defer { server.stop() }
        let client = TestClient(port: server.port)
        let (identity, key) = ("/identitytoolkit.googleapis.com/v1", "key=demo-api-key")
        func post(_ path: String, _ body: String, _ headers: [String: String] = [:]) throws -> Answer {
            let json = ["Content-Type": "application/json"]
            return try client.request("POST", path, headers: json.merging(headers) { $1 }, body: Array(body.utf8))
        }
        _ = try client.get("/login.corp.example/logout?id_token_hint=hush-hush-1")
        _ = try post("\(identity)/accounts:update?\(key)", #"{"idToken":"x","oldPassword":"hush-hush-2"}"#)
        _ = try post(
            "\(identity)/projects/demo-app/accounts:batchCreate",
            #"{"users":[{"localId":"u","rawPassword":"hush-hush-3"}]}"#, ["Authorization": "Bearer owner"])
        _ = try post(
            "\(identity)/accounts:signInWithIdp?\(key)",
            #"{"sessionId":"hush-hush-4","requestUri":"http://localhost/cb?oauth_token=hush-hush-5","#
                + #""postBody":"providerId=twitter.com&oauth_token=hush-hush-6&oauth_token_secret=hush-hush-7"}"#)
        _ = try post("\(identity)/accounts:sendVerificationCode?\(key)", #"{"iosSecret":"hush-hush-8"}"#)
        // A diagnosis may quote what can't be read.
        _ = try post("\(identity)/accounts:signUp?\(key)", #"{"password": hush-hush-9}"#)
        for credentials in ["hush-hush-10:", "hush-hush-11:x-oauth-basic", "ada:hush-hush-12"] {
            let basic = Data(credentials.utf8).base64EncodedString()
            _ = try client.get(
                "/api.github.com/user", headers: ["Authorization": "Basic \(basic)", "User-Agent": "tests"])
        }
        _ = try client.get(
            Site.authorizations[1].target([
                "redirect_uri": "http://localhost:3000/cb?access_token=hush-hush-13&next=%2Fx%3Fid_token%3Dhush-hush-14"
            ]))
        let calls = #"""
            [{"method":"GET","relative_url":"me?access_token=hush-hush-15"},{"method":"POST","relative_url":
            "me/x","body":"access_token=hush-hush-16&a=b"},{"method":"GET","relative_url":"x?input_token=hush%2Dhush-17"}]
            """#
        _ = try client.post("/graph.facebook.com/v22.0/", form: ["batch": calls, "access_token": "hush-hush-18"])
        // In these answers, the daemon itself issues secrets.
        let made = try post("/login.corp.example/register", #"{"redirect_uris":["https://app.example/cb"]}"#)
        let device = try client.post(
            "/github.com/login/device/code", form: ["client_id": GitHubFixture.asking, "scope": "user"],
            headers: ["Accept": "application/json"])
        _ = try client.post(
            "/github.com/login/oauth/access_token",
            form: [
                "client_id": GitHubFixture.asking, "device_code": device["device_code"] ?? "",
                "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
            ], headers: ["Accept": "application/json"])
        var secrets = [made["registration_access_token"], device["user_code"]].compactMap { $0 }
        #expect(secrets.count == 2, "\(made) \(device)")
        secrets += ["hush-hush", "hush%2Dhush", "hush%252Dhush"]
        let list = try client.get("\(control)/requests")
        let ids = try JSONValue(parsing: list.body)["requests"]?.array?.compactMap { $0["id"]?.string } ?? []
        var pages = [("list", list.text), ("HAR", try client.get("\(control)/requests?format=har").text)]
        pages.append(("flows", try client.get("\(control)/flows?all=true").text))
        for id in ids { pages.append((id, try client.get("/_understudy/requests/\(id)").text)) }
        #expect(pages.count > 15)
        for (name, text) in pages {
            for secret in secrets { #expect(!text.contains(secret), "\(name): \(secret): \(text)") }
        }
    }
}
