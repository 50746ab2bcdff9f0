import Foundation
import TestSupport
import Testing

/// The pages with which Google refuses authorization requests. The sentences are taken from public reports.
@Suite("Google: refusals of the authorization page")
struct AuthorizationErrorTests {
    let fixture: GoogleFixture

    init() throws { fixture = try GoogleFixture() }

    private func expectPage(_ changes: [String: String?], _ name: String, _ sentence: String, status: Int = 400)
        throws
    {
        let answer = try fixture.client.get(fixture.authorizeURL(changes))
        #expect(answer.status == status, "\(answer)")
        #expect(answer.shows("Error \(status): \(name)"), "\(answer)")
        #expect(answer.shows("<p>\(sentence)</p>"), "\(answer)")
        #expect(answer.location.isEmpty)
        #expect(!answer.diagnosis.isEmpty)
    }

    @Test(
        "a parameter that is missing, response_type before all others",
        arguments: [
            // https://github.com/googleworkspace/node-samples/issues/79
            (["response_type": nil, "client_id": nil], "Required parameter is missing: response_type"),
            (["response_type": ""], "Required parameter is missing: response_type"),
            // https://github.com/awesomemotive/Google-Analytics-Dashboard-for-WP/issues/65
            (["client_id": ""], "Missing required parameter: client_id"),
            // https://github.com/RotherOSS/otobo/issues/1705
            (["redirect_uri": nil], "Missing required parameter: redirect_uri"),
            // https://github.com/googleworkspace/php-samples/issues/26: before what is wrong with redirect_uri
            (["scope": nil, "redirect_uri": "x"], "Missing required parameter: scope"),
        ] as [([String: String?], String)])
    func missing(changes: [String: String?], sentence: String) throws {
        try expectPage(changes, "invalid_request", sentence)
    }

    @Test(
        "scopes that Google doesn't have",
        arguments: [
            // https://github.com/atinux/nuxt-auth-utils/issues/64
            ("openid user:email", "{valid=[openid], invalid=[user:email]}"),
            // https://github.com/markbates/goth/issues/445
            (
                "email profile user.birthday.read",
                "{valid=[\(GoogleFixture.email), \(GoogleFixture.profile)], invalid=[user.birthday.read]}"
            ),
            // https://github.com/google/oauth2l/issues/89
            ("userinfo.email", "{invalid=[userinfo.email]}"),
            // https://github.com/zquestz/omniauth-google-oauth2/issues/18
            ("userinfo.email,userinfo.profile", "{invalid=[userinfo.email,userinfo.profile]}"),
        ])
    func scopes(scope: String, sentence: String) throws {
        try expectPage(["scope": scope], "invalid_scope", "Some requested scopes were invalid. \(sentence)")
    }

    @Test(
        "redirect URIs that can't be",
        arguments: [
            // https://github.com/MaikuB/flutter_appauth/issues/100
            ("com.c8tech.myapp", "Invalid parameter value for redirect_uri: Missing scheme: com.c8tech.myapp"),
            (
                "com.c8tech.myapp://home",
                "Invalid parameter value for redirect_uri: Custom schemes cannot have authority: com.c8tech.myapp://home"
            ),
            // https://github.com/barberboy/passport-google-oauth2-example/issues/3
            ("testauth.com:3000", "Custom scheme URIs are not allowed for 'WEB' client type."),
            // https://github.com/EddyVerbruggen/cordova-plugin-googleplus/issues/491
            ("http:/callback", "Invalid parameter value for redirect_uri: Missing authority: http:/callback"),
            // https://github.com/jaredhanson/passport-google-oauth/issues/38; registered ones, too:
            // https://github.com/noobGB/snowpro-core-prep/issues/119
            (
                "http://192.168.1.8:8080/cb",
                "device_id and device_name are required for private IP: http://192.168.1.8:8080/cb"
            ),
            ("http://10.0.0.1/", "device_id and device_name are required for private IP: http://10.0.0.1/"),
            ("http://172.31.0.1/", "device_id and device_name are required for private IP: http://172.31.0.1/"),
            // https://github.com/NodeBB/NodeBB/issues/2735
            (
                "http://8.8.8.8/cb",
                "Invalid parameter value for redirect_uri: Raw IP addresses not allowed: http://8.8.8.8/cb"
            ),
            (
                "http://172.32.0.1/",
                "Invalid parameter value for redirect_uri: Raw IP addresses not allowed: http://172.32.0.1/"
            ),
            // https://github.com/bnoguchi/everyauth/issues/301
            (
                "http://app.local:3000/cb",
                "Invalid parameter value for redirect_uri: Non-public domains not allowed: http://app.local:3000/cb"
            ),
        ])
    func redirectURIs(uri: String, sentence: String) throws {
        try expectPage(["client_id": GoogleFixture.other, "redirect_uri": uri], "invalid_request", sentence)
    }

    @Test("a private address works with device_id and device_name, and a container's name where it is registered")
    func exceptions() throws {
        // https://github.com/zquestz/omniauth-google-oauth2/pull/291
        let answer = try fixture.approve([
            "client_id": GoogleFixture.other, "redirect_uri": "http://192.168.1.8:8080/cb", "device_id": "a",
            "device_name": "b",
        ])
        #expect(answer.location.hasPrefix("http://192.168.1.8:8080/cb?"), "\(answer)")
        let named = try fixture.approve(["client_id": GoogleFixture.other, "redirect_uri": "http://app:3000/cb"])
        #expect(named.location.hasPrefix("http://app:3000/cb?"), "\(named)")
    }

    @Test(
        "what isn't registered is a mismatch, and so are the popup's redirect URIs",
        arguments: [
            GoogleFixture.callback + "/", "https://example.com/elsewhere", "postmessage",
            "storagerelay://nowhere?id=auth1",
        ])
    func mismatch(uri: String) throws {
        // https://github.com/googleapis/google-api-php-client/issues/2559
        try expectPage(
            ["redirect_uri": uri], "redirect_uri_mismatch",
            "You can't sign in to this app because it doesn't comply with Google's OAuth 2.0 policy. If you're the app developer, "
                + "register the redirect URI in the Google Cloud Console.")
    }

    @Test("the out-of-band flow is gone, for each type of client in words of its own")
    func outOfBand() throws {
        let uri = "urn:ietf:wg:oauth:2.0:oob"
        // https://github.com/joshcarty/google-searchconsole/issues/69
        try expectPage(
            ["redirect_uri": uri], "redirect_uri_mismatch",
            "The redirect URI in the request, \(uri), can only be used by a Client ID for native application. It is not allowed "
                + "for the WEB client type. You can create a Client ID for native application at "
                + "https://console.developers.google.com/apis/credentials/oauthclient")
        // https://github.com/simonw/google-drive-to-sqlite/issues/41
        try expectPage(
            ["redirect_uri": uri, "client_id": GoogleFixture.desktop], "invalid_request",
            "The out-of-band (OOB) flow has been blocked in order to keep users secure. Follow the Out-of-Band (OOB) flow "
                + "migration guide linked in the developer docs below to migrate your app to an alternative method.")
    }

    @Test(
        "parameters with a value that Google doesn't know",
        arguments: [
            // https://github.com/googleworkspace/php-samples/issues/44
            (["access_type": "offline "], "Invalid parameter value for access_type: 'offline ' is not valid"),
            // https://github.com/googleapis/google-api-php-client/issues/1821
            (["approval_prompt": "true"], "Invalid parameter value for approval_prompt: 'true' is not valid"),
            // https://github.com/thephpleague/oauth2-google/issues/42
            (["approval_prompt": "auto", "prompt": "consent"], "Conflict params: approval_prompt and prompt"),
            // https://github.com/googleapis/google-api-php-client/issues/2444
            (["prompt": "consent;"], "Invalid parameter value for prompt: Invalid prompt: consent;"),
            (["prompt": "none consent"], "Invalid parameter value for prompt: Invalid prompt: none consent"),
            // https://github.com/supabase/auth-js/issues/669
            (
                ["code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "s256"],
                "Invalid parameter value for code_challenge_method: 's256' is not a valid CodeChallengeMethod"
            ),
            // https://github.com/odoo/odoo/pull/91443
            (["response_type": "token", "nonce": "n"], "Parameter not allowed for this message type: nonce"),
            (["response_type": "id_token"], "Missing required parameter: nonce"),
            (["response_mode": "web_message"], "Invalid parameter value for response_mode: 'web_message' is not valid"),
        ] as [([String: String?], String)])
    func values(changes: [String: String?], sentence: String) throws {
        try expectPage(changes, "invalid_request", sentence)
    }

    @Test("an unknown client, and response types that a client can't have")
    func clients() throws {
        try expectPage(["client_id": "x"], "invalid_client", "The OAuth client was not found.", status: 401)
        // https://github.com/subdavis/Tusk/issues/372
        for (client, uri) in [
            (GoogleFixture.desktop, "http://127.0.0.1:4711"),
            (GoogleFixture.ios, "com.googleusercontent.apps.ios:/oauth2redirect"),
        ] {
            let url = fixture.authorizeURL(["client_id": client, "redirect_uri": uri, "response_type": "token"])
            #expect(try fixture.client.get(url).text.contains("Error 400: unsupported_response_type"))
        }
    }

    // https://developers.google.com/identity/protocols/oauth2/web-server#authorization-errors
    @Test(
        "errors that Google's page shows stay there when they are ordered, others travel",
        arguments: [
            ("org_internal", 403), ("invalid_scope", 400), ("redirect_uri_mismatch", 400), ("server_error", nil),
        ] as [(String, Int?)])
    func ordered(name: String, status: Int?) throws {
        try fixture.world.order(["provider": "google", "outcome": "error", "error": name])
        let answer = try fixture.client.get(fixture.authorizeURL())
        if let status {
            #expect(answer.status == status && answer.text.contains("Error \(status): \(name)"), "\(answer)")
        } else {
            #expect(answer.redirect["error"] == name)
        }
    }

    @Test("approval_prompt=force asks again, as prompt=consent does, at both addresses", arguments: ["", "/v2"])
    func approvalPrompt(version: String) throws {
        func refreshToken(_ changes: [String: String?]) throws -> String? {
            try fixture.world.order(["provider": "google", "outcome": "approve", "account": "ada"])
            let url = fixture.authorizeURL(changes.merging(["access_type": "offline"]) { $1 }, version: version)
            return try fixture.token(["code": fixture.client.get(url).redirect["code"]])["refresh_token"]
        }
        #expect(try refreshToken([:]) != nil)
        #expect(try refreshToken(["approval_prompt": "auto"]) == nil)
        #expect(try refreshToken(["approval_prompt": "force"]) != nil)
    }
}
