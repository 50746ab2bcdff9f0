import Foundation
import TestSupport
import Testing

@Suite("Firebase: the web sign-in handler")
struct WebFlowTests {
    let fixture: FirebaseFixture
    private let sessionID = "ABCDEFGHIJ"

    init() throws {
        let client = #""issuer":"https://accounts.google.com","clientID":"example.apps.googleusercontent.com""#
        fixture = try FirebaseFixture(
            seed: """
                {"interaction":{"mode":"auto","account":"ada"},"firebase":{"projects":[{"id":"demo-app","providers":{
                  "oidc.code":{\(client),"clientSecret":"google-secret-for-tests","responseType":"code"},
                  "oidc.token":{\(client)}}}]}}
                """)
    }

    /// Returns the URL that the Apple SDK opens.
    private func handler(_ provider: String, _ more: [String: String] = [:]) -> String {
        let query = [
            "apiKey": FirebaseFixture.key, "authType": "signInWithRedirect", "ibi": "com.example.app",
            "clientId": "123-abc.apps.googleusercontent.com", "sessionId": FirebaseFixture.sha256(sessionID),
            "v": "12.0.0",
            "eventId": "EVENTIDABC", "providerId": provider, "scopes": "", "customParameters": "{}",
        ].merging(more) { $1 }
        return "/emulator/auth/handler?\(TestClient.encode(query))"
    }

    /// Follows redirects within the daemon, and posts a page's form, until an address outside the daemon.
    private func follow(_ path: String) throws -> Answer {
        let origin = "http://localhost:\(fixture.client.port)"
        var answer = try fixture.client.get(path, headers: ["Accept": "text/html"])
        for _ in 0..<8 {
            if answer.status == 302 || answer.status == 303, answer.location.hasPrefix(origin) {
                // A fragment stays in the browser; the handler's page sends it as a query.
                let parts = answer.location.dropFirst(origin.count).split(separator: "#", maxSplits: 1)
                answer = try fixture.client.get(String(parts[0]), headers: ["Accept": "text/html"])
                if parts.count > 1, answer.text.contains("location.pathname+'?'+answer") {
                    answer = try fixture.client.get("\(parts[0])?\(parts[1])", headers: ["Accept": "text/html"])
                }
            } else if answer.text.contains("id=\"answer\""), !answer.inputs.isEmpty {
                // The page is a form post, with the fields that a browser would send.
                let action = Answer.attribute("action", of: answer.text.components(separatedBy: "<form ").last ?? "")
                guard action.hasPrefix(origin) else { return answer }
                answer = try fixture.client.post(String(action.dropFirst(origin.count)), form: answer.inputs)
            } else {
                return answer
            }
        }
        return answer
    }

    /// Returns the parameters of the deep link that the app's scheme gets.
    private func deepLink(_ answer: Answer) -> [String: String] {
        let link = answer.redirect["deep_link_id"] ?? ""
        return Answer.fields(String(link.drop { $0 != "?" }.dropFirst()))
    }

    @Test(
        "the real authorization at our own provider, back to the app's scheme, redeemed by verifyAssertion",
        arguments: [
            "apple.com", "github.com", "google.com", "facebook.com", "microsoft.com", "oidc.code", "oidc.token",
        ])
    func toTheApp(provider: String) throws {
        let answer = try follow(handler(provider))
        #expect(
            answer.location.hasPrefix("com.googleusercontent.apps.123-abc://firebaseauth/link?deep_link_id="),
            "\(answer)")
        let link = deepLink(answer)
        #expect(link["eventId"] == "EVENTIDABC")
        #expect(link["authType"] == "signInWithRedirect")
        let url = try #require(link["link"])
        #expect(url.hasPrefix("https://demo-app.firebaseapp.com/__/auth/handler?"))
        let signedIn = try fixture.legacy(
            "verifyAssertion",
            [
                "requestUri": url, "sessionId": sessionID, "postBody": "providerId=\(provider)",
                "returnSecureToken": true,
                "returnIdpCredential": true,
            ])
        #expect(signedIn.status == 200, "\(signedIn)")
        #expect(signedIn["providerId"] == provider)
        #expect(signedIn["idToken"] != nil)
        // Public answers of production have 3595 to 3599 for Google, and 5183998 or 5183999 for Facebook.
        let lifetimes = ["google.com": 3_599, "facebook.com": 5_183_944]
        #expect(signedIn.json["oauthExpireIn"] as? Int == lifetimes[provider], "\(signedIn)")
        // A URL works once.
        let again = try fixture.legacy("verifyAssertion", ["requestUri": url, "sessionId": sessionID])
        #expect(again.errorCode == "INVALID_IDP_RESPONSE")
    }

    @Test("Apple's name travels in the callback, the first time")
    func appleName() throws {
        let link = deepLink(try follow(handler("apple.com", ["scopes": "email,name"])))["link"] ?? ""
        let signedIn = try fixture.legacy("verifyAssertion", ["requestUri": link, "sessionId": sessionID])
        #expect(signedIn["displayName"] == "Ada Lovelace")
        #expect(signedIn["firstName"] == "Ada")
    }

    @Test("scopes and custom parameters reach the provider, reserved ones don't")
    func parameters() throws {
        let custom =
            #"{"allow_signup":"false","login":"grace","client_id":"evil","redirect_uri":"https://evil.example/"}"#
        let answer = try fixture.client.get(
            handler("github.com", ["scopes": "user:email,repo", "customParameters": custom]))
        let sent = answer.redirect
        #expect(answer.status == 302)
        #expect(sent["allow_signup"] == "false")
        #expect(sent["login"] == "grace")
        #expect(sent["scope"] == "user:email repo")
        #expect(sent["client_id"] == "Iv1.0123456789abcdef")
        #expect(sent["redirect_uri"] == FirebaseFixture.handler)
        #expect(answer.note.contains("client_id, redirect_uri"))
        #expect(try fixture.client.get(handler("github.com", ["customParameters": "[1]"])).status == 400)
    }

    @Test(
        "a cancel at the provider is firebaseError", arguments: ["apple", "github", "google", "facebook", "microsoft"])
    func cancel(provider: String) throws {
        try fixture.order(["provider": provider, "outcome": "cancel"])
        let error = deepLink(try follow(handler("\(provider).com")))["firebaseError"] ?? ""
        let object = try JSONSerialization.jsonObject(with: Data(error.utf8)) as? [String: String]
        #expect(object?["code"] == "auth/user-cancelled")
        #expect(object?["message"]?.isEmpty == false)
    }

    @Test("a sign-in that fails at the provider ends once")
    func endsOnce() throws {
        let state = try fixture.client.get(handler("github.com")).redirect["state"] ?? ""
        let query = TestClient.encode(["state": state, "error": "access_denied"])
        let answer = "/demo-app.firebaseapp.com/__/auth/handler?\(query)"
        #expect(try fixture.client.get(answer).status == 302)
        #expect(try fixture.client.get(answer).status == 400)
    }

    @Test("an error of the provider, a provider that isn't there, and requests that lack something")
    func errors() throws {
        try fixture.order(["provider": "github", "outcome": "error", "error": "application_suspended"])
        let suspended = deepLink(try follow(handler("github.com")))["firebaseError"] ?? ""
        #expect(suspended.contains("auth/internal-error"))
        #expect(suspended.contains("suspended"))
        let missing = deepLink(try follow(handler("twitter.com")))["firebaseError"] ?? ""
        #expect(missing.contains("auth/operation-not-allowed"))
        // If there is no query, there may be a fragment, which only the page can see.
        #expect(try fixture.client.get("/emulator/auth/handler").text.contains("location.hash"))
        #expect(try fixture.client.get("/emulator/auth/handler?eventId=e").status == 400)
        #expect(try fixture.client.get("/emulator/auth/handler?apiKey=&providerId=github.com").status == 400)
        let unknown = try fixture.client.get(
            "/__/auth/handler?apiKey=demo_api_key&providerId=github.com",
            headers: ["Host": "demo-app.firebaseapp.com"])
        #expect(unknown.status == 400)
        #expect(unknown.diagnosis.contains("demo-api-key"))
        let lost = try fixture.client.get("/demo-app.firebaseapp.com/__/auth/handler?state=demo-app.x&code=y")
        #expect(lost.status == 400)
        #expect(!lost.diagnosis.isEmpty)
    }

    @Test("the session ID must be the one whose hash began it")
    func sessions() throws {
        for id in [nil, "WRONGWRONG"] {
            let link = deepLink(try follow(handler("github.com")))["link"] ?? ""
            var body: [String: Any] = ["requestUri": link]
            body["sessionId"] = id
            let answer = try fixture.legacy("verifyAssertion", body)
            #expect(answer.errorCode == "INVALID_IDP_RESPONSE")
            #expect(answer.diagnosis.contains("sessionId"))
        }
    }

    @Test("an app without a client ID is found by its app ID; the handler has its own host, too")
    func schemes() throws {
        let path = handler("github.com", ["clientId": "", "appId": "1:123:ios:abc"])
        #expect(try follow(path).location.hasPrefix("app-1-123-ios-abc://firebaseauth/link?"))
        let own = path.replacingOccurrences(of: "/emulator/auth", with: "/demo-app.firebaseapp.com/__/auth")
        #expect(try follow(own).location.hasPrefix("app-1-123-ios-abc://firebaseauth/link?"))
        let hosted = try fixture.client.get(
            path.replacingOccurrences(of: "/emulator/auth", with: "/__/auth"),
            headers: ["Host": "demo-app.firebaseapp.com"])
        #expect(hosted.location.hasPrefix("https://github.com/login/oauth/authorize?"))
    }

    @Test("without an app, the answer is a page for the opener or the redirect")
    func pages() throws {
        let path = handler(
            "github.com",
            [
                "clientId": "", "ibi": "", "authType": "signInViaPopup", "appName": "[DEFAULT]",
                "redirectUrl": "http://localhost:5000/",
            ])
        let page = try follow(path)
        #expect(page.status == 200)
        let event = Answer.attribute("data-event", of: page.text)
        let object = try JSONSerialization.jsonObject(with: Data(event.utf8)) as? [String: Any]
        #expect(object?["eventId"] as? String == "EVENTIDABC")
        #expect((object?["urlResponse"] as? String)?.hasPrefix(FirebaseFixture.handler) ?? false)
        let frame = try fixture.client.get("/emulator/auth/iframe?apiKey=k&appName=%3Cb%3E")
        #expect(frame.status == 200)
        #expect(!frame.text.contains("<b>"))
    }

    @Test("createAuthUri begins it, verifyAssertion ends it")
    func createAuthUri() throws {
        let begun = try fixture.v1(
            "createAuthUri",
            [
                "providerId": "github.com", "continueUri": FirebaseFixture.handler, "oauthScope": "user:email",
                "customParameter": ["login": "ada", "state": "evil"],
            ])
        #expect(begun.status == 200)
        let address = begun["authUri"] ?? ""
        #expect(address.hasPrefix("http://localhost:\(fixture.client.port)/github.com/login/oauth/authorize?"))
        #expect(address.contains("login=ada"))
        let path = String(address.dropFirst("http://localhost:\(fixture.client.port)".count))
        let fields = try fixture.client.get(path).redirect
        let url = "\(FirebaseFixture.handler)?\(TestClient.encode(fields))"
        let answer = try fixture.v1(
            "signInWithIdp", ["requestUri": url, "sessionId": begun["sessionId"] ?? "", "returnSecureToken": true])
        #expect(answer["screenName"] == "ada", "\(answer)")
        for (body, wanted) in [
            (["providerId": "github.com"], "MISSING_CONTINUE_URI"),
            (["providerId": "github.com", "continueUri": "nonsense"], "INVALID_CONTINUE_URI"),
            (["continueUri": "http://localhost"], "MISSING_IDENTIFIER"),
            (["continueUri": "http://localhost", "identifier": "x"], "INVALID_IDENTIFIER"),
            (["continueUri": "http://localhost", "providerId": "x.com"], "OPERATION_NOT_ALLOWED"),
        ] { #expect(try fixture.v1("createAuthUri", body).errorCode == wanted) }
    }

    @Test("a rehearsal leaves Firebase's own requests to a provider alone")
    func rehearsed() throws {
        #expect(try fixture.client.post("/_understudy/v1/scenarios/rehearse-unavailable", form: [:]).status == 200)
        for _ in 0..<60 {
            let url = try #require(deepLink(try follow(handler("github.com")))["link"])
            let body = ["requestUri": url, "sessionId": sessionID, "postBody": "providerId=github.com"]
            let answer = try fixture.legacy("verifyAssertion", body)
            #expect(answer.status == 200, "\(answer)")
        }
    }

    @Test("worlds are kept apart in the handler, too")
    func worlds() throws {
        let fixture = try FirebaseFixture(isAlone: true)
        let answer = try fixture.client.get("/~other" + handler("github.com"))
        #expect(answer.location.hasPrefix("http://localhost:\(fixture.client.port)/~other/github.com/"))
    }
}
