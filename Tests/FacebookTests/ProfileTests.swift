import Foundation
import JOSE
import TestSupport
import Testing

@Suite("Facebook: what a profile holds")
struct ProfileTests {
    private static let people = """
        {"accounts":[
          {"id":"ada","facebook":{"id":"10150000000000001","birthday":"12/10/1985","gender":"female","ageRange":"21+",
           "hometown":"Marylebone","location":"London","friends":["grace","linus"]}}]}
        """
    private static let scope =
        "user_age_range,user_birthday,user_friends,user_gender,user_hometown,user_link,user_location"
    private static let fields = "age_range,birthday,gender,hometown,link,location"

    let fixture: FacebookFixture

    init() throws { fixture = try FacebookFixture(seed: ProfileTests.people) }

    private func profile(_ token: String, _ fields: String) throws -> [String: Any] {
        let answer = try fixture.graph("/me", ["access_token": token, "fields": fields])
        #expect(answer.status == 200, "\(answer)")
        return answer.json
    }

    // https://developers.facebook.com/docs/graph-api/reference/user and https://developers.facebook.com/docs/graph-api/reference/age-range
    @Test("details are told with their permissions")
    func details() throws {
        let all = try profile(fixture.token(["scope": ProfileTests.scope]), ProfileTests.fields)
        #expect(all["birthday"] as? String == "12/10/1985")
        #expect(all["gender"] as? String == "female")
        #expect(all["age_range"] as? [String: Int] == ["min": 21])
        #expect((all["hometown"] as? [String: String])?["name"] == "Marylebone")
        #expect((all["location"] as? [String: String])?["id"]?.allSatisfy(\.isNumber) ?? false)
        #expect((all["link"] as? String)?.hasPrefix("https://www.facebook.com/app_scoped_user_id/") ?? false)
        let one = try fixture.token(
            ["scope": "user_gender"], account: "grace", scopes: ["public_profile", "user_gender"])
        #expect(try profile(one, ProfileTests.fields).keys.sorted() == ["id"])
    }

    @Test("without a permission, a detail is missing, and no error", arguments: ["email", "user_birthday"])
    func missing(scope: String) throws {
        let fixture = try FacebookFixture(seed: ProfileTests.people)
        let token = try fixture.token(["scope": scope])
        let answer = try fixture.graph("/me", ["access_token": token, "fields": ProfileTests.fields])
        #expect(answer.json.keys.sorted() == (scope == "email" ? ["id"] : ["birthday", "id"]))
    }

    // The names and types of https://github.com/facebook/facebook-ios-sdk, AuthenticationTokenClaims.
    @Test("Limited Login has them as claims that are called as the permissions")
    func claims() throws {
        _ = try fixture.token(["scope": "user_friends"], account: "grace")
        let scopes = ProfileTests.scope.split(separator: ",").map(String.init)
        let answer = try fixture.world.facebook("ada", ["tracking": "limited", "nonce": "n", "scopes": scopes])
        let part = try #require(answer["authenticationToken"]?.split(separator: ".").dropFirst().first)
        let bytes = try #require(Base64URL.decode(part))
        let claims = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        #expect(claims["user_birthday"] as? String == "12/10/1985")
        #expect(claims["user_age_range"] as? [String: Int] == ["min": 21])
        #expect((claims["user_hometown"] as? [String: String])?["name"] == "Marylebone")
        #expect((claims["user_location"] as? [String: String])?["name"] == "London")
        #expect(claims["user_gender"] as? String == "female")
        #expect(
            (claims["picture"] as? String)?.hasPrefix(
                "http://localhost:\(fixture.client.port)/platform-lookaside.fbsbx.com/") ?? false, "\(claims)")
        #expect(claims["user_link"] as? String != nil)
        #expect(claims["user_friends"] as? [String] == ["10150000000000002"])
    }

    // https://developers.facebook.com/docs/graph-api/reference/user/friends: those who use the app, and haven't declined user_friends. Their
    // number, and nobody without the permission: https://github.com/facebookarchive/react-native-fbsdk/issues/129,
    // https://github.com/restfb/restfb/issues/280.
    @Test("an app is told of friends who use it")
    func friends() throws {
        let token = try fixture.token(["scope": "user_friends"])
        func told() throws -> [String] {
            let answer = try fixture.graph("/v22.0/me/friends", ["access_token": token])
            #expect((answer.json["summary"] as? [String: Int])?["total_count"] == 2, "\(answer)")
            return (answer.json["data"] as? [[String: String]] ?? []).compactMap { $0["name"] }
        }
        #expect(try told().isEmpty)
        _ = try fixture.token(["scope": "email"], account: "linus")
        #expect(try told().isEmpty)
        _ = try fixture.token(["scope": "user_friends"], account: "grace")
        #expect(try told() == ["Grace Hopper"])
        let inner = try profile(token, "name,friends.limit(5){id,picture{url}},permissions")
        let first = ((inner["friends"] as? [String: Any])?["data"] as? [[String: Any]])?.first
        #expect(first?.keys.sorted() == ["id", "picture"])
        let permissions = (inner["permissions"] as? [String: Any])?["data"] as? [[String: String]]
        #expect(permissions?.first == ["permission": "public_profile", "status": "granted"])
        let hidden = try fixture.graph(
            "/me/friends", ["access_token": fixture.token(["scope": "email"], account: "linus")])
        #expect((hidden.json["data"] as? [Any])?.isEmpty ?? false)
        #expect(hidden.json.keys.sorted() == ["data"])
        let pages = try fixture.graph("/me/accounts", ["access_token": token])
        #expect((pages.json["data"] as? [Any])?.isEmpty ?? false)
        #expect(try fixture.graph("/me/friends").graphCode == "2500")
    }

    @Test(
        "a seed says nothing that can't be",
        arguments: [#""friends":["nobody"]"#, #""birthday":"1985-12-10""#, #""gender":"x""#, #""ageRange":"22""#])
    func seeds(member: String) throws {
        #expect(throws: (any Error).self) {
            try FacebookFixture(seed: #"{"accounts":[{"id":"ada","facebook":{\#(member)}}]}"#)
        }
    }
}
