import Foundation
import JOSE
import TestSupport
import Testing
import Understudy

/// Presents tokens with all pairs of boundary values as their times, at every endpoint that reads a token.
@Suite("Boundary values in the times of tokens")
struct TokenBoundaryTests {
    private static let claims = ["iat", "exp", "auth_time", "nbf"]

    private static func encode(_ json: String) -> String { Base64URL.encode(Array(json.utf8)) }

    private func expectAnswered(_ answer: Answer?, _ token: String) {
        #expect(answer.map { $0.status < 500 } ?? false, "\(token): \(answer?.description ?? "no answer")")
    }

    @Test("client secrets, signed and unsigned, at Apple and at explain", arguments: Boundary.numbers)
    func clientSecrets(issued: String) throws {
        let fixture = try AppleFixture()
        let connection = KeptConnection(port: fixture.client.port)
        for expires in Boundary.numbers {
            for form in [expires, "\"\(expires)\""] {
                let secret =
                    Self.encode(#"{"alg":"ES256","kid":"ABC123DEFG"}"#) + "."
                    + Self.encode(
                        #"{"iss":"A1B2C3D4E5","sub":"com.example.web","aud":"https://appleid.apple.com","iat":\#(issued),"exp":\#(form)}"#
                    ) + "." + Base64URL.encode([UInt8](repeating: 7, count: 64))
                let body = "client_id=com.example.web&grant_type=authorization_code&code=c&client_secret=\(secret)"
                let answer = connection.ask(
                    "POST", "/appleid.apple.com/auth/token",
                    headers: [("Content-Type", "application/x-www-form-urlencoded")], body: body)
                #expect(answer?["error"] == "invalid_client", "\(issued) \(form)")
                #expect(try !Explanation(idToken: secret, clientSecret: secret).isClean)
            }
        }
        // The times are whole numbers within the range, so the signature is checked next. A valid secret passes.
        let good = try AppleFixture.secret()
        #expect(try fixture.token(["client_secret": good, "code": "c"])["error"] == "invalid_grant")
    }

    @Test("unsigned ID tokens and custom tokens, at every operation that reads one", arguments: Boundary.numbers)
    func idTokens(first: String) throws {
        let fixture = try FirebaseFixture()
        let signedUp = try fixture.signUpAnonymously()
        let uid = signedUp.claims()["sub"] as? String ?? ""
        let connection = KeptConnection(port: fixture.client.port)
        var count = 0
        for second in Boundary.numbers {
            for (issued, expires, authTime) in [
                (first, second, "0"), ("0", first, second), (second, "9999999999", first),
            ] {
                // Each pair is tried at one operation after the other, because all of them read a token in the same two
                // ways.
                count += 1
                let times = #""iat":\#(issued),"exp":\#(expires),"auth_time":\#(authTime),"nbf":\#(issued)"#
                let idToken =
                    Self.encode(#"{"alg":"none","typ":"JWT"}"#) + "."
                    + Self.encode(
                        #"{"iss":"https://securetoken.google.com/demo-app","aud":"demo-app","sub":"\#(uid)",\#(times)}"#
                    ) + "."
                let custom =
                    Self.encode(#"{"alg":"none","typ":"JWT"}"#) + "."
                    + Self.encode(
                        #"{"aud":"https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit","uid":"u",\#(times)}"#
                    ) + "."
                let endpoints = [
                    ("lookup", #"{"idToken":"\#(idToken)"}"#),
                    ("update", #"{"idToken":"\#(idToken)","password":"correct horse"}"#),
                    ("signInWithCustomToken", #"{"token":"\#(custom)","returnSecureToken":true}"#),
                    (
                        "signInWithIdp",
                        #"{"requestUri":"http://localhost","postBody":"id_token=\#(idToken)&providerId=apple.com"}"#
                    ),
                    ("createSessionCookie", #"{"idToken":"\#(idToken)","validDuration":\#(second)}"#),
                ]
                let (endpoint, body) = endpoints[count % endpoints.count]
                let target =
                    endpoint == "createSessionCookie"
                    ? "/identitytoolkit.googleapis.com/v1/projects/demo-app:createSessionCookie"
                    : "/identitytoolkit.googleapis.com/v1/accounts:\(endpoint)?key=demo-api-key"
                let answer = connection.ask(
                    "POST", target,
                    headers: [("Content-Type", "application/json"), ("Authorization", "Bearer owner")], body: body)
                expectAnswered(answer, body)
            }
        }
    }

    @Test(
        "provider tokens that are minted on order, and taken to Firebase", arguments: ["apple", "google", "facebook"])
    func providerTokens(provider: String) throws {
        let fixture = try FirebaseFixture()
        let clients = [
            "apple": "com.example.app", "google": "example.apps.googleusercontent.com", "facebook": "1234567890",
        ]
        let ids = ["apple": "apple.com", "google": "google.com", "facebook": "facebook.com"]
        let connection = KeptConnection(port: fixture.client.port)
        let json = [("Content-Type", "application/json")]
        for claim in Self.claims {
            for value in Boundary.numbers + Boundary.durations.filter({ $0.hasSuffix("d") }).map({ "\"\($0)\"" }) {
                let body =
                    #"{"provider":"\#(provider)","client":"\#(clients[provider] ?? "")","claims":{"\#(claim)":\#(value)}}"#
                let minted = connection.ask("POST", "/_understudy/v1/tokens", headers: json, body: body)
                expectAnswered(minted, body)
                guard let token = minted?["token"] else { continue }
                let assertion =
                    #"{"requestUri":"http://localhost","postBody":"id_token=\#(token)&providerId=\#(ids[provider] ?? "")"}"#
                expectAnswered(
                    connection.ask(
                        "POST", "/identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=demo-api-key",
                        headers: json,
                        body: assertion), body)
                expectAnswered(
                    connection.ask("GET", "/oauth2.googleapis.com/tokeninfo?id_token=\(token)"), body)
                _ = try Explanation(idToken: token)
            }
        }
    }
}
