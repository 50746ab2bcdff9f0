import Foundation
import TestSupport
import Testing

@Suite("Google: what its SDK delivers on a device, and codes for backends")
struct NativeSignInTests {
    let fixture: GoogleFixture

    init() throws { fixture = try GoogleFixture() }

    // https://developers.google.com/identity/sign-in/ios/offline-access, https://developers.google.com/identity/sign-in/android/offline-access
    @Test(
        "with serverClient, the ID token is the backend's, and a code comes along that it redeems",
        arguments: [GoogleFixture.ios, GoogleFixture.android])
    func server(app: String) throws {
        let signedIn = try fixture.native([
            "client": app, "serverClient": GoogleFixture.web, "account": "ada", "nonce": "n",
        ])
        #expect(signedIn.status == 200, "\(signedIn)")
        let claims = signedIn.decoded("idToken")
        #expect(claims["aud"] as? String == GoogleFixture.web)
        #expect(claims["azp"] as? String == app)
        #expect(claims["nonce"] as? String == "n")
        let tokens = try fixture.token(["code": signedIn["serverAuthCode"], "redirect_uri": ""])
        #expect(tokens.status == 200, "\(tokens)")
        #expect(tokens["refresh_token"] != nil)
        #expect(tokens.claims["azp"] as? String == GoogleFixture.web)
        // Only the first code brings a refresh token.
        let again = try fixture.native(["client": app, "serverClient": GoogleFixture.web, "account": "ada"])
        let more = try fixture.token(["code": again["serverAuthCode"], "redirect_uri": nil])
        #expect(more.status == 200 && more["refresh_token"] == nil, "\(more)")
    }

    @Test("without serverClient there is no code, and the ID token is the app's")
    func alone() throws {
        let signedIn = try fixture.native(["client": GoogleFixture.ios, "account": "ada"])
        #expect(signedIn.json["serverAuthCode"] == nil)
        #expect(signedIn.decoded("idToken")["aud"] as? String == GoogleFixture.ios)
        let refused = try fixture.native([
            "client": GoogleFixture.ios, "serverClient": "example.apps.googleusercontent.con", "account": "ada",
        ])
        #expect(refused.status == 404)
        let error = refused.json["error"] as? [String: Any]
        #expect(error?["path"] as? String == "$.serverClient")
        #expect((error?["message"] as? String)?.contains(GoogleFixture.web) ?? false)
    }

    @Test(
        "an app's code is redeemed without a redirect URI or with one of the backend's",
        arguments: [
            (nil, 200), ("", 200), (GoogleFixture.callback, 200),
            // https://github.com/zquestz/omniauth-google-oauth2/issues/272
            ("postmessage", 400), ("https://example.com/", 400),
        ])
    func redirectURI(sent: String?, status: Int) throws {
        let code = try fixture.native([
            "client": GoogleFixture.ios, "serverClient": GoogleFixture.web, "account": "ada",
        ])["serverAuthCode"]
        let answer = try fixture.token(["code": code, "redirect_uri": sent])
        #expect(answer.status == status, "\(answer)")
        if status == 400 { #expect(answer["error"] == "redirect_uri_mismatch") }
    }

    // https://github.com/MomenSherif/react-oauth/issues/252
    @Test(
        "a popup's code is redeemed with postmessage alone, where no page asked for it",
        arguments: [("postmessage", 200), (GoogleFixture.callback, 400), ("", 400), (nil, 400)])
    func popup(sent: String?, status: Int) throws {
        let signedIn = try fixture.native([
            "client": GoogleFixture.web, "serverClient": GoogleFixture.web, "account": "ada",
        ])
        let answer = try fixture.token(["code": signedIn["serverAuthCode"], "redirect_uri": sent])
        #expect(answer.status == status, "\(answer)")
        if status == 400 { #expect(answer["error"] == "redirect_uri_mismatch") }
    }

    @Test("the app itself can't redeem its backend's code")
    func otherClient() throws {
        let code = try fixture.native([
            "client": GoogleFixture.ios, "serverClient": GoogleFixture.web, "account": "ada",
        ])["serverAuthCode"]
        // https://github.com/EddyVerbruggen/cordova-plugin-googleplus/issues/551
        let answer = try fixture.token([
            "code": code, "redirect_uri": nil, "client_id": GoogleFixture.ios, "client_secret": nil,
        ])
        #expect(answer.status == 401)
        #expect(answer["error"] == "unauthorized_client")
        #expect(answer["error_description"] == "Unauthorized")
    }

    // The SDK for iOS sends and reads these fields: https://github.com/google/GoogleSignIn-iOS, GIDSignIn.m
    @Test("an app that asks for an audience gets the backend's ID token and a code for it")
    func audience() throws {
        let redirectURI = "com.googleusercontent.apps.ios:/oauth2callback"
        let code = try fixture.approve([
            "client_id": GoogleFixture.ios, "redirect_uri": redirectURI, "audience": GoogleFixture.web,
            "include_granted_scopes": "true",
        ]).redirect["code"]
        let app: [String: String?] = [
            "client_id": GoogleFixture.ios, "client_secret": nil, "redirect_uri": redirectURI,
            "audience": GoogleFixture.web,
        ]
        let tokens = try fixture.token(app.merging(["code": code]) { $1 })
        #expect(tokens.status == 200, "\(tokens)")
        #expect(tokens.claims["aud"] as? String == GoogleFixture.web)
        #expect(tokens.claims["azp"] as? String == GoogleFixture.ios)
        let backend = try fixture.token(["code": tokens["server_code"], "redirect_uri": ""])
        #expect(backend.status == 200 && backend["refresh_token"] != nil, "\(backend)")
        #expect(backend.claims["sub"] as? String == tokens.claims["sub"] as? String)
        let refreshed = try fixture.token(
            app.merging(["grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]]) { $1 })
        #expect(refreshed.claims["aud"] as? String == GoogleFixture.web, "\(refreshed)")
        #expect(refreshed["server_code"] == nil)
    }

    @Test(
        "an audience that the app can't have, which costs no code",
        arguments: [
            // https://github.com/Cap-go/capacitor-social-login/issues/159
            ("x.apps.googleusercontent.com", "Audience is not a valid client ID."),
            // https://github.com/react-native-google-signin/google-signin/issues/571
            (
                "2-backend.apps.googleusercontent.com",
                "The audience client and the client need to be in the same project."
            ),
        ])
    func wrongAudience(audience: String, sentence: String) throws {
        let seed = """
            {"google": {"clients": [{"clientID": "1-app.apps.googleusercontent.com", "type": "ios"},
              {"clientID": "2-backend.apps.googleusercontent.com"}, {"clientID": "1-backend.apps.googleusercontent.com"}]}}
            """
        let world = try FirebaseFixture(seed: seed)
        try world.order(["provider": "google", "outcome": "approve", "account": "ada"])
        let app = [
            "client_id": "1-app.apps.googleusercontent.com",
            "redirect_uri": "com.googleusercontent.apps.1-app:/oauth2callback",
        ]
        let query = app.merging(["response_type": "code", "scope": "openid"]) { $1 }
        let code = try world.client.get("/accounts.google.com/o/oauth2/v2/auth?\(TestClient.encode(query))")
            .redirect["code"]
        func redeem(_ audience: String) throws -> Answer {
            let form = ["grant_type": "authorization_code", "code": code ?? "", "audience": audience]
            return try world.client.post("/oauth2.googleapis.com/token", form: app.merging(form) { $1 })
        }
        let refused = try redeem(audience)
        #expect(refused.status == 400 && refused["error"] == "invalid_audience", "\(refused)")
        #expect(refused["error_description"] == sentence)
        #expect(refused.diagnosis.contains(audience))
        let redeemed = try redeem("1-backend.apps.googleusercontent.com")
        #expect(redeemed.status == 200 && redeemed["server_code"] != nil, "\(redeemed)")
        #expect(redeemed.claims["aud"] as? String == "1-backend.apps.googleusercontent.com")
    }
}
