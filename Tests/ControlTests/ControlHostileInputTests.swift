import Foundation
import TestSupport
import Testing
import Understudy

@Suite("Hostile input to the control API")
struct ControlHostileInputTests {
    static let texts = [
        "", "{", "[]", "null", "7", "\"x\"", "{}", #"{"a":1}"#, #"{"effect":null}"#, #"{"effect":[]}"#,
        #"{"effect":{"token":{"claims":{"exp":"9999999999999999d","a":{"b":[{}]}},"header":{"alg":null,"kid":null}}}}"#,
        #"{"effect":{"status":200,"headers":{"A\r\nB":"x\r\ny","":"","\u0000":"\u0000"},"body":{}}}"#,
        #"{"effect":{"delay":"99999999999999999999h"}}"#, #"{"effect":{"delay":"-1s"}}"#,
        #"{"match":{"path":"****************************************a","host":"****"},"effect":{"status":200}}"#,
        #"{"match":{"fields":{"":""}},"effect":{"status":200},"times":9223372036854775807}"#,
        #"{"expectations":[]}"#, #"{"expectations":[[]]}"#, #"{"times":-1}"#, #"{"status":1e99}"#,
        #"{"provider":"apple","client":"com.example.app","claims":{"iat":"1h","sub":[]},"signature":"none"}"#,
        #"{"account":{"a":1},"client":[]}"#, #"{"delay":"{delay}","host":"{host}"}"#,
        String(repeating: "[", count: 5000), #"{"a":"\#(String(repeating: "x", count: 100_000))"}"#,
    ]

    @Test("no body makes a call fail in a way that isn't its own", arguments: texts.indices)
    func bodies(index: Int) throws {
        let fixture = try FaultFixture()
        let body = Array(ControlHostileInputTests.texts[index].utf8)
        for path in [
            "faults", "outcomes", "verify", "tokens", "clock", "accounts", "scenarios/slow-provider",
            "scenarios/hidden-email-off", "reset",
        ] {
            let answer = try fixture.client.request("POST", "\(FaultFixture.api)/\(path)", body: body)
            #expect((200..<500).contains(answer.status), "\(path): \(answer)")
        }
        // The daemon keeps running after every order. A fault may replace its answer.
        _ = try? fixture.client.get("/appleid.apple.com/auth/keys")
        _ = try? Site.natives[0].call(fixture.client, "")
        #expect(try fixture.client.get("\(FaultFixture.api)/requests").status == 200)
        #expect(try fixture.client.get("\(FaultFixture.api)/health").status == 200)
    }

    @Test("a pattern has few stars, because it is compared with many texts")
    func patterns() throws {
        let fixture = try FaultFixture()
        let (few, many) = (String(repeating: "*a", count: 16), String(repeating: "*a", count: 17))
        let long = "*" + String(repeating: "a", count: 256)
        for (path, isTaken) in [(few, true), (many, false), (long, false), (String(long.dropFirst()), true)] {
            for query in [
                "requests?path=\(path)", "requests?host=\(path)", "requests?world=\(path)", "mail?to=\(path)",
            ] {
                let answer = try fixture.client.get("\(FaultFixture.api)/\(query)")
                #expect(answer.status == (isTaken ? 200 : 400), "\(query): \(answer)")
            }
            let answer = try fixture.client.post("\(FaultFixture.api)/verify", json: ["path": path])
            #expect(answer.status == (isTaken ? 409 : 400), "\(answer)")
        }
    }

    @Test(
        "queries of the recording",
        arguments: [
            "after=r99999999999999999999", "path=%FF%00*", "path=\(String(repeating: "*a", count: 2000))", "&&&=&=",
            "host=",
            "wait=0s", "count=1000&wait=1ms", "flow=%", "limit=-1", "status=xxx", "format=", "a", "refused=",
        ])
    func queries(query: String) throws {
        let fixture = try FaultFixture()
        _ = try fixture.client.get("/appleid.apple.com/auth/keys")
        let answer = try fixture.client.get("\(FaultFixture.api)/requests?\(query)")
        #expect([200, 400].contains(answer.status), "\(answer)")
    }

    @Test("bodies of every kind are recorded and shown, masked or not", arguments: [false, true])
    func recorded(isMasked: Bool) throws {
        var options = RunningServer.Options()
        options.masksSecrets = isMasked
        let fixture = try FaultFixture(options: options)
        let bytes = (0..<256).map { UInt8($0) }
        for type in ["application/json", "application/x-www-form-urlencoded", "text/html", "image/png", "", "a/b+json"]
        {
            for body in [
                bytes, [], Array("code=%FF%00&token=a&=&a==&&".utf8), Array(#"{"token":{"code":["abcdefgh"]}}"#.utf8),
            ] {
                _ = try fixture.client.request(
                    "POST",
                    "/appleid.apple.com/auth/token?code=%ZZ&state=\u{1F600}".addingPercentEncoding(
                        withAllowedCharacters: .urlQueryAllowed.union(.urlPathAllowed)) ?? "/",
                    headers: ["Content-Type": type],
                    body: body)
            }
        }
        let answer = try fixture.client.get("\(FaultFixture.api)/requests")
        #expect((answer.json["requests"] as? [Any])?.count == 24)
        #expect(try !fixture.client.get("\(FaultFixture.api)/requests?format=har").json.isEmpty)
    }
}
