import Foundation
import TestSupport
import Testing

@Suite("Facebook: Login and Graph")
struct FacebookTests {
    let fixture: FirebaseFixture
    private let id = "1234567890"
    private let secret = "facebook-secret-for-tests"
    private let callback = "http://localhost:3000/callback"

    init() throws { fixture = try FirebaseFixture() }

    private func dialog(_ changes: [String: String?] = [:], version: String = "/v22.0", approve: Bool = true) throws
        -> Answer
    {
        if approve { try fixture.order(["provider": "facebook", "outcome": "approve", "account": "ada"]) }
        var form: [String: String] = ["client_id": id, "redirect_uri": callback, "state": "s 1", "scope": "email"]
        for (name, value) in changes { form[name] = value }
        return try fixture.client.get("/www.facebook.com\(version)/dialog/oauth?\(TestClient.encode(form))")
    }

    private func code(_ answer: Answer) -> String? {
        Answer.fields(String(answer.location.drop { $0 != "?" }.dropFirst().prefix { $0 != "#" }))["code"]
    }

    private func graph(_ path: String, _ query: [String: String?]) throws -> Answer {
        try fixture.client.get("/graph.facebook.com\(path)?\(TestClient.encode(query.compactMapValues { $0 }))")
    }

    private func token(_ changes: [String: String?]) throws -> Answer {
        var form: [String: String?] = ["client_id": id, "client_secret": secret, "redirect_uri": callback]
        for (name, value) in changes { form[name] = value }
        return try graph("/v22.0/oauth/access_token", form)
    }

    @Test("dialog, token, profile; with or without a version")
    func signIn() throws {
        let answer = try dialog(["return_scopes": "true"])
        #expect(answer.location.hasSuffix("#_=_"))
        #expect(answer.location.contains("granted_scopes=public_profile%2Cemail"))
        let tokens = try token(["code": code(answer)])
        #expect(tokens["access_token"]?.hasPrefix("EAA") ?? false)
        #expect(tokens["token_type"] == "bearer")
        #expect(tokens.json["expires_in"] as? Int == 5_183_944)
        let access = tokens["access_token"] ?? ""
        #expect(try graph("/me", ["access_token": access]).json.keys.sorted() == ["id", "name"])
        let fields = "id,name,email,first_name,picture.type(large){url,width}"
        let full = try graph("/v19.0/me", ["access_token": access, "fields": fields])
        #expect(full["email"] == "ada@example.com")
        #expect(full["first_name"] == "Ada")
        #expect(full.json["picture"] != nil)
        #expect(try graph("/v19.0/10150000000000001", ["access_token": access])["name"] == "Ada Lovelace")
        #expect(try graph("/999", ["access_token": access]).status == 400)
        #expect(code(try dialog(version: "")) != nil)
    }

    @Test("debug_token, app tokens, appsecret_proof, permissions")
    func tokens() throws {
        let access = try token(["code": code(dialog())])["access_token"] ?? ""
        let app = try token(["grant_type": "client_credentials"])["access_token"]
        #expect(app == "\(id)|\(secret)")
        let data =
            try graph("/debug_token", ["input_token": access, "access_token": app]).json["data"] as? [String: Any]
        #expect(data?["is_valid"] as? Bool == true)
        #expect(data?["user_id"] as? String == "10150000000000001")
        let bad = try graph("/debug_token", ["input_token": "x", "access_token": app]).json["data"] as? [String: Any]
        #expect(bad?["is_valid"] as? Bool == false)
        #expect(try graph("/debug_token", ["input_token": access, "access_token": access]).status == 400)
        let proof = try Shell.run("openssl", ["dgst", "-sha256", "-hmac", secret, "-r"], input: access)
        let digest = proof.output.split(separator: " ").first.map(String.init)
        #expect(try graph("/me", ["access_token": access, "appsecret_proof": digest]).status == 200)
        #expect(
            try graph("/me", ["access_token": access, "appsecret_proof": "x"]).message
                == "Invalid appsecret_proof provided in the API argument")
        let longer = try token(["grant_type": "fb_exchange_token", "fb_exchange_token": access])["access_token"]
        #expect(longer != access)
        let fewer = try fixture.client.request(
            "DELETE", "/graph.facebook.com/me/permissions/email?access_token=\(access)")
        #expect(fewer.json["success"] as? Bool == true)
        #expect(try graph("/me", ["access_token": access, "fields": "id,email"])["email"] == nil)
        _ = try fixture.client.request("DELETE", "/graph.facebook.com/me/permissions?access_token=\(access)")
        #expect(try graph("/me", ["access_token": access]).status == 400)
    }

    @Test("refusals, in Facebook's form")
    func refusals() throws {
        let used = code(try dialog())
        _ = try token(["code": used])
        let fresh = code(try dialog())
        for (changes, number, subcode, text) in [
            (["code": "x"], 100, nil, "Invalid verification code format."),
            (["code": used], 100, 36009, "This authorization code has been used."),
            (
                ["code": fresh, "redirect_uri": "https://x/"], 100, 36008,
                "Error validating verification code. Please make sure"
            ),
            (["code": fresh, "client_secret": "x"], 1, nil, "Error validating client secret."),
            (["client_id": "x"], 101, nil, "Error validating application."),
            (["client_id": nil], 101, nil, "Missing client_id parameter."),
        ] as [([String: String?], Int, Int?, String)] {
            let answer = try token(changes)
            #expect(answer.status == 400)
            let error = answer.json["error"] as? [String: Any]
            #expect(error?["code"] as? Int == number)
            #expect(error?["error_subcode"] as? Int == subcode)
            #expect(error?["type"] as? String == "OAuthException")
            #expect(answer.message.hasPrefix(text))
            #expect(!answer.diagnosis.isEmpty)
        }
        let access = try token(["code": fresh])["access_token"] ?? ""
        try fixture.advance("61d")
        let expired = try graph("/me", ["access_token": access])
        #expect((expired.json["error"] as? [String: Any])?["error_subcode"] as? Int == 463)
        #expect(try dialog(["client_id": "x"], approve: false).status == 400)
        #expect(
            try dialog(["redirect_uri": "https://evil.example/"], approve: false).diagnosis.contains("evil.example"))
        try fixture.order(["provider": "facebook", "outcome": "cancel"])
        let cancelled = try dialog(approve: false).location
        #expect(
            cancelled.contains(
                "error=access_denied&error_code=200&error_description=Permissions+error&error_reason=user_denied"))
    }

    @Test("pages, Limited Login's documents, and what a device delivers")
    func rest() throws {
        let people = try dialog(approve: false)
        #expect(people.text.contains("Log in to Facebook"))
        let consent = try fixture.client.post(
            "/www.facebook.com/dialog/oauth", form: people.inputs.merging(["account": "ada"]) { $1 })
        let done = try fixture.client.post(
            "/www.facebook.com/dialog/oauth", form: consent.inputs.merging(["action": "continue"]) { $1 })
        #expect(code(done) != nil)
        for host in ["limited.facebook.com", "www.facebook.com"] {
            let document = try fixture.client.get("/\(host)/.well-known/openid-configuration/")
            #expect(document["issuer"] == "https://www.facebook.com")
            #expect(
                (try fixture.client.get("/\(host)/.well-known/oauth/openid/jwks/").json["keys"] as? [Any])?.count == 1)
        }
        #expect(try fixture.facebook("nobody").status == 404)
        #expect(try fixture.facebook("ada", ["client": "x"]).status == 404)
        try fixture.order(["provider": "facebook", "outcome": "cancel"])
        #expect(try fixture.facebook().status == 409)
    }
}
