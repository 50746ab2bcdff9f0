import Foundation
import TestSupport
import Testing

@Suite("Firebase: credentials of github.com, google.com and facebook.com")
struct OtherCredentialTests {
    let fixture: FirebaseFixture

    init() throws { fixture = try FirebaseFixture() }

    @Test("GitHub: the token is checked at our GitHub, and the profile comes along")
    func gitHub() throws {
        let token = try fixture.gitHubToken()
        let answer = try fixture.assertion(FirebaseFixture.postBody("github.com", accessToken: token))
        #expect(answer.status == 200)
        #expect(answer["screenName"] == "ada")
        #expect(answer["username"] == "ada")
        #expect(answer["displayName"] == "Ada Lovelace")
        #expect(answer["photoUrl"] == "https://avatars.githubusercontent.com/u/1815?v=4")
        #expect(answer["email"] == "ada@example.com")
        #expect(answer.json["emailVerified"] as? Bool == false)
        #expect(answer["oauthAccessToken"] == token)
        let raw = try JSONSerialization.jsonObject(with: Data((answer["rawUserInfo"] ?? "").utf8)) as? [String: Any]
        #expect(raw?["login"] as? String == "ada")
        #expect(raw?["url"] as? String == "https://api.github.com/users/ada")
        let identities = (answer.claims()["firebase"] as? [String: Any])?["identities"] as? [String: [String]]
        #expect(identities?["github.com"] == ["1815"])
        // The guide's last step calls GitHub with the returned token.
        let user = try fixture.client.get(
            "/api.github.com/user", headers: ["Authorization": "Bearer \(token)", "User-Agent": "app"])
        #expect(user["login"] == "ada")
    }

    @Test("GitHub: without user:email only a public address is seen")
    func gitHubScopes() throws {
        let hidden = try fixture.assertion(
            FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken(scope: "gist")))
        #expect(hidden.json["email"] == nil)
        let open = try fixture.assertion(
            FirebaseFixture.postBody("github.com", accessToken: fixture.gitHubToken("grace", scope: "gist")))
        #expect(open["email"] == "grace@example.com")
    }

    @Test("GitHub: a code, a revoked token and another app's token end in GitHub's 404")
    func gitHubRefusals() throws {
        let others = try fixture.gitHubToken(client: "Ov23liAutoAnswers001")
        let revoked = try fixture.gitHubToken()
        _ = try fixture.client.post(
            "\(FirebaseFixture.control)/github/revocations", json: ["account": "ada", "client": "Iv1.0123456789abcdef"])
        for token in ["3bec265c28d40387c511", others, revoked] {
            let answer = try fixture.assertion(FirebaseFixture.postBody("github.com", accessToken: token))
            #expect(answer.status == 400)
            #expect(
                answer.message.hasPrefix(
                    "INVALID_IDP_RESPONSE : Unsuccessful check authorization response from Github: {\"message\":\"Not Found\""
                ))
            #expect(answer.diagnosis.contains("GitHub doesn't accept the access token"))
        }
        #expect(
            try fixture.assertion(FirebaseFixture.postBody("github.com", idToken: "x")).errorCode
                == "INVALID_CREDENTIAL_OR_PROVIDER_ID")
    }

    @Test("Google: an ID token, an access token, or both")
    func google() throws {
        let credential = try fixture.google()
        let answer = try fixture.assertion(
            FirebaseFixture.postBody(
                "google.com", idToken: credential["idToken"], accessToken: credential["accessToken"]))
        #expect(answer.status == 200)
        #expect(answer["federatedId"] == "https://accounts.google.com/\(credential["userID"] ?? "")")
        #expect(answer["fullName"] == "Ada Lovelace")
        #expect(answer["firstName"] == "Ada")
        #expect(answer["oauthIdToken"] == credential["idToken"])
        let byAccess = try fixture.assertion(
            FirebaseFixture.postBody("google.com", accessToken: fixture.google()["accessToken"]))
        #expect(byAccess["localId"] == answer["localId"])
    }

    @Test("Google: tokens that can't be read, are another client's, or are unknown")
    func googleRefusals() throws {
        let unreadable = try fixture.assertion(FirebaseFixture.postBody("google.com", idToken: "garbage"))
        #expect(unreadable.message == "INVALID_IDP_RESPONSE : Unable to parse Google id_token: garbage")
        let unknown = try fixture.assertion(FirebaseFixture.postBody("google.com", accessToken: "ya29.x"))
        #expect(unknown.message == "INVALID_IDP_RESPONSE : Invalid Idp Response: access_token is invalid")
        let apples = try fixture.assertion(
            FirebaseFixture.postBody("google.com", idToken: fixture.apple()["identityToken"]))
        #expect(apples.message.contains("Unsuccessful check authorization response from Google"))
        let other = try FirebaseFixture(
            seed:
                #"{"google":{"clients":[{"clientID":"other"}]},"firebase":{"projects":[{"id":"demo-app","number":"123456789012"}]}}"#
        )
        let token = try other.client.post(
            "\(FirebaseFixture.control)/google/authorizations", json: ["client": "other", "account": "ada"])["idToken"]
        #expect(
            try other.assertion(FirebaseFixture.postBody("google.com", idToken: token)).message
                == "INVALID_IDP_RESPONSE : Invalid Idp Response: the Google id_token is not allowed to be used with this "
                + "application. Its audience (OAuth 2.0 client ID) is other, which is not authorized to be used in the project "
                + "with project_number: 123456789012.")
        try fixture.advance("2h")
        let late = try fixture.google()
        try fixture.advance("2h")
        #expect(
            try fixture.assertion(FirebaseFixture.postBody("google.com", idToken: late["idToken"])).diagnosis
                .contains("expired"))
    }

    @Test("an ID token of another provider is told whose it is")
    func foreign() throws {
        let google = try fixture.google()["idToken"]
        let toApple = try fixture.assertion(FirebaseFixture.postBody("apple.com", idToken: google))
        #expect(toApple.message == "INVALID_IDP_RESPONSE : Unable to verify the ID Token signature.")
        #expect(toApple.diagnosis.contains("send providerId=google.com"), "\(toApple)")
        let apple = try fixture.apple()["identityToken"]
        let toGoogle = try fixture.assertion(FirebaseFixture.postBody("google.com", idToken: apple))
        #expect(toGoogle.errorCode == "INVALID_IDP_RESPONSE")
        #expect(toGoogle.diagnosis.contains("send providerId=apple.com"), "\(toGoogle)")
    }

    @Test(
        "a provider that the project hasn't: the one that is meant is named, if there is one",
        arguments: [
            ("google", "did you mean \"google.com\"?"), ("githb.com", "did you mean \"github.com\"?"),
            ("twitter.com", "doesn't support the provider"), ("gc.apple.com", "doesn't support the provider"),
        ])
    func misspelled(provider: String, words: String) throws {
        let answer = try fixture.assertion(FirebaseFixture.postBody(provider, idToken: "x"))
        #expect(answer.message == "OPERATION_NOT_ALLOWED : The identity provider configuration is not found.")
        #expect(answer.diagnosis.contains(words), "\(answer)")
    }

    @Test("Facebook: an access token, and Limited Login's ID token with its nonce")
    func facebook() throws {
        let answer = try fixture.assertion(
            FirebaseFixture.postBody("facebook.com", accessToken: fixture.facebook()["accessToken"]))
        #expect(answer.status == 200)
        #expect(answer["displayName"] == "Ada Lovelace")
        #expect(answer["federatedId"] == "http://facebook.com/10150000000000001")
        // https://github.com/firebase/flutterfire/issues/3839, https://github.com/firebase/firebase-ios-sdk/issues/6829
        #expect(answer["photoUrl"] == "https://graph.facebook.com/10150000000000001/picture")
        // The members and their order are those of production's answer to a web sign-in.
        #expect(
            answer["rawUserInfo"]?.hasPrefix(
                #"{"name":"Ada Lovelace","last_name":"Lovelace","granted_scopes":["email","public_profile"],"id":"10150000000000001","first_name":"Ada","email":"ada@example.com","picture":{"data":{"#
            ) ?? false, "\(answer)")
        #expect(answer["rawUserInfo"]?.contains(#""width":100"#) ?? false)
        let nonce = FirebaseFixture.sha256("fb")
        let limited = try fixture.facebook("ada", ["tracking": "limited", "nonce": nonce])["authenticationToken"]
        #expect(
            try fixture.assertion(FirebaseFixture.postBody("facebook.com", idToken: limited)).message
                == "MISSING_OR_INVALID_NONCE : Nonce is missing in the request.")
        let signedIn = try fixture.assertion(FirebaseFixture.postBody("facebook.com", idToken: limited, nonce: "fb"))
        #expect(signedIn["localId"] == answer["localId"])
        #expect(
            try fixture.assertion(FirebaseFixture.postBody("facebook.com", idToken: limited, nonce: "fb")).message
                .contains("Duplicate credential"))
        let unknown = try fixture.assertion(FirebaseFixture.postBody("facebook.com", accessToken: "EAAx"))
        #expect(
            unknown.message.hasPrefix(
                "INVALID_IDP_RESPONSE : Unsuccessful debug_token response from Facebook: {\"error\":{"))
        #expect(unknown.message.contains("\"code\":190"))
    }

    @Test("Facebook: an address that isn't confirmed isn't told")
    func unconfirmed() throws {
        let seed = #"{"accounts":[{"id":"mia","email":"mia@example.com","emailVerified":false}]}"#
        let fixture = try FirebaseFixture(seed: seed)
        let answer = try fixture.assertion(
            FirebaseFixture.postBody("facebook.com", accessToken: fixture.facebook("mia")["accessToken"]))
        #expect(answer.status == 200)
        #expect(answer.json["email"] == nil)
    }
}
