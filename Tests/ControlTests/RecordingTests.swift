import Foundation
import JSON
import TestSupport
import Testing
import Understudy

@Suite("The recording")
struct RecordingTests {
    static let api = FaultFixture.api
    let fixture: FaultFixture

    init() throws { fixture = try FaultFixture() }

    private func requests(_ query: String = "", world: String = "") throws -> [[String: Any]] {
        let answer = try fixture.client.get("\(world)\(RecordingTests.api)/requests\(query.isEmpty ? "" : "?")\(query)")
        if answer.status != 200 { Issue.record("\(answer)") }
        return answer.json["requests"] as? [[String: Any]] ?? []
    }

    @Test("no call of the control API is in it, mistyped ones neither, but what an app asks for at no provider's host")
    func controlCalls() throws {
        #expect(try fixture.client.get("/_understudy/v1/typo").status == 404)
        #expect(try fixture.client.request("PUT", "/_understudy/v1/clock").status == 405)
        #expect(try fixture.client.get("/login/oauth/authorize").status == 404)
        #expect(try requests().map { $0["path"] as? String } == ["/login/oauth/authorize"])
    }

    @Test("a request, its answer, headers, bodies, decoded tokens and the diagnosis")
    func whole() throws {
        let answer = try Site.signIn(at: "apple", fixture.client)
        let record = try #require(try requests("path=/auth/token").last)
        #expect(record["id"] as? String == answer.header("Understudy-Request"))
        #expect(record["host"] as? String == "appleid.apple.com")
        #expect(record["client"] as? String == AppleFixture.service)
        #expect(record["status"] as? Int == 200)
        #expect(record["diagnosis"] == nil)
        let request = record["request"] as? [String: Any]
        #expect(request?["target"] as? String == "/appleid.apple.com/auth/token")
        #expect((request?["body"] as? String)?.contains("grant%5Ftype=authorization%5Fcode") == true)
        let headers = request?["headers"] as? [[String: String]] ?? []
        // A balancer may write names of headers in lower case.
        let contentType = headers.first { $0["name"]?.lowercased() == "content-type" }
        #expect(contentType?["value"]?.contains("urlencoded") == true)
        let response = record["response"] as? [String: Any]
        #expect(response?["body"] as? String == answer.text)
        let tokens = record["tokens"] as? [[String: Any]] ?? []
        let identity = tokens.first { $0["place"] as? String == "response.body.id_token" }
        #expect((identity?["claims"] as? [String: Any])?["aud"] as? String == AppleFixture.service)
        #expect((identity?["header"] as? [String: Any])?["alg"] as? String == "RS256")
        let secret = tokens.first { $0["place"] as? String == "request.body.client_secret" }
        #expect((secret?["claims"] as? [String: Any])?["iss"] as? String == "A1B2C3D4E5")
        let refused = try Site.redeem("c.0.none.none", at: "apple", fixture.client)
        let last = try #require(try requests("refused=true").last)
        #expect(last["diagnosis"] as? String == refused.diagnosis)
        // Calls of the control API itself aren't recorded.
        #expect(try requests().allSatisfy { $0["path"] as? String != "\(RecordingTests.api)/outcomes" })
    }

    @Test(
        "filters",
        arguments: [
            ("host=appleid.apple.com", 2), ("host=*apple*", 2), ("path=/auth/token", 1), ("path=/auth/*", 2),
            ("method=GET", 2), ("client=com.example.web", 2), ("client=1234567890", 1), ("status=302", 2),
            ("status=4xx", 1),
            ("refused=true", 1), ("refused=false", 3), ("limit=1", 1), ("host=github.com", 0), ("after=r0", 4),
            ("host=appleid.apple.com&method=POST&status=200", 1),
        ])
    func filters(query: String, count: Int) throws {
        _ = try Site.signIn(at: "apple", fixture.client)
        _ = try Site.authorizations[3].call(fixture.client, "")
        _ = try fixture.client.get("/api.github.com/user", headers: ["User-Agent": "tests"])
        let found = try requests(query)
        #expect(found.count == (query == "method=GET" ? 3 : count), "\(found.map { $0["path"] ?? "" })")
    }

    @Test(
        "a query that can't be is refused with its place",
        arguments: [
            ("limit=0", "$.limit"), ("limit=x", "$.limit"), ("wait=soon", "$.wait"), ("wait=2m", "$.wait"),
            ("status=700", "$.status"), ("refused=maybe", "$.refused"), ("hots=x", "$.hots"), ("after=x", "$.after"),
            ("format=xml", "$.format"), ("count=0", "$.count"),
        ])
    func badQueries(query: String, path: String) throws {
        let answer = try fixture.client.get("\(RecordingTests.api)/requests?\(query)")
        #expect(answer.status == 400)
        #expect((answer.json["error"] as? [String: Any])?["path"] as? String == path)
    }

    @Test("what came after a request, and nothing twice")
    func after() throws {
        for _ in 0..<3 { _ = try Site.keySets[0].call(fixture.client, "") }
        let all = try requests()
        #expect(all.count == 3)
        let first = try #require(all[0]["id"] as? String)
        #expect(try requests("after=\(first)").count == 2)
        let answer = try fixture.client.get("\(RecordingTests.api)/requests?after=\(first)")
        let last = try #require(answer["last"])
        #expect(try requests("after=\(last)").isEmpty)
        #expect(try fixture.client.get("\(RecordingTests.api)/requests/\(first)")["id"] == first)
        #expect(try fixture.client.get("\(RecordingTests.api)/requests/r999999").status == 404)
        #expect(try fixture.client.request("DELETE", "\(RecordingTests.api)/requests").status == 204)
        #expect(try requests().isEmpty)
    }

    @Test("a flow is one: authorization, code, tokens, refresh and revocation", arguments: ["apple", "google"])
    func flows(provider: String) throws {
        let tokens = try Site.signIn(at: provider, fixture.client)
        // Another sign-in comes in between.
        let other = try Site.signIn(at: provider, fixture.client)
        let token = tokens[provider == "apple" ? "refresh_token" : "access_token"] ?? ""
        if provider == "apple" {
            let secret = try AppleFixture.secret()
            let form = [
                "client_id": AppleFixture.service, "client_secret": secret, "grant_type": "refresh_token",
                "refresh_token": token,
            ]
            _ = try fixture.client.post("/appleid.apple.com/auth/token", form: form)
            _ = try fixture.client.post(
                "/appleid.apple.com/auth/revoke",
                form: ["client_id": AppleFixture.service, "client_secret": secret, "token": token])
        } else {
            _ = try fixture.client.get(
                "/openidconnect.googleapis.com/v1/userinfo", headers: ["Authorization": "Bearer \(token)"])
            _ = try fixture.client.post("/oauth2.googleapis.com/revoke", form: ["token": token])
        }
        let all = try requests()
        let flow = try #require(all.first?["flow"] as? String)
        #expect(flow == all.first?["id"] as? String)
        #expect(try requests("flow=\(flow)").count == 4)
        let second = try #require(all.first { $0["id"] as? String == other.header("Understudy-Request") })
        #expect(second["flow"] as? String != flow)
        // A call with a bearer token belongs to the client of the token's flow.
        #expect(try requests("flow=\(flow)").allSatisfy { $0["client"] as? String == all.first?["client"] as? String })
    }

    @Test("a flow goes through the sign-in page, and through what Firebase asks the providers")
    func pages() throws {
        let path = AppleFixture.authorizePath(["state": "a-state-of-one-flow"])
        let page = try fixture.client.get(path, headers: ["Accept": "text/html"])
        let action = Answer.attribute("action", of: page.text.components(separatedBy: "<form ").last ?? "")
        let answer = try fixture.client.post(
            String(action.dropFirst("http://localhost:\(fixture.client.port)".count)),
            form: page.inputs.merging(["account": "ada", "action": "continue"]) { $1 })
        _ = try Site.redeem(answer.redirect["code"] ?? "", at: "apple", fixture.client)
        #expect(Set(try requests().compactMap { $0["flow"] as? String }).count == 1)
        _ = try fixture.client.request("DELETE", "\(RecordingTests.api)/requests")

        let credential = try Site.natives[0].call(fixture.client, "")
        let body: [String: Any] = [
            "requestUri": "http://localhost", "returnSecureToken": true,
            "postBody": FirebaseFixture.postBody("apple.com", idToken: credential["identityToken"]),
        ]
        _ = try fixture.client.post(
            "/identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=demo-api-key", json: body)
        let all = try requests()
        #expect(all.count == 3)
        #expect(Set(all.compactMap { $0["flow"] as? String }).count == 1)
        let keys = try #require(all.first { $0["path"] as? String == "/auth/keys" })
        #expect(keys["parent"] as? String == all.last?["id"] as? String)
    }

    @Test("a wait ends with what it waits for, or with nothing")
    func wait() async throws {
        let client = fixture.client
        let path = "\(RecordingTests.api)/requests?path=/auth/keys&wait=1m&count=2"
        let waiting = Wire.asking(port: client.port, path)
        let begin = ContinuousClock.now
        _ = try client.get("/appleid.apple.com/.well-known/openid-configuration")
        _ = try client.get("/appleid.apple.com/auth/keys")
        _ = try client.get("/appleid.apple.com/auth/keys")
        let answer = try #require(try waiting?.receive())
        #expect((answer.json["requests"] as? [Any])?.count == 2)
        // The answer comes before the minute is over.
        #expect(ContinuousClock.now - begin < .seconds(50))
        // Exchanges that were recorded earlier are enough.
        #expect(try requests("path=/auth/keys&wait=10s").count == 2)
        let none = try client.get("\(RecordingTests.api)/requests?path=/nowhere&wait=100ms")
        #expect(none.status == 200)
        #expect((none.json["requests"] as? [Any])?.isEmpty ?? false)
    }

    @Test("a stream brings exchanges as they come, and can be taken up again")
    func stream() throws {
        _ = try fixture.client.get("/appleid.apple.com/auth/keys")
        let wire = try Wire(port: fixture.client.port)
        wire.send(
            "GET \(RecordingTests.api)/requests?path=/auth/keys HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        )
        let head = try wire.receive(toHEAD: true)
        #expect(head.header("Content-Type") == "text/event-stream")
        let first = try event(from: wire)
        #expect(first.data["path"] as? String == "/auth/keys")
        _ = try fixture.client.get("/appleid.apple.com/.well-known/openid-configuration")
        let second = try fixture.client.get("/appleid.apple.com/auth/keys")
        #expect(try event(from: wire).id == second.header("Understudy-Request"))
        let again = try Wire(port: fixture.client.port)
        again.send(
            "GET \(RecordingTests.api)/requests HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nLast-Event-ID: \(first.id)\r\n\r\n"
        )
        _ = try again.receive(toHEAD: true)
        #expect(try event(from: again).data["path"] as? String == "/.well-known/openid-configuration")
    }

    private func event(from wire: Wire) throws -> (id: String, data: [String: Any]) {
        var text = ""
        while !text.contains("data: ") || !text.hasSuffix("\n\n") {
            guard let chunk = try wire.chunk() else { throw TransportError(reason: "the stream ended") }
            text += chunk
        }
        var id = ""
        var data: [String: Any] = [:]
        for line in text.split(separator: "\n") {
            if line.hasPrefix("id: "), id.isEmpty { id = String(line.dropFirst(4)) }
            // Several events may come at once: the first one counts.
            if line.hasPrefix("data: "), data.isEmpty {
                data =
                    try JSONSerialization.jsonObject(with: Data(line.dropFirst(6).utf8)) as? [String: Any] ?? [:]
            }
        }
        return (id, data)
    }

    @Test("HAR 1.2, with the members that its readers need")
    func har() throws {
        _ = try Site.signIn(at: "apple", fixture.client)
        let har = try fixture.client.get("\(RecordingTests.api)/requests?format=har")
        let log = har.json["log"] as? [String: Any]
        #expect(log?["version"] as? String == "1.2")
        let entries = log?["entries"] as? [[String: Any]] ?? []
        #expect(entries.count == 2)
        for entry in entries {
            for name in ["startedDateTime", "time", "request", "response", "cache", "timings"] {
                #expect(entry[name] != nil)
            }
            let request = entry["request"] as? [String: Any] ?? [:]
            for name in [
                "method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize",
            ] {
                #expect(request[name] != nil)
            }
            #expect((request["url"] as? String)?.hasPrefix("https://appleid.apple.com/auth/") == true)
            let response = entry["response"] as? [String: Any] ?? [:]
            for name in ["status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL"] {
                #expect(response[name] != nil)
            }
            let date = entry["startedDateTime"] as? String ?? ""
            let parser = ISO8601DateFormatter()
            parser.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
            #expect(abs(parser.date(from: date)?.timeIntervalSinceNow ?? 1000) < 60, "\(date)")
        }
        let post = (entries.last?["request"] as? [String: Any])?["postData"] as? [String: Any]
        #expect((post?["text"] as? String)?.contains("grant%5Ftype=") == true)
    }

    @Test("masked, no secret is in the recording, the stream, the HAR file or on the inspector's pages")
    func masked() throws {
        var options = RunningServer.Options()
        options.masksSecrets = true
        let fixture = try FaultFixture(options: options)
        var secrets: [String] = []
        for provider in ["apple", "github", "google", "facebook"] {
            let site = try #require(Site.authorizations.first { $0.provider == provider })
            let code = Site.code(try site.call(fixture.client, ""))
            let tokens = try Site.redeem(code, at: provider, fixture.client)
            secrets += [code, tokens["access_token"], tokens["refresh_token"], tokens["id_token"]].compactMap { $0 }
        }
        secrets += [GitHubFixture.secret, "google-secret-for-tests", "facebook-secret-for-tests"]
        let token = secrets[2]
        _ = try fixture.client.get("/api.github.com/user", headers: ["Authorization": "Bearer \(token)"])
        _ = try fixture.client.post(
            "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=demo-api-key",
            json: ["email": "a@example.com", "password": "correct \"horse\""])
        secrets += ["correct \\\"horse", "correct \"horse"]
        // A form post has the code in a page.
        let page = try fixture.client.get(
            AppleFixture.authorizePath(["response_mode": "form_post", "client_id": "com.example.web.auto"]))
        secrets.append(try #require(page.inputs["code"]))
        // A web message has it in a message to the page's opener.
        let message = try fixture.client.get(
            AppleFixture.authorizePath(["response_mode": "web_message", "client_id": "com.example.web.auto"]))
        let posted = Answer.attribute("data-message", of: message.text)
        let authorization = try JSONValue(parsing: posted)["data"]?["authorization"]
        secrets.append(try #require(authorization?["code"]?.string, "\(posted)"))
        secrets += try buttons(fixture)
        // This is a JSON body with a form's type, as by "curl -d".
        _ = try fixture.client.request(
            "POST", "/identitytoolkit.googleapis.com/v1/accounts:signInWithPassword?key=demo-api-key",
            headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Array(#"{"email":"a@example.com","password":"wrong & horse"}"#.utf8))
        secrets.append("wrong & horse")
        // GitHub answers in XML, too.
        let github = try #require(Site.authorizations.first { $0.provider == "github" })
        let xml = try fixture.client.post(
            "/github.com/login/oauth/access_token",
            form: [
                "code": Site.code(try github.call(fixture.client, "")), "client_id": GitHubFixture.asking,
                "client_secret": GitHubFixture.secret,
            ], headers: ["Accept": "application/xml"])
        let element = xml.text.components(separatedBy: "<access_token>").last?.components(separatedBy: "<").first
        secrets.append(try #require(element))
        // With masking, a body that isn't UTF-8 isn't shown in base64, in which secrets couldn't be masked.
        _ = try fixture.client.request(
            "POST", "/oauth2.googleapis.com/revoke", headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Array("token=not-a-secret-of-ours&x=".utf8) + [0xFF])
        secrets += ["not-a-secret-of-ours", Data("token=not-a-secret-of-ou".utf8).base64EncodedString()]
        _ = try fixture.client.get("/nowhere/\(secrets[0])?code=\(secrets[0])")
        let places = ["/requests", "/requests?format=har"].map { "\(RecordingTests.api)\($0)" }
        var texts = try places.map { (path: $0, text: try fixture.client.get($0).text) }
        let wire = try Wire(port: fixture.client.port)
        wire.send("GET \(places[0]) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
        _ = try wire.receive(toHEAD: true)
        var stream = ""
        while !stream.contains("/nowhere") { stream += try wire.chunk() ?? "/nowhere" }
        texts.append((path: "the stream", text: stream))
        texts.append((path: "/", text: try fixture.client.get("/", headers: ["Accept": "text/html"]).text))
        for (path, text) in texts {
            for secret in secrets where secret.count > 8 {
                #expect(!text.contains(secret), "\(path): \(secret)")
                #expect(!text.contains(TestClient.escape(secret)), "\(path): \(secret)")
            }
            if path != "/" { #expect(text.contains("masked-"), "\(path)") }
        }
        // The claims of a token may be shown; it is decoded for that.
        #expect(try fixture.client.get("\(RecordingTests.api)/requests").text.contains("\"nonce_supported\":true"))
        #expect(try self.fixture.client.get("\(RecordingTests.api)/requests").text.contains("masked-") == false)
    }

    /// Returns the credentials in the answers to Google's and Facebook's scripts for browsers.
    private func buttons(_ fixture: FaultFixture) throws -> [String] {
        var credentials: [String] = []
        let origin = "http://localhost:3000"
        func order(_ provider: String) throws {
            let outcome = ["provider": provider, "outcome": "approve", "account": "ada"]
            _ = try fixture.client.post("\(RecordingTests.api)/outcomes", json: outcome)
        }
        let google = ["client_id": "example.apps.googleusercontent.com", "origin": origin]
        for path in ["select", "iframe"] {
            try order("google")
            let page = try fixture.client.get("/accounts.google.com/gsi/\(path)?\(TestClient.encode(google))")
            let message = try JSONValue(parsing: Answer.attribute("data-message", of: page.text))
            credentials.append(try #require(message["credential"]?.string))
        }
        try order("google")
        let dialog = try fixture.client.post(
            "/accounts.google.com/gsi/fedcm/issue", form: google,
            headers: ["Origin": origin, "Sec-Fetch-Dest": "webidentity"])
        credentials.append(try #require(dialog["token"]))
        try order("facebook")
        let relay = "https://staticxx.facebook.com/x/connect/xd_arbiter/?version=46&origin=\(TestClient.escape(origin))"
        let facebook = ["client_id": "1234567890", "response_type": "token,signed_request", "redirect_uri": relay]
        let page = try fixture.client.get("/www.facebook.com/v22.0/dialog/oauth?\(TestClient.encode(facebook))")
        let message = try JSONValue(parsing: Answer.attribute("data-message", of: page.text))
        for name in ["access_token", "signed_request"] { credentials.append(try #require(message[name]?.string)) }
        return credentials
    }

    @Test("at most a thousand exchanges are kept")
    func bounds() throws {
        for _ in 0..<1020 { _ = try fixture.client.get("/appleid.apple.com/.well-known/openid-configuration") }
        #expect(try requests("limit=1000").count == 1000)
        #expect(try requests().count == 1000)
    }

    @Test("the largest exchanges of a world take at most 16 MB")
    func largeBounds() throws {
        let fixture = try FaultFixture(isAlone: true)
        let body = Array(repeating: UInt8(ascii: "x"), count: 250_000)
        for _ in 0..<100 {
            _ = try fixture.client.request("POST", "/~large/appleid.apple.com/auth/token", body: body)
        }
        let worlds = try fixture.client.get("\(RecordingTests.api)/worlds").json["worlds"] as? [[String: Any]] ?? []
        let kept = worlds.first { $0["name"] as? String == "large" }?["requests"] as? Int ?? 0
        // In PostgreSQL, the oldest are removed once there is a tenth too much.
        let isInPostgreSQL =
            ProcessInfo.processInfo.environment["UNDERSTUDY_STORE"]?.hasPrefix("postgresql:") == true
        #expect((30...(isInPostgreSQL ? 73 : 67)).contains(kept), "\(kept)")
    }

    @Test("what a fault did is recorded, disconnects, too")
    func faults() throws {
        try fixture.order(["disconnect": true], at: ["path": "/auth/keys"])
        try fixture.order(["disconnect": "midBody"], at: ["path": "/auth/keys"])
        try fixture.order(["delay": "50ms"], at: ["path": "/auth/keys"])
        _ = try? fixture.client.get("/appleid.apple.com/auth/keys")
        _ = try? fixture.client.get("/appleid.apple.com/auth/keys")
        _ = try fixture.client.get("/appleid.apple.com/auth/keys")
        let all = try requests()
        #expect(
            all.map { ($0["response"] as? [String: Any])?["disconnected"] as? String } == [
                "beforeHeaders", "midBody", nil,
            ])
        #expect(all.allSatisfy { ($0["fault"] as? String)?.contains("fault-") ?? false })
        #expect(all[2]["durationMilliseconds"] as? Double ?? 0 >= 50)
    }

    // MARK: - verify

    private func verify(_ body: [String: Any]) throws -> Answer {
        try fixture.client.post("\(RecordingTests.api)/verify", json: body)
    }

    @Test("expectations that are met, and those that aren't, with the differences")
    func verify() throws {
        _ = try Site.signIn(at: "apple", fixture.client)
        let met = try verify(["host": "appleid.apple.com", "path": "/auth/token", "times": 1])
        #expect(met.status == 200)
        #expect(met.json["verified"] as? Bool == true)
        #expect(
            try verify([
                "expectations": [
                    ["path": "/auth/*", "atLeast": 2, "atMost": 2], ["path": "/auth/revoke", "times": 0],
                    ["path": "/auth/token", "fields": ["grant_type": "authorization_code"], "status": 200],
                    ["client": AppleFixture.service, "refused": false], ["status": "3xx"],
                ] as [[String: Any]]
            ]).status == 200)
        let unmet = try verify(["host": "appleid.apple.com", "path": "/auth/token", "method": "GET", "times": 1])
        #expect(unmet.status == 409)
        let error = unmet.json["error"] as? [String: Any]
        #expect(error?["code"] as? String == "unmet")
        #expect((error?["message"] as? String)?.contains("expected exactly 1") == true)
        #expect((error?["message"] as? String)?.contains("found 0") == true)
        let near = (unmet.json["expectations"] as? [[String: Any]])?.first?["near"] as? [[String: Any]]
        #expect(near?.first?["differences"] as? [String] == ["method: expected GET, was POST"])
        #expect(!unmet.diagnosis.isEmpty)
        #expect(try verify(["path": "/auth/token", "times": 2]).status == 409)
        #expect(try verify(["path": "/auth/token", "atMost": 0]).status == 409)
        let wrong = try verify(["path": "/auth/token", "fields": ["grant_type": "refresh_token"]])
        #expect(wrong.text.contains("fields.grant_type: expected refresh_token, was authorization_code"))
        #expect(try verify(["pth": "/auth/token"]).status == 400)
        #expect(try verify(["expectations": [["status": "9xx"]]]).status == 400)
    }
}
