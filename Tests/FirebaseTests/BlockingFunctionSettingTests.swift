import Foundation
import HTTPServer
import TestSupport
import Testing

@Suite("Where blocking functions are")
struct BlockingFunctionSettingTests {
    @Test("the configuration is checked, told, and emptied by an update without a mask")
    func configuration() throws {
        let fixture = try FirebaseFixture()
        func patch(_ functions: [String: Any], mask: String = "?updateMask=blockingFunctions") throws -> Answer {
            try fixture.admin("PATCH", "/config\(mask)", ["blockingFunctions": functions], version: "v2")
        }
        func kept() throws -> String {
            let functions = try fixture.admin("GET", "/config", version: "v2").json["blockingFunctions"] ?? [:]
            return String(
                decoding: try JSONSerialization.data(withJSONObject: functions, options: [.sortedKeys]), as: UTF8.self)
        }
        #expect(try kept() == "{}")
        let uri = "http://localhost:5001/demo/beforeCreate"
        #expect(
            try patch(["triggers": ["beforeCreate": ["functionUri": uri], "beforeSignIn": ["functionUri": ""]]]).status
                == 200)
        let triggers = #""triggers":{"beforeCreate":{"functionUri":"http:\/\/localhost:5001\/demo\/beforeCreate"}}"#
        #expect(try kept() == "{\(triggers)}")
        let mask = "?updateMask=blockingFunctions.forwardInboundCredentials.idToken"
        #expect(
            try patch(["forwardInboundCredentials": ["idToken": true, "accessToken": true]], mask: mask).status == 200)
        #expect(try kept() == #"{"forwardInboundCredentials":{"idToken":true},"# + "\(triggers)}")
        for (event, uri) in [
            ("beforeLunch", uri), ("beforeCreate", "nowhere"), ("beforeCreate", "ftp://localhost/"),
            ("beforeCreate", "https://example.com/function"),
        ] {
            let refused = try patch(["triggers": [event: ["functionUri": uri]]])
            #expect(refused.status == 400 && refused.errorCode == "INVALID_BLOCKING_FUNCTION", "\(event) \(uri)")
        }
        for functions: [String: Any] in [
            ["triggers": 7], ["triggers": ["x"]], ["forwardInboundCredentials": "all"],
            ["forwardInboundCredentials": ["idToken": "yes"]],
        ] { #expect(try patch(functions).status == 400, "\(functions)") }
        #expect(try fixture.admin("PATCH", "/config", ["signIn": [:]], version: "v2").status == 200)
        #expect(try kept() == "{}")
    }

    @Test("a page of another machine can't say where a function is")
    func foreignPage() throws {
        let fixture = try FirebaseFixture()
        let path = "/identitytoolkit.googleapis.com/v2/projects/demo-app/config?updateMask=blockingFunctions"
        let body = #"{"blockingFunctions":{"triggers":{"beforeCreate":{"functionUri":"http://localhost:1/"}}}}"#
        func patch(_ origin: String) throws -> Answer {
            try fixture.client.request(
                "PATCH", path,
                headers: ["Origin": origin, "Authorization": "Bearer owner", "Content-Type": "application/json"],
                body: Array(body.utf8))
        }
        for origin in ["https://evil.example", "http://localhost.evil.example", "null"] {
            let refused = try patch(origin)
            #expect(refused.status == 403)
            #expect(refused.diagnosis.contains("a web page from another machine sent"), "\(origin)")
        }
        #expect(try patch("http://localhost:4000").status == 200)
    }

    @Test("a function can't be a call of the control API, nor a name that resolvers read otherwise")
    func ownCalls() throws {
        let fixture = try FirebaseFixture()
        _ = try fixture.signUp("ada@example.org")
        for (uri, words) in [
            ("http://127.0.0.1:\(fixture.client.port)/_understudy/v1/reset", "ownMessage"),
            (#"http://localhost\a.example.com:\#(fixture.client.port)/"#, "Failed to make request"),
        ] {
            _ = try fixture.admin(
                "PATCH", "/config?updateMask=blockingFunctions.triggers",
                ["blockingFunctions": ["triggers": ["beforeCreate": ["functionUri": uri]]]], version: "v2")
            #expect(try fixture.signUp("grace@example.org").message.contains(words), "\(uri)")
        }
        // A reset would have removed Ada.
        let ada: [String: Any] = ["email": "ada@example.org", "password": "correct horse", "returnSecureToken": true]
        #expect(try fixture.v1("signInWithPassword", ada)["idToken"] != nil)
    }

    @Test("a seed has functions, at this machine or at hosts that it names")
    func seeded() throws {
        let receiver = try Receiver { _ in
            .now(Response(status: 403, contentType: "application/json", body: #"{"error":{"message":"no"}}"#))
        }
        func seed(_ uri: String, hosts: String) -> String {
            """
            {"firebase": {"projects": [{"id": "demo-app", "blockingFunctions":
             {"triggers": {"beforeCreate": {"functionUri": "\(uri)"}}, "allowedHosts": [\(hosts)]}}]}}
            """
        }
        let fixture = try FirebaseFixture(seed: seed(receiver.url, hosts: ""))
        #expect(try fixture.signUp("ada@example.org").errorCode == "BLOCKING_FUNCTION_ERROR_RESPONSE")
        let elsewhere = "https://functions.example.com/before"
        #expect(throws: (any Error).self) { try FirebaseFixture(seed: seed(elsewhere, hosts: "")) }
        let allowed = try FirebaseFixture(seed: seed(elsewhere, hosts: #""functions.example.com""#))
        let patched = try allowed.admin(
            "PATCH", "/config?updateMask=blockingFunctions.triggers",
            ["blockingFunctions": ["triggers": ["beforeSignIn": ["functionUri": elsewhere]]]], version: "v2")
        #expect(patched.status == 200)
    }
}
