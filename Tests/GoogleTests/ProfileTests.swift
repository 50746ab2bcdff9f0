import Foundation
import TestSupport
import Testing

@Suite("Google: who signed in, by each of its addresses")
struct ProfileTests {
    let fixture: GoogleFixture
    private static let old = [
        "/www.googleapis.com/oauth2/v1/userinfo", "/www.googleapis.com/oauth2/v2/userinfo",
        "/www.googleapis.com/userinfo/v2/me",
    ]
    private static let new = ["/openidconnect.googleapis.com/v1/userinfo", "/www.googleapis.com/oauth2/v3/userinfo"]
    private static let people = "/people.googleapis.com/v1/people/me"
    private static let missing =
        "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid "
        + "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
    private static let invalid =
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
        + "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."

    init() throws { fixture = try GoogleFixture() }

    private func error(_ answer: Answer) -> [String: Any] { answer.json["error"] as? [String: Any] ?? [:] }

    @Test("versions 1 and 2 and me say id and verified_email, version 3 sub and email_verified")
    func names() throws {
        let token = try fixture.tokens()["access_token"]
        for path in ProfileTests.old {
            let user = try fixture.get(path, token)
            #expect(user["id"] != nil && user["sub"] == nil, "\(path) \(user)")
            #expect(user.json["verified_email"] as? Bool == true)
        }
        for path in ProfileTests.new {
            let user = try fixture.get(path, token)
            #expect(user["sub"] != nil && user["id"] == nil, "\(path) \(user)")
            #expect(user.json["email_verified"] as? Bool == true)
        }
    }

    @Test("each has its own form of refusal")
    func refusals() throws {
        // https://github.com/pimplesushant/laravelsocialiteapi/issues/1
        for path in ProfileTests.new {
            for token in [nil, "x"] {
                let answer = try fixture.get(path, token)
                #expect(answer.status == 401)
                #expect(answer["error"] == "invalid_request" && answer["error_description"] == "Invalid Credentials")
            }
        }
        for path in ProfileTests.old + [ProfileTests.people] {
            // https://github.com/Clancey/simple_auth/issues/97, https://github.com/googleapis/google-api-php-client/issues/1391
            for (token, message) in [(nil, ProfileTests.missing), ("x", ProfileTests.invalid)] {
                let answer = try fixture.get(path, token)
                #expect(answer.status == 401, "\(path) \(answer)")
                #expect(error(answer)["code"] as? Int == 401)
                #expect(error(answer)["status"] as? String == "UNAUTHENTICATED")
                #expect(error(answer)["message"] as? String == message)
                // https://github.com/googleapis/google-api-php-client/issues/2420
                let reasons = (error(answer)["errors"] as? [[String: Any]])?.compactMap { $0["reason"] as? String }
                let expected: [String]? = path.contains("v2") ? [token == nil ? "unauthorized" : "authError"] : nil
                #expect(reasons == expected, "\(path) \(answer)")
                // https://github.com/codenameone/CodenameOne/issues/3135
                let challenge = #"Bearer realm="https://accounts.google.com/""#
                #expect(
                    answer.header("WWW-Authenticate")
                        == challenge + (token == nil ? "" : #", error="invalid_token""#))
            }
        }
    }

    @Test("a token without a scope of sign-in shows nobody")
    func otherScopes() throws {
        let token = try fixture.tokens(["scope": GoogleFixture.drive])["access_token"]
        for path in ProfileTests.new + ProfileTests.old {
            let answer = try fixture.get(path, token)
            #expect(answer.status == 401, "\(path) \(answer)")
            #expect(answer.diagnosis.contains("openid, email or profile"))
        }
        // https://github.com/kwent/react-google-contacts/issues/6
        let person = try fixture.get("\(ProfileTests.people)?personFields=names", token)
        #expect(person.status == 403)
        #expect(error(person)["status"] as? String == "PERMISSION_DENIED")
        #expect(error(person)["message"] as? String == "Request had insufficient authentication scopes.")
        #expect(person.header("WWW-Authenticate")?.contains(#"error="insufficient_scope""#) ?? false)
    }

    // https://developers.google.com/people/api/rest/v1/people#Person
    @Test("the People API: names, addresses and pictures, as far as the scopes go")
    func person() throws {
        let token = try fixture.tokens()["access_token"]
        let sub = try fixture.get(ProfileTests.new[0], token)["sub"] ?? ""
        let person = try fixture.get("\(ProfileTests.people)?personFields=names,emailAddresses,photos,birthdays", token)
        #expect(person.status == 200, "\(person)")
        #expect(person["resourceName"] == "people/\(sub)")
        let addresses = person.json["emailAddresses"] as? [[String: Any]]
        #expect(addresses?.first?["value"] as? String == "ada@example.com")
        let metadata = addresses?.first?["metadata"] as? [String: Any]
        #expect(metadata?["primary"] as? Bool == true && metadata?["verified"] as? Bool == true)
        #expect((person.json["names"] as? [[String: Any]])?.first?["displayName"] as? String == "Ada Lovelace")
        #expect((person.json["photos"] as? [[String: Any]])?.first?["url"] != nil)
        #expect(person.json["birthdays"] == nil)
        // https://github.com/codenameone/CodenameOne/issues/3135
        let masked = try fixture.get(
            "\(ProfileTests.people)?requestMask.includeField=person.emailAddresses%2Cperson.names", token)
        #expect(masked.json["names"] != nil && masked.json["emailAddresses"] != nil, "\(masked)")
        #expect(masked.json["photos"] == nil)
        let email = try fixture.tokens(["scope": "email"])["access_token"]
        let less = try fixture.get("\(ProfileTests.people)?personFields=names,emailAddresses", email)
        #expect(less.json["names"] == nil && less.json["emailAddresses"] != nil, "\(less)")
    }

    @Test(
        "the People API's mask of fields",
        arguments: [
            // https://github.com/googleapis/google-api-nodejs-client/issues/989
            ("", "personFields mask is required. Please specify one or more valid paths."),
            ("?personFields=names,email", "Invalid personFields mask path: \"email\"."),
        ])
    func mask(query: String, sentence: String) throws {
        let answer = try fixture.get(ProfileTests.people + query, try fixture.tokens()["access_token"])
        #expect(answer.status == 400)
        #expect(error(answer)["status"] as? String == "INVALID_ARGUMENT")
        #expect(
            error(answer)["message"] as? String
                == "\(sentence) Valid paths are documented at https://developers.google.com/people/api/rest/v1/people/get."
        )
    }

    @Test(
        "tokeninfo says whether a token is offline",
        arguments: [("offline", "offline"), ("online", "online"), (nil, "online")])
    func accessType(sent: String?, expected: String) throws {
        let token = try fixture.tokens(["access_type": sent])["access_token"] ?? ""
        for version in ["oauth2.googleapis.com", "www.googleapis.com/oauth2/v1", "www.googleapis.com/oauth2/v3"] {
            let info = try fixture.client.get("/\(version)/tokeninfo?access_token=\(token)")
            #expect(info["access_type"] == expected, "\(info)")
        }
    }

    // https://shimeche.github.io/2016/05/18/oauth2-google-access-token-verification/
    @Test("tokeninfo in its older form, of access tokens and of ID tokens", arguments: ["v1", "v2"])
    func oldTokenInfo(version: String) throws {
        let tokens = try fixture.tokens(["nonce": "n"])
        let path = "/www.googleapis.com/oauth2/\(version)/tokeninfo"
        let access = try fixture.client.get("\(path)?access_token=\(tokens["access_token"] ?? "")")
        #expect(access["issued_to"] == GoogleFixture.web && access["audience"] == GoogleFixture.web)
        #expect(access["user_id"] == tokens.claims["sub"] as? String)
        #expect((3590...3599).contains(access.json["expires_in"] as? Int ?? 0))
        #expect(access.json["verified_email"] as? Bool == true)
        #expect(access["aud"] == nil)
        let identity = try fixture.client.post(path, form: ["id_token": tokens["id_token"] ?? ""])
        #expect(identity["issuer"] == "https://accounts.google.com")
        #expect(identity["audience"] == GoogleFixture.web && identity["nonce"] == "n")
        #expect(identity.json["issued_at"] as? Int == tokens.claims["iat"] as? Int)
    }

    @Test(
        "what tokeninfo refuses has a name in two of its versions",
        arguments: [
            ("oauth2.googleapis.com", "invalid_token"),
            // https://github.com/EddyVerbruggen/cordova-plugin-googleplus/issues/521
            ("www.googleapis.com/oauth2/v1", "invalid_token"),
            // https://github.com/googleapis/google-api-go-client/issues/403
            ("www.googleapis.com/oauth2/v2", nil),
            // https://github.com/flutter/flutter/issues/56060
            ("www.googleapis.com/oauth2/v3", nil),
        ] as [(String, String?)])
    func refusedTokenInfo(version: String, name: String?) throws {
        for token in ["access_token=x", "id_token=x"] {
            let answer = try fixture.client.get("/\(version)/tokeninfo?\(token)")
            #expect(answer.status == 400 && answer["error_description"] == "Invalid Value", "\(answer)")
            #expect(answer["error"] == name, "\(answer)")
        }
        let none = try fixture.client.get("/\(version)/tokeninfo")
        #expect(none.status == 400)
        #expect(none["error_description"] == "Either access_token, id_token, or token_handle required")
        let order: [String: Any] = [
            "match": ["path": version.split(separator: "/").dropFirst().reduce("") { "\($0)/\($1)" } + "/tokeninfo"],
            "effect": ["error": "invalid_token"], "times": 1,
        ]
        #expect(try fixture.client.post("\(GoogleFixture.control)/faults", json: order).status == 201)
        let ordered = try fixture.client.get("/\(version)/tokeninfo")
        #expect(ordered.status == 400 && ordered["error"] == name, "\(ordered)")
    }

    // https://github.com/googleapis/google-auth-library-nodejs, OAuth2Client.getTokenInfo
    @Test("tokeninfo takes an access token in the header", arguments: ["GET", "POST"])
    func tokenInHeader(method: String) throws {
        let token = try fixture.tokens()["access_token"] ?? ""
        let info = try fixture.client.request(
            method, "/oauth2.googleapis.com/tokeninfo",
            headers: [
                "Authorization": "Bearer \(token)", "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8",
            ])
        #expect(info.status == 200 && info["aud"] == GoogleFixture.web, "\(info)")
        #expect(info["scope"]?.contains("openid") ?? false)
    }

    @Test(
        "what Google doesn't serve is refused with Google's page",
        arguments: [
            ("GET", "/accounts.google.com/nothing", 404), ("GET", "/accounts.google.com/gsi/nothing", 404),
            ("DELETE", "/accounts.google.com/o/oauth2/v2/auth", 405),
            // https://github.com/googleapis/oauth2client/issues/750
            ("GET", "/oauth2.googleapis.com/revoke?token=x", 404), ("GET", "/oauth2.googleapis.com/token", 404),
            ("GET", "/people.googleapis.com/v1/people/me/connections", 404),
            ("GET", "/www.googleapis.com/drive/v3/files", 404), ("GET", "/www.google.com/", 404),
        ])
    func notServed(method: String, path: String, status: Int) throws {
        let answer = try fixture.client.request(method, path)
        #expect(answer.status == status, "\(answer)")
        #expect(answer.header("Content-Type")?.hasPrefix("text/html") ?? false)
        #expect(answer.shows(status == 404 ? "Error 404 (Not Found)!!1" : "Error 405 (Method Not Allowed)!!1"))
        #expect(answer.diagnosis.contains("nothing is served") || path.contains("gsi"))
    }
}
