import Foundation
import TestSupport
import Testing

/// Answers that somebody recorded at production Identity Toolkit in September 2026: the public repository t-k/fireemu,
/// `conformance/auth-account-production.json`. Beside each one stand the program and the step there.
@Suite("Firebase as production: users")
struct ProductionAccountTests {
    private let production: Production

    init() throws { production = try Production() }

    private static let redacted = "UkVEQUNURUQ="

    private func names(_ user: [String: Any]) -> Set<String> { Set(user.keys) }

    // MARK: - What lookup says

    @Test("who was made by an administrator or an import has never signed in; the first sign-in says when")
    func neverSignedIn() throws {
        // admin/create, steps every-field and lookup-every-field; generated-local-id
        let made = try production.create("full", ["displayName": "Full User", "photoUrl": "https://example.com/f.png"])
        #expect(made.names == ["email", "kind", "localId"])
        var user = try production.user("full")
        #expect(user["disabled"] as? Bool == false)
        #expect(names(user).isDisjoint(with: ["lastLoginAt", "lastRefreshAt"]))
        _ = try production.signIn("full")
        user = try production.user("full")
        #expect(names(user).isSuperset(of: ["lastLoginAt", "lastRefreshAt"]))
        // admin/import, step lookup-imported: only what the import says, and whether the address is verified, always.
        let users: [[String: Any]] = [
            ["localId": "i2", "phoneNumber": "+16505550103"], ["localId": "i3", "lastLoginAt": "1600000100000"],
        ]
        #expect(try production.admin("/accounts:batchCreate", ["users": users]).names == ["kind"])
        let imported = try production.user("i2")
        #expect(imported["disabled"] as? Bool == false)
        #expect(imported["emailVerified"] as? Bool == false)
        #expect(names(imported).isDisjoint(with: ["lastLoginAt", "lastRefreshAt"]))
        #expect(try production.user("i3")["lastLoginAt"] as? String == "1600000100000")
        #expect(try production.user("i3")["lastRefreshAt"] == nil)
        // admin/batch-get, step create-phone: an address that there isn't is an empty one.
        #expect(try production.admin("/accounts", ["localId": "none"])["email"] == "")
        // client/lifecycle, step lookup: nobody has said that the user isn't disabled.
        let own = try production.signUp("own")
        #expect(try production.user(own["localId"] ?? "")["disabled"] == nil)
        // client/anonymous, step lookup, and phone, step lookup-phone-user
        let anonymous = try production.client("signUp", ["returnSecureToken": true])
        #expect(try production.user(anonymous["localId"] ?? "")["validSince"] == nil)
    }

    @Test("a number comes first among the providers, and the password last, also that of a link in an e-mail")
    func orderOfProviders() throws {
        // provider, steps link-google, link-oidc and lookup-linked; admin/create, step lookup-every-field
        _ = try production.create("pv", ["phoneNumber": "+16505550104"])
        for link in [["providerId": "google.com", "rawId": "1"], ["providerId": "oidc.corp", "rawId": "2"]] {
            _ = try production.admin("/accounts:update", ["localId": "pv", "linkProviderUserInfo": link])
        }
        let list = try production.user("pv")["providerUserInfo"] as? [[String: Any]] ?? []
        #expect(list.map { $0["providerId"] as? String } == ["phone", "google.com", "oidc.corp", "password"])
    }

    @Test("the time of the last password stays when the password goes, and whether an address was verified")
    func whatStays() throws {
        // admin/update, steps delete-email, delete-password and lookup-after-credential-deletes
        _ = try production.create("up", ["emailVerified": true])
        let without = try production.admin("/accounts:update", ["localId": "up", "deleteAttribute": ["EMAIL"]])
        #expect(without.names == ["emailVerified", "kind", "localId", "passwordHash"])
        #expect(without.json["emailVerified"] as? Bool == true)
        _ = try production.admin("/accounts:update", ["localId": "up", "deleteAttribute": ["PASSWORD"]])
        let user = try production.user("up")
        #expect(user["passwordUpdatedAt"] is Int)
        #expect(user["emailVerified"] as? Bool == true)
        #expect(names(user).isDisjoint(with: ["passwordHash", "providerUserInfo", "email"]))
    }

    @Test("claims and empty names are kept as they were sent")
    func keptAsSent() throws {
        // admin/custom-attributes, steps readback-whitespace and readback-after-clear
        _ = try production.create("ca")
        for text in [#"{ "b": 1,  "a" : [ 2 ] }"#, "{}"] {
            _ = try production.admin("/accounts:update", ["localId": "ca", "customAttributes": text])
            #expect(try production.user("ca")["customAttributes"] as? String == text)
        }
        // values, steps client-update-display-name-empty and client-update-photo-url-empty
        let signedIn = try production.signIn("ca")
        let changed = try production.client(
            "update", ["idToken": signedIn["idToken"] ?? "", "displayName": "", "photoUrl": ""])
        #expect(changed["displayName"] == "")
        #expect(changed["photoUrl"] == "")
        #expect(try production.user("ca")["photoUrl"] as? String == "")
    }

    // MARK: - Changes

    @Test("a change of the user's own brings a session only where one is wanted and sessions ended")
    func tokensOfChanges() throws {
        let user = try production.signUp("profile")
        func change(_ fields: [String: Any]) throws -> [String] {
            let answer = try production.client("update", ["idToken": user["idToken"] ?? ""].merging(fields) { $1 })
            #expect(answer["passwordHash"] == ProductionAccountTests.redacted)
            return answer.names.filter { ["idToken", "refreshToken", "expiresIn"].contains($0) }
        }
        // client/profile, step set-name-and-photo
        #expect(try change(["displayName": "A", "returnSecureToken": true]) == [])
        // policy/default/client-update, step update-min-6; privilege/valid-token-admin-fields, step client-update-valid-since
        #expect(try change(["password": "new password"]) == ["idToken"])
        #expect(try change(["validSince": "1700000000"]) == ["idToken"])
        // client/password-change, step change-password
        #expect(
            try change(["password": "password456", "returnSecureToken": true])
                == ["expiresIn", "idToken", "refreshToken"])
    }

    @Test("an administrator's new address counts as verified as the old one, and ends the sessions")
    func administratorsAddress() throws {
        // admin/update, step change-email. That sessions end is documented:
        // https://firebase.google.com/docs/auth/admin/manage-sessions
        _ = try production.create("up", ["emailVerified": true])
        let signedIn = try production.signIn("up")
        try production.fixture.advance("2s")
        let changed = try production.admin("/accounts:update", ["localId": "up", "email": "new@example.org"])
        #expect(changed.json["emailVerified"] as? Bool == true)
        #expect(changed["passwordHash"] == ProductionAccountTests.redacted)
        #expect(try production.client("lookup", ["idToken": signedIn["idToken"] ?? ""]).message == "TOKEN_EXPIRED")
        #expect(try production.refresh(signedIn["refreshToken"]).message == "TOKEN_EXPIRED")
    }

    @Test("an anonymous user gets an address by signUp, not by a change")
    func anonymousAddress() throws {
        // client/anonymous-upgrade, steps upgrade-with-update and lookup-after-update-upgrade
        let user = try production.client("signUp", ["returnSecureToken": true])
        let fields = ["email": "up@example.org", "password": "password123"]
        let idToken = user["idToken"] ?? ""
        #expect(
            try production.client("update", fields.merging(["idToken": idToken]) { $1 }).message
                == "OPERATION_NOT_ALLOWED : Please verify the new email before changing email.")
        #expect(try production.user(user["localId"] ?? "")["email"] == nil)
        // step upgrade-with-sign-up
        let upgraded = try production.client("signUp", fields.merging(["idToken": idToken]) { $1 })
        #expect(upgraded["localId"] == user["localId"])
    }

    @Test("an anonymous user can change and delete itself at any time")
    func anonymousIsAlwaysRecent() throws {
        // "does not apply if the user is anonymous":
        // https://pub.dev/documentation/firebase_auth/latest/firebase_auth/User/delete.html
        let user = try production.client("signUp", ["returnSecureToken": true])
        try production.fixture.advance("20m")
        #expect(try production.client("delete", ["idToken": user["idToken"] ?? ""]).status == 200)
    }

    @Test(
        "a user's own request can't do what is for administrators",
        arguments: [
            // privilege/valid-token-admin-fields
            (#"{"customAttributes":"{\"role\":\"admin\"}"}"#, "INSUFFICIENT_PERMISSION"),
            (#"{"disableUser":true}"#, "OPERATION_NOT_ALLOWED"),
            (
                #"{"linkProviderUserInfo":{"providerId":"google.com","rawId":"raw"}}"#,
                "UNEXPECTED_PARAMETER : link_provider_user_info is not allowed with ID token."
            ), (#"{"emailVerified":true}"#, ""),
        ])
    func administratorsFields(fields: String, wanted: String) throws {
        _ = try production.create("priv")
        let before = try production.user("priv")
        var body = try JSONSerialization.jsonObject(with: Data(fields.utf8)) as? [String: Any] ?? [:]
        body["idToken"] = try production.signIn("priv")["idToken"]
        #expect(try production.client("update", body).message == wanted)
        let after = try production.user("priv")
        for name in ["customAttributes", "disabled", "emailVerified"] {
            #expect("\(before[name] ?? "")" == "\(after[name] ?? "")", "\(name)")
        }
        #expect((after["providerUserInfo"] as? [Any])?.count == 1)
    }

    // MARK: - Imports and deletions

    @Test("an import overwrites who is there, and of two accounts with an ID the last one stays")
    func overwritingImport() throws {
        // admin/import, steps import-existing-without-overwrite and import-duplicate-local-id-in-request
        _ = try production.create("i1", ["displayName": "Imported"])
        let users = [
            ["localId": "i1", "email": "new@example.org"], ["localId": "i6", "email": "i6@example.org"],
            ["localId": "i6", "email": "i6b@example.org"],
        ]
        #expect(try production.admin("/accounts:batchCreate", ["users": users]).names == ["kind"])
        #expect(try production.user("i1")["email"] as? String == "new@example.org")
        #expect(try production.user("i1")["displayName"] == nil)
        #expect(try production.user("i6")["email"] as? String == "i6b@example.org")
    }

    @Test("a deleted user's refresh token says so, and that of an earlier user with the same ID is over")
    func deletedUsersToken() throws {
        // admin/delete-effects, step old-refresh-token. The SDKs sign out by USER_NOT_FOUND and TOKEN_EXPIRED alone:
        // https://cloud.google.com/identity-platform/docs/use-rest-api#section-refresh-token
        _ = try production.create("reuse")
        let first = try production.signIn("reuse")
        _ = try production.admin("/accounts:delete", ["localId": "reuse"])
        let deleted = try production.refresh(first["refreshToken"])
        #expect(deleted.message == "USER_NOT_FOUND")
        #expect((deleted.json["error"] as? [String: Any])?["status"] as? String == "INVALID_ARGUMENT")
        // admin/uid-reuse, steps first-refresh-token-after-reuse and first-id-token-after-reuse
        try production.fixture.advance("2s")
        _ = try production.create("reuse", ["email": "second@example.org"])
        #expect(try production.refresh(first["refreshToken"]).message == "TOKEN_EXPIRED")
        #expect(try production.client("lookup", ["idToken": first["idToken"] ?? ""]).message == "TOKEN_EXPIRED")
        #expect(try production.refresh("not-a-token").message == "INVALID_REFRESH_TOKEN")
    }
}
