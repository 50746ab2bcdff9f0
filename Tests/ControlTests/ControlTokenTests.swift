import Foundation
import TestSupport
import Testing

@testable import Understudy

@Suite("The control token")
struct ControlTokenTests {
    private static let token = "a-token-of-these-tests"
    private static let bearer = ["Authorization": "Bearer \(token)"]
    private static let emulator = "/emulator/v1/projects/demo-app"
    private static let api = AppleFixture.control
    private let server: RunningServer
    private let client: TestClient

    init() throws {
        var options = RunningServer.Options()
        options.controlToken = ControlTokenTests.token
        server = try RunningServer.start(options: options)
        client = TestClient(port: server.port)
    }

    private func code(_ answer: Answer) -> String? { (answer.json["error"] as? [String: Any])?["code"] as? String }

    @Test(
        "what controls the daemon wants it",
        arguments: [
            ("GET", "\(api)/"), ("GET", "\(api)/requests"), ("GET", "\(api)/seed"), ("POST", "\(api)/reset"),
            ("GET", "/~w1\(api)/mail"), ("POST", "\(api)/apple/authorizations"), ("GET", "\(api)/firebase/export"),
            ("DELETE", "\(emulator)/accounts"), ("PATCH", "\(emulator)/config"), ("GET", "\(emulator)/oobCodes"),
            ("GET", "\(emulator)/verificationCodes"),
        ])
    func wanted(method: String, path: String) throws {
        let without = try client.request(method, path)
        #expect(without.status == 401 && code(without) == "noToken")
        #expect(without.header("WWW-Authenticate") == "Bearer realm=\"understudy control\"")
        #expect(without.diagnosis.contains("--control-token"))
        let wrong = try client.request(method, path, headers: ["Authorization": "Bearer another-token-of-these"])
        #expect(wrong.status == 401 && code(wrong) == "wrongToken")
        #expect(wrong.header("WWW-Authenticate")?.hasSuffix("error=\"invalid_token\"") == true)
        let other = try client.request(method, path, headers: ["Authorization": "Basic \(ControlTokenTests.token)"])
        #expect(other.status == 401)
        #expect(try client.request(method, path, headers: ControlTokenTests.bearer).status != 401)
        let spelled = ["authorization": "bearer  \(ControlTokenTests.token)"]
        #expect(try client.request(method, path, headers: spelled).status != 401)
    }

    @Test("only who shows it says where blocking functions are")
    func functions() throws {
        let path = "/identitytoolkit.googleapis.com/v2/projects/demo-app/config?updateMask=blockingFunctions"
        let body = #"{"blockingFunctions":{"triggers":{"beforeCreate":{"functionUri":"http://localhost:1/"}}}}"#
        func patch(_ token: String, _ path: String) throws -> Answer {
            let headers = ["Authorization": "Bearer \(token)", "Content-Type": "application/json"]
            return try client.request("PATCH", path, headers: headers, body: Array(body.utf8))
        }
        let refused = try patch("owner", path)
        #expect(refused.status == 403 && refused.text.contains("PERMISSION_DENIED"))
        #expect(refused.diagnosis.contains("control token"))
        // Other settings can still be changed by every administrator.
        #expect(try patch("owner", path.replacingOccurrences(of: "blockingFunctions", with: "mfa")).status == 200)
        let set = try patch(ControlTokenTests.token, path)
        #expect(set.status == 200 && set.text.contains("localhost:1"))
    }

    @Test(
        "what the app under test asks doesn't",
        arguments: [
            ("GET", "/appleid.apple.com/auth/keys"), ("GET", "/api.github.com/user"),
            ("GET", "\(emulator)/config"), ("GET", "/emulator/openapi.json"), ("GET", "/_understudy/gapi.js"),
            ("GET", "/emulator/action"), ("GET", "/identitytoolkit.googleapis.com/v1/projects?key=demo-api-key"),
            ("GET", "/"), ("GET", "/_understudy/assets/inspector.css"),
        ])
    func notWanted(method: String, path: String) throws {
        let answer = try client.request(method, path)
        #expect(!answer.text.contains("control token") && !answer.diagnosis.contains("--control-token"), "\(answer)")
        #expect(answer.header("WWW-Authenticate")?.contains("control") != true)
    }

    @Test("whoever has no token is told whether the daemon is ready, and nothing else") func health() throws {
        let answer = try client.get("\(ControlTokenTests.api)/health")
        #expect(answer.status == 200 && Set(answer.json.keys) == ["status", "version"])
        let whole = try client.get("\(ControlTokenTests.api)/health", headers: ControlTokenTests.bearer)
        #expect(whole.json["memory"] != nil)
    }

    @Test("other origins' pages are refused with it, too") func origins() throws {
        let headers = ControlTokenTests.bearer.merging(["Origin": "https://evil.example"]) { $1 }
        #expect(try client.get("\(ControlTokenTests.api)/requests", headers: headers).status == 403)
        // Any page may call the Emulator Suite's addresses, and read why it is refused.
        let refused = try client.request(
            "DELETE", "\(ControlTokenTests.emulator)/accounts", headers: ["Origin": "https://app.example"])
        #expect(refused.status == 401 && refused.header("Access-Control-Allow-Origin") == "https://app.example")
    }

    @Test("it isn't in the recording, however it was sent") func recording() throws {
        let native = ["client": AppleFixture.app, "account": "ada"]
        let path = "\(ControlTokenTests.api)/apple/authorizations"
        #expect(try client.post(path, json: native, headers: ControlTokenTests.bearer).status == 200)
        let cookie = try #require(try signIn().header("Set-Cookie")?.prefix { $0 != ";" })
        let headers = [
            "Cookie": "a=b; \(cookie)", "Authorization": "Bearer \(ControlTokenTests.token)", "User-Agent": "tests",
        ]
        #expect(try client.get("/api.github.com/user", headers: headers).status == 401)
        let listed = try client.get(
            "\(ControlTokenTests.api)/requests", headers: ControlTokenTests.bearer)
        let requests = try #require(listed.json["requests"] as? [[String: Any]])
        let recorded = try requests.map { entry in
            let id = try #require(entry["id"] as? String)
            return try client.get("\(ControlTokenTests.api)/requests/\(id)", headers: ControlTokenTests.bearer).text
        }.joined()
        #expect(recorded.contains("apple/authorizations") && recorded.contains("/user"))
        #expect(recorded.contains("Bearer masked-22") && recorded.contains("a=b; understudy-control=masked-43"))
        #expect(!recorded.contains(ControlTokenTests.token) && !recorded.contains(cookie.dropFirst(20)))
    }

    // MARK: - Browsers

    private func signIn(_ token: String = token, page: String = "/_understudy/people?q=a") throws -> Answer {
        try client.post("/_understudy/token", form: ["token": token, "page": page])
    }

    @Test("a browser is asked for it, and gets a cookie that leads to all pages and calls") func browser() throws {
        let html = ["Accept": "text/html"]
        for path in ["/", "/_understudy/people?q=a", "/~w1/_understudy/"] {
            let page = try client.get(path, headers: html)
            #expect(page.status == 401 && page.text.contains("Control token"), "\(path)")
            #expect(page.inputs["page"] == path && !page.text.contains("Ada"))
        }
        let answer = try signIn(" \(ControlTokenTests.token)\n")
        #expect(answer.status == 303 && answer.location == "/_understudy/people?q=a")
        let set = try #require(answer.header("Set-Cookie"))
        #expect(set.hasSuffix("; Path=/; HttpOnly; SameSite=Strict") && !set.contains(ControlTokenTests.token))
        let cookie = ["Cookie": "other=1; \(set.prefix { $0 != ";" })"]
        for path in ["/_understudy/people", "/~w1/_understudy/", "\(ControlTokenTests.api)/requests"] {
            #expect(try client.get(path, headers: html.merging(cookie) { $1 }).status == 200, "\(path)")
        }
        let forged = ["Cookie": "understudy-control=\(ControlTokenTests.token)"]
        #expect(try client.get("/_understudy/people", headers: html.merging(forged) { $1 }).status == 401)
    }

    @Test("the inspector's forms work with the cookie, by calls of the control API") func forms() throws {
        let cookie = ["Cookie": String(try #require(try signIn().header("Set-Cookie")).prefix { $0 != ";" })]
        let page = try client.get("/_understudy/clock", headers: cookie)
        let fields = ["formToken": try #require(page.inputs["formToken"]), "do": "freeze"]
        #expect(try client.post("/_understudy/clock", form: fields).status == 401)
        #expect(try client.post("/_understudy/clock", form: fields, headers: cookie).status < 400)
    }

    @Test("a wrong one is asked for again, and no other site is led to")
    func wrong() throws {
        let answer = try signIn("another-token-of-these")
        #expect(
            answer.status == 401 && answer.header("Set-Cookie") == nil && answer.text.contains("isn&#39;t the token"))
        for place in ["//evil.example/", "https://evil.example/", "/\\evil.example", "", "/a\r\nX: y"] {
            let answer = try signIn(page: place)
            #expect(answer.location == "http://localhost:\(client.port)/_understudy/", "\(place)")
        }
        let foreign = try client.post(
            "/_understudy/token", form: ["token": ControlTokenTests.token], headers: ["Origin": "https://evil.example"])
        #expect(foreign.status == 403 && foreign.header("Set-Cookie") == nil)
    }

    @Test("scenarios and Firebase's own calls need none") func ownCalls() throws {
        var options = RunningServer.Options()
        options.controlToken = ControlTokenTests.token
        options.scenarios = ["slow-provider"]
        let server = try RunningServer.start(options: options)
        let client = TestClient(port: server.port)
        let faults = try client.get("\(ControlTokenTests.api)/faults", headers: ControlTokenTests.bearer)
        #expect((faults.json["faults"] as? [Any])?.isEmpty == false)
    }

    @Test(
        "what can't be one is refused without being repeated",
        arguments: ["short", "", "with a space in the middle", "ümläute-sind-keine-zeichen"])
    func unusable(token: String) throws {
        var options = RunningServer.Options()
        options.controlToken = token
        let error = #expect(throws: StartError.self) { try RunningServer.start(options: options) }
        #expect(error?.description.contains("16 to 256") == true)
        if !token.isEmpty { #expect(error?.description.contains(token) == false) }
    }
}
