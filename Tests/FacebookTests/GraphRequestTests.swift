import Foundation
import TestSupport
import Testing

@Suite("Facebook: what a call of the Graph API may look like")
struct GraphRequestTests {
    let fixture: FacebookFixture

    init() throws { fixture = try FacebookFixture() }

    private static let boundary = "----------------------------9051914041544843365972754266"

    /// Returns a multipart body like that of `curl -F`.
    private static func parts(_ fields: [String: String]) -> String {
        fields.map { "--\(boundary)\r\nContent-Disposition: form-data; name=\"\($0)\"\r\n\r\n\($1)\r\n" }.joined()
            + "--\(boundary)--\r\n"
    }

    private static func json(_ fields: [String: String]) throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: fields), as: UTF8.self)
    }

    private func post(_ path: String, _ type: String, _ body: String) throws -> Answer {
        try fixture.client.request(
            "POST", "/graph.facebook.com\(path)", headers: ["Content-Type": type], body: Array(body.utf8))
    }

    // Meta's documentation posts with curl -F, such as https://developers.facebook.com/docs/graph-api/guides/upload; JSON is what
    // https://github.com/freizl/hoauth2/issues/55 sent to Facebook's token endpoint.
    @Test(
        "parameters of a body are read whatever its form",
        arguments: [
            "application/x-www-form-urlencoded", "multipart/form-data; boundary=\(boundary)", "application/json",
        ])
    func bodies(type: String) throws {
        func body(_ fields: [String: String]) throws -> String {
            if type.hasPrefix("multipart") { return GraphRequestTests.parts(fields) }
            return type.hasSuffix("json") ? try GraphRequestTests.json(fields) : TestClient.encode(fields)
        }
        let redeemed = try post(
            "/v22.0/oauth/access_token", type,
            body([
                "client_id": FacebookFixture.id, "client_secret": FacebookFixture.secret,
                "redirect_uri": FacebookFixture.callback, "code": fixture.code(),
            ]))
        let token = try #require(redeemed["access_token"], "\(redeemed)")
        let inspected = try post(
            "/debug_token", type, body(["input_token": token, "access_token": FacebookFixture.appToken]))
        #expect((inspected.json["data"] as? [String: Any])?["is_valid"] as? Bool == true, "\(inspected)")
        let deleted = try post("/me/permissions", type, body(["access_token": token, "method": "delete"]))
        #expect(deleted.json["success"] as? Bool == true)
    }

    @Test(
        "a body that can't be read is one without parameters",
        arguments: [
            ("multipart/form-data", "--x\r\n"), ("multipart/form-data; boundary=x", "--x\r\nContent-Dis"),
            ("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data\r\n\r\ny\r\n--x--"),
            (
                "multipart/form-data; boundary=x",
                "--x\r\nContent-Disposition: form-data; name=client_id; filename=a\r\n\r\n1234567890\r\n--x--"
            ), ("application/json", "[1]"), ("application/json", "{"), ("application/json", #"{"client_id":["1"]}"#),
        ])
    func unreadable(type: String, body: String) throws {
        let answer = try post("/oauth/access_token", type, body)
        #expect(answer.status == 400)
        #expect(answer.message == "Missing client_id parameter.")
    }

    // Meta's samples end with a slash (https://developers.facebook.com/docs/graph-api/reference/user), and public code asks for /me/?….
    @Test("a slash at the end changes nothing", arguments: ["", "/v22.0"])
    func slashes(version: String) throws {
        let token = try fixture.token()
        for path in [
            "/me/", "/\(FacebookFixture.ada)/", "/app/", "/me/permissions/", "/me/picture/", "/\(FacebookFixture.id)/",
        ] {
            let (with, without) = (
                try fixture.graph(version + path, ["access_token": token]),
                try fixture.graph(version + String(path.dropLast()), ["access_token": token])
            )
            #expect(with.status == without.status)
            #expect(with.status < 400, "\(with)")
            #expect(with.text == without.text)
        }
        #expect(try fixture.graph("\(version)/me//", ["access_token": token]).status == 400)
    }

    @Test("an order for a call is for one with a slash, too, and the list of endpoints doesn't have it twice")
    func orderedWithSlash() throws {
        _ = try fixture.client.post(
            "\(FirebaseFixture.control)/faults",
            json: ["match": ["host": "graph.facebook.com", "path": "/me"], "effect": ["error": "190/460"], "times": 2])
        for path in ["/me/", "/v22.0/me/"] { #expect(try fixture.graph(path).graphCode == "190/460") }
        let endpoints = try fixture.client.get("\(FirebaseFixture.control)/endpoints")
        #expect(endpoints.text.contains(#""/me/permissions""#))
        #expect(!endpoints.text.contains(#""/me/""#))
    }

    // get_objects of https://github.com/mobolic/facebook-sdk asks like this.
    @Test("several people in one call, by their IDs", arguments: ["/", "/v22.0", "/v22.0/"])
    func ids(path: String) throws {
        for account in ["ada", "grace"] { _ = try fixture.token(account: account) }
        let (ada, grace) = (FacebookFixture.ada, "10150000000000002")
        let people = try fixture.graph(
            path, ["ids": "\(ada),\(grace)", "fields": "name", "access_token": FacebookFixture.appToken])
        #expect(people.json.keys.sorted() == [ada, grace])
        #expect((people.json[grace] as? [String: String]) == ["id": grace, "name": "Grace Hopper"])
        let unknown = try fixture.graph(path, ["ids": "\(ada),999", "access_token": FacebookFixture.appToken])
        #expect(unknown.graphCode == "100/33")
        // https://github.com/restfb/restfb/issues/157, with the words of https://github.com/snarfed/webutil's tests.
        let fifty = [String](repeating: ada, count: 60).joined(separator: ",")
        let twice = try fixture.graph(path, ["ids": fifty, "access_token": FacebookFixture.appToken])
        #expect(twice.json.keys.sorted() == [ada])
        let many = (1...51).map(String.init).joined(separator: ",")
        let refused = try fixture.graph(path, ["ids": many, "access_token": FacebookFixture.appToken])
        #expect(refused.graphCode == "100")
        #expect(refused.message == "(#100) Too many IDs. Maximum: 50. Provided: 51.")
        #expect(try fixture.graph(path, ["ids": ada]).graphCode == "104")
        #expect(try fixture.graph(path, ["access_token": FacebookFixture.appToken]).graphCode == "100/33")
    }

    private func batch(
        _ calls: [[String: Any]], _ form: [String: String] = [:], path: String = "/"
    ) throws -> [[String: Any]?] {
        let text = String(decoding: try JSONSerialization.data(withJSONObject: calls), as: UTF8.self)
        let answer = try fixture.client.post(
            "/graph.facebook.com\(path)", form: ["batch": text].merging(form) { $1 })
        #expect(answer.status == 200, "\(answer)")
        let items = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [Any]
        return (items ?? []).map { $0 as? [String: Any] }
    }

    @Test("an answer has 10,000 friends at most")
    func manyFriends() throws {
        let names = (0..<5_001).map { "f\($0)" }
        let people = [("a", "71"), ("b", "72")].map { id, number in
            ["id": id, "facebook": ["id": number, "friends": names]] as [String: Any]
        }
        let seed: [String: Any] = ["accounts": people + names.map { ["id": $0] }]
        #expect(try fixture.client.post("/_understudy/v1/seed", json: seed).status == 200)
        for account in ["a", "b"] { _ = try fixture.token(["scope": "user_friends"], account: account) }
        let token = FacebookFixture.appToken
        let fields = "name,friends{id,name}"
        #expect(try fixture.graph("/", ["access_token": token, "ids": "71", "fields": fields]).status == 200)
        let both = try fixture.graph("/", ["access_token": token, "ids": "71,72", "fields": fields])
        #expect(both.status == 500 && both.graphCode == "1")
        #expect(both.message == "Please reduce the amount of data you're asking for, then retry your request")
        #expect(try fixture.graph("/71/friends", ["access_token": token, "fields": "name"]).status == 200)
    }

    @Test("calls of a batch after eight megabytes of answers aren't made, and a note says so")
    func largeBatch() throws {
        let name = ["given", "family"].reduce(into: [:]) { $0[$1] = String(repeating: "n", count: 250) }
        let accounts = (10..<60).map { "p\($0)" }
        let people = (10..<60).map { number in
            ["id": "p\(number)", "name": name, "facebook": ["id": "\(number)", "friends": accounts]] as [String: Any]
        }
        #expect(try fixture.client.post("/_understudy/v1/seed", json: ["accounts": people]).status == 200)
        for account in accounts {
            let order: [String: Any] = ["client": FacebookFixture.id, "account": account, "scopes": ["user_friends"]]
            #expect(try fixture.client.post("/_understudy/v1/facebook/authorizations", json: order).status == 200)
        }
        let ids = (10..<60).map(String.init).joined(separator: ",")
        let call = ["method": "GET", "relative_url": "?fields=friends{name}&ids=\(ids)"]
        let text = String(
            decoding: try JSONSerialization.data(withJSONObject: [[String: String]](repeating: call, count: 9)),
            as: UTF8.self)
        let answer = try fixture.client.post(
            "/graph.facebook.com/", form: ["batch": text, "access_token": FacebookFixture.appToken])
        let calls = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [Any])
        let made = calls.prefix { ($0 as? [String: Any])?["code"] as? Int == 200 }.count
        #expect(calls.count == 9 && (6...7).contains(made))
        #expect(calls.dropFirst(made).allSatisfy { $0 is NSNull })
        #expect(answer.note.contains("the last \(9 - made) calls weren't made"))
    }

    private func body(_ answer: [String: Any]?) throws -> [String: Any] {
        let text = try #require(answer?["body"] as? String)
        return try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
    }

    // https://developers.facebook.com/docs/graph-api/batch-requests; what https://github.com/huandu/facebook (batch_result.go) requires of
    // each answer: code, headers with name and value, and a body, which is a text.
    @Test("a batch answers each of its calls", arguments: ["/", "/v19.0", "/v19.0/"])
    func batches(path: String) throws {
        let (ada, grace) = (try fixture.token(), try fixture.token(account: "grace"))
        let answers = try batch(
            [
                ["method": "GET", "relative_url": "me?fields=id,name"],
                ["method": "get", "relative_url": "/v22.0/me?fields=name&access_token=\(grace)"],
                ["method": "GET", "relative_url": "me?fields=nothing"],
                [
                    "method": "POST", "relative_url": "debug_token",
                    "body": "input_token=\(ada)&access_token=\(FacebookFixture.appToken)",
                ],
                ["method": "GET", "relative_url": "me", "omit_response_on_success": true],
                ["method": "POST", "relative_url": "?batch=%5B%5D"],
                ["method": "POST", "relative_url": "/v22.0/?batch=%5B%5D"],
                ["method": "DELETE", "relative_url": "me/permissions/email"],
                // https://developers.facebook.com/docs/graph-api/batch-requests asks for several objects like this.
                ["method": "GET", "relative_url": "?ids=\(FacebookFixture.ada)&fields=name"],
            ], ["access_token": ada], path: path)
        try #require(answers.count == 9)
        #expect(answers.map { $0?["code"] as? Int } == [200, 200, 400, 200, nil, 400, 400, 200, 200])
        #expect(try body(answers[0])["name"] as? String == "Ada Lovelace")
        #expect(try body(answers[1])["name"] as? String == "Grace Hopper")
        #expect((try body(answers[2])["error"] as? [String: Any])?["code"] as? Int == 100)
        #expect((try body(answers[3])["data"] as? [String: Any])?["is_valid"] as? Bool == true)
        #expect(answers[4] == nil)
        #expect(try body(answers[7])["success"] as? Bool == true)
        func version(_ answer: [String: Any]?) -> String? {
            let headers = answer?["headers"] as? [[String: String]] ?? []
            return headers.first { $0["name"] == "facebook-api-version" }?["value"]
        }
        #expect(version(answers[0]) == (path == "/" ? nil : "v19.0"))
        #expect(version(answers[1]) == "v22.0")
        let short = try batch(
            [["method": "GET", "relative_url": "me"]], ["access_token": ada, "include_headers": "false"])
        #expect(short.first??.keys.sorted() == ["body", "code"])
        let alone = try batch([["method": "GET", "relative_url": "me"]])
        #expect((try body(alone.first ?? nil)["error"] as? [String: Any])?["code"] as? Int == 2500)
    }

    @Test(
        "a batch within a batch is refused, and answers lead where the batch went",
        arguments: ["", "graph.facebook.com"])
    func addresses(host: String) throws {
        let calls = #"""
            [{"method":"GET","relative_url":"me?fields=picture"},
             {"method":"POST","relative_url":"~default/?batch=[]"}, {"method":"POST","relative_url":"?batch=[]"}]
            """#
        let token = try fixture.token()
        let path = host.isEmpty ? "/graph.facebook.com" : ""
        func send(_ method: String, _ target: String) throws -> Answer {
            try fixture.client.request(method, path + target, headers: host.isEmpty ? [:] : ["Host": host])
        }
        let answer = try send("POST", "/?\(TestClient.encode(["batch": calls, "access_token": token]))")
        let items = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [[String: Any]] ?? []
        #expect(items.map { $0["code"] as? Int } == [200, 400, 400], "\(answer)")
        #expect(
            try items.first?["body"] as? String == send("GET", "/me?fields=picture&access_token=\(token)").text)
    }

    // https://developers.facebook.com/docs/graph-api/batch-requests#timeouts; https://github.com/facebook/facebook-nodejs-business-sdk
    // sends such calls again.
    @Test("a call that isn't answered whole is null", arguments: ["beforeHeaders", "midBody"])
    func dropped(disconnect: String) throws {
        _ = try fixture.client.post(
            "\(FirebaseFixture.control)/faults",
            json: ["match": ["path": "/me"], "effect": ["disconnect": disconnect]])
        let call = ["method": "GET", "relative_url": "me"]
        let answers = try batch([call, call], ["access_token": fixture.token()])
        #expect(answers.map { $0?["code"] as? Int } == [nil, 200])
    }

    // https://github.com/facebook/facebook-nodejs-business-sdk posts a batch like this: src/api-batch.js, src/http.js.
    @Test("a batch in a JSON body may be an array")
    func array() throws {
        let body: [String: Any] = [
            "batch": [["method": "GET", "relative_url": "me"]], "access_token": try fixture.token(),
        ]
        let answer = try fixture.client.post("/graph.facebook.com/", json: body)
        let items = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [[String: Any]]
        #expect(items?.map { $0["code"] as? Int } == [200], "\(answer)")
    }

    @Test(
        "parameters of every form have the limits of a form's",
        arguments: [
            ("multipart/form-data; boundary=\(boundary)", "at most 65536 bytes"),
            ("application/json", "at most 65536 bytes"),
            ("multipart/form-data; boundary=\(boundary)", "at most 1000"),
        ])
    func limits(type: String, limit: String) throws {
        let fields =
            limit.hasSuffix("bytes")
            ? ["fields": String(repeating: "x", count: 65_537)]
            : Dictionary(uniqueKeysWithValues: (0...1_000).map { ("f\($0)", "1") })
        let body = type.hasPrefix("multipart") ? GraphRequestTests.parts(fields) : try GraphRequestTests.json(fields)
        for path in ["/", "/debug_token"] {
            let answer = try post(path, type, body)
            #expect(answer.graphCode == "100")
            #expect(answer.diagnosis.contains(limit), "\(answer)")
        }
    }

    // The second: https://github.com/jgorset/facepy has it among its tests, without a code.
    @Test("what is no batch")
    func noBatch() throws {
        let many = [String](repeating: #"{"method":"GET","relative_url":"me"}"#, count: 51).joined(separator: ",")
        for (text, message) in [
            ("{", "batch parameter must be a JSON array"),
            ("[\(many)]", "Too many requests in batch message. Maximum batch size is 50"),
            (#"[{"method":"GET"}]"#, "batch parameter must be a JSON array"),
            (#"[{"method":"G\nET","relative_url":"me"}]"#, "batch parameter must be a JSON array"),
        ] {
            let answer = try fixture.client.post("/graph.facebook.com/", form: ["batch": text])
            #expect(answer.status == 400)
            #expect(answer.graphError?["type"] as? String == "GraphBatchException")
            #expect(answer.message == message)
            #expect(answer.graphError?["code"] == nil)
        }
        let long = try fixture.client.post(
            "/graph.facebook.com/", form: ["batch": "[]", "access_token": String(repeating: "x", count: 5_000)])
        #expect(long.graphCode == "190")
        #expect(long.diagnosis.contains("at most 4096"))
        #expect(try fixture.graph("/", method: "POST").graphCode == "100/33")
        #expect(try fixture.graph("/123", ["batch": "[]"], method: "POST").graphCode == "100/33")
    }

    // https://github.com/mobolic/facebook-sdk (get_version), https://github.com/restfb/restfb (DebugHeaderInfo)
    @Test("an answer says of which version it is")
    func versions() throws {
        #expect(try fixture.graph("/v22.0/me").header("facebook-api-version") == "v22.0")
        let token = try fixture.token()
        #expect(try fixture.graph("/v19.0/me/", ["access_token": token]).header("facebook-api-version") == "v19.0")
        #expect(try fixture.graph("/me", ["access_token": token]).header("facebook-api-version") == nil)
    }
}
