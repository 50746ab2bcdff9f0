import Foundation
import TestSupport
import Testing

@Suite struct TokenPageTests {
    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    private func token(_ page: Answer) throws -> (header: [String: Any], claims: [String: Any], text: String) {
        let start = try #require(page.text.range(of: "id=\"made-token\""))
        let text = page.text[start.upperBound...].drop { $0 != ">" }.dropFirst().prefix { $0 != "<" }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).prefix(2).map { part in
            let base64 = part.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
            let padded = base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4)
            return (try? JSONSerialization.jsonObject(with: Data(base64Encoded: padded) ?? Data())) as? [String: Any]
                ?? [:]
        }
        return (try #require(parts.first), try #require(parts.last), String(text))
    }

    @Test("a token is made whole, with the hash of a raw nonce, and can be explained")
    func whole() throws {
        let page = try fixture.submit(
            "orders/tokens",
            [
                "provider": "apple", "field.client": "com.example.app", "field.account": "ada", "field.nonce": "n",
                "hashNonce": "on",
            ])
        #expect(page.status == 200)
        let made = try token(page)
        #expect(made.claims["aud"] as? String == "com.example.app")
        #expect(
            made.claims["nonce"] as? String == "1b16b1df538ba12dc3f97edbb85caa7050d46c148134290feba80f8236c83db9")
        #expect(page.text.contains("action=\"http://localhost:\(fixture.client.port)/_understudy/explain\""))
        #expect(page.text.contains("name=\"value\" value=\"\(made.text)\""))
        #expect(page.text.contains("&quot;nonce&quot;: &quot;1b16b1df"))
    }

    @Test("a token is broken as the form says")
    func broken() throws {
        let page = try fixture.submit(
            "orders/tokens",
            [
                "provider": "google", "field.client": "example.apps.googleusercontent.com", "field.nonce": "n",
                "field.signature": "none", "field.claims.1": "aud", "field.claims.1.value": "another",
                "field.claims.2": "nonce",
            ])
        let made = try token(page)
        #expect(made.header["alg"] as? String == "none" && made.claims["aud"] as? String == "another")
        #expect(made.claims["nonce"] == nil && made.text.hasSuffix("."))
    }

    @Test(
        "what can't be made is refused, with the form as it was",
        arguments: [
            (["provider": "apple", "field.client": "com.nobody"], 404, "field.client-fault"),
            (["provider": "apple", "field.client": ""], 400, "the key &quot;client&quot; is missing"),
            (
                [
                    "provider": "google", "field.client": "example.apps.googleusercontent.com",
                    "field.account": "nobody",
                ],
                404, "no account"
            ),
        ])
    func refused(fields: [String: String], status: Int, words: String) throws {
        let page = try fixture.submit("orders/tokens", fields)
        #expect(page.status == status)
        #expect(page.text.contains("role=\"alert\"") && page.text.contains(words))
        #expect(page.text.contains("value=\"\(fields["field.client"] ?? "")\""))
        #expect(!page.text.contains("made-token"))
    }

    @Test("only providers that mint ID tokens are offered")
    func offered() throws {
        let page = try fixture.page("orders/tokens").text
        #expect(page.contains("value=\"apple\"") && page.contains("value=\"firebase\""))
        #expect(!page.contains("value=\"github\""))
        let shown = try fixture.submit(
            "orders/tokens", ["provider": "apple", "field.client": "com.example.app", "preview": "1"])
        #expect(shown.text.contains("sent-json") && !shown.text.contains("made-token"))
    }
}
