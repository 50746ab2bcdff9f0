import Foundation
import TestSupport
import Testing

@Suite("Every refusal says why")
struct DiagnosisTests {
    /// Requests that a mistaken client might send.
    static let mistakes: [(name: String, headers: [String: String], query: String, body: String)] = [
        ("nothing", [:], "", ""),
        (
            "a form of nonsense", ["Content-Type": "application/x-www-form-urlencoded"], "",
            "a=b&client_id=x&code=%FF&=&&"
        ),
        (
            "JSON of nonsense", ["Content-Type": "application/json"], "",
            #"{"a":[1,{"b":null}],"client_id":7,"idToken":{}}"#
        ),
        ("no JSON", ["Content-Type": "application/json"], "", #"{"a":"#),
        ("a list", ["Content-Type": "application/json"], "", "[1,2]"),
        ("a query of nonsense", [:], "?client_id=x&key=x&code=x&token=x&redirect_uri=x&response_type=x", ""),
        ("an API key", ["Content-Type": "application/json"], "?key=demo-api-key", "{}"),
        ("a bearer token of nobody", ["Authorization": "Bearer nobody", "User-Agent": "tests"], "", ""),
        ("an administrator", ["Authorization": "Bearer owner", "Content-Type": "application/json"], "", "{}"),
        ("credentials of nobody", ["Authorization": "Basic eDp5", "User-Agent": "tests"], "", ""),
        ("a browser", ["Accept": "text/html"], "?client_id=x", ""),
        (
            "a page's form", ["Accept": "text/html", "Content-Type": "application/x-www-form-urlencoded"], "",
            "request=x&action=continue&account=x"
        ),
    ]

    @Test("every endpoint, to every mistake, with every method", arguments: mistakes.map(\.name))
    func walk(name: String) throws {
        let fixture = try FaultFixture()
        let mistake = try #require(DiagnosisTests.mistakes.first { $0.name == name })
        let endpoints =
            try fixture.client.get("\(FaultFixture.api)/endpoints").json["endpoints"] as? [[String: Any]] ?? []
        #expect(endpoints.count > 150)
        var refusals = 0
        // The steps of SMTP aren't requests.
        for endpoint in endpoints where endpoint["smtp"] == nil {
            let host = (endpoint["host"] as? String)?.replacingOccurrences(of: "*", with: "demo-app")
            let path = (endpoint["path"] as? String ?? "").replacingOccurrences(of: "*", with: "x")
            let own = endpoint["method"] as? String ?? ""
            for method in Set([own, "GET", "POST", "PUT", "DELETE"]).sorted() {
                // TestClient itself records an issue for a refusal without a diagnosis.
                let answer = try fixture.client.request(
                    method, (host.map { "/\($0)" } ?? "") + path + mistake.query, headers: mistake.headers,
                    body: method == "GET" ? [] : Array(mistake.body.utf8))
                #expect(answer.status < 500 || answer.status == 501, "\(method) \(host ?? "")\(path): \(answer)")
                if answer.status >= 400 {
                    refusals += 1
                    #expect(answer.diagnosis.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
                }
            }
        }
        #expect(refusals > 150)
    }

    @Test(
        "what leads nowhere is explained, too",
        arguments: [
            "/nowhere", "/appleid.apple.com/nowhere", "/github.com/nowhere", "/api.github.com/nowhere",
            "/accounts.google.com/nowhere", "/graph.facebook.com/a/b/c", "/identitytoolkit.googleapis.com/nowhere",
            "/securetoken.googleapis.com/nowhere", "/demo-app.firebaseapp.com/nowhere", "/emulator/nowhere",
            "/_understudy/nowhere", "/_understudy/v1/nowhere", "/~/x",
        ])
    func nowhere(path: String) throws {
        let fixture = try FaultFixture(isAlone: path.hasPrefix("/~"))
        // GitHub's answer is "Unknown path components", as in https://github.com/anomalyco/openauth/issues/214.
        let status = path.hasPrefix("/graph.facebook.com") ? 400 : 404
        #expect(try fixture.client.get(path).status == status)
        #expect(try fixture.client.get(path, headers: ["Accept": "text/html"]).status == status)
    }
}
