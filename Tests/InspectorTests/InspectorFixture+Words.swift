import Foundation
import JOSE
import TestSupport
import Testing

extension Answer {
    /// The text of a page as a person reads it: without markup, with entities resolved and white space collapsed.
    var words: String {
        let bare = text.replacing(#/<[^>]*>/#, with: " ")
        let resolved = [
            ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#13;", "\r"), ("&#10;", "\n"),
            ("&amp;", "&"),
        ].reduce(bare) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
        return resolved.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Returns the text of the element with this ID.
    func element(_ id: String) -> String {
        guard let start = text.range(of: "id=\"\(id)\""), let open = text[start.upperBound...].firstIndex(of: ">")
        else {
            return ""
        }
        let content = text[text.index(after: open)...].prefix { $0 != "<" }
        return Answer.attribute("x", of: " x=\"\(content)\"")
    }

    /// The ID of the exchange.
    var exchangeID: String { header("Understudy-Request") ?? "" }
}

extension InspectorFixture {
    static let control = "/_understudy/v1"
    static let rawNonce = "eKzHrxuPcjvgqQLk0sJfUmaWOEYRnt7V"
    static var hash: String { Hex.encode(Digest.sha256(rawNonce)) }

    func call(_ path: String, _ body: Any, world: String? = nil) throws -> Answer {
        try client.post("\(world.map { "/~\($0)" } ?? "")\(InspectorFixture.control)/\(path)", json: body)
    }

    /// Signs Ada in natively.
    func native(nonce: String? = hash, world: String? = nil) throws -> Answer {
        var body: [String: Any] = ["client": AppleFixture.app, "scopes": ["fullName", "email"], "account": "ada"]
        body["nonce"] = nonce
        return try call("apple/authorizations", body, world: world)
    }

    /// Returns the URL with a code of GitHub's in a redirect to its callback.
    func gitHubCallback(state: String = "a-state-of-the-session") throws -> String {
        _ = try call("outcomes", ["provider": "github", "outcome": "approve", "account": "ada"])
        let query = TestClient.encode(["client_id": "Iv1.0123456789abcdef", "state": state])
        return try client.get("/github.com/login/oauth/authorize?\(query)").location
    }

    func redeem(_ code: String, secret: String = "github-secret-for-tests") throws -> Answer {
        try client.post(
            "/github.com/login/oauth/access_token",
            form: ["client_id": "Iv1.0123456789abcdef", "client_secret": secret, "code": code],
            headers: ["Accept": "application/json"])
    }

    func shown(_ answer: Answer) throws -> Answer { try page("requests/\(answer.exchangeID)") }

    /// Returns the control API's explanation: the texts of all findings, with a mark before those that are wrong.
    func explain(_ value: String, rawNonce: String? = nil) throws -> (kind: String, findings: [String]) {
        var body = ["value": value]
        body["rawNonce"] = rawNonce
        let answer = try call("explain", body)
        let parts = answer.json["parts"] as? [[String: Any]] ?? []
        let findings = parts.flatMap { $0["findings"] as? [[String: Any]] ?? [] }
        return (
            answer["kind"] ?? "",
            findings.map { ($0["holds"] as? Bool == false ? "WRONG " : "") + ($0["text"] as? String ?? "") }
        )
    }
}
