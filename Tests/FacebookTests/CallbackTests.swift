import Foundation
import HTTPServer
import JOSE
import TestSupport
import Testing

@Suite("Facebook: what an app's server is told")
struct CallbackTests {
    /// The payload of a signed request, when the signature is right: as
    /// https://developers.facebook.com/docs/development/create-an-app/app-dashboard/data-deletion-callback checks it.
    private func payload(_ request: Request) throws -> [String: Any] {
        #expect(request.header("Content-Type") == "application/x-www-form-urlencoded")
        let text = try #require(request.bodyForm["signed_request"])
        let parts = text.split(separator: ".")
        try #require(parts.count == 2)
        let expected = Digest.hmacSHA256(key: Array(FacebookFixture.secret.utf8), Array(parts[1].utf8))
        #expect(Base64URL.decode(parts[0]) == expected)
        let bytes = try #require(Base64URL.decode(parts[1]))
        return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    private func remove(_ fixture: FacebookFixture) throws -> Answer {
        try fixture.client.post(
            "\(FirebaseFixture.control)/facebook/revocations", json: ["account": "ada", "client": FacebookFixture.id])
    }

    @Test("a person who removes the app: both callbacks get a signed request, and the second one's answer is told")
    func both() throws {
        let deletion = #"{"url":"https://example.com/deletion?id=abc123","confirmation_code":"abc123"}"#
        let receiver = try Receiver { _ in
            .now(Response(status: 200, contentType: "application/json", body: deletion))
        }
        let fixture = try FacebookFixture(
            app: #""deauthorizeURL":"\#(receiver.url)","dataDeletionURL":"\#(receiver.url)""#)
        let token = try fixture.token()
        let answer = try remove(fixture)
        #expect(answer.json["revoked"] as? Bool == true)
        #expect((answer.json["deauthorization"] as? [String: Any])?["delivered"] as? Bool == true)
        let told = answer.json["dataDeletion"] as? [String: Any]
        #expect(told?["delivered"] as? Bool == true)
        #expect(told?["statusURL"] as? String == "https://example.com/deletion?id=abc123")
        #expect(told?["confirmationCode"] as? String == "abc123")
        let requests = receiver.requests
        try #require(requests.count == 2)
        for request in requests {
            let payload = try payload(request)
            #expect(payload["user_id"] as? String == FacebookFixture.ada)
            #expect(payload["algorithm"] as? String == "HMAC-SHA256")
            #expect(payload["issued_at"] is Int)
        }
        #expect(try fixture.graph("/me", ["access_token": token]).graphCode == "190/458")
        #expect(try remove(fixture).status == 409)
    }

    @Test(
        "a data deletion callback has to answer with an address and a code",
        arguments: [(200, #"{"url":"https://example.com/"}"#), (200, "ok"), (500, "{}")])
    func wrongAnswer(status: Int, body: String) throws {
        let receiver = try Receiver { _ in .now(Response(status: status, contentType: "text/plain", body: body)) }
        let fixture = try FacebookFixture(app: #""dataDeletionURL":"\#(receiver.url)""#)
        _ = try fixture.token()
        let answer = try remove(fixture)
        #expect(answer.json["deauthorization"] is NSNull)
        let told = answer.json["dataDeletion"] as? [String: Any]
        #expect(told?["delivered"] as? Bool == false)
        #expect(told?["status"] as? Int == status)
        #expect((told?["failure"] as? String)?.contains("confirmation_code") ?? false)
    }

    @Test("without callbacks nobody is told, and a server that isn't there keeps nothing from ending")
    func none() throws {
        let fixture = try FacebookFixture()
        _ = try fixture.token()
        let answer = try remove(fixture)
        #expect(answer.json["deauthorization"] is NSNull)
        #expect(answer.json["dataDeletion"] is NSNull)
        let deaf = try FacebookFixture(
            app: #""deauthorizeURL":"http://127.0.0.1:1/","dataDeletionURL":"http://127.0.0.1:1/""#)
        let token = try deaf.token()
        let failed = try remove(deaf)
        for member in ["deauthorization", "dataDeletion"] {
            #expect((failed.json[member] as? [String: Any])?["delivered"] as? Bool == false)
        }
        #expect(try deaf.graph("/me", ["access_token": token]).graphCode == "190/458")
    }

    @Test("an order for everybody tells the app's server of each")
    func everybody() throws {
        let receiver = try Receiver()
        let fixture = try FacebookFixture(app: #""deauthorizeURL":"\#(receiver.url)""#)
        for account in ["ada", "grace"] { _ = try fixture.token(account: account) }
        let answer = try fixture.client.post(
            "\(FirebaseFixture.control)/facebook/revocations", json: ["account": "*", "client": "*"])
        #expect(answer.json["grants"] as? Int == 2)
        #expect(eventually { receiver.requests.count == 2 })
    }
}
