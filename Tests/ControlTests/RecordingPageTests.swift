import Foundation
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
}
