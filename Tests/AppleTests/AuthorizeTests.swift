import Foundation
import JOSE
import JSON
import TestSupport
import Testing

@Suite("Apple: /auth/authorize")
struct AuthorizeTests {
    let fixture: AppleFixture

    init() throws { fixture = try AppleFixture() }

    @Test(
        "a request that can't be granted ends at a page, and as JSON for a client that takes no HTML",
        arguments: [
            (["client_id": nil], "invalid_request", "client_id is missing"),
            (["client_id": "com.example.wbe"], "invalid_client", "did you mean \"com.example.web\"?"),
            (["client_id": AppleFixture.app], "invalid_client", "an App ID"),
            (["redirect_uri": nil], "invalid_request", "redirect_uri is missing"),
            (
                ["redirect_uri": "https://example.com/other"], "invalid_request",
                "expected exactly one of: https://example.com/callback"
            ),
            (["redirect_uri": "https://example.com/callback/"], "invalid_request", "expected exactly one of"),
            (["redirect_uri": "https://EXAMPLE.com/callback"], "invalid_request", "expected exactly one of"),
            (["redirect_uri": "https://example.com/callback#x"], "invalid_request", "must not have a fragment"),
            (["redirect_uri": "example.com/callback"], "invalid_request", "absolute https URL"),
            (["redirect_uri": "https://"], "invalid_request", "absolute https URL"),
            (["redirect_uri": "https://exa mple.com"], "invalid_request", "absolute https URL"),
            (["redirect_uri": "javascript://x/%0aalert(1)"], "invalid_request", "absolute https URL"),
            (["redirect_uri": "http://example.com/callback"], "invalid_request", "allowInsecureReturnURLs"),
            (["redirect_uri": "https://localhost/callback"], "invalid_request", "allowInsecureReturnURLs"),
            (["redirect_uri": "http://localhost:3000/callback"], "invalid_request", "allowInsecureReturnURLs"),
            (["redirect_uri": "https://127.0.0.1/callback"], "invalid_request", "allowInsecureReturnURLs"),
            (["redirect_uri": "https://[::1]/callback"], "invalid_request", "allowInsecureReturnURLs"),
            (
                ["client_id": "com.example.web.local"], "invalid_request",
                "one of: http://localhost:3000/callback"
            ),
            (["response_type": nil], "invalid_request", "response_type is missing"),
            (["response_type": "token"], "invalid_request", "\"code\" or \"code id_token\""),
            (["response_type": "id_token"], "invalid_request", "\"code\" or \"code id_token\""),
            (["response_type": "code code id_token"], "invalid_request", "\"code\" or \"code id_token\""),
            (["response_mode": "jwt"], "invalid_request", "query, fragment, form_post"),
            (
                ["response_mode": "query", "response_type": "code id_token"], "invalid_request",
                "never returned in the query"
            ),
            (["scope": "name"], "invalid_request", "response_mode=form_post"),
            (["scope": "email", "response_mode": "query"], "invalid_request", "response_mode=form_post"),
            (["scope": "name email", "response_mode": "fragment"], "invalid_request", "response_mode=form_post"),
            (["scope": "profile", "response_mode": "form_post"], "invalid_scope", "name and email"),
            (["scope": "name,email", "response_mode": "form_post"], "invalid_scope", "name and email"),
            (["nonce": String(repeating: "n", count: 4097)], "invalid_request", "at most 4096"),
        ] as [([String: String?], String, String)])
    func refusals(parameters: [String: String?], code: String, reason: String) throws {
        let path = AppleFixture.authorizePath(parameters)
        let page = try fixture.client.get(path, headers: ["Accept": "text/html,*/*;q=0.8"])
        #expect(page.status == 400)
        #expect(page.location.isEmpty)
        #expect(page.header("Content-Type") == "text/html;charset=UTF-8")
        #expect(page.text.contains("<code>\(code)</code>"))
        #expect(page.diagnosis.contains(reason), "\(page.diagnosis)")
        let json = try fixture.client.get(path, headers: ["Accept": "application/json"])
        #expect(json.status == 400)
        #expect(json["error"] == code)
    }

    @Test(
        "Apple's own words",
        arguments: [
            (["scope": "name"], "response_mode must be form_post when name or email scope is requested."),
            (["redirect_uri": "https://example.com/x"], "Invalid web redirect url."),
            (["response_mode": "query", "response_type": "code id_token"], "Invalid response mode."),
            (["response_type": "id_token"], "Invalid response type."),
        ] as [([String: String?], String)])
    func words(parameters: [String: String?], text: String) throws {
        #expect(try fixture.client.get(AppleFixture.authorizePath(parameters))["error_description"] == text)
    }

    @Test("a parameter that occurs twice is refused")
    func repeated() throws {
        let answer = try fixture.client.get(AppleFixture.authorizePath() + "&state=t")
        #expect(answer["error"] == "invalid_request")
        #expect(answer.diagnosis.contains("\"state\" occurs more than once"))
    }

    @Test(
        "the answer travels as asked, by GET and by POST",
        arguments: [
            ("code", nil, "?"), ("code", "query", "?"), ("code", "fragment", "#"), ("code id_token", nil, "#"),
            ("code id_token", "fragment", "#"), ("id_token code", "fragment", "#"),
        ] as [(String, String?, String)])
    func modes(type: String, mode: String?, mark: String) throws {
        for method in ["GET", "POST"] {
            let parameters = ["response_type": type, "response_mode": mode]
            _ = try fixture.order(["outcome": "approve"])
            let path = AppleFixture.authorizePath(parameters)
            let query = String(path.split(separator: "?")[1])
            let answer =
                method == "GET"
                ? try fixture.client.get(path)
                : try fixture.client.request(
                    "POST", "\(AppleFixture.prefix)/auth/authorize",
                    headers: ["Content-Type": "application/x-www-form-urlencoded"], body: Array(query.utf8))
            #expect(answer.status == 302)
            #expect(answer.location.hasPrefix(AppleFixture.returnURL + mark))
            #expect(answer.redirect["state"] == "s")
            #expect((answer.redirect["id_token"] != nil) == type.contains("id_token"))
            #expect(answer.redirect["user"] == nil)
        }
    }

    @Test("a code has Apple's form")
    func codeForm() throws {
        let code = try fixture.code()
        #expect(code.wholeMatch(of: /c[0-9a-f]{32}\.0\.[a-z]{4}\.[A-Za-z0-9_-]{22}/) != nil, "\(code)")
    }

    @Test(
        "state comes back byte for byte",
        arguments: [
            "", "a%20b", "a+b", "%00%ff%fe", "%E2%82%AC", "a%26b%3Dc", "%22%3Cscript%3E", "%0D%0ALocation:%20x",
            "..%2F", "%25%32%35",
        ])
    func state(encoded: String) throws {
        _ = try fixture.order(["outcome": "approve"])
        let path = AppleFixture.authorizePath(["state": nil]) + "&state=\(encoded)"
        let answer = try fixture.client.get(path)
        let back =
            answer.location.split(separator: "?")[1].split(separator: "&", omittingEmptySubsequences: false)
            .first { $0.hasPrefix("state=") }?.dropFirst(6) ?? "missing"
        #expect(bytes(String(back)) == bytes(encoded.replacingOccurrences(of: "+", with: "%20")))
    }

    private func bytes(_ encoded: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(encoded.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%"), rest.count >= 2 else {
                bytes.append(byte)
                continue
            }
            bytes += Hex.decode(String(decoding: rest.prefix(2), as: UTF8.self)) ?? []
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    @Test("without a state, none comes back")
    func noState() throws {
        #expect(try fixture.authorize(["state": nil]).redirect["state"] == nil)
    }

    @Test(
        "nonce is echoed byte for byte up to 4 KiB",
        arguments: ["abc", "ABC+/=", "\"\\é€😀", " \t ", String(repeating: "n", count: 4096)])
    func nonce(value: String) throws {
        let answer = try fixture.authorize(["nonce": value, "response_type": "code id_token"])
        #expect(AppleFixture.claims(answer.redirect["id_token"] ?? "")["nonce"] as? String == value)
        let token = try fixture.token(["code": answer.redirect["code"]])
        #expect(AppleFixture.claims(token["id_token"] ?? "")["nonce"] as? String == value)
    }

    @Test("a return URL that has a query keeps it")
    func queryKept() throws {
        let fixture = try AppleFixture(
            seed:
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","services":[{"id":"com.example.web","primaryApp":"com.example.app","returnURLs":["https://example.com/cb?tenant=1"]}]}]}}"#
        )
        let answer = try fixture.authorize(["redirect_uri": "https://example.com/cb?tenant=1"])
        #expect(answer.location.hasPrefix("https://example.com/cb?tenant=1&state=s&code=c"))
    }

    @Test("insecure return URLs work where the service allows them")
    func insecure() throws {
        for uri in ["http://localhost:3000/callback", "http://127.0.0.1:3000/callback"] {
            let answer = try fixture.authorize(["client_id": "com.example.web.local", "redirect_uri": uri])
            #expect(answer.location.hasPrefix("\(uri)?state=s&code=c"))
        }
    }

    @Test("a cancel and an ordered error go to the return URL, in every mode")
    func cancel() throws {
        for (outcome, error) in [
            (["outcome": "cancel"], "user_cancelled_authorize"),
            (["outcome": "error", "error": "server_error"], "server_error"),
        ] {
            for mode in ["query", "fragment", "form_post", "web_message"] {
                _ = try fixture.order(outcome)
                let answer = try fixture.client.get(AppleFixture.authorizePath(["response_mode": mode]))
                #expect(!answer.diagnosis.isEmpty)
                switch mode {
                case "form_post":
                    #expect(answer.inputs == ["error": error, "state": "s"])
                case "web_message":
                    #expect(answer.text.contains(error))
                default:
                    #expect(answer.redirect == ["error": error, "state": "s"])
                }
            }
        }
    }

    @Test("mode auto answers at once for its account")
    func auto() throws {
        let answer = try fixture.client.get(AppleFixture.authorizePath(["client_id": "com.example.web.auto"]))
        #expect(answer.redirect["code"] != nil)
        let whole = try AppleFixture(seed: #"{"interaction":{"mode":"auto","account":"grace"}}"#)
        let other = try whole.client.get(AppleFixture.authorizePath(["response_type": "code id_token"]))
        let sub = AppleFixture.claims(other.redirect["id_token"] ?? "")["sub"] as? String
        #expect(sub == (try whole.native(["account": "grace"])["user"]))
    }

    // MARK: - Form post

    @Test("a form post carries user the first time only, with the scopes that were asked for")
    func formPost() throws {
        let parameters = ["response_mode": "form_post", "scope": "name email", "response_type": "code id_token"]
        let first = try fixture.authorize(
            parameters, outcome: ["name": ["given": "Augusta", "family": "K"], "shareEmail": false])
        #expect(first.status == 200)
        #expect(first.text.contains("action=\"\(AppleFixture.returnURL)\""))
        #expect(first.text.contains("<button type=\"submit\">"))
        #expect(first.inputs["state"] == "s")
        let claims = AppleFixture.claims(first.inputs["id_token"] ?? "")
        let user = try JSONValue(parsing: first.inputs["user"] ?? "")
        #expect(user["name"] == ["firstName": "Augusta", "lastName": "K"])
        #expect(user["email"]?.string == claims["email"] as? String)
        #expect(user["email"]?.string?.wholeMatch(of: /[a-z0-9]{10}@privaterelay\.appleid\.com/) != nil)
        let second = try fixture.authorize(parameters)
        #expect(second.inputs["user"] == nil)
        #expect(second.inputs["code"] != nil)
        #expect(AppleFixture.claims(second.inputs["id_token"] ?? "")["email"] as? String == claims["email"] as? String)
    }

    @Test(
        "user holds what was asked for and granted",
        arguments: [("name", ["name"]), ("email", ["email"]), ("name email", ["name", "email"])])
    func userScopes(scope: String, members: [String]) throws {
        let answer = try fixture.authorize(["response_mode": "form_post", "scope": scope])
        #expect(try JSONValue(parsing: answer.inputs["user"] ?? "").object?.keys.sorted() == members.sorted())
        let other = try fixture.authorize(
            ["response_mode": "form_post", "scope": "name email"], account: "grace", outcome: ["scopes": [members[0]]])
        #expect(try JSONValue(parsing: other.inputs["user"] ?? "").object?.keys == [members[0]])
    }

    @Test("a popup's answer goes to its opener")
    func webMessage() throws {
        let answer = try fixture.authorize([
            "response_mode": "web_message", "response_type": "code id_token", "scope": "name",
        ])
        #expect(answer.status == 200)
        let tag = answer.text.components(separatedBy: "<p id=\"answer\"").last ?? ""
        #expect(Answer.attribute("data-origin", of: tag) == "https://example.com")
        let message = try JSONValue(parsing: Answer.attribute("data-message", of: tag))
        #expect(message["method"] == "oauthDone")
        let authorization = message["data"]?["authorization"]
        #expect(authorization?["state"] == "s")
        #expect(authorization?["code"]?.string?.hasPrefix("c") ?? false)
        #expect(authorization?["id_token"]?.string?.hasPrefix("eyJ") ?? false)
        #expect(message["data"]?["user"]?["name"]?["firstName"] == "Ada")
    }

    // MARK: - The other site

    @Test("a browser is moved to another site before a form post to the daemon's own")
    func crossSite() throws {
        let html = ["Accept": "text/html"]
        let parameters: [String: String?] = [
            "client_id": "com.example.web.local", "redirect_uri": "http://localhost:3000/callback",
            "response_mode": "form_post",
            "scope": "name email", "state": "a b&c",
        ]
        let path = AppleFixture.authorizePath(parameters)
        let moved = try fixture.client.get(path, headers: html)
        #expect(moved.status == 303)
        let port = fixture.client.port
        #expect(moved.location.hasPrefix("http://appleid.apple.com.localhost:\(port)/auth/authorize?"))
        #expect(moved.note.contains("SameSite=Lax"))
        let target = moved.location.replacingOccurrences(of: "http://appleid.apple.com.localhost:\(port)", with: "")
        let there = try fixture.client.get(
            target, headers: html.merging(["Host": "appleid.apple.com.localhost:\(port)"]) { $1 })
        #expect(there.status == 200)
        #expect(there.text.contains("action=\"http://appleid.apple.com.localhost:\(port)/auth/authorize/continue\""))
        // `*.localhost` leads a browser to its own machine, so a browser on another machine isn't redirected.
        let elsewhere = AppleFixture.authorizePath(
            parameters.merging(["redirect_uri": "http://192.168.1.5:3000/callback"]) { $1 })
        let open = try AppleFixture(
            seed:
                #"{"apple":{"teams":[{"id":"A1B2C3D4E5","services":[{"id":"com.example.web.local","#
                + #""primaryApp":"com.example.app","returnURLs":["http://192.168.1.5:3000/callback"]}]}]}}"#)
        let host = ["Host": "192.168.1.5:\(open.client.port)"]
        #expect(try open.client.get(elsewhere, headers: html.merging(host) { $1 }).status == 200)
        // There is no redirect for a program, with another response mode, from another site, or if the seed turns it
        // off.
        #expect(try fixture.client.get(path).status == 200)
        #expect(
            try fixture.client.get(
                AppleFixture.authorizePath([
                    "client_id": "com.example.web.local", "redirect_uri": "http://localhost:3000/callback",
                ]), headers: html
            ).status == 200)
        #expect(
            try fixture.client.get(AppleFixture.authorizePath(["response_mode": "form_post"]), headers: html).status
                == 200)
        let staying = try AppleFixture(seed: #"{"apple":{"crossSiteFormPost":false}}"#)
        #expect(try staying.client.get(path, headers: html).status == 200)
    }
}

@Suite("Apple: the sign-in page")
struct SignInPageTests {
    let fixture: AppleFixture

    init() throws { fixture = try AppleFixture() }

    private func submit(_ page: Answer, _ fields: [String: String]) throws -> Answer {
        let form = page.inputs.merging(fields) { $1 }
        return try fixture.client.post(
            "\(AppleFixture.prefix)/auth/authorize/continue", form: form, headers: ["Accept": "text/html"])
    }

    @Test("choose a person, edit the name, hide the address, continue; the second time there is nothing to choose")
    func wholeFlow() throws {
        let path = AppleFixture.authorizePath(["response_mode": "form_post", "scope": "name email", "state": "x\"<>&é"])
        let people = try fixture.client.get(path)
        #expect(people.status == 200)
        for text in ["Ada Lovelace", "Grace Hopper", "address not verified", "stand-in"] {
            #expect(people.text.contains(text))
        }
        let consent = try submit(people, ["account": "ada"])
        #expect(consent.text.contains("value=\"Lovelace\""))
        #expect(consent.text.contains("name=\"email\" value=\"hide\""))
        let done = try submit(
            consent, ["action": "continue", "given": "Augusta <Ada>", "family": "K", "email": "hide"])
        #expect(done.inputs["state"] == "x\"<>&é")
        let user = try JSONValue(parsing: done.inputs["user"] ?? "")
        #expect(user["name"]?["firstName"] == "Augusta <Ada>")
        #expect(user["email"]?.string?.hasSuffix("@privaterelay.appleid.com") ?? false)
        let again = try submit(try fixture.client.get(path), ["account": "ada"])
        #expect(again.text.contains("nothing more to choose"))
        #expect(!again.text.contains("name=\"given\""))
        #expect(!again.text.contains("name=\"email\""))
        let second = try submit(again, ["action": "continue"])
        #expect(second.inputs["user"] == nil)
        #expect(second.inputs["code"] != nil)
    }

    @Test("only what was asked for is offered")
    func scopes() throws {
        let page = try submit(try fixture.client.get(AppleFixture.authorizePath()), ["account": "ada"])
        #expect(!page.text.contains("name=\"given\""))
        #expect(!page.text.contains("name=\"email\""))
    }

    @Test("cancel goes back to the app from either page")
    func cancel() throws {
        let people = try fixture.client.get(AppleFixture.authorizePath())
        #expect(try submit(people, ["action": "cancel"]).redirect["error"] == "user_cancelled_authorize")
        let consent = try submit(people, ["account": "ada"])
        #expect(try submit(consent, ["action": "cancel"]).redirect["error"] == "user_cancelled_authorize")
    }

    @Test("an unknown person leads back to the choice, a lost request to an error")
    func lost() throws {
        let people = try fixture.client.get(AppleFixture.authorizePath())
        #expect(try submit(people, ["account": "nobody", "action": "continue"]).text.contains("Sign in with Apple"))
        #expect(
            try fixture.client.post("\(AppleFixture.prefix)/auth/authorize/continue", form: ["account": "ada"]).status
                == 400)
        #expect(try submit(people, ["request": "!", "account": "ada"]).status == 400)
        #expect(
            try submit(people, ["request": Base64URL.encode(Array("client_id=x".utf8)), "account": "ada"]).status == 400
        )
    }

    @Test("the page outlives a reset")
    func reset() throws {
        let people = try fixture.client.get(AppleFixture.authorizePath())
        _ = try fixture.client.request("POST", "\(AppleFixture.control)/reset")
        #expect(try submit(people, ["account": "ada", "action": "continue"]).redirect["code"] != nil)
    }
}
