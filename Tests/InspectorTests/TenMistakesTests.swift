import Foundation
import TestSupport
import Testing
import Understudy

/// The ten most common mistakes, each made as an app makes it: the sign-in's page alone says what to do.
@Suite struct TenMistakesTests {
    enum Mistake: String, CaseIterable {
        case rawNonce, callbackTwice, appIDOnTheWeb, expiredSecret, insecureReturnURL, lostCookie, missingScope
        case unverifiedAddress, wrongAudience, clockSkew

        /// The texts that the page must have.
        var words: [String] {
            switch self {
            case .rawNonce:
                ["raw nonce itself", "SHA-256", "help/errors/firebase#row-"]
            case .callbackTwice: ["works once", "handle the callback twice?", "help/errors/apple#row-"]
            case .appIDOnTheWeb: ["an App ID", "a Services ID"]
            case .expiredSecret: ["it expired", "sign a new one"]
            case .insecureReturnURL: ["Apple accepts no http"]
            case .lostCookie: ["been redeemed", "SameSite=None; Secure"]
            case .missingScope: ["with no scopes", "lacks a required scope", "email is null"]
            case .unverifiedAddress: ["isn&#39;t verified", "must verify it"]
            case .wrongAudience: ["another client ID", "com.example.app<mark>.watch</mark>"]
            case .clockSkew: ["in the future", "behind the machine&#39;s"]
            }
        }
    }

    let fixture: InspectorFixture

    init() throws { fixture = try InspectorFixture() }

    @Test("the page says what to do", arguments: Mistake.allCases) func said(mistake: Mistake) throws {
        try make(mistake)
        let list = try fixture.page().text
        let id = try #require(list.firstMatch(of: /flows\/(r\d+)"/)?.1)
        let page = try fixture.page("flows/\(id)").text
        for words in mistake.words { #expect(page.contains(words), "\(words)") }
        // The list has the whole text, too.
        #expect(list.contains(mistake.words[0]))
    }

    private func make(_ mistake: Mistake) throws {
        switch mistake {
        case .rawNonce: try firebase(nonce: "raw-nonce", raw: "raw-nonce")
        case .wrongAudience:
            try firebase(client: "com.example.app.watch", nonce: FirebaseFixture.sha256("raw-nonce"), raw: "raw-nonce")
        case .callbackTwice:
            let code = try code(AppleFixture.authorizePath())
            for _ in 1...2 { try redeem(code) }
        case .appIDOnTheWeb: _ = try fixture.client.get(AppleFixture.authorizePath(["client_id": AppleFixture.app]))
        case .expiredSecret:
            let now = Int64(Date().timeIntervalSince1970)
            try redeem(code(AppleFixture.authorizePath()), secret: AppleFixture.secret(now: now - 7_200))
        case .insecureReturnURL:
            _ = try fixture.client.get(AppleFixture.authorizePath(["redirect_uri": "http://example.com/callback"]))
        case .lostCookie:
            _ = try code(AppleFixture.authorizePath(["response_mode": "form_post", "scope": "name email"]))
        case .missingScope:
            let headers = ["Authorization": "Bearer \(try gitHub(account: "ada"))", "User-Agent": "app"]
            for path in ["user", "user/emails"] {
                _ = try fixture.client.get("/api.github.com/\(path)", headers: headers)
            }
        case .unverifiedAddress: _ = try gitHub(account: "linus")
        case .clockSkew:
            let before = Date(timeIntervalSinceNow: -7_200).formatted(.iso8601)
            _ = try fixture.client.post("\(AppleFixture.control)/clock", json: ["set": before])
            try redeem(code(AppleFixture.authorizePath()), secret: AppleFixture.secret())
        }
    }

    private func approve(_ account: String, at provider: String) throws {
        _ = try fixture.client.post(
            "\(AppleFixture.control)/outcomes", json: ["provider": provider, "outcome": "approve", "account": account])
    }

    private func code(_ path: String) throws -> String {
        try approve("ada", at: "apple")
        let answer = try fixture.client.get(path)
        return try #require(answer.redirect["code"] ?? answer.inputs["code"])
    }

    private func redeem(_ code: String, secret: String? = nil) throws {
        _ = try fixture.client.post(
            "\(AppleFixture.prefix)/auth/token",
            form: [
                "client_id": AppleFixture.service, "grant_type": "authorization_code", "code": code,
                "redirect_uri": AppleFixture.returnURL, "client_secret": try secret ?? AppleFixture.secret(),
            ])
    }

    private func firebase(client: String = AppleFixture.app, nonce: String, raw: String) throws {
        let native = try fixture.client.post(
            "\(AppleFixture.control)/apple/authorizations", json: ["client": client, "account": "ada", "nonce": nonce])
        let body = FirebaseFixture.postBody("apple.com", idToken: native["identityToken"], nonce: raw)
        _ = try fixture.client.post(
            "/identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=demo-api-key",
            json: ["postBody": body, "requestUri": "http://localhost", "returnSecureToken": true])
    }

    /// Signs in without a scope, and returns the access token; empty when there is none.
    private func gitHub(account: String) throws -> String {
        try approve(account, at: "github")
        let query = ["client_id": GitHubFixture.asking, "redirect_uri": "http://localhost:3000/callback", "state": "s"]
        let answer = try fixture.client.get("/github.com/login/oauth/authorize?\(TestClient.encode(query))")
        let form = [
            "client_id": GitHubFixture.asking, "client_secret": GitHubFixture.secret,
            "code": try #require(answer.redirect["code"]),
        ]
        let tokens = try fixture.client.post(
            "/github.com/login/oauth/access_token", form: form, headers: ["Accept": "application/json"])
        return tokens["access_token"] ?? ""
    }
}
