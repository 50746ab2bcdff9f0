import Foundation
import HTTPServer
import JOSE
import JSON
import TestSupport
import Testing

/// Texts that take quadratic time to compare must be refused before they are compared.
@Suite("Endless combining marks")
struct CombiningMarkTests {
    /// Long runs of combining marks. U+0F73 has no combining class itself, but its decomposition has.
    static let runs = ["\u{316}\u{301}", "\u{F73}", "\u{301}"].map { "a" + String(repeating: $0, count: 4_000) }

    @Test("in JSON, beside an integer that is too wide for 64 bits, too", arguments: runs.indices)
    func json(index: Int) {
        let text = Self.runs[index]
        for number in ["1", "10000000000000000000000000"] {
            #expect(throws: JSONSyntaxError.self) {
                try JSONValue(parsing: #"{"n":\#(number),"access_token":"\#(text)"}"#)
            }
        }
    }

    @Test("in a snapshot, as they are, as escapes, or both in turn")
    func snapshot() throws {
        let fixture = try FirebaseFixture()
        for run in ["\u{316}\u{301}", #"\u0316\u0301"#, "\u{316}" + #"\u0301"#, #"\ud834\udd65"#] {
            let body = #"{"seed":"{}","keys":[],"values":["\#(String(repeating: run, count: 40))"]}"#
            let answer = try fixture.client.request(
                "PUT", "/_understudy/v1/snapshot", headers: ["Content-Type": "application/json"],
                body: Array(body.utf8))
            #expect(answer.status == 400 && answer.text.contains("combining marks"), "\(run): \(answer)")
        }
    }

    @Test("in queries, forms, paths, headers, Basic credentials and forms in fields", arguments: runs.indices)
    func everywhere(index: Int) throws {
        let text = Self.runs[index]
        let fixture = try FirebaseFixture()
        let escaped = TestClient.escape(String(text.prefix(4_000)))
        let basic = Base64.encode(Array((text + ":secret").utf8))
        for (path, headers) in [
            ("/github.com/login/oauth/authorize?client_id=\(escaped)", [:]), ("/api.github.com/users/\(escaped)", [:]),
            ("/api.github.com/user", ["Authorization": "Bearer \(text)"]),
        ] {
            let answer = try fixture.client.get(path, headers: headers)
            #expect(
                answer.diagnosis.contains("combining marks") || answer.status == 431, "\(path.prefix(60)): \(answer)")
        }
        let form = try fixture.client.post("/appleid.apple.com/auth/token", form: ["client_id": text])
        #expect(form.diagnosis.contains("combining marks") || form.status == 413)
        let credentials = try fixture.client.request(
            "POST", "/github.com/login/oauth/access_token", headers: ["Authorization": "Basic \(basic)"])
        #expect(credentials.text.contains("incorrect_client_credentials") || credentials.status >= 400)
        // A name in JSON is hashed, too.
        let json = #"{"id_token":1,"\#(text)":2}"#
        let named = try fixture.client.request(
            "POST", "/github.com/login/device/code", headers: ["Content-Type": "application/json"],
            body: Array(json.utf8))
        #expect((try? JSONValue(parsing: json)) == nil && named.status >= 400)
        // The field contains another form.
        #expect(Form(parsing: "client_id=\(TestClient.escape(text))")["client_id"] == "\u{FFFD}")
    }

    @Test("what people write stays: Hindi, Thai, Vietnamese taken apart, an emoji family")
    func honest() {
        let texts = ["\u{915}\u{94D}\u{937}\u{93F}", "\u{E19}\u{E49}\u{E33}", "e\u{302}\u{309}", "👨‍👩‍👧‍👦"]
        let long = texts.map { String(repeating: $0, count: 200) }.joined(separator: " ")
        #expect(Form(parsing: "name=\(TestClient.escape(long))")["name"] == long)
        #expect((try? JSONValue(parsing: "\"\(long)\""))?.string == long)
    }
}
