import Foundation
import TestSupport
import Testing

@Suite("Google: clients by type")
struct ClientTypeTests {
    let fixture: GoogleFixture
    private static let verifier = String(repeating: "v", count: 43)

    init() throws { fixture = try GoogleFixture() }

    /// Signs in with a client, with a code and PKCE, and no secret unless one is given.
    private func signIn(_ client: String, _ uri: String, secret: String?) throws -> Answer {
        let answer = try fixture.approve([
            "client_id": client, "redirect_uri": uri, "code_challenge": ClientTypeTests.verifier,
            "code_challenge_method": "plain",
        ])
        #expect(answer.location.hasPrefix(uri), "\(answer)")
        return try fixture.token([
            "client_id": client, "client_secret": secret, "redirect_uri": uri, "code": answer.redirect["code"],
            "code_verifier": ClientTypeTests.verifier,
        ])
    }

    // https://developers.google.com/identity/protocols/oauth2/native-app; https://github.com/p2/OAuth2/issues/102
    @Test(
        "an app redirects to its reversed client ID, or its own ID, and has no secret",
        arguments: [
            (GoogleFixture.ios, "com.googleusercontent.apps.ios:/oauth2redirect"),
            (GoogleFixture.ios, "com.example.app:/oauth2redirect"),
            (GoogleFixture.androidWithScheme, "com.googleusercontent.apps.scheme:/oauth2redirect"),
        ])
    func app(client: String, uri: String) throws {
        let tokens = try signIn(client, uri, secret: nil)
        #expect(tokens.status == 200, "\(tokens)")
        #expect(tokens.claims["aud"] as? String == client)
        let refreshed = try fixture.token([
            "client_id": client, "client_secret": nil, "grant_type": "refresh_token",
            "refresh_token": tokens["refresh_token"],
        ])
        #expect(refreshed.status == 200, "\(refreshed)")
        // "Note that refresh tokens are always returned for installed applications", without access_type, and again.
        // https://developers.google.com/identity/protocols/oauth2/native-app#exchange-authorization-code
        #expect(try signIn(client, uri, secret: nil)["refresh_token"] != nil)
    }

    @Test(
        "a desktop app redirects to any port and path of the loopback address, and has a secret",
        arguments: ["http://127.0.0.1:51004/", "http://[::1]:8080/cb", "http://localhost:1234"])
    func desktop(uri: String) throws {
        #expect(try signIn(GoogleFixture.desktop, uri, secret: GoogleFixture.secret).status == 200)
        // https://github.com/taylorwilsdon/google_workspace_mcp/issues/1008
        let refused = try signIn(GoogleFixture.desktop, uri, secret: nil)
        #expect(refused["error_description"] == "client_secret is missing.")
    }

    @Test(
        "each type refuses the redirect URIs of others in Google's words",
        arguments: [
            // https://github.com/browserslist/browserslist-ga/issues/43
            (
                GoogleFixture.ios, "http://localhost:3000/callback",
                "The loopback flow has been blocked in order to keep users secure. Follow the Loopback IP Address flow migration "
                    + "guide linked in the developer docs below to migrate your app to an alternative method."
            ),
            (GoogleFixture.android, "http://127.0.0.1:3000/", "The loopback flow has been blocked"),
            // https://github.com/Juby210/SwiftBackupPrem/issues/1
            (
                GoogleFixture.android, "com.googleusercontent.apps.android:/oauth2redirect",
                "Custom URI scheme is not enabled for your Android client."
            ),
            // https://github.com/google/googleapis.dart/issues/436
            (
                GoogleFixture.device, "http://localhost:3000/callback",
                "Localhost URI is not allowed for 'NATIVE_DEVICE' client type."
            ),
            // https://github.com/super-productivity/super-productivity/pull/6977
            (
                GoogleFixture.desktop, "com.example.app:/oauth2redirect",
                "Custom scheme URIs are not allowed for 'NATIVE_DESKTOP' client type."
            ),
            (GoogleFixture.ios, "com.example.other:/oauth2redirect", "register the redirect URI"),
            (GoogleFixture.desktop, "https://example.com/callback", "register the redirect URI"),
        ])
    func others(client: String, uri: String, sentence: String) throws {
        let answer = try fixture.client.get(fixture.authorizeURL(["client_id": client, "redirect_uri": uri]))
        #expect(answer.status == 400)
        #expect(answer.shows(sentence), "\(answer)")
        #expect(answer.location.isEmpty)
    }

    @Test(
        "what a client of a type can't have is refused in the seed",
        arguments: [
            (
                #"{"clientID":"x.apps.googleusercontent.com","type":"ios","clientSecret":"s"}"#, "clientSecret",
                "has no secret"
            ),
            (#"{"clientID":"x","redirectURIs":["com.example.app:/x"]}"#, "redirectURIs[0]", "http:// or https://"),
            (
                #"{"clientID":"x.apps.googleusercontent.com","type":"ios","redirectURIs":["com.example.app:/x"]}"#,
                "redirectURIs[0]", "com.googleusercontent.apps.x:/path"
            ),
            (
                #"{"clientID":"x","type":"device","redirectURIs":["http://localhost/"]}"#, "redirectURIs[0]",
                "expected none"
            ),
            (#"{"clientID":"x","type":"tv"}"#, "type", "device"),
        ])
    func seeds(client: String, member: String, words: String) throws {
        let body = #"{"google":{"clients":[\#(client)]}}"#
        let answer = try fixture.client.request(
            "POST", "\(GoogleFixture.control)/seed", headers: ["Content-Type": "application/json"],
            body: Array(body.utf8))
        #expect(answer.status == 400, "\(answer)")
        let error = answer.json["error"] as? [String: Any]
        #expect((error?["path"] as? String)?.hasSuffix(".\(member)") ?? false, "\(answer)")
        #expect((error?["message"] as? String)?.contains(words) ?? false, "\(answer)")
    }
}
