import Foundation
import JOSE
import TestSupport
import Testing

@Suite("Facebook: the Graph API's errors")
struct GraphErrorTests {
    let fixture: FacebookFixture

    init() throws { fixture = try FacebookFixture() }

    @Test(
        "codes have their status, text and whether they pass",
        arguments: [
            ("1", 500, false, "An unknown error has occurred."),
            ("2", 500, true, "An unexpected error has occurred. Please retry your request later."),
            ("4", 403, true, "(#4) Application request limit reached"),
            ("17", 400, true, "(#17) User request limit reached"), ("200", 403, false, "(#200) Missing Permissions"),
            (
                "190/458", 400, false,
                "Error validating access token: The user has not authorized application 1234567890."
            ),
            (
                "190/459", 400, false,
                "Error validating access token: You cannot access the app till you log in to www.facebook.com and follow the instructions given."
            ),
            (
                "190/460", 400, false,
                "Error validating access token: The session has been invalidated because the user changed their password or Facebook has changed the session for security reasons."
            ),
            (
                "190/464", 400, false,
                "Error validating access token: Sessions for the user are not allowed because the user is not a confirmed user."
            ),
            (
                "190/467", 400, false,
                "Error validating access token: The session is invalid because the user logged out."
            ),
            (
                "190/493", 400, false,
                "The access token is invalid since the user hasn't engaged the app in longer than 90 days."
            ),
        ])
    func ordered(name: String, status: Int, isTransient: Bool, message: String) throws {
        let token = try fixture.token()
        _ = try fixture.client.post(
            "\(FirebaseFixture.control)/faults",
            json: ["match": ["host": "graph.facebook.com", "path": "/me"], "effect": ["error": name]])
        let answer = try fixture.graph("/me", ["access_token": token])
        #expect(answer.status == status)
        #expect(answer.graphCode == name)
        #expect(answer.graphError?["type"] as? String == "OAuthException")
        #expect(answer.graphError?["is_transient"] as? Bool == (isTransient ? true : nil))
        #expect(answer.message == message)
        #expect(answer.graphError?["fbtrace_id"] as? String == answer.header("x-fb-trace-id"))
    }

    // The form is that of https://developers.facebook.com/docs/facebook-login/guides/access-tokens/debugging; reports with PDT are
    // https://github.com/idno/Facebook/issues/38 ("Saturday, 26-Mar-16 06:31:46 PDT").
    @Test(
        "an expired token is told when, in Pacific time",
        arguments: [
            ("2026-02-14T12:00:00Z", "Wednesday, 15-Apr-26 04:59:04 PDT"),
            ("2026-10-01T12:00:00Z", "Monday, 30-Nov-26 03:59:04 PST"),
            // Daylight saving time ends at 9:00 UTC on Sunday, 1 November 2026.
            ("2026-09-02T09:00:55Z", "Sunday, 01-Nov-26 01:59:59 PDT"),
            ("2026-09-02T09:00:56Z", "Sunday, 01-Nov-26 01:00:00 PST"),
            // Daylight saving time begins at 10:00 UTC on Sunday, 8 March 2026.
            ("2026-01-07T10:00:55Z", "Sunday, 08-Mar-26 01:59:59 PST"),
            ("2026-01-07T10:00:56Z", "Sunday, 08-Mar-26 03:00:00 PDT"),
        ])
    func expired(start: String, end: String) throws {
        for body in [["freeze": true], ["set": start]] as [[String: Any]] {
            _ = try fixture.client.post("\(FirebaseFixture.control)/clock", json: body)
        }
        let token = try fixture.token()
        try fixture.world.advance("60d")
        let answer = try fixture.graph("/me", ["access_token": token])
        #expect(answer.status == 400)
        #expect(answer.graphCode == "190/463")
        #expect(
            answer.message.hasPrefix(
                "Error validating access token: Session has expired on \(end). The current time is "))
        #expect(
            answer.header("WWW-Authenticate") == "OAuth \"Facebook Platform\" \"invalid_token\" \"\(answer.message)\"")
        // https://developers.facebook.com/docs/graph-api/reference/debug_token: error has code, message and subcode.
        let inspected = try #require(try fixture.inspected(token))
        #expect(inspected["is_valid"] as? Bool == false)
        #expect(inspected["app_id"] as? String == FacebookFixture.id)
        #expect(inspected["user_id"] as? String == FacebookFixture.ada)
        let error = try #require(inspected["error"] as? [String: Any])
        #expect(error["code"] as? Int == 190)
        #expect(error["subcode"] as? Int == 463)
        #expect(error["message"] as? String == answer.message)
    }

    // https://developers.facebook.com/docs/facebook-login/auth-vs-data, and the text of https://github.com/MrSwitch/hello.js/issues/548.
    @Test("90 days after the sign-in, a token that was made to last longer is refused, too")
    func dataAccess() throws {
        let token = try fixture.token()
        try fixture.world.advance("50d")
        let longer = try #require(
            try fixture.redeem(["grant_type": "fb_exchange_token", "fb_exchange_token": token])["access_token"])
        try fixture.world.advance("41d")
        let answer = try fixture.graph("/me", ["access_token": longer])
        #expect(answer.graphCode == "190/493")
        #expect(answer.diagnosis.contains("90 days"))
        #expect(try fixture.graph("/me", ["access_token": fixture.token()]).status == 200)
    }

    // Types: https://github.com/roughike/flutter_facebook_login/issues/44 and https://github.com/facebook/facebook-python-business-sdk/issues/528.
    // Unknown path components: https://github.com/anomalyco/openauth/issues/214, https://github.com/huandu/facebook/issues/116.
    // 803 with 404: a recorded answer in the tests of https://github.com/facebookarchive/php-graph-sdk (FacebookBatchResponseTest).
    @Test(
        "what isn't served, or not with this method, is refused in the Graph API's words, with codes that are numbers",
        arguments: [
            ("GET", "/", 400, "100/33", "GraphMethodException", "Unsupported get request. Please read"),
            ("GET", "/v22.0", 400, "100/33", "GraphMethodException", "Unsupported get request. Please read"),
            (
                "GET", "/v22.0/999", 400, "100/33", "GraphMethodException",
                "Unsupported get request. Object with ID '999' does not exist"
            ),
            (
                "GET", "/zuck", 404, "803", "OAuthException",
                "(#803) Some of the aliases you requested do not exist: zuck"
            ),
            (
                "POST", "/me", 400, "100/33", "GraphMethodException",
                "Unsupported post request. Object with ID 'me' does not exist"
            ),
            (
                "DELETE", "/v22.0/123", 400, "100/33", "GraphMethodException",
                "Unsupported delete request. Object with ID '123'"
            ),
            ("PUT", "/oauth/access_token", 400, "100/33", "GraphMethodException", "Unsupported put request."),
            ("POST", "/me/permissions", 400, "100/33", "GraphMethodException", "Unsupported post request."),
            ("GET", "/me/feed", 400, "2500", "OAuthException", "Unknown path components: /feed"),
            ("GET", "/v22.0/me/accounts/1", 400, "2500", "OAuthException", "Unknown path components: /accounts/1"),
            ("GET", "/22.0/me", 400, "2500", "OAuthException", "Unknown path components: /me"),
            (
                "POST", "/22.0/oauth/access_token", 400, "2500", "OAuthException",
                "Unknown path components: /oauth/access_token"
            ),
            (
                "GET", "/.well-known/openid-configuration", 400, "2500", "OAuthException",
                "Unknown path components: /openid-configuration"
            ),
        ])
    func notServed(method: String, path: String, status: Int, code: String, type: String, message: String) throws {
        let token = try fixture.token()
        let answer = try fixture.graph(path, ["access_token": token], method: method)
        #expect(answer.status == status, "\(answer)")
        #expect(answer.graphCode == code)
        #expect(answer.graphError?["type"] as? String == type)
        #expect(answer.message.hasPrefix(message), "\(answer.message)")
        #expect(!answer.diagnosis.isEmpty)
        #expect(path.hasPrefix("/22") == answer.diagnosis.contains("as in v22.0"))
    }

    @Test("a host of pages shows one", arguments: ["www.facebook.com", "limited.facebook.com"])
    func page(host: String) throws {
        let answer = try fixture.client.get("/\(host)/nothing")
        #expect(answer.status == 404)
        #expect(answer.text.contains("This page isn&#39;t available"))
        #expect(answer.header("Content-Type")?.hasPrefix("text/html") ?? false)
        #expect(try fixture.client.get("/www.facebook.com/foo/dialog/oauth?client_id=1").status == 404)
    }

    // 104 and 2500: https://developers.facebook.com/docs/graph-api/guides/error-handling; the texts are in the tests of
    // https://github.com/amachang/facebook-node-sdk and of spring-social-facebook.
    @Test("without a token, a person is refused with another code than oneself")
    func noToken() throws {
        #expect(try fixture.graph("/me").graphCode == "2500")
        #expect(try fixture.graph("/me", ["access_token": FacebookFixture.appToken]).graphCode == "2500")
        let other = try fixture.graph("/\(FacebookFixture.ada)")
        #expect(other.graphCode == "104")
        #expect(other.message == "An access token is required to request this resource.")
        #expect(try fixture.graph("/me", ["access_token": "EAAx"]).graphCode == "190")
        let forged = try fixture.graph("/me", ["access_token": "1234567890|x"])
        #expect(forged.message == "Invalid OAuth access token signature.")
    }

    // https://github.com/facebookarchive/php-graph-sdk/issues/274, https://github.com/roundrop/facebook4j-oauth-example/issues/2; the others
    // are asserted by the tests of https://github.com/mobolic/facebook-sdk, or quoted in logs.
    @Test(
        "the token endpoint misses parameters one by one",
        arguments: [
            (["redirect_uri": nil], "191", "Missing redirect_uri parameter."),
            (["redirect_uri": "null"], "191", "redirect_uri isn't an absolute URI. Check RFC 3986."),
            (["code": nil], "1", "Missing authorization code"), (["code": ""], "1", "Missing authorization code"),
            (["client_secret": nil], "1", "Error validating client secret."),
            (["grant_type": "fb_exchange_token"], "1", "fb_exchange_token parameter not specified"),
            (["grant_type": "client_credentials", "client_secret": "x"], "1", "Error validating client secret."),
        ] as [([String: String?], String, String)])
    func missing(changes: [String: String?], code: String, message: String) throws {
        let answer = try fixture.redeem(["code": "x"].merging(changes) { $1 })
        #expect(answer.status == 400)
        #expect(answer.graphCode == code)
        #expect(answer.message == message)
        #expect(answer.header("WWW-Authenticate") == "OAuth \"Facebook Platform\" \"invalid_request\" \"\(message)\"")
        #expect(answer.header("Understudy-Evidence")?.contains(": ") ?? false)
    }

    @Test("an error says from where it is known: its own source, or that of its pattern")
    func evidence() throws {
        let wrong = try fixture.graph("/me", ["access_token": "EAAx"])
        #expect(
            wrong.header("Understudy-Evidence")
                == "recorded 2025-05: https://github.com/facebook/facebook-ios-sdk/issues/2576")
        let unknown = try fixture.graph("/somebody", ["access_token": fixture.token()])
        #expect(unknown.header("Understudy-Evidence")?.hasSuffix("/mobolic/facebook-sdk/issues/315") ?? false)
        let profile = try fixture.graph("/me", ["access_token": fixture.token()])
        #expect(
            profile.header("Understudy-Evidence")
                == "documented: https://developers.facebook.com/docs/graph-api/reference/user")
    }

    // Auth.js with its Facebook provider sends both by HTTP Basic alone (client_secret_basic is its default, and the provider names no
    // other), as next-auth 4 does, of which https://github.com/sidebase/nuxt-auth/issues/629 shows that Facebook gave it a token.
    @Test("ID and secret may come by HTTP Basic", arguments: [[:], ["client_id": FacebookFixture.id]])
    func basic(form: [String: String]) throws {
        func redeem(_ credentials: String, _ code: String) throws -> Answer {
            let form = form.merging(["redirect_uri": FacebookFixture.callback, "code": code]) { $1 }
            return try fixture.client.request(
                "POST", "/graph.facebook.com/oauth/access_token",
                headers: [
                    "Authorization": "Basic \(Data(credentials.utf8).base64EncodedString())",
                    "Content-Type": "application/x-www-form-urlencoded",
                ], body: Array(TestClient.encode(form).utf8))
        }
        let code = try fixture.code()
        #expect(try redeem("\(FacebookFixture.id):x", code).message == "Error validating client secret.")
        #expect(try redeem("\(FacebookFixture.id):\(FacebookFixture.secret)", code).status == 200)
        #expect(try fixture.redeem(["client_id": nil, "code": "x"]).message == "Missing client_id parameter.")
    }

    // https://github.com/freizl/hoauth2/issues/19
    @Test("WWW-Authenticate says what is wrong with a code, and takes no text from outside as it is")
    func challenge() throws {
        let answer = try fixture.redeem(["code": "x"])
        #expect(
            answer.header("WWW-Authenticate")
                == "OAuth \"Facebook Platform\" \"invalid_code\" \"Invalid verification code format.\"")
        let hostile = try fixture.graph("/a%22%0D%0AX-Evil%3A%20b%C3%A9", ["access_token": fixture.token()])
        #expect(hostile.header("X-Evil") == nil)
        #expect(hostile.header("WWW-Authenticate")?.hasSuffix("exist: a\\\"??X-Evil: b?\"") ?? false, "\(hostile)")
    }

    // https://github.com/facebook/facebook-python-business-sdk/issues/528
    @Test("a wrong appsecret_proof is a GraphMethodException, with a person's token and an app's")
    func proof() throws {
        for (path, token) in [("/me", try fixture.token()), ("/\(FacebookFixture.ada)", FacebookFixture.appToken)] {
            let answer = try fixture.graph(path, ["access_token": token, "appsecret_proof": "x"])
            #expect(answer.status == 400)
            #expect(answer.graphCode == "100")
            #expect(answer.graphError?["type"] as? String == "GraphMethodException")
            #expect(answer.message == "Invalid appsecret_proof provided in the API argument")
        }
    }

    // https://github.com/facebookarchive/php-graph-sdk/issues/984, and for the time
    // https://developers.facebook.com/docs/graph-api/guides/secure-requests#appsecret_proof.
    @Test("an app can require the proof, which may be for a moment")
    func requiredProof() throws {
        let fixture = try FacebookFixture(app: #""requireAppSecret":true"#)
        try fixture.world.freeze()
        let token = try fixture.token()
        for path in ["/me", "/me/permissions", "/app"] {
            let answer = try fixture.graph(path, ["access_token": token])
            #expect(answer.graphCode == "100")
            #expect(answer.graphError?["type"] as? String == "GraphMethodException")
            #expect(answer.message == "API calls from the server require an appsecret_proof argument")
        }
        func proof(_ text: String) -> String {
            Hex.encode(Digest.hmacSHA256(key: Array(FacebookFixture.secret.utf8), Array(text.utf8)))
        }
        #expect(try fixture.graph("/me", ["access_token": token, "appsecret_proof": proof(token)]).status == 200)
        let now = Int(Date().timeIntervalSince1970)
        for (time, isTaken) in [
            ("\(now)", true), ("\(now - 400)", false), ("9223372036854775807", false), ("x", false),
        ] {
            let answer = try fixture.graph(
                "/me",
                ["access_token": token, "appsecret_proof": proof("\(token)|\(time)"), "appsecret_time": time])
            #expect((answer.status == 200) == isTaken, "\(time)")
        }
    }

    // https://developers.facebook.com/docs/graph-api/reference/application; a sample is in the models of several public clients.
    @Test("the app of a token, by either name")
    func application() throws {
        let token = try fixture.token()
        for path in ["/app", "/v22.0/app", "/\(FacebookFixture.id)"] {
            for caller in [token, FacebookFixture.appToken] {
                let answer = try fixture.graph(path, ["access_token": caller])
                #expect(answer["id"] == FacebookFixture.id, "\(answer)")
                #expect(answer["link"] == "https://www.facebook.com/games/?app_id=\(FacebookFixture.id)")
                #expect(answer["name"] != nil)
            }
        }
        #expect(try fixture.graph("/app", ["access_token": token, "fields": "id"]).json.keys.sorted() == ["id"])
        #expect(try fixture.graph("/app").graphCode == "104")
    }

    // https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow: the redirect URI of a webview.
    @Test("the page at which desktop apps end")
    func success() throws {
        let answer = try fixture.client.get("/www.facebook.com/connect/login_success.html")
        #expect(answer.status == 200)
        #expect(answer.text.contains("Success"))
    }

    // Logs of several public clients quote "(#100) Tried accessing nonexisting field (accounts) on node type (Page)".
    @Test("a field that a person hasn't is refused; one that is empty or not allowed is left out")
    func fields() throws {
        let token = try fixture.token(["scope": "public_profile"])
        let wrong = try fixture.graph("/me", ["access_token": token, "fields": "id,firstname"])
        #expect(wrong.graphCode == "100")
        #expect(wrong.message == "(#100) Tried accessing nonexisting field (firstname) on node type (User)")
        #expect(wrong.diagnosis.contains("first_name"))
        // These are the fields that Laravel Socialite asks for.
        let fields = "name,email,gender,verified,link"
        let answer = try fixture.graph("/me", ["access_token": token, "fields": fields])
        #expect(answer.json.keys.sorted() == ["id", "name"])
    }

    // https://nordicapis.com/best-practices-api-error-handling/ has the first. The others are as they are reported: https://github.com/criso/fbgraph/issues/125, https://github.com/node-facebook/facebook-node-sdk/issues/123,
    // https://github.com/simi/omniauth-facebook/issues/138, and https://github.com/tobilg/facebook-events-by-location-core/issues/30 for the
    // last but one, whose place is the text's end there, too.
    @Test(
        "fields that can't be read",
        arguments: [
            (
                "id,name,picture,picture",
                "\"Field picture specified more than once. This is only possible before version 2.1\" at character 23: "
            ),
            (
                "id,name,name{x},id",
                "\"Field name specified more than once. This is only possible before version 2.1\" at character 15: "
            ),
            ("picture.type(large?access_token=x", "\"Expected \")\", got end of string\" at character 33: "),
            (
                "fan_count,name,picture?type=large,cover",
                "\"Expected end of string instead of \"?\".\" at character 22: "
            ),
            (
                "likes.limit(1000){id},comments.limit(1000){id}{from},sharedposts{id}",
                "\"Expected end of string instead of \"{\".\" at character 46: "
            ), ("applications/developer", "\"Expected end of string instead of \"/\".\" at character 12: "),
            ("id,name?access_token=x", "\"Expected end of string instead of \"?\".\" at character 7: "),
            ("id,picture.type(large", "\"Expected \")\", got end of string\" at character 21: "),
            ("likes{id}.limit(2)", "\"Expected end of string instead of \".\".\" at character 9: "),
        ])
    func fieldSyntax(fields: String, words: String) throws {
        let answer = try fixture.graph("/v22.0/me", ["access_token": fixture.token(), "fields": fields])
        #expect(answer.status == 400)
        #expect(answer.graphCode == "2500")
        #expect(answer.graphError?["type"] as? String == "OAuthException")
        #expect(answer.message == "Syntax error \(words)\(fields)")
        #expect(answer.diagnosis.contains("commas"))
        #expect(!answer.diagnosis.contains("access_token"))
    }

    @Test("fields of friends are those of people")
    func fieldsOfFriends() throws {
        let token = try fixture.token(["scope": "user_friends"])
        for (path, fields) in [
            ("/me", "friends{id,nme}"), ("/me/friends", "nme"), ("/me", "friends{nme?access_token=x}"),
        ] {
            let answer = try fixture.graph(path, ["access_token": token, "fields": fields])
            #expect(answer.graphCode == "100")
            #expect(answer.message.hasPrefix("(#100) Tried accessing nonexisting field (nme"), "\(answer)")
            #expect(answer.diagnosis.contains("\"nme\"") && !answer.diagnosis.contains("access_token"))
        }
        let pages = try fixture.graph("/me/accounts", ["access_token": token, "fields": "category"])
        #expect(pages.status == 200)
    }

    @Test(
        "fields that can be read",
        arguments: [
            "id, name", "id,name,", "picture.type(large){url, width},id", "name,friends{id,picture{url}},", "", ",,",
        ])
    func goodFields(fields: String) throws {
        let answer = try fixture.graph("/me", ["access_token": fixture.token(), "fields": fields])
        #expect(answer.status == 200, "\(answer)")
    }

    // https://developers.facebook.com/docs/graph-api/reference/user/picture
    @Test("pictures in the size that is asked for, as a field and by their own address")
    func pictures() throws {
        let token = try fixture.token()
        func picture(_ fields: String) throws -> [String: Any] {
            let answer = try fixture.graph("/me", ["access_token": token, "fields": fields])
            return (answer.json["picture"] as? [String: Any])?["data"] as? [String: Any] ?? [:]
        }
        #expect(try picture("picture")["width"] as? Int == 50)
        #expect(try picture("id,picture.type(large)")["height"] as? Int == 200)
        #expect(try picture("picture.width(320).height(240),name")["height"] as? Int == 240)
        #expect(try picture("picture.width(9223372036854775808)")["height"] as? Int == 50)
        #expect(try picture("picture.type(large){url}").keys.sorted() == ["url"])
        let redirect = try fixture.graph("/me/picture", ["access_token": token, "type": "normal"])
        #expect(redirect.status == 302)
        #expect(redirect.location.contains("asid=\(FacebookFixture.ada)&height=100&width=100"))
        let told = try fixture.graph("/me/picture", ["access_token": token, "redirect": "false"])
        #expect((told.json["data"] as? [String: Any])?["is_silhouette"] as? Bool == false)
    }

    // https://developers.facebook.com/docs/graph-api/reference/user/picture#requirements: none for an app-scoped user ID. A token that is
    // sent must work: https://github.com/simi/omniauth-facebook/issues/360. 104 is of https://github.com/pennersr/django-allauth/issues/2488.
    @Test("a picture by ID needs no token")
    func picturesWithoutToken() throws {
        let token = try fixture.token()
        for caller in [nil, token, FacebookFixture.appToken] {
            for id in ["10150000000000001", "10150000000000002"] {
                let answer = try fixture.graph("/v22.0/\(id)/picture", ["type": "large", "access_token": caller])
                #expect(answer.location.contains("asid=\(id)&height=200&width=200"), "\(answer)")
            }
        }
        let place = try fixture.graph("/\(FacebookFixture.ada)/picture", ["width": "321", "height": "9"]).location
        #expect(
            place.hasPrefix(
                "http://localhost:\(fixture.client.port)/platform-lookaside.fbsbx.com/platform/profilepic/?asid="))
        let image = try fixture.client.get(String(place.dropFirst("http://localhost:\(fixture.client.port)".count)))
        #expect(image.status == 200)
        #expect(image.header("Content-Type") == "image/png")
        // The PNG specification, section 11.2.1: width and height follow the chunk's type.
        #expect(Array(image.body.prefix(24).suffix(12)) == Array("IHDR".utf8) + [0, 0, 1, 65, 0, 0, 0, 9])
        #expect(
            try fixture.client.get("/platform-lookaside.fbsbx.com/platform/profilepic/?asid=9&width=x").status == 404)
        #expect(try fixture.graph("/\(FacebookFixture.ada)/picture", ["access_token": "EAAx"]).graphCode == "190")
        #expect(try fixture.graph("/999/picture").graphCode == "104")
        #expect(try fixture.graph("/me/picture").graphCode == "2500")
    }
}
