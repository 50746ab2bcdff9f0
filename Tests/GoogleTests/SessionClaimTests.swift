import Foundation
import TestSupport
import Testing

// https://developers.google.com/identity/siwg/security-bundle
@Suite("Google: what an ID token says of the person's session")
struct SessionClaimTests {
    let world: FirebaseFixture
    private static let both = #"{"id_token":{"auth_time":{"essential":true},"amr":{"essential":true}}}"#

    init() throws {
        world = try FirebaseFixture(
            seed: """
                {"accounts": [{"id": "eve", "name": {"given": "Eve", "family": "Key"}, "email": "eve@example.com",
                               "google": {"authenticationMethods": ["mfa", "hwk"]}}],
                 "google": {"clients": [
                  {"clientID": "\(GoogleFixture.other)", "sessionClaims": ["auth_time", "amr"],
                   "redirectURIs": ["\(GoogleFixture.callback)"]}]}}
                """)
        try world.freeze()
    }

    private func tokens(
        _ client: String, _ claims: String?, account: String = "eve", isPosted: Bool = false
    ) throws -> Answer {
        try world.order(["provider": "google", "outcome": "approve", "account": account])
        var query = [
            "client_id": client, "redirect_uri": GoogleFixture.callback, "response_type": "code",
            "scope": "openid email", "access_type": "offline", "prompt": "consent",
        ]
        query["claims"] = claims
        let address = "/accounts.google.com/o/oauth2/v2/auth"
        let answer =
            try isPosted
            ? world.client.post(address, form: query) : world.client.get("\(address)?\(TestClient.encode(query))")
        let code = answer.redirect["code"]
        return try token(["client_id": client, "grant_type": "authorization_code", "code": code ?? ""])
    }

    private func token(_ fields: [String: String]) throws -> Answer {
        let form = ["client_secret": GoogleFixture.secret, "redirect_uri": GoogleFixture.callback]
        return try world.client.post("/oauth2.googleapis.com/token", form: form.merging(fields) { $1 })
    }

    @Test("auth_time and amr, for a client that may have them and asks for them")
    func asked() throws {
        let tokens = try tokens(GoogleFixture.other, SessionClaimTests.both)
        let authTime = try #require(tokens.claims["auth_time"] as? Int, "\(tokens)")
        #expect(authTime == tokens.claims["iat"] as? Int)
        #expect(tokens.claims["amr"] as? [String] == ["mfa", "hwk"])
        // https://openid.net/specs/openid-connect-core-1_0.html#RefreshTokenResponse: the time of the sign-in.
        try world.advance("1h")
        let refreshed = try token([
            "client_id": GoogleFixture.other, "grant_type": "refresh_token",
            "refresh_token": tokens["refresh_token"] ?? "",
        ])
        #expect(refreshed.claims["auth_time"] as? Int == authTime, "\(refreshed)")
        #expect(refreshed.claims["iat"] as? Int == authTime + 3600)
        let ada = try self.tokens(GoogleFixture.other, #"{"id_token":{"amr":null}}"#, account: "ada")
        #expect(ada.claims["amr"] as? [String] == ["pwd"] && ada.claims["auth_time"] == nil)
    }

    @Test(
        "nothing of it otherwise",
        arguments: [
            (GoogleFixture.web, SessionClaimTests.both), (GoogleFixture.other, nil), (GoogleFixture.other, "{"),
            (GoogleFixture.other, #"{"userinfo":{"auth_time":null}}"#),
        ])
    func notAsked(client: String, claims: String?) throws {
        let tokens = try tokens(client, claims)
        #expect(tokens.status == 200 && tokens.claims["sub"] != nil, "\(tokens)")
        #expect(tokens.claims["auth_time"] == nil && tokens.claims["amr"] == nil)
    }

    @Test("the inspector says why a client gets none", arguments: [false, true])
    func remark(isPosted: Bool) throws {
        func page(_ path: String) throws -> String {
            try world.client.get("/_understudy/\(path)", headers: ["Accept": "text/html"]).text
        }
        _ = try tokens(GoogleFixture.web, SessionClaimTests.both, isPosted: isPosted)
        let id = try #require(try page("").firstMatch(of: /flows\/(r\d+)"/)?.1)
        let flow = try page("flows/\(id)")
        for claim in ["auth_time", "amr"] {
            #expect(flow.contains("The ID token has no \(claim) because the client may not ask for it"), "\(flow)")
        }
    }
}
