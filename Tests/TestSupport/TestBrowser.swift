import Foundation

/// A simple browser: it keeps the session's cookie and follows redirects within the daemon.
package final class TestBrowser {
    private let client: TestClient
    private var cookies: [String: String] = [:]

    package init(_ client: TestClient) { self.client = client }

    package func get(_ path: String) throws -> Answer { try send("GET", path, form: [:]) }

    package func post(_ path: String, _ form: [String: String]) throws -> Answer { try send("POST", path, form: form) }

    /// Posts a page's form with its hidden inputs, to the form's address.
    package func submit(_ page: Answer, _ form: [String: String], scopes: [String] = []) throws -> Answer {
        let action = Answer.attribute("action", of: page.text.components(separatedBy: "<form ").last ?? "")
        let path = action.replacingOccurrences(of: "http://localhost:\(client.port)", with: "")
        let body =
            TestClient.encode(page.inputs.merging(form) { $1 })
            + scopes.map { "&scope=\(TestClient.escape($0))" }.joined()
        return try send("POST", path, body: body)
    }

    private func send(_ method: String, _ path: String, form: [String: String]) throws -> Answer {
        try send(method, path, body: form.isEmpty ? "" : TestClient.encode(form))
    }

    private func send(_ method: String, _ path: String, body: String) throws -> Answer {
        var headers = ["Accept": "text/html"]
        if !cookies.isEmpty { headers["Cookie"] = cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; ") }
        if method == "POST" { headers["Content-Type"] = "application/x-www-form-urlencoded" }
        let answer = try client.request(method, path, headers: headers, body: Array(body.utf8))
        if let cookie = answer.header("Set-Cookie")?.split(separator: ";").first {
            let parts = cookie.split(separator: "=", maxSplits: 1).map(String.init)
            cookies[parts[0]] = parts.count > 1 ? parts[1] : nil
        }
        let origin = "http://localhost:\(client.port)"
        guard answer.status == 302, answer.location.hasPrefix(origin) else { return answer }
        return try send("GET", String(answer.location.dropFirst(origin.count)), body: "")
    }
}
